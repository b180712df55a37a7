"""The reality page: filters, sentences, own figures and what is wrong with them."""

import pytest
from streamlit.testing.v1 import AppTest

from core.measured import BYS, KINDS, Choice, own_point, points, select
from core.measured_report import above_rows, cache_term_sentence, own_sentences, what_is_seen
from core.scenario import Scenario
from core.view import View
from tests.harness import assert_sound, open_app, query, text

PAGE = "pages/reality.py"
OWN = Scenario(model="llama-2-7b", gpu="a100-80gb-sxm", batch=4, context=105)


def open_reality(scenario: Scenario | None = None) -> AppTest:
    return open_app(View(scenario).to_query() if scenario else None, PAGE)


def said(at: AppTest) -> str:
    return " ".join(text(at).split())


def add(at: AppTest, rate: str, *, engine: str = "", each: bool = False) -> AppTest:
    at.text_input(key="own_engine").set_value(engine)
    at.text_input(key="own_rate").set_value(rate)
    if each:
        at.segmented_control(key="own_each").set_value("each user")
    return at.button(key="own_add").click().run()


def test_it_opens_and_says_what_is_seen() -> None:
    at = open_reality(OWN)
    assert_sound(at, charts=3)
    assert query(at) == View(OWN).to_query()
    for sentence in (*what_is_seen(select(Choice())), cache_term_sentence()):
        assert sentence in said(at)
    assert len(at.dataframe[0].value) == len(select(Choice()))
    for row in above_rows()[1]:
        assert row[-1] in said(at)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_group(kind: str) -> None:
    at = open_reality()
    at.segmented_control(key="reality_kind").set_value(kind).run()
    for by in BYS:
        at.segmented_control(key="reality_by").set_value(by).run()
        assert_sound(at, charts=3)
    assert len(at.dataframe[0].value) == len(select(Choice(kind)))
    assert at.dataframe[0].value["link"].str.startswith("https://").all()


def test_filters_narrow_and_may_leave_nothing() -> None:
    at = open_reality()
    at.multiselect(key="reality_Device_decode").set_value(["RTX 4090"]).run()
    at.toggle(key="reality_one").set_value(True).run()
    assert_sound(at, charts=3)
    chosen = select(Choice(devices=frozenset({"RTX 4090"}), one_gpu=True))
    assert len(at.dataframe[0].value) == len(chosen)
    assert what_is_seen(chosen)[0] in said(at)
    at.multiselect(key="reality_Engine_decode").set_value(["gpt-fast"]).run()
    assert_sound(at, charts=3)
    assert "No measurement is left: choose more." in said(at)


def test_ones_own_figure() -> None:
    at = add(open_reality(OWN), "104.9 ± 0.3", engine="*mine* $x$", each=True)
    assert_sound(at, charts=3)
    expected = own_point(OWN, tokens_per_s=4 * 104.9, engine="*mine* $x$")
    assert " ".join(own_sentences(expected)) in said(at)
    assert query(at) == View(OWN).to_query()
    spec = at.get("plotly_chart")[0].proto.spec
    assert '"yours"' in spec
    at.segmented_control(key="reality_kind").set_value("prefill").run()
    assert '"yours"' not in at.get("plotly_chart")[0].proto.spec
    at.button(key="own_remove_0").click().run()
    assert_sound(at, charts=3)
    assert " ".join(own_sentences(expected)) not in said(at)


def test_ones_own_users_and_context() -> None:
    at = open_reality(OWN)
    at.number_input(key="own_users").set_value(2)
    at.number_input(key="own_context").set_value(4096)
    add(at, "200")
    expected = own_point(OWN.replace(batch=2, context=4096), tokens_per_s=200)
    assert " ".join(own_sentences(expected)) in said(at)


@pytest.mark.parametrize("rate", ["", "fast", "0", "-1"])
def test_faults_are_one_sentence(rate: str) -> None:
    at = add(open_reality(), rate)
    assert_sound(at, charts=3)
    (warning,) = at.warning
    assert warning.value.replace("\\", "").startswith("Tokens per second must be a number above 0")
    assert '"yours"' not in at.get("plotly_chart")[0].proto.spec
    add(at, "50")
    assert not at.warning
    assert '"yours"' in at.get("plotly_chart")[0].proto.spec


def test_own_figures_are_limited_and_stay_through_a_visit_elsewhere() -> None:
    at = open_reality()
    for number in range(13):
        add(at, str(number + 1))
    (warning,) = at.warning
    assert "all there is room for" in warning.value
    at.switch_page("pages/compare.py").run()
    at.switch_page(PAGE).run()
    assert_sound(at, charts=3)
    assert '"yours"' in at.get("plotly_chart")[0].proto.spec


def test_own_figures_of_an_own_model() -> None:
    from core.catalog import models

    own = models()["llama-3-8b"].model_copy(update={"slug": "mine", "name": "Mine"})
    at = add(open_reality(OWN.replace(model=own)), "100")
    assert_sound(at, charts=3)
    assert "Mine, 4 users" in said(at)


def test_lecture_view_keeps_pictures_and_sentences() -> None:
    at = open_app(View(OWN, view="lecture").to_query(), PAGE)
    assert_sound(at, charts=2)
    assert what_is_seen(points())[0].split(":")[0].split()[1] in said(at)
