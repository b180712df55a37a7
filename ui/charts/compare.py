"""Compare: latency against throughput with its front, the map of GPUs needed, pinned scenarios on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.columns import Floats, Ints
from core.compare import DENSE, MIXTURE, Comparison
from core.compare_report import point_hovers, point_name
from core.curves import Curves, Point
from core.gpu import GpuSpec
from core.model import ModelSpec
from core.rows import Count, gpu_names, model_names
from core.units import Unit, format_bytes, format_seconds, in_unit, significant
from core.variants import Variant
from ui import palette
from ui.charts.base import CAMERA, Figure, Panel, axis, bars, note, rows_figure, titled_layout
from ui.charts.labels import NARROW, broken
from ui.text import charted

# Shape and colour by maker, or by kind of model where the device is one: never colour alone.
_MAKERS: tuple[tuple[str, str, str, str], ...] = (
    ("NVIDIA", "circle", "●", palette.COMPUTE),
    ("AMD", "square", "■", palette.USER),
    ("Google", "triangle-up", "▲", palette.WEIGHTS),
    ("AWS", "triangle-down", "▼", palette.CACHE),
    ("Intel", "diamond", "◆", palette.SYSTEM),
    ("Apple", "star", "★", palette.RESERVE),
    ("others", "hexagon", "⬢", palette.OVER),
)
_KINDS: tuple[tuple[str, str, str, str], ...] = (
    (DENSE, "circle", "●", palette.WEIGHTS),
    (MIXTURE, "diamond", "◆", palette.USER),
)
_Y_TITLES: dict[Count, str] = {
    "together": "tokens/s, all users together",
    "gpu": "tokens/s per GPU",
    "dollar": "tokens per dollar, at best",
    "joule": "tokens per joule",
}
_WIDTH, _HEIGHT = 1150, 330  # of the plot in pixels, on the page
_LEAST = 200  # its height where labels are placed: a projector's is low
_LABELS = 4
_LETTER, _LINE = 7.4, 18.0


LABEL_CHARS = 24
_MARGIN = 20  # how far a label may reach beyond the frame, where the other axis has its numbers


_MAKER_NAMES = frozenset(name for name, *_ in _MAKERS)


def _groups(found: Comparison) -> list[str]:
    """Of each curve the name of its shape and colour."""
    kinds = found.kinds(found.curves.rows.cells)
    return kinds if found.choice.over == "models" else [kind if kind in _MAKER_NAMES else "others" for kind in kinds]


def _marks(found: Comparison) -> tuple[tuple[str, str, str, str], ...]:
    return _KINDS if found.choice.over == "models" else _MAKERS


def compare_key(found: Comparison) -> list[tuple[str, str]]:
    """Colours with shape and name, for those in the picture."""
    there = set(_groups(found))
    return [(color, f"{glyph} {name}") for name, _, glyph, color in _marks(found) if name in there]


def _range(values: Floats, n_labels: int = 0) -> list[float]:
    """Thirds of a decade around the values, so that a small change leaves the axis where it is; room for labels."""
    low, high = math.log10(values.min()), math.log10(values.max())
    low, high = math.floor(low * 3 - 0.1) / 3, math.ceil(high * 3 + 0.1) / 3
    return [low, high + (high - low) * n_labels * _LINE / (_LEAST - n_labels * _LINE)]


def _ticks(span: Sequence[float], steps: Sequence[int]) -> list[float]:
    low, high = span
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [step * 10.0**power for power in powers for step in steps if low <= math.log10(step * 10.0**power) <= high]


def _seconds_axis(x_range: list[float]) -> dict[str, Any]:
    wide = x_range[1] - x_range[0] > 2
    ticks = _ticks(x_range, (1,) if wide else (1, 3))
    return axis(
        type="log",
        range=x_range,
        tickvals=ticks,
        tickangle=0,
        ticktext=[format_seconds(tick, 1) for tick in ticks],
        title={"text": "time per output token of one user"},
    )


def _labels(found: Comparison, x_range: list[float], y_range: list[float]) -> list[dict[str, Any]]:
    """Names of the front's rows, above their points, where by definition nothing else is; a phone shows them whole.

    They stand to the left of their points, from the leftmost upwards, or where that would cut one to the right, from
    the rightmost upwards: a label that would lie on one before it goes above it, and no line crosses a label.
    """
    x_scale = NARROW / (x_range[1] - x_range[0])
    rows = sorted(found.front_rows, key=lambda p: (p.throughput, -p.step_s))
    shown = rows if len(rows) <= _LABELS else [rows[0], *rows[1 - _LABELS :]]
    places = [(math.log10(p.step_s), math.log10(p.throughput), _short(point_name(found, p.row))) for p in shown]
    side = -1 if all((x - x_range[0]) * x_scale > len(text) * _LETTER - _MARGIN for x, _, text in places) else 1
    # Upwards goes with the points on the one side, against them on the other: there a high picture is the narrow one.
    plot_px = _HEIGHT if side > 0 else _LEAST
    y_scale = plot_px / (y_range[1] - y_range[0])
    made: list[dict[str, Any]] = []
    taken: list[tuple[float, float, float]] = []  # left, right, height of labels in pixels
    for x, y, text in sorted(places, key=lambda place: -side * place[0]):
        at, height, wide = (x - x_range[0]) * x_scale, (y - y_range[0]) * y_scale, len(text) * _LETTER
        left = at + 8 if side > 0 else at - 8 - wide
        up = height + 16
        # Upwards past each in its way, lowest first: one pass, since nothing ever comes down again.
        for level in sorted(level for a, b, level in taken if a - 8 < left + wide and left < b + 8):
            if up - level < _LINE and (side > 0 or level - up < _LINE):
                up = level + _LINE
        if height / plot_px * _LEAST + up - height > _LEAST or left + wide > NARROW + CAMERA:
            continue
        taken.append((left, left + wide, up))
        made.append(
            note(
                x,
                y,
                f"<b>{charted(text)}</b>",
                showarrow=True,
                arrowhead=0,
                arrowwidth=1,
                arrowcolor=palette.RESERVE,
                ax=8 * side,
                ay=height - up,
                xanchor="left" if side > 0 else "right",
                yanchor="middle",
                standoff=6,
            )
        )
    return made


def _short(name: str) -> str:
    """A name without what it has in brackets, and not too long.

    >>> _short("8 × B300 SXM (HGX/DGX)")
    '8 × B300 SXM'
    """
    name = name.partition(" (")[0]
    return name if len(name) <= LABEL_CHARS else f"{name[: LABEL_CHARS - 1]}…"


def _beside(
    found: Comparison, mine: Point, full: Sequence[Point], x_range: list[float], y_range: list[float]
) -> dict[str, Any]:
    """Name of the scenario's own row, where a phone shows it whole and, on the page, it hides the fewest others."""
    x_scale, y_scale = _WIDTH / (x_range[1] - x_range[0]), _HEIGHT / (y_range[1] - y_range[0])
    text = f"yours: {_short(point_name(found, mine.row))}"
    wide = len(text) * _LETTER
    x, y = math.log10(mine.step_s), math.log10(mine.throughput)
    around = [((math.log10(p.step_s) - x) * x_scale, (math.log10(p.throughput) - y) * y_scale) for p in full]
    on_phone = (x - x_range[0]) / (x_range[1] - x_range[0]) * NARROW

    def hidden(place: tuple[int, int]) -> int:
        side, up = place
        left = 10 if side > 0 else -10 - wide
        cut = on_phone + left < -_MARGIN or on_phone + left + wide > NARROW
        return sum(left - 6 < dx < left + wide + 6 and abs(dy - up) < _LINE for dx, dy in around) + 99 * cut

    side, up = min(((s, u) for s in (1, -1) for u in (0, -16, 16)), key=hidden)
    return note(x, y, f"<b>{charted(text)}</b>", xanchor="left" if side > 0 else "right", xshift=10 * side, yshift=up)


