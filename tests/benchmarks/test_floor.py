"""A recording draws the same page again, and knows what its widgets offer."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from benchmarks.floor import STOPWATCH, Recording, recorded
from benchmarks.rerun import elements
from tests.harness import ROOT


def page():
    import streamlit as st

    left, right = st.columns(2)
    tab, other = st.tabs(["one", "two"])
    with left:
        size = st.select_slider("Size", [1, 10, 100], format_func=lambda n: f"{n} kB", key="size")
    right.markdown(f"Size {size}")
    with tab:
        st.slider("Share", 0, 3, key="share")
        st.slider("Part", 0.0, 1.0, key="part")
    with other:
        st.toggle("On", key="on")
        st.button("Go", key="go")
        st.selectbox("Rest", ["a", "b"], key="rest", disabled=True)
    box = st.expander("More", key="more", on_change="rerun")
    if box.open:
        box.multiselect("Kinds", ["x", "y"], key="kinds")
    with st.form("form"):
        st.text_input("Name")
        st.form_submit_button("Send")


def record(at: AppTest) -> Recording:
    with recorded() as recording:
        at.run()
    assert not at.exception
    return recording


def replay(recording: Recording) -> AppTest:
    at = AppTest.from_function(page)
    with STOPWATCH.running(ROOT / "app.py", recording.replay):
        at.run()
    assert not at.exception
    return at


def test_a_replay_draws_what_the_page_drew():
    at = AppTest.from_function(page)
    drawn = replay(record(at))
    assert len(elements(at)) > 15
    assert elements(drawn) == elements(at)


def test_another_page_is_told_apart():
    at = AppTest.from_function(page)
    drawn = replay(record(at))
    at.select_slider(key="size").set_value(10).run()
    assert elements(drawn) != elements(at)


def test_offers_are_what_the_widgets_take():
    at = AppTest.from_function(page)
    at.session_state["more"] = True
    offers = record(at).offers
    assert {key: (offer.command, list(offer.values)) for key, offer in offers.items() if key != "part"} == {
        "size": ("select_slider", [1, 10, 100]),
        "share": ("slider", [0, 1, 2, 3]),
        "on": ("toggle", [False, True]),
        "go": ("button", []),
        "more": ("expander", [False, True]),
        "kinds": ("multiselect", ["x", "y"]),
    }
    assert (min(offers["part"].values), max(offers["part"].values)) == (0.0, 1.0)


def test_the_stopwatch_tells_work_from_waiting():
    at = AppTest.from_string("pass")
    with STOPWATCH.running(ROOT / "app.py", lambda _: time.sleep(0.2)):
        at.run()
    assert STOPWATCH.took.wall_s == pytest.approx(0.2, abs=0.15)
    assert STOPWATCH.took.wall_s >= 0.2
    assert STOPWATCH.took.cpu_s < 0.1
