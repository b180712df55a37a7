"""Files and lines to carry off, on every page: CSV of what its pictures show, JSON, vLLM's flags, the command."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from core import lessons
from core.evaluate import evaluate
from core.exact import users_curve
from core.report import numbers_table
from core.scenario import Scenario
from core.takeaway import as_json, command_line, notebook_lines, vllm_flags
from core.view import View
from tests.harness import open_app, text
from ui import blocks

PAGES = ["home", *(lesson.page for lesson in lessons.LESSONS)]
CROWD = View(Scenario(batch=48, context=5000, cache_format="fp8"), "GiB")
EXPERTS = View(Scenario(model="mixtral-8x7b", n_gpus=2, batch=48))

Files = dict[str, Callable[[], str]]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    """File name -> what makes it, for every download button drawn since; none is made before."""
    found: Files = {}
    draw = streamlit.download_button

    def watched(label: str, data: Any, **options: Any) -> bool:
        assert callable(data), f"{label} is made at every rerun"
        assert options["on_click"] == "ignore", f"{label} costs a rerun"
        found[options["file_name"]] = data
        return draw(label, data, **options)

    monkeypatch.setattr(streamlit, "download_button", watched)
    return found


def open_page(slug: str, view: View) -> AppTest:
    return open_app(view.to_query(), None if slug == "home" else lessons.page(slug).file)


def open_box(at: AppTest) -> AppTest:
    at.session_state["take_away"] = True
    return at.run()


def parsed(content: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content)))


@pytest.mark.parametrize("slug", PAGES)
def test_every_page_has_its_pictures_as_csv(files: Files, slug: str) -> None:
    at = open_page(slug, EXPERTS if slug == "experts" else CROWD)
    assert not at.exception
    assert files
    for name, make in files.items():
        assert name.endswith(".csv")
        header, *rows = parsed(make())
        assert rows
        assert all(len(row) == len(header) for row in rows)


def test_the_home_page_s_csv_is_exact(files: Files) -> None:
    open_page("home", CROWD)
    result = evaluate(CROWD.scenario)
    figures = dict(parsed(files["how-big-is-the-cache.csv"]())[1:])
    assert figures == {
        name: "" if value is None else str(value) for name, value in numbers_table(result, "GiB", exact=True)[1]
    }
    header, rows = users_curve(CROWD.scenario)
    curve = parsed(files["ceiling-against-users.csv"]())
    assert curve == [list(header), *([str(cell) if cell is not None else "" for cell in row] for row in rows)]


@pytest.mark.parametrize("slug", PAGES)
def test_the_box_holds_json_and_lines(files: Files, slug: str) -> None:
    at = open_page(slug, CROWD)
    assert not at.code
    assert "how-big-is-the-cache.json" not in files
    open_box(at)
    assert not at.exception
    result = evaluate(CROWD.scenario)
    assert json.loads(files["how-big-is-the-cache.json"]()) == as_json(result, "GiB")
    line = vllm_flags(result, "GiB")
    assert [block.value for block in at.code] == [
        line.command,
        command_line(CROWD.scenario, "GiB"),
        notebook_lines(CROWD.scenario),
    ]
    assert all(sentence in text(at) for sentence in line.differs)


def test_the_lines_follow_the_controls() -> None:
    at = open_box(open_page("home", CROWD))
    at.select_slider(key="batch").set_value(8).run()
    scenario = CROWD.scenario.replace(batch=8)
    assert [block.value for block in at.code][:2] == [
        vllm_flags(evaluate(scenario)).command,
        command_line(scenario, "GiB"),
    ]


def test_a_scenario_too_long_for_a_link_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "can_be_linked", lambda _scenario: False)
    at = open_box(open_page("home", CROWD))
    assert len(at.code) == 1
    assert "too long for a link" in text(at)


def saves(at: AppTest) -> list[dict[str, Any]]:
    """What the button over each picture saves."""
    configs = [json.loads(chart.proto.config) for chart in at.get("plotly_chart")]
    assert all(config["modeBarButtons"] == [["toImage"]] for config in configs)
    return [config["toImageButtonOptions"] for config in configs]


@pytest.mark.parametrize("slug", PAGES)
def test_every_picture_can_be_saved_under_a_name_of_its_own(slug: str) -> None:
    found = saves(open_page(slug, EXPERTS if slug == "experts" else CROWD))
    names = [save["filename"] for save in found]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() for name in names)
    assert {save["format"] for save in found} == {"svg"}


def test_the_reader_chooses_png() -> None:
    at = open_box(open_page("home", CROWD))
    at.segmented_control(key="images").set_value("PNG").run()
    assert not at.exception
    assert [save["format"] for save in saves(at)] == ["png", "png"]