def speeds_figure(found: Comparison) -> Figure:
    """Each row from one user (left end) to as many as fit (the dot); the front above them all, its rows named."""
    curves = found.curves
    full, front_rows = curves.full, found.front_rows
    x_range = _range(_ends(curves, curves.step_s))
    y_range = _range(_ends(curves, curves.throughput), min(_LABELS, len(front_rows)))
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "one user to as many as fit",
            "x": _tracks(curves, curves.step_s),
            "y": _tracks(curves, curves.throughput),
            "line": {"color": palette.RESERVE, "width": 1},
            "opacity": 0.45,
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "front",
            "x": [p.step_s for p in found.front],
            "y": [p.throughput for p in found.front],
            "text": _hovers(found, found.front),
            "hovertemplate": "front<br>%{text}<extra></extra>",
            "line": {"color": palette.SYSTEM, "width": 3, "shape": "hv"},
        },
    ]
    dots: dict[str, list[tuple[Point, str]]] = {name: [] for name, *_ in _marks(found)}
    for group, point, hover in zip(_groups(found), full, _hovers(found, full), strict=True):
        dots[group].append((point, hover))
    data += [_dots(found, name, dots[name], symbol, color) for name, symbol, _, color in _marks(found)]
    annotations = _labels(found, x_range, y_range)
    annotations += [
        _beside(found, mine, full, x_range, y_range)
        for mine in full
        if found.is_own(mine.row) and all(p.row.cell != mine.row.cell for p in front_rows)
    ]
    thousands = y_range[1] > 6
    corner = y_range[0] + 0.02 * (y_range[1] - y_range[0])  # where the other axis has its first number
    return {
        "data": data,
        "layout": titled_layout(
            _Y_TITLES[found.choice.count],
            _HEIGHT + 100,
            annotations,
            xaxis=_seconds_axis(x_range),
            yaxis=axis(
                type="log",
                range=y_range,
                tickvals=_ticks([corner, y_range[1]], (1,)),
                tickformat="~s" if thousands else ",~r",
            ),
        ),
    }


