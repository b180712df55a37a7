"""The story on the home page: ten scenarios in order, and what to notice in the one that is open."""

from __future__ import annotations

import streamlit as st

from core.presets import STORY, story_index
from core.view import View
from ui import keys, shell
from ui.text import plain

_LAST = "_story"  # the step opened last: its line stays on screen while its scenario is played with


def _open(number: int) -> None:
    st.session_state[_LAST] = number
    shell.show_scenario(STORY[number].scenario)


def buttons() -> None:
    """The ten steps, their numbers being their keys."""
    for number, step in enumerate(STORY):
        st.button(
            f"{number + 1} {plain(step.title)}",
            key=f"preset_{step.slug}",
            shortcut=keys.of_preset(number),
            on_click=_open,
            args=(number,),
        )


def story(view: View) -> None:
    """Ten steps to press, their numbers being their keys, and beneath them the line of the one that is open."""
    state = st.session_state
    now = story_index(view.scenario)
    if now is not None:
        state[_LAST] = now
    last = state.get(_LAST)
    st.html(_style(now))
    with st.container(horizontal=True, gap="xsmall", key="story"):
        buttons()
    if last is None:
        st.markdown("Ten scenarios in order, each with one thing to notice.")
        return
    step = STORY[last]
    away = "" if now == last else f" (changed since; {last + 1} brings it back)"
    st.markdown(f"**{last + 1}\\. {plain(step.title)}**{away}. {plain(step.line(view.unit))}")


def _style(now: int | None) -> str:
    """The buttons carry their numbers already; the open one is framed."""
    frame = ""
    if now is not None:
        frame = (
            f".st-key-preset_{STORY[now].slug} button {{ box-shadow: inset 0 0 0 2px currentColor; font-weight: 600 }}"
        )
    return f"<style>.st-key-story kbd {{ display: none; }} {frame}</style>"
