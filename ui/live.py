"""The live page's own widgets: what is dragged, and what the popover says about the picture.

The choice is held in the session under "live", not in the link.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.live import LABELS, Quantity, Reel, live_alt, live_exact, live_rows, quantities
from core.view import View
from ui import blocks, charts, controls, shell
from ui.text import plain

_KEY = "live"


def live(view: View) -> None:
    """What the picture's slider drags; only what this model leaves to choose."""
    choices = quantities(view.scenario)
    if st.session_state.get(_KEY) not in choices:
        st.session_state[_KEY] = choices[0]
    st.segmented_control(
        "Drag",
        choices,
        format_func=LABELS.__getitem__,
        required=True,
        key=shell.live(_KEY),
        on_change=shell.touch,
    )


def chosen() -> Quantity:
    """What is dragged now."""
    return st.session_state[_KEY]


def starting_point(view: View) -> None:
    """What the controls in the popover are to the picture."""
    if chosen() == "story":
        st.caption("The story starts from a short prompt, whatever the context here.")
    else:
        st.caption("Where the picture's slider starts. These also work from the keyboard, one picture a step.")


def row(view: View) -> None:
    """The controls in one row; a projector has room for what is dragged, and finds the rest in the popover."""
    start = (starting_point, controls.batch, controls.context, controls.kv_heads)
    if view.is_lecture:
        more = controls.more(*start, extra=(*start, controls.unit))
        controls.row(view, live, more, widths=(8, 3))
        return
    more = controls.more(controls.model, controls.gpu, *start, extra=start)
    controls.row(view, live, controls.model, controls.gpu, more, controls.unit, widths=(4.6, 2.7, 2.9, 2.1, 1.5))


def picture(found: Reel) -> None:
    """The figure with its style."""
    st.html(f"<style>{charts.LIVE_CSS}</style>")
    figure = charts.live_figure(found)
    blocks.chart(figure, key=f"live_{found.quantity}", alt=live_alt(found), lecture_px=None)


def words(found: Reel) -> None:
    """How to use it, and what this model leaves out; no number that a drag would make stale."""
    model = found.scenario.released_model
    said = ["Drag the grip, or click on its rail: the picture follows without the server."]
    if found.quantity == "story":
        said.append(
            "Each user holds a conversation. Play lets them grow, Pause holds them; where motion is reduced there is "
            "no Play, and the grip still moves. They end where memory ends, or where the model does if memory goes on "
            "far beyond."
        )
    if "kv_heads" not in quantities(found.scenario):
        reason = "there is only one choice" if model.kv_head_options else model.why_no_kv_heads
        said.append(f"{model.name} has no KV heads to drag: {reason}.")
    said.append(
        "For the keyboard, the controls under More assumptions move it too; those are in the link, where the grip "
        "stands is not. A ceiling is a bound, no forecast."
    )
    st.caption(plain(" ".join(said)))


def numbers(found: Reel) -> None:
    """Every frame as a row."""
    box = st.expander("Every frame as numbers", key="live_numbers", on_change=shell.touch)
    if not box.open:
        return
    header, rows = live_rows(found)
    with box:
        blocks.csv_of(partial(live_exact, found), name=f"live-{found.quantity.replace('_', '-')}")
        for first in range(0, len(rows), blocks.LONG_TABLE):
            blocks.table(header, rows[first : first + blocks.LONG_TABLE])
