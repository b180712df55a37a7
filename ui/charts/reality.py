"""Reality: measured against ceiling with the diagonal, the ratio by group, and hollow marks for other pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from core.measured import By, Kind, Point, cache_term, grouped, points, spread
from core.measured_report import USUAL, hover, ratio
from ui import palette
from ui.charts.base import FONT_SIZE, Figure, axis, line, note, rule, titled_layout
from ui.charts.labels import broken
from ui.text import charted

# Shape and colour by engine, never colour alone; hollow where the ceiling is from the row's own bytes.
_ENGINES: tuple[tuple[str, str, str, str], ...] = (
    ("llama.cpp", "circle", "●", palette.WEIGHTS),
    ("TensorRT-LLM", "square", "■", palette.COMPUTE),
    ("LMDeploy", "triangle-up", "▲", palette.CACHE),
    ("gpt-fast", "diamond", "◆", palette.SYSTEM),
    ("ExLlamaV2", "triangle-down", "▼", palette.USER),
    ("MLC LLM", "star", "★", palette.RESERVE),
    ("others", "hexagon", "⬢", palette.OVER),
)
_KNOWN = {name for name, *_ in _ENGINES}
_HEIGHT = 400
_MOST_ROWS = 10  # of the strip; further groups share the last
_STRIP = (0.0, 1.5)


def _engine(p: Point) -> str:
    return p.measurement.engine if p.measurement.engine in _KNOWN else "others"


def reality_key(found: Sequence[Point]) -> list[tuple[str, str]]:
    """Colours with shape and engine, for those in the picture."""
    there = {_engine(p) for p in found}
    return [(color, f"{glyph} {name}") for name, _, glyph, color in _ENGINES if name in there]


@lru_cache(maxsize=2048)  # every measurement is in two pictures, and stays what it is
def _text(point: Point) -> str:
    return "<br>".join(charted(part) for line in hover(point) for part in broken(line))


def _marks(found: Sequence[Point], x: Sequence[float], y: Sequence[float], size: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for name, symbol, _, color in _ENGINES:
        places = [i for i, p in enumerate(found) if _engine(p) == name]
        if not places:
            continue
        open_ = [found[i].path == "row" for i in places]
        made.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": [x[i] for i in places],
                "y": [y[i] for i in places],
                "text": [_text(found[i]) for i in places],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {
                    "symbol": [f"{symbol}-open" if hollow else symbol for hollow in open_],
                    "size": size,
                    "color": color,
                    "opacity": 0.85,
                    "line": {"width": 1.2, "color": color},
                },
            }
        )
    return made


def _own(own: Sequence[Point], x: Sequence[float], y: Sequence[float]) -> list[dict[str, Any]]:
    if not own:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "yours",
            "x": list(x),
            "y": list(y),
            "text": [_text(p) for p in own],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {
                "symbol": "star-diamond",
                "size": 17,
                "color": palette.OVER,
                "opacity": 1,
                "line": {"width": 2, "color": palette.PAPER},
            },
            "cliponaxis": False,
        }
    ]


def _span(kind: Kind, own: Sequence[Point]) -> list[float]:
    """One range for both axes: all points of the kind, whatever is filtered, and one's own; half decades."""
    all_ = [*(p for p in points() if p.measurement.kind == kind), *own]
    values = [v for p in all_ for v in (p.ceiling, p.measurement.tokens_per_s)]
    return [math.floor(2 * math.log10(min(values)) - 0.1) / 2, math.ceil(2 * math.log10(max(values)) + 0.1) / 2]


def _ticks(span: Sequence[float]) -> list[float]:
    return [10.0**power for power in range(math.ceil(span[0]), math.floor(span[1]) + 1)]


def reality_figure(found: Sequence[Point], kind: Kind, own: Sequence[Point] = ()) -> Figure:
    """Measured tokens/s against the ceiling on equal logarithmic axes, with the ceiling and two guide lines."""
    span = _span(kind, own)
    ends = [10 ** span[0], 10 ** span[1]]
    low, high = USUAL
    lines = [
        line("the ceiling", ends, ends, palette.OVER, hoverinfo="skip"),
        *(
            line(f"{share:g} of it", ends, [share * end for end in ends], palette.RESERVE, "dot", hoverinfo="skip")
            for share in (high, low)
        ),
    ]
    for trace in lines:
        trace["line"]["width"] = 2
    at = span[0] + 0.86 * (span[1] - span[0])
    labels = [
        note(at, at, "<b>the ceiling</b>", xanchor="right", yanchor="bottom", xshift=-4),
        note(
            0.99,
            0.02,
            f"dotted: {high:g} and {low:g} of it",
            xref="paper",
            yref="paper",
            xanchor="right",
            yanchor="bottom",
        ),
    ]
    ticks = {"tickvals": _ticks(span), "ticktext": [f"{tick:,.0f}" for tick in _ticks(span)]}
    return {
        "data": [
            *lines,
            *_marks(found, [p.ceiling for p in found], [p.measurement.tokens_per_s for p in found], 8),
            *_own(own, [p.ceiling for p in own], [p.measurement.tokens_per_s for p in own]),
        ],
        "layout": titled_layout(
            "measured, tokens/s, against the ceiling",
            _HEIGHT,
            labels,
            xaxis=axis(type="log", range=span, title={"text": "ceiling, tokens/s"}, **ticks),
            yaxis=axis(type="log", range=span, **ticks),
        ),
    }


