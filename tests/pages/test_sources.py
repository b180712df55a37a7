"""The sources page, and the scenario's way between pages."""

from core.scenario import Scenario
from core.view import View
from tests.harness import assert_sound, open_app, query


def test_a_cold_link_to_another_page_keeps_the_scenario() -> None:
    asked = View(Scenario(model="qwen3-32b", batch=5, context=999), "GiB").to_query()
    at = open_app(asked, "pages/sources.py")
    assert_sound(at, charts=0)
    assert query(at) == asked
    assert len(at.dataframe) == 2


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
