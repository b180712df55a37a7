"""The naive bench: how far each wrong formula is from the right figure, on a logarithmic axis with right in the middle.

The axis counts decimal logarithms, so that right is zero and a bar's length is the error, whichever way it goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.naive import Finding
from ui import palette
from ui.charts.base import Figure, axis, hatch, note, rule, titled_layout
from ui.charts.labels import broken

ROW, HEAD = 30, 100
PROJECTED = 430  # CSS pixels in lecture view: ten rows in large print
REACH = (-3.0, 2.0)  # a thousandth to a hundredfold: no model of the catalog goes further
LOOKS = {"too much": (palette.OVER, "/"), "too little": (palette.SYSTEM, ".")}
NAIVE_KEY = tuple((fill, words) for words, (fill, _) in LOOKS.items())


SIDES = {"text": "◂ too little · too much ▸", "standoff": 6}


def _reach(logs: Sequence[float]) -> list[float]:
    low, high = min(REACH[0], *map(math.floor, logs), 0), max(REACH[1], *map(math.ceil, logs), 0)
    return [low - 0.1, high + 0.1]


def _tick(power: int) -> str:
    return f"{10.0**power:g}" if power else "right"


def naive_figure(found: Sequence[Finding]) -> Figure:
    """One bar a mistake that matters, from right to where the wrong formula ends up."""
    those = [(f, math.log10(f.factor)) for f in found if f.factor]
    titles = [f.mistake.title for f, _ in those]
    reach = _reach([log for _, log in those] or [0.0])
    data = []
    for words, (fill, shape) in LOOKS.items():
        of = [(f, log) for f, log in those if (log > 0) == (words == "too much")]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": words,
                "x": [log for _, log in of],
                "y": [f.mistake.title for f, _ in of],
                "customdata": ["<br>".join(broken(f.text)) for f, _ in of],
                "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
                "marker": {"color": fill, "line": {"color": palette.INK, "width": 1}, **hatch(shape)},
            }
        )
    # The label stands on the side of "right" that the bar leaves free.
    labels = [
        note(
            0,
            number,
            f.text.partition(",")[0],
            xanchor="right" if log > 0 else "left",
            xshift=-8 if log > 0 else 8,
            font={"size": 14},
        )
        for number, (f, log) in enumerate(those)
    ]
    powers = range(math.ceil(reach[0]), math.floor(reach[1]) + 1)
    return {
        "data": data,
        "layout": titled_layout(
            "wrong / right",
            HEAD + ROW * len(those),
            labels,
            barmode="overlay",
            bargap=0.3,
            xaxis=axis(
                range=reach, tickvals=list(powers), ticktext=[_tick(p) for p in powers], tickangle=0, title=SIDES
            ),
            yaxis=axis(
                type="category",
                categoryorder="array",
                categoryarray=titles,
                tickvals=titles,  # all of them, however large the print
                range=[len(titles) - 0.5, -0.5],
                showgrid=False,
            ),
            shapes=[rule("x", 0.0, dash="solid")],
        ),
    }