def _jitter(place: int) -> float:
    """A fixed scatter of -0.3 to 0.3, so that points of one value are seen apart."""
    return ((place * 0.618034) % 1 - 0.5) * 0.6


def ratio_figure(found: Sequence[Point], by: By, own: Sequence[Point] = ()) -> Figure:
    """Measured over ceiling, one row a group, its median as a bar and in its label."""
    groups = grouped(found, by)
    if len(groups) > _MOST_ROWS:
        rest = [p for _, rows in groups[_MOST_ROWS - 1 :] for p in rows]
        groups = [*groups[: _MOST_ROWS - 1], (f"{len(groups) - _MOST_ROWS + 1} others", rest)]
    order = [p for _, rows in groups for p in rows]
    heights = [at + _jitter(i) for at, (_, rows) in enumerate(groups) for i in range(len(rows))]
    medians = [spread(rows).median for _, rows in groups]
    ticks = [
        (at, f"{charted(name)} ({len(rows)}) <b>{ratio(median)}</b>")
        for at, ((name, rows), median) in enumerate(zip(groups, medians, strict=True))
    ]
    rows = max(len(groups), 1)
    if own:
        ticks.append((rows, "<b>yours</b>"))
        rows += 1
    end = max([_STRIP[1], *(p.ratio * 1.05 for p in (*found, *own))])
    bars = {
        "type": "scatter",
        "mode": "markers",
        "name": "median",
        "x": medians,
        "y": list(range(len(groups))),
        "text": [f"median {ratio(median)}" for median in medians],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": "line-ns", "size": 22, "line": {"width": 4, "color": palette.OVER}},
    }
    return {
        "data": [
            *_marks(order, [p.ratio for p in order], heights, 6),
            bars,
            *_own(own, [p.ratio for p in own], [rows - 1.0] * len(own)),
        ],
        "layout": titled_layout(
            "ratio, red: median",
            _HEIGHT,
            [],
            shapes=[rule("x", 1, "solid", palette.OVER), *(rule("x", share, "dot") for share in USUAL)],
            xaxis=axis(range=[_STRIP[0], end], tickvals=[0, 0.3, USUAL[0], USUAL[1], 1.2, 1.5] if end < 2 else None),
            yaxis=axis(
                range=[rows - 0.5, -0.5],
                showgrid=False,
                tickvals=[at for at, _ in ticks],
                ticktext=[text for _, text in ticks],
                tickfont={"size": FONT_SIZE - 2},
            ),
        ),
    }


def cache_term_figure() -> Figure:
    """Ratio against context with the cache read, and as it would seem without."""
    found = cache_term()
    x = [p.measurement.context for p in found]
    with_cache = [p.ratio for p in found]
    without = [p.measurement.tokens_per_s / (p.no_cache_ceiling or p.ceiling) for p in found]
    curves = (
        ("caches read", with_cache, palette.CACHE, "solid"),
        ("only weights read", without, palette.WEIGHTS, "dash"),
    )
    end = max(x)
    return {
        "data": [
            line(name, x, y, color, dash, mode="lines+markers", marker={"size": 9, "symbol": "circle"},
                 hovertemplate=f"{name}<br>%{{y:.2f}} at %{{x:,}} tokens<extra></extra>")
            for name, y, color, dash in curves
        ],
        "layout": titled_layout(
            "measured over ceiling, against context",
            250,
            [
                note(end, y[-1], f"<b>{name} {ratio(y[-1])}</b>", xanchor="right", yanchor=anchor, yshift=shift)
                for (name, y, _, _), anchor, shift in zip(curves, ("bottom", "top"), (8, -8), strict=True)
            ],
            xaxis=axis(range=[0, end * 1.03], tickformat=",", title={"text": "tokens of context"}),
            yaxis=axis(range=[0.47, 0.9], dtick=0.1),
        ),
    }  # fmt: skip
