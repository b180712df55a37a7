"""The frame of a lesson page: predict, presets, cards, takeaway, next question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core import lessons
from core.derivation import Derivation
from core.lessons import Lesson
from core.misconceptions import MISCONCEPTIONS, Misconception
from core.predict import Asked, ask
from core.units import UNITS
from core.verdict import setting
from core.view import View
from ui import blocks, controls, shell
from ui.controls import Control
from ui.text import plain


def open_lesson(slug: str) -> tuple[View, Lesson]:
    """First call of a lesson page."""
    return shell.open_page(slug), lessons.lesson(slug)


def control_row(view: View, *shown: Control, extra: Sequence[Control] = ()) -> None:
    """A lesson's three controls, and unless projected everything else under "More assumptions", and the unit."""
    if view.is_lecture:
        shell.hide(["unit"])
        controls.row(view, *shown)
        return
    controls.row(view, *shown, controls.more(*shown, extra=extra), controls.unit, widths=(3, 3, 3, 2, 1.5))


def predict(view: View, lesson: Lesson, *, load: str | None = None, says_fit: bool = True) -> None:
    """What is looked at, with the pin; the question, the claims, and once chosen or with answers on, what is true.

    A projector has room for what is looked at; see `blocks.looked_at`.
    """
    if view.is_lecture:
        shell.hide(["reveal"])
        blocks.looked_at(view, load=load, says_fit=says_fit)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(plain(setting(view.scenario, load)))
        blocks.pin_row(view)
    asked = ask(lesson.prediction, view)
    with st.container(border=True):
        if asked is None:
            st.markdown(plain(lesson.prediction.nothing(view)))
            return
        question, answer = st.columns([3, 4])
        asked_of = hash(view.replace(unit=UNITS[0], reveal=False, view="page", pins=()))
        with question:
            # A new scenario is a new question, with a fresh radio: the answer to the old one says nothing about it.
            choice = st.radio(
                f"**Predict:** {plain(asked.question)}",
                asked.claims,
                index=None,
                key=f"predict_{lesson.page}_{asked_of}",
                on_change=shell.touch,
            )
            st.toggle("Show all answers", key=shell.live("reveal"), on_change=shell.touch)
        with answer:
            if choice is None and not view.reveal:
                st.caption("Choose first, then see. Nothing is graded or stored.")
            else:
                _reveal(asked, choice, view)


def _reveal(asked: Asked, choice: str | None, view: View) -> None:
    right = asked.claims[asked.right]
    if choice == right:
        opening = "As you predicted:"
    elif choice is None:
        opening = "The formulas say:"
    else:
        opening = "Not quite:"
    st.markdown(f"{opening} **{plain(right)}**")
    blocks.table(asked.header, asked.rows)
    st.caption(plain(asked.why))


def fold(view: View, lesson: Lesson, derivations: Sequence[Derivation], picked: Sequence[str] = ()) -> None:
    """The end of the page in lecture view; see `blocks.fold`."""
    blocks.fold(view, derivations, picked, partial(blocks.presets, lesson.presets))


def presets(lesson: Lesson) -> None:
    """Scenarios to try."""
    with st.container(horizontal=True):
        blocks.presets(lesson.presets)


def close(view: View, lesson: Lesson) -> None:
    """Files and commands, cards, takeaway, and the next question, which carries the scenario along."""
    blocks.take_away(view)
    st.header("True or false?", anchor=False)
    for slug in lesson.misconceptions:
        _card(view, MISCONCEPTIONS[slug])
    st.header("To take away", anchor=False)
    st.markdown(plain(lesson.takeaway))
    following = lessons.page(lesson.next_page)
    st.page_link(
        following.file,
        label=f"Next: {following.question}",
        icon=":material/arrow_forward:",
        query_params=view.to_query(),
    )
    blocks.reading(lessons.READING)


def _card(view: View, card: Misconception) -> None:
    with st.container(border=True):
        claim, test = st.columns([5, 2], vertical_alignment="center")
        with claim:
            choice = st.radio(
                plain(card.claim),
                ("true", "false"),
                index=None,
                horizontal=True,
                key=f"card_{card.slug}",
                on_change=shell.touch,
            )
        with test:
            st.button(
                f"Test it: {card.preset.title}",
                key=f"test_{card.slug}",
                on_click=shell.show_scenario,
                args=(card.preset.scenario,),
                help=card.preset.notice,
                width="stretch",
            )
        if choice is not None or view.reveal:
            truth = "True." if card.holds() else "False."
            st.markdown(f"**{truth}** {plain(card.explain(view.unit))}")
