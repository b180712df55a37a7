"""The story on the home page: ten scenarios in order, and what to notice in the one that is open."""

from __future__ import annotations

import streamlit as st

from core.presets import STORY, story_index
from core.view import View
from ui import keys, shell
from ui.text import escaped, plain

_LAST = "_story"  # the step opened last: its line stays on screen while its scenario is played with


def _open(number: int) -> None:
    st.session_state[_LAST] = number
    shell.show_scenario(STORY[number].scenario)


def is_open(view: View) -> bool:
    """Whether the scenario is a step of the story."""
    return story_index(view.scenario) is not None


def _last(view: View) -> int | None:
    """The step that is open or was opened last; None before the first."""
    now = story_index(view.scenario)
    if now is not None:
        st.session_state[_LAST] = now
    return st.session_state.get(_LAST)


def _away(view: View, last: int) -> str:
    return "" if story_index(view.scenario) == last else f" (changed since; {last + 1} brings it back)"


def buttons() -> None:
    """The ten steps, their numbers being their keys."""
    for number, (step, key) in enumerate(zip(STORY, keys.of_presets(len(STORY)), strict=True)):
        st.button(
            f"{number + 1} {plain(step.title)}",
            key=f"preset_{step.slug}",
            shortcut=key,
            on_click=_open,
            args=(number,),
        )


def next_button(view: View) -> None:
    """One button that leads through the story."""
    last = _last(view)
    number = 0 if last is None else (last + 1) % len(STORY)
    words = "Next step" if number else "Start the story"
    st.button(
        words,
        key="story_next",
        type="tertiary",
        icon=":material/auto_stories:",
        on_click=_open,
        args=(number,),
        help=f"{number + 1} of {len(STORY)}: {plain(STORY[number].title)}",
    )


def note(view: View) -> None:
    """What to notice in the step that is open, near the top; projected, only while the scenario is that step."""
    last = _last(view)
    if last is None or (view.is_lecture and not is_open(view)):
        return
    step = STORY[last]
    small = "font-size: .9rem; " if view.is_lecture else "border-left: 4px solid currentColor; padding-left: .7rem; "
    words = f"<b>{last + 1}. {escaped(step.title)}</b>{_away(view, last)}. {escaped(step.line(view.unit))}"
    st.html(f'<div role="status" class="noticed" style="{small}line-height: 1.25">{words}</div>')


def story(view: View) -> None:
    """Ten steps to press, their numbers being their keys, and beneath them the line of the one that is open."""
    last = _last(view)
    st.html(_style(story_index(view.scenario)))
    with st.container(horizontal=True, gap="xsmall", key="story"):
        buttons()
    if last is None:
        st.markdown("Ten scenarios in order, each with one thing to notice.")
        return
    step = STORY[last]
    st.markdown(f"**{last + 1}\\. {plain(step.title)}**{_away(view, last)}. {plain(step.line(view.unit))}")


def _style(now: int | None) -> str:
    """The buttons carry their numbers already; the open one is framed."""
    frame = ""
    if now is not None:
        frame = (
            f".st-key-preset_{STORY[now].slug} button {{ box-shadow: inset 0 0 0 2px currentColor; font-weight: 600 }}"
        )
    return f"<style>.st-key-story kbd {{ display: none; }} {frame}</style>"