def _ends(curves: Curves, values: Floats) -> Floats:
    """One user and as many as fit, of all rows; the former is the latter where no more fit."""
    return np.append(values[curves.is_taken[:, 0], 0], values[:, -1])


def _tracks(curves: Curves, values: Floats) -> list[float | None]:
    """All rows as one line, with a gap after each."""
    n_rows, n_batches = values.shape
    padded, is_there = np.full((n_rows, n_batches + 1), None), np.ones((n_rows, n_batches + 1), dtype=np.bool_)
    padded[:, :-1], is_there[:, :-1] = values, curves.is_drawn
    return padded[is_there].tolist()


def _hovers(found: Comparison, points: Sequence[Point]) -> list[str]:
    return [charted("\n".join(broken(text))).replace("\n", "<br>") for text in point_hovers(found, points)]


def _dots(found: Comparison, name: str, dots: Sequence[tuple[Point, str]], symbol: str, color: str) -> dict[str, Any]:
    own = [found.is_own(p.row) for p, _ in dots]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [p.step_s for p, _ in dots],
        "y": [p.throughput for p, _ in dots],
        "text": [hover for _, hover in dots],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": symbol,
            "size": [15 if mine else 9 for mine in own],
            "color": color,
            "opacity": 1,
            "line": {"color": palette.PAPER, "width": [2 if mine else 1 for mine in own]},
        },
    }


# GPUs needed: up to so many, in words, and the colour; fewest are darkest.
_STEPS: tuple[tuple[int, str, str], ...] = (
    (1, "one GPU", palette.WEIGHTS_DEEP),
    (2, "two", palette.WEIGHTS),
    (4, "up to four", palette.WEIGHTS_PALE),
    (8, "up to eight", palette.WINDOW),
    (10**9, "more", palette.CACHE),
)


def map_key(found: Comparison) -> list[tuple[str, str]]:
    """Colours with their counts, for those in the map."""
    there = np.bincount(_levels(found.n_gpus[found.n_gpus > 0]), minlength=len(_STEPS)).tolist()
    return [(color, words) for n, (_, words, color) in zip(there, _STEPS, strict=True) if n]


