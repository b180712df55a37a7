"""The compare page: every choice, nothing to show, prices of one's own, pins."""

import pytest
from streamlit.testing.v1 import AppTest

from core.catalog import gpus
from core.compare import AT_MOST_STOPS, OVERS, Choice, compare
from core.compare_report import summary
from core.pinned import pin_label
from core.pins import PINS_MAX, pins_query
from core.prices import Edit
from core.rows import COUNTS
from core.scenario import Scenario
from core.view import View
from tests.harness import assert_sound, open_app, query, text

PAGE = "pages/compare.py"
HUGE = Scenario(model="gpt-3-175b", gpu="t4", n_gpus=1, context=2**24)


def open_compare(scenario: Scenario | None = None) -> AppTest:
    return open_app(View(scenario).to_query() if scenario else None, PAGE)


def pins(at: AppTest) -> tuple[Scenario, ...]:
    """The pins, as the link carries them."""
    view, notes = View.from_query(query(at), View(Scenario()))
    assert not notes
    return view.pins


def said(at: AppTest) -> str:
    return " ".join(text(at).split())


def choose(at: AppTest, over: str) -> AppTest:
    return at.segmented_control(key="compare_over").set_value(over).run()


def test_it_opens_and_says_what_is_seen() -> None:
    s = Scenario(model="llama-3-70b", context=4096)
    at = open_compare(s)
    assert_sound(at, charts=1)
    assert query(at) == View(s).to_query()
    for sentence in summary(compare(s)):
        assert sentence in said(at)
    assert len(at.dataframe) == 1
    assert len(at.dataframe[0].value) == len(compare(s).rows)


@pytest.mark.parametrize("over", OVERS)
def test_every_choice(over: str) -> None:
    s = Scenario()
    at = choose(open_compare(s), over)
    for at_most in AT_MOST_STOPS:
        at.selectbox(key="compare_at_most").set_value(at_most).run()
        found = compare(s, Choice(over=over, at_most=at_most or None))
        assert_sound(at, charts=1)
        assert len(at.dataframe[0].value) == len(found.rows)
        assert summary(found)[0] in said(at)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("over", ["gpus", "models"])
def test_every_way_to_count(over: str, count: str) -> None:
    at = choose(open_compare(), over)
    at.selectbox(key="compare_count").set_value(count).run()
    assert_sound(at, charts=1)


def test_kinds_narrow_the_rows() -> None:
    at = open_compare(Scenario())
    at.multiselect(key="compare_only_gpus").set_value(["AMD", "datacenter"]).run()
    assert_sound(at, charts=1)
    shown = at.dataframe[0].value["GPU"]
    assert len(shown) == 6
    assert all(name.startswith("AMD Instinct") for name in shown)
    choose(at, "models")
    at.multiselect(key="compare_only_models").set_value(["mixture of experts"]).run()
    assert_sound(at, charts=1)
    choose(at, "all")
    at.multiselect(key="compare_only_all").set_value(["Llama 3", "edge"]).run()
    assert_sound(at, charts=1)  # few enough for a picture of speeds
    assert "Yours" not in said(at)


def test_nothing_left_is_one_sentence() -> None:
    at = open_compare(Scenario(model="llama-3.1-405b"))
    at.multiselect(key="compare_only_gpus").set_value(["Intel", "consumer"]).run()
    assert_sound(at, charts=0)
    assert "Nothing of the chosen kinds holds 8,192 tokens on at most 8 GPUs" in said(at)
    assert len(at.dataframe[0].value) == 0


def test_what_fits_nowhere_is_shown_as_such() -> None:
    at = open_compare(HUGE)
    assert_sound(at, charts=0)
    assert "Nothing holds 16,777,216 tokens on at most 8 GPUs" in said(at)
    at.selectbox(key="compare_at_most").set_value(0).run()
    assert not at.exception
    for over in OVERS:
        choose(at, over)
        assert not at.exception
        assert "nan" not in said(at).lower().split()


def test_no_price_known_for_what_is_counted_by_price() -> None:
    at = open_compare(Scenario(gpu="t4"))
    choose(at, "models")
    at.selectbox(key="compare_count").set_value("dollar").run()
    assert_sound(at, charts=0)
    assert "No row of this choice has the figure that tokens are counted by." in said(at)
    at.number_input(key="price_t4").set_value(0.4).run()
    assert_sound(at, charts=1)


