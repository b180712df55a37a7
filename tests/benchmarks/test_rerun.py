"""The walk over the pages, and what is made of its times."""

import pytest
from streamlit.testing.v1 import AppTest

from benchmarks.floor import Offer, Took
from benchmarks.rerun import LINK, STEPS, Step, Timed, Walk, measure, summary
from core import lessons
from core.scenario import Scenario

OFFERS = {
    "batch": Offer("select_slider", (1, 2, 4)),
    "kinds": Offer("multiselect", ("a", "b", "c", "d", "e")),
    "preset_a": Offer("button", ()),
    "preset_b": Offer("button", ()),
}


def session(**state: object) -> AppTest:
    at = AppTest.from_string("pass")
    for key, value in state.items():
        at.session_state[key] = value
    return at


def test_every_page_has_steps():
    assert set(STEPS) == {page.slug for page in lessons.PAGES}
    assert all(STEPS.values())


def test_a_step_changes_what_is_shown():
    walk = Walk(("batch",), seed=1)
    taken = [walk.step(session(batch=2), OFFERS) for _ in range(20)]
    assert {step.value for step in taken} == {1, 4}
    assert {(step.key, step.command) for step in taken} == {("batch", "select_slider")}


def test_steps_come_in_order_and_pass_over_what_is_not_drawn():
    walk = Walk(("batch", "context", "preset_*"), seed=1)
    at = session(batch=2)
    assert [walk.step(at, OFFERS).name for _ in range(4)] == ["batch", "preset_*", "batch", "preset_*"]


def test_a_pattern_means_any_of_its_widgets():
    walk = Walk(("preset_*",), seed=1)
    at = session()
    assert {walk.step(at, OFFERS).key for _ in range(20)} == {"preset_a", "preset_b"}


def test_a_choice_of_several_keeps_the_order_of_the_menu():
    walk = Walk(("kinds",), seed=1)
    at = session(kinds=[])
    picked = [walk.step(at, OFFERS).value for _ in range(50)]
    assert {len(values) for values in picked} == {1, 2, 3}
    assert all(values == sorted(set(values)) for values in picked)


def test_a_link_opens_another_scenario():
    step = Walk((LINK,), seed=1).step(session(), {})
    assert step.command == LINK
    assert Scenario.from_query(step.value)[1] == []


def test_a_page_that_offers_nothing_is_an_error():
    with pytest.raises(RuntimeError, match="offers none of"):
        Walk(("reserve",), seed=1).step(session(), OFFERS)


def test_only_the_first_time_is_new():
    walk = Walk(("batch",), seed=1)
    assert walk.is_new(session(batch=1), OFFERS)
    assert walk.is_new(session(batch=2), OFFERS)
    assert not walk.is_new(session(batch=1), OFFERS)
    assert not walk.is_new(session(batch=1, other=5), OFFERS)  # not drawn


def test_the_ratio_is_of_page_and_floor_of_the_same_step():
    step = Step("batch", "batch", "select_slider", 1)
    times = [
        Timed(step, page=Took(0.010, 0.02), floor=Took(0.005, 0.02)),
        Timed(step, page=Took(0.300, 0.90), floor=Took(0.100, 0.30)),
        Timed(step, page=Took(0.040, 0.05), floor=Took(0.010, 0.05)),
    ]
    found = summary(times)
    assert (found["ratio"], found["ratio_by_the_clock"], found["reruns"]) == (3.0, 1.0, 3)
    assert (found["page"]["median_ms"], found["floor"]["median_ms"]) == (40.0, 10.0)


def test_a_page_is_measured_against_a_floor_that_draws_the_same():
    times = measure(lessons.page("bring-your-own"), 2, 4, seed=3)  # opened, pasted, read; then two steps
    assert len(times) == 2
    assert all(t.page.cpu_s > 0 and t.floor.cpu_s > 0 for t in times)
    assert not any(t.step.name == "paste" for t in times)
