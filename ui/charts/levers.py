"""Cut the bytes: the waterfall of bytes per generated token, with memory beside it."""

from __future__ import annotations

from collections.abc import Sequence

from core.levers import Waterfall
from core.units import Unit, format_bytes, in_unit
from ui import palette
from ui.charts.base import Figure, Panel, axis, bars, rows_figure, rule

OUTSIDE_ROOM = 1.4  # of the longest bar, for the label beside it
OUTSIDE = {"textposition": "outside", "cliponaxis": False}
ROW_PX, FRAME_PX = 44, 60


def waterfall_figure(fall: Waterfall, unit: Unit) -> Figure:
    """Bytes per generated token: each bar from before to after, the strongest lever first."""
    rows = ["start: nothing pulled", *(step.label for step in fall.steps), "left: every lever pulled"]
    start, end = float(fall.start_bytes), float(fall.end_bytes)
    after = [float(s.after_bytes) for s in fall.steps]
    saved = [float(s.saved_bytes) for s in fall.steps]
    # What remains under each bar is drawn without colour, so that the coloured part floats.
    under = [0.0, *(min(a, a + c) for a, c in zip(after, saved, strict=True)), 0.0]

    def scaled(values: Sequence[float]) -> list[float]:
        return [in_unit(value, unit) for value in values]

    def text(value: float) -> str:
        return format_bytes(value, unit)

    blank = [""] * len(rows)
    invisible = {"marker": {"color": "rgba(0,0,0,0)", "line": {"width": 0}}, "hoverinfo": "skip"}
    nothing = [0.0] * len(fall.steps)
    words = ["", *(f"− {text(c)}" if c > 0 else f"+ {text(-c)}" if c else "0" for c in saved), ""]
    ends = [text(start), *[""] * len(fall.steps), text(end)]
    traces = [
        bars("under", scaled(under), rows, blank, palette.FREE, **invisible),
        bars("bytes a token", scaled([start, *nothing, end]), rows, ends, palette.WEIGHTS, **OUTSIDE),
        bars(
            "saved", scaled([0.0, *(abs(c) for c in saved), 0.0]), rows, words, palette.COMPUTE, pattern="\\", **OUTSIDE
        ),
    ]
    x_axis = axis(range=[0, in_unit(start, unit) * OUTSIDE_ROOM], ticksuffix=f" {unit}", nticks=4)
    panel = Panel("bytes read per token", traces, x_axis)
    return rows_figure((panel,), ROW_PX * len(rows) + FRAME_PX)


def lever_memory_figure(fall: Waterfall, unit: Unit) -> Figure:
    """Memory in total with the levers pulled one after the other, against the capacity line."""
    rows = ["start", *(step.label for step in fall.steps)]
    memory = [fall.start_memory_bytes, *(s.memory_bytes for s in fall.steps)]
    sizes = [in_unit(m, unit) for m in memory]
    text = [format_bytes(m, unit) for m in memory]
    trace = bars("memory", sizes, rows, text, palette.CACHE, pattern="/", **OUTSIDE)
    capacity = in_unit(fall.capacity_bytes, unit)
    x_axis = axis(range=[0, max(*sizes, capacity) * OUTSIDE_ROOM], ticksuffix=f" {unit}", nticks=4)
    panel = Panel("memory, line: capacity", [trace], x_axis, [rule("x", capacity, color=palette.OVER)])
    return rows_figure((panel,), ROW_PX * (len(rows) + 1) + FRAME_PX)
