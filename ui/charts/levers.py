"""Cut the bytes: the waterfall of bytes per generated token, with memory beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.levers import Waterfall
from core.units import Unit, format_bytes, in_unit
from ui import palette
from ui.charts.base import Figure, Panel, axis, bars, capacity_lines, column, key, rows_figure

ROOM = 1.7  # of the longest bar, for the column of numbers beside it
ROW_PX, PINNED_ROW_PX, FRAME_PX = 44, 52, 44


def _waterfall_bars(fall: Waterfall, rows: Sequence[str], unit: Unit) -> list[dict[str, Any]]:
    start, end = float(fall.start_bytes), float(fall.end_bytes)
    after = [float(s.after_bytes) for s in fall.steps]
    saved = [float(s.saved_bytes) for s in fall.steps]
    # What remains under each bar is drawn without colour, so that the coloured part floats.
    under = [0.0, *(min(a, a + c) for a, c in zip(after, saved, strict=True)), 0.0]

    def scaled(values: Sequence[float]) -> list[float]:
        return [in_unit(value, unit) for value in values]

    blank = [""] * len(rows)
    invisible = {"marker": {"color": "rgba(0,0,0,0)", "line": {"width": 0}}, "hoverinfo": "skip"}
    nothing = [0.0] * len(fall.steps)
    texts, silent = _waterfall_texts(fall, unit), {"textposition": "none"}
    ends = [texts[0], *[""] * len(fall.steps), texts[-1]]
    steps = ["", *texts[1:-1], ""]
    return [
        bars("under", scaled(under), rows, blank, palette.FREE, **invisible),
        bars("bytes a token", scaled([start, *nothing, end]), rows, ends, palette.WEIGHTS, **silent),
        bars(
            "saved", scaled([0.0, *(abs(c) for c in saved), 0.0]), rows, steps, palette.COMPUTE, pattern="\\", **silent
        ),
    ]


def _waterfall_texts(fall: Waterfall, unit: Unit) -> list[str]:
    """What each row starts with, saves, or ends with."""

    def change(saved: float) -> str:
        return f"− {format_bytes(saved, unit)}" if saved > 0 else f"+ {format_bytes(-saved, unit)}" if saved else "0"

    steps = [change(float(step.saved_bytes)) for step in fall.steps]
    return [format_bytes(float(fall.start_bytes), unit), *steps, format_bytes(float(fall.end_bytes), unit)]


def waterfall_figure(fall: Waterfall, unit: Unit, before: Waterfall | None = None) -> Figure:
    """Bytes per generated token: each bar from before to after, the strongest lever first.

    The pinned scenario's levers, in the same order, are the thin bars.
    """
    rows = ["no lever pulled", *(step.label for step in fall.steps), "every lever pulled"]
    falls = [fall, before] if before else [fall]
    end = max(in_unit(float(f.start_bytes), unit) for f in falls) * ROOM
    traces, *thin = [_waterfall_bars(f, rows, unit) for f in falls]
    panel = Panel(
        "bytes read per token", traces, axis(range=[0, end], showticklabels=False), pinned=thin[0] if thin else ()
    )
    height = (PINNED_ROW_PX if before else ROW_PX) * len(rows) + FRAME_PX
    figure = rows_figure((panel,), height, rows if before else (), [0])
    figure["layout"]["annotations"] += column(rows, _waterfall_texts(fall, unit), bool(before))
    return figure


def lever_memory_figure(fall: Waterfall, unit: Unit, before: Waterfall | None = None) -> Figure:
    """Memory in total with the levers pulled one after the other, against the capacity line; the pin's thin."""
    rows = ["no lever pulled", *(step.label for step in fall.steps)]
    falls = [fall, before] if before else [fall]

    def trace(f: Waterfall) -> dict[str, Any]:
        memory = [f.start_memory_bytes, *(s.memory_bytes for s in f.steps)]
        sizes, text = [in_unit(m, unit) for m in memory], [format_bytes(m, unit) for m in memory]
        return bars("memory", sizes, rows, text, palette.CACHE, pattern="/", textposition="none", showlegend=False)

    now, *thin = [trace(f) for f in falls]
    capacities = list(dict.fromkeys(in_unit(f.capacity_bytes, unit) for f in falls))
    longest = max(*capacities, *(value for each in (now, *thin) for value in each["x"]))
    lines = capacity_lines(capacities)
    panel = Panel("memory", [now], axis(range=[0, longest * ROOM], showticklabels=False), lines, thin)
    height = (PINNED_ROW_PX if before else ROW_PX) * (len(rows) + 1) + FRAME_PX
    figure = rows_figure((panel,), height, rows if before else (), [0])
    figure["layout"]["annotations"] += column(rows, now["text"], bool(before))
    figure["layout"] |= key()
    return figure
