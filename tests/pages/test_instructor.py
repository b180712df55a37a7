"""The instructor's page and the worksheet page, through Streamlit's own test runner."""

import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from core import lessons, presets
from core.lecture import PLAN, Step, links, times
from core.misconceptions import MISCONCEPTIONS
from core.scenario import Scenario
from core.units import UNITS, Unit
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


def on_screen(at: AppTest) -> str:
    """What a page shows in words and on its pictures, without its markup."""
    words = [re.sub(r"<style>.*?</style>|<[^>]*>", " ", text(at), flags=re.DOTALL)]
    for chart in at.get("plotly_chart"):
        spec = json.loads(chart.proto.spec)
        words += [note["text"] for note in spec["layout"].get("annotations", [])]
        words += [str(said) for trace in spec["data"] for said in trace.get("text") or ()]
    return " ".join(words)


def figures(words: str) -> set[str]:
    """The numbers of a text; those within a name (SXM5) and the 16 bits of a format are none."""
    return set(re.findall(r"(?<!\w)\d[\d,]*(?:\.\d+)?", words.replace("16 bits", "")))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("step", PLAN, ids=lambda step: step.page)
def test_every_figure_of_an_answer_is_on_the_screen(step: Step, unit: Unit) -> None:
    """In lecture view, at the step's link; of the last step, after the key that it names as well."""
    at = open_app(step.query(unit), None if step.page == "home" else lessons.page(step.page).file)
    assert_sound(at, charts=len(at.get("plotly_chart")))
    shown = on_screen(at)
    crowd = presets.DRAFT_CROWD
    if crowd.title in step.show:
        at.button(key=f"preset_{crowd.slug}").click().run()
        shown += on_screen(at)
    said = figures(step.answer(unit))
    assert len(said) >= 3
    assert said <= figures(shown), f"not on the screen: {said - figures(shown)}"


def test_what_is_worth_knowing_is_so() -> None:
    shown = text(open_instructor())
    assert "Step 4 opens with a pin" in shown
    assert [number for number, step in enumerate(PLAN, start=1) if step.view.pins] == [4]
    assert "press L for page view" in shown
    assert "follows the menu, not the plan" in shown
    order = [lessons.page(step.page) for step in PLAN]
    assert order != sorted(order, key=lessons.PAGES.index), "else Next would do"


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
