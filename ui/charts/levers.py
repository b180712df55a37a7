"""Cut the bytes: the waterfall of bytes per generated token, with memory beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.levers import Waterfall
from core.units import Unit, format_bytes, in_unit
from ui import palette
from ui.charts.base import Figure, Panel, axis, bars, rows_figure, rule

OUTSIDE_ROOM = 1.4  # of the longest bar, for the label beside it
OUTSIDE = {"textposition": "outside", "cliponaxis": False}
ROW_PX, PINNED_ROW_PX, FRAME_PX = 44, 52, 60


def _waterfall_bars(fall: Waterfall, rows: Sequence[str], unit: Unit) -> list[dict[str, Any]]:
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
    return [
        bars("under", scaled(under), rows, blank, palette.FREE, **invisible),
        bars("bytes a token", scaled([start, *nothing, end]), rows, ends, palette.WEIGHTS, **OUTSIDE),
        bars(
            "saved", scaled([0.0, *(abs(c) for c in saved), 0.0]), rows, words, palette.COMPUTE, pattern="\\", **OUTSIDE
        ),
    ]


def waterfall_figure(fall: Waterfall, unit: Unit, before: Waterfall | None = None) -> Figure:
    """Bytes per generated token: each bar from before to after, the strongest lever first.

    The pinned scenario's levers, in the same order, are the thin bars.
    """
    rows = ["start: nothing pulled", *(step.label for step in fall.steps), "left: every lever pulled"]
    falls = [fall, before] if before else [fall]
    end = max(in_unit(float(f.start_bytes), unit) for f in falls) * OUTSIDE_ROOM
    traces, *thin = [_waterfall_bars(f, rows, unit) for f in falls]
    x_axis = axis(range=[0, end], ticksuffix=f" {unit}", nticks=4)
    panel = Panel("bytes read per token", traces, x_axis, pinned=thin[0] if thin else ())
    height = (PINNED_ROW_PX if before else ROW_PX) * len(rows) + FRAME_PX
    return rows_figure((panel,), height, rows if before else (), [0])


def lever_memory_figure(fall: Waterfall, unit: Unit, before: Waterfall | None = None) -> Figure:
    """Memory in total with the levers pulled one after the other, against the capacity line; the pin's thin."""
    rows = ["start", *(step.label for step in fall.steps)]
    falls = [fall, before] if before else [fall]

    def trace(f: Waterfall) -> list[dict[str, Any]]:
        memory = [f.start_memory_bytes, *(s.memory_bytes for s in f.steps)]
        sizes, text = [in_unit(m, unit) for m in memory], [format_bytes(m, unit) for m in memory]
        return [bars("memory", sizes, rows, text, palette.CACHE, pattern="/", **OUTSIDE)]

    traces, *thin = [trace(f) for f in falls]
    capacities = list(dict.fromkeys(in_unit(f.capacity_bytes, unit) for f in falls))
    longest = max(*capacities, *(value for each in (traces, *thin) for value in each[0]["x"]))
    lines = [rule("x", capacities[0], color=palette.OVER)]
    lines += [rule("x", other, "dot", palette.OVER, 1.5) for other in capacities[1:]]
    title = "memory, line: capacity" + (" (dotted: pinned)" if capacities[1:] else "")
    x_axis = axis(range=[0, longest * OUTSIDE_ROOM], ticksuffix=f" {unit}", nticks=4)
    panel = Panel(title, traces, x_axis, lines, thin[0] if thin else ())
    height = (PINNED_ROW_PX if before else ROW_PX) * (len(rows) + 1) + FRAME_PX
    return rows_figure((panel,), height, rows if before else (), [0])