def test_prices_and_power_of_ones_own() -> None:
    s = Scenario()
    at = open_compare(s)
    assert "$1.99 to $5.00 per GPU-hour in 2026-05" in said(at)
    assert at.number_input(key="price_h100-sxm").value is None
    at.number_input(key="price_h100-sxm").set_value(0.01).run()
    assert_sound(at, charts=1)
    edited = (("h100-sxm", Edit(0.01)),)
    for sentence in summary(compare(s, Choice(), edited)):
        assert sentence in said(at)
    assert "at your price" in said(at)
    row = at.dataframe[0].value.set_index("GPU").loc[gpus()["h100-sxm"].name]
    assert row["price dated"] == "yours"
    assert row["$ per GPU-hour, low"] == row["$ per GPU-hour, high"] == 0.01

    at.number_input(key="power_h100-sxm").set_value(1.0).run()
    assert "Least energy, by data-sheet power: H100 SXM5" in said(at)

    at.selectbox(key="gpu").set_value("t4").run()  # another device has fields of its own
    assert at.number_input(key="price_t4").value is None
    assert "the catalog has no price" in said(at)
    at.selectbox(key="gpu").set_value("h100-sxm").run()
    assert at.number_input(key="price_h100-sxm").value == 0.01
    at.number_input(key="price_h100-sxm").set_value(None).run()
    at.number_input(key="power_h100-sxm").set_value(None).run()
    assert_sound(at, charts=1)
    assert summary(compare(s))[-1] in said(at)
    assert "at your price" not in said(at)


def test_prices_survive_another_page() -> None:
    at = open_compare()
    at.number_input(key="price_h100-sxm").set_value(0.5).run()
    at.switch_page("app.py").run()
    at.switch_page(PAGE).run()
    assert_sound(at, charts=1)
    assert at.number_input(key="price_h100-sxm").value == 0.5
    assert at.dataframe[0].value.set_index("GPU").loc[gpus()["h100-sxm"].name, "price dated"] == "yours"


def test_four_pins_a_fifth_and_one_away() -> None:
    at = open_compare(Scenario())
    names = ["llama-3-8b", "llama-3-70b", "gemma-3-27b", "deepseek-v3", "mixtral-8x7b"]
    for number, name in enumerate(names[:PINS_MAX]):
        at.selectbox(key="model").set_value(name).run()
        at.button(key="pin").click().run()
        assert_sound(at, charts=3)
        assert len([b for b in at.button if b.key and b.key.startswith("unpin_")]) == number + 1
        assert not at.info
    at.selectbox(key="model").set_value(names[-1]).run()
    at.button(key="pin").click().run()
    assert_sound(at, charts=3)
    assert [info.value.replace("\\", "") for info in at.info] == [
        "4 scenarios are pinned, which is all there is room for: take one away first."
    ]
    at.button(key="unpin_1").click().run()
    held = pins(at)
    assert [s.released_model.slug for s in held] == ["llama-3-8b", "gemma-3-27b", "deepseek-v3"]
    assert not at.info
    at.button(key="pin").click().run()
    assert [s.released_model.slug for s in pins(at)][-1] == "mixtral-8x7b"
    for _ in range(PINS_MAX):
        at.button(key="unpin_0").click().run()
    assert_sound(at, charts=1)
    assert pins(at) == ()


def test_the_same_scenario_is_pinned_once() -> None:
    s = Scenario(batch=7)
    at = open_compare(s)
    at.button(key="pin").click().run()
    at.button(key="pin").click().run()
    (info,) = at.info
    assert info.value.replace("\\", "") == f"Already pinned: {pin_label(s)}."
    assert pins(at) == (s,)


def test_pins_travel_in_the_link() -> None:
    s = Scenario(model="qwen3-32b", context=999, weight_format="q4_k_m")
    at = open_compare(s)
    at.button(key="pin").click().run()
    assert query(at) == View(s, pins=(s,)).to_query()
    at.switch_page("app.py").run()
    at.switch_page(PAGE).run()
    assert_sound(at, charts=3)
    assert_sound(open_app(query(at), PAGE), charts=3)


def test_pins_that_cannot_be_read_are_left_out_and_said() -> None:
    good = pins_query((Scenario(batch=7),))["pins"]
    at = open_app(
        View(Scenario()).to_query() | {"pins": f"{good}~nonsense~{good.replace('llama-3-8b', 'no-model')}"}, PAGE
    )
    assert_sound(at, charts=3)
    (info,) = at.info
    assert "Pin 2" in info.value
    assert "Pin 3" in info.value
    assert pins(at) == (Scenario(batch=7),)


def test_a_stale_session_does_no_harm() -> None:
    """Keys that are missing or of a device that is gone."""
    at = open_compare()
    at.session_state["_edits"] = {"no-such-device": Edit(1.0, 2.0)}
    at.run()
    assert_sound(at, charts=1)
