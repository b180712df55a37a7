"""The instructor's page and the worksheet page, through Streamlit's own test runner."""

import pytest
from streamlit.testing.v1 import AppTest

from core import lessons, presets
from core.lecture import PLAN, links, times
from core.misconceptions import MISCONCEPTIONS
from core.scenario import Scenario
from core.view import View
from core.worksheet import worksheet
from tests.harness import assert_sound, open_app, query, text
from ui.text import escaped

UNUSUAL = View(Scenario(model="deepseek-v3.2", gpu="h200-sxm", n_gpus=8, batch=33, context=20_001), "GiB", seed=7)


def open_instructor(view: View | None = None) -> AppTest:
    return open_app(view.to_query() if view else None, "pages/instructor.py")


def open_worksheet(view: View | None = None) -> AppTest:
    return open_app(view.to_query() if view else None, "pages/worksheet.py")


def test_the_plan_is_there_with_its_answers() -> None:
    at = open_instructor()
    assert_sound(at, charts=0)
    assert not at.info
    shown = text(at)
    for step, (start, end) in zip(PLAN, times(), strict=True):
        assert f"**{start}–{end}\u00a0min**" in shown
        for words in (step.line, step.ask, step.show, step.answer("GB")):
            assert words in shown
    assert times()[-1][1] == 15


def test_answers_follow_the_unit() -> None:
    at = open_instructor(UNUSUAL)
    assert query(at) == UNUSUAL.to_query()
    shown = text(at)
    assert all(step.answer("GiB") in shown for step in PLAN)


def test_ten_links_lead_to_the_views_of_the_plan() -> None:
    found = [(link.proto.page, link.proto.query_string) for link in open_instructor().get("page_link")]
    wanted = [("" if step.page == "home" else step.path(), link.partition("?")[2])
              for step, link in zip(PLAN, links(), strict=True)]  # fmt: skip
    for page, question in wanted:
        assert any(where.strip("/") in (page, "app") and asked.lstrip("?") == question for where, asked in found)


def test_addresses_to_copy() -> None:
    codes = [code.value for code in open_instructor().code]
    assert codes == list(links())


def test_misconceptions_are_expected_with_figures() -> None:
    shown = text(open_instructor())
    assert MISCONCEPTIONS["cache-is-small"].explain("GB") in shown
    assert MISCONCEPTIONS["ceiling-is-the-speed"].claim in shown


@pytest.mark.parametrize("view", [None, UNUSUAL], ids=["opening", "unusual"])
def test_the_sheet_without_and_with_its_key(view: View | None) -> None:
    at = open_worksheet(view)
    assert_sound(at, charts=0)
    assert not at.info
    asked = view or View(presets.OPENING)
    sheet = worksheet(asked.scenario, asked.seed, asked.unit)
    shown = text(at)
    assert escaped(sheet.title) in shown
    assert shown.count('aria-label="blank"') == len(sheet.blanks)
    assert "Answer key" not in shown
    blank = sheet.blanks["cache"]
    assert escaped(blank.arithmetic) not in shown
    at.toggle(key="reveal").set_value(True).run()
    shown = text(at)
    for blank in sheet.blanks.values():
        assert f"<b>{escaped(blank.text)}</b>" in shown
        assert escaped(blank.arithmetic) in shown
    assert query(at)["reveal"] == "1"


def test_another_scenario_and_another_variant_give_another_sheet() -> None:
    at = open_worksheet()
    first = text(at)
    at.number_input(key="seed").set_value(2).run()
    assert query(at)["seed"] == "2"
    second = text(at)
    at.select_slider(key="batch").set_value(64).run()
    assert len({first, second, text(at)}) == 3


@pytest.mark.parametrize("preset", [p for lesson in lessons.LESSONS for p in lesson.presets[1:3]], ids=lambda p: p.slug)
def test_a_sheet_for_every_kind_of_preset(preset: presets.Preset) -> None:
    at = open_worksheet(View(preset.scenario, reveal=True))
    assert_sound(at, charts=0)
    assert not at.info
