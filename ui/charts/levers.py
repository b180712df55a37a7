"""Cut the bytes: the waterfall of bytes per generated token, with memory beside it."""

from __future__ import annotations

from core.levers import Waterfall
from core.units import Unit, format_bytes, in_unit
from ui import palette
from ui.charts.base import FONT_SIZE, Figure, axis, bars, layout, panel_titles, rule

_DOMAINS = ((0.0, 0.56), (0.62, 1.0))
OUTSIDE_ROOM = 1.32


def waterfall_figure(fall: Waterfall, unit: Unit) -> Figure:
    """Each bar from before to after, the strongest lever first; memory with the levers up to there."""
    rows = ["start: nothing pulled", *(step.label for step in fall.steps), "left: every lever pulled"]
    # What remains under each bar is drawn without colour, so the coloured part floats.
    after = [float(fall.start_bytes), *(float(s.after_bytes) for s in fall.steps), float(fall.end_bytes)]
    saved = [0.0, *(float(s.saved_bytes) for s in fall.steps), 0.0]
    bases = [min(a, a + c) for a, c in zip(after, saved, strict=True)]

    def scaled(values: list[float]) -> list[float]:
        return [in_unit(value, unit) for value in values]

    def text(value: float) -> str:
        return format_bytes(value, unit)

    ends = [after[0], *[0.0] * len(fall.steps), after[-1]]
    cuts = [0.0, *[abs(c) for c in saved[1:-1]], 0.0]
    words = ["", *(f"− {text(c)}" if c > 0 else f"+ {text(-c)}" if c else "0" for c in saved[1:-1]), ""]
    invisible = {"marker": {"color": "rgba(0,0,0,0)", "line": {"width": 0}}, "hoverinfo": "skip"}
    floating = [0.0, *bases[1:-1], 0.0]
    memory = [float(fall.start_memory_bytes), *(float(s.memory_bytes) for s in fall.steps)]
    memory.append(memory[-1])
    data = [
        bars("under", scaled(floating), rows, [""] * len(rows), palette.FREE, **invisible),
        bars("bytes a token", scaled(ends), rows, [text(e) if e else "" for e in ends], palette.WEIGHTS,
             textposition="outside", cliponaxis=False),
        bars("saved", scaled(cuts), rows, words, palette.COMPUTE, pattern="\\", textposition="outside",
             cliponaxis=False),
        bars("memory", scaled(memory), rows, [text(m) for m in memory], palette.CACHE, pattern="/", xaxis="x2",
             textposition="outside", cliponaxis=False),
    ]  # fmt: skip
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0.22,
            height=44 * len(rows) + 60,
            margin={"l": 8, "r": 8, "t": 34, "b": 8},
            font={"size": FONT_SIZE, "family": "'Source Sans', sans-serif"},
            annotations=panel_titles(("bytes read per generated token", "memory, line: capacity"), _DOMAINS),
            shapes=[rule("x", in_unit(fall.capacity_bytes, unit), color=palette.OVER, xref="x2")],
            xaxis=axis(
                range=[0, in_unit(float(fall.start_bytes), unit) * OUTSIDE_ROOM],
                domain=_DOMAINS[0],
                ticksuffix=f" {unit}",
                nticks=5,
                anchor="y",
            ),
            xaxis2=axis(
                range=[0, in_unit(max(*memory, fall.capacity_bytes), unit) * OUTSIDE_ROOM],
                domain=_DOMAINS[1],
                ticksuffix=f" {unit}",
                nticks=4,
                anchor="y",
            ),
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
        ),
    }
