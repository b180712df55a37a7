"""The sources page, and the scenario's way between pages."""

from core.catalog import gpus, models
from core.formulas import chapters, symbols
from core.lessons import NOT_MODELLED
from core.scenario import Scenario
from core.view import View
from core.wrong_number import issue_text
from tests.harness import assert_sound, open_app, query, text
from ui.text import escaped


def test_a_cold_link_to_another_page_keeps_the_scenario() -> None:
    asked = View(Scenario(model="qwen3-32b", batch=5, context=999), "GiB").to_query()
    at = open_app(asked, "pages/sources.py")
    assert_sound(at, charts=0)
    assert query(at) == asked
    assert len(at.dataframe) == 2


def test_tabs_and_their_counts() -> None:
    at = open_app(page="pages/sources.py")
    labels = [tab.label for tab in at.tabs]
    assert f"{len(models())} models" in labels
    assert {"Symbols", "Formulas", "What is not modelled", "A wrong number?"} <= set(labels)
    for grid, catalog in zip(at.dataframe, (models(), gpus()), strict=True):
        assert len(grid.value) == len(catalog)
    assert {"released", "source", "confidence"} <= set(at.dataframe[0].value.columns)
    assert {"year", "sources", "confidence"} <= set(at.dataframe[1].value.columns)
    assert all(at.dataframe[0].value["source"])
    assert all(at.dataframe[1].value["sources"])
    for title, _ in NOT_MODELLED:
        assert title in text(at)


def test_symbols_and_formulas_are_the_code_s() -> None:
    at = open_app(page="pages/sources.py")
    for chapter in chapters():
        at.session_state[f"formulas_{chapter.name}"] = True
    at.run()
    assert_sound(at, charts=0)
    shown = text(at)
    for row in symbols()[1]:
        assert row[1] in shown
    for chapter in chapters():
        for formula in chapter.formulas:
            assert escaped(formula.signature).replace("\\", "") in shown
            assert escaped(formula.paragraphs[0]) in shown


def test_a_report_carries_the_present_scenario() -> None:
    s = Scenario(model="qwen3-32b", batch=5)
    at = open_app(View(s, "GiB").to_query(), "pages/sources.py")
    assert at.code[0].value == issue_text(s, "GiB")


def test_the_scenario_survives_pages_in_one_session() -> None:
    at = open_app()
    at.select_slider(key="batch").set_value(128).run()
    at.selectbox(key="model").set_value("qwen3-32b").run()
    before = query(at)
    at.switch_page("pages/sources.py").run()
    assert query(at) == before
    at.switch_page("app.py").run()
    assert_sound(at, charts=2)
    assert query(at) == before
    assert at.select_slider(key="batch").value == 128