def map_figure(found: Comparison) -> Figure:
    """GPUs needed, models by devices: small models and small devices first, so that a staircase shows."""
    grid, shape = found.grid, (len(found.grid.models), len(found.grid.gpus))
    needed, is_shown = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    needed.flat[found.cells], is_shown.flat[found.cells] = found.n_gpus, True
    on = sorted(np.flatnonzero(is_shown.any(axis=0)).tolist(), key=lambda i: _by_memory(grid.gpus[i]))
    of = sorted(np.flatnonzero(is_shown.any(axis=1)).tolist(), key=lambda i: _by_size(grid.models[i]))
    needed = needed[np.ix_(of, on)]
    counts, level = needed.astype(object), _levels(needed).astype(object)
    counts[needed == 0] = level[needed == 0] = None
    models, devices = model_names(grid.models), gpu_names(grid.gpus)
    last = len(_STEPS)
    scale = [[edge / last, color] for i, (_, _, color) in enumerate(_STEPS) for edge in (i, i + 1)]
    return {
        "data": [
            {
                "type": "heatmap",
                "name": "GPUs needed",
                "x": [charted(devices[i].removeprefix(f"{grid.gpus[i].vendor} ")) for i in on],
                "y": [charted(models[i]) for i in of],
                "z": level.tolist(),
                "customdata": counts.tolist(),
                "zmin": -0.5,
                "zmax": last - 0.5,
                "colorscale": scale,
                "showscale": False,
                "xgap": 1,
                "ygap": 1,
                "hoverongaps": False,
                "hovertemplate": "%{y}<br>on %{x}:<br>%{customdata} needed<extra></extra>",
            }
        ],
        "layout": titled_layout(
            "GPUs needed",
            max(260, 12 * len(of) + 230),
            [],
            xaxis=axis(type="category", showgrid=False, tickangle=-90, dtick=1, tickfont={"size": 10},
                       range=[-0.5, len(on) - 0.5]),
            yaxis=axis(type="category", showgrid=False, dtick=1, tickfont={"size": 10},
                       range=[len(of) - 0.5, -0.5]),
        ),
    }  # fmt: skip


def _levels(n_gpus: Ints) -> Ints:
    """The step of each count."""
    return np.searchsorted([most for most, _, _ in _STEPS], n_gpus)


def _by_memory(gpu: GpuSpec) -> tuple[int, str]:
    return gpu.memory_bytes, gpu.slug


def _by_size(model: ModelSpec) -> tuple[int, str]:
    return model.n_params, model.slug


def pinned_figures(pinned: Sequence[Variant], unit: Unit) -> tuple[Figure, Figure]:
    """Memory of pinned scenarios on one axis, each with its capacity; beside it, by number, their ceilings."""
    rows = [charted(v.label).replace(" · ", "<br>") for v in pinned]
    numbers = [v.label.partition(":")[0] for v in pinned]
    memories = [v.result.memory for v in pinned]

    def part(name: str, values: Sequence[int], fill: str, pattern: str | None) -> dict[str, Any]:
        text = [f"{name} {format_bytes(value, unit)}" for value in values]
        return bars(name, [in_unit(value, unit) for value in values], rows, text, fill, pattern=pattern)

    end = max(in_unit(max(m.capacity_bytes, m.total_bytes), unit) for m in memories) * 1.04
    capacity = {
        "type": "scatter",
        "mode": "markers",
        "name": "capacity",
        "x": [in_unit(m.capacity_bytes, unit) for m in memories],
        "y": rows,
        "text": [f"capacity {format_bytes(m.capacity_bytes, unit)}" for m in memories],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": "line-ns", "size": 72, "line": {"color": palette.OVER, "width": 4}},
        "cliponaxis": False,
    }
    memory = Panel(
        f"memory in {unit}, red mark: capacity",
        [
            part("weights", [m.weights_bytes for m in memories], palette.WEIGHTS, None),
            part("cache", [m.kv_bytes for m in memories], palette.CACHE, "/"),
            part("reserve", [m.reserve_bytes for m in memories], palette.RESERVE, "."),
            capacity,
        ],
        axis(range=[0, end], nticks=6),
    )
    together = [v.result.decode.tokens_per_s for v in pinned]
    each = [v.result.decode.tokens_per_s_per_user for v in pinned]
    height = 88 * len(rows) + 64
    speeds = (
        _ceilings("together, tokens/s", numbers, together, palette.SYSTEM),
        _ceilings("each user, tokens/s", numbers, each, palette.USER),
    )
    figures = rows_figure((memory,), height), rows_figure(speeds, height)
    for figure in figures:  # marks would widen the one axis, and rows would not stand beside each other
        figure["layout"]["yaxis"] |= {"autorange": False, "range": [len(rows) - 0.5, -0.5]}
    figures[0]["layout"]["yaxis"] |= {"tickfont": {"size": 12}}  # four lines a row where formats are named
    return figures


def _ceilings(title: str, rows: Sequence[str], values: Sequence[float], fill: str) -> Panel:
    text = [significant(value) for value in values]
    trace = bars(title, values, rows, text, fill, textposition="outside", cliponaxis=False)
    return Panel(title, [trace], axis(range=[0, max(values) * 1.5], nticks=3))
