"""`Result -> figure`: whole dictionaries, which Plotly draws as they are. No streamlit here."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Result, limits, sweep
from core.scenario import BATCH_MAX
from core.stops import BATCH_STOPS
from core.units import Unit, format_bytes, format_rate, from_unit, in_unit, integer, significant
from ui import palette

Figure = dict[str, Any]

FONT_SIZE = 14
CONFIG = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg"},
    "responsive": True,
}

# The bar's axis ends at a few fixed multiples of the capacity, so that bars move and the axis does not.
_BAR_ROOM = (1.2, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def _layout(**changes: Any) -> dict[str, Any]:
    axis = {"fixedrange": True, "gridcolor": palette.GRID, "zeroline": False, "automargin": True}
    base: dict[str, Any] = {
        "font": {"size": FONT_SIZE, "family": "'Source Sans', sans-serif"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": axis | changes.pop("xaxis", {}),
        "yaxis": axis | changes.pop("yaxis", {}),
    }
    return base | changes


def _segment(name: str, value: float, text: str, fill: str, **marker: Any) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": [value],
        "y": [""],
        "text": [text],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": palette.ON_FILL[fill], "size": FONT_SIZE + 1},
        "hovertemplate": f"{text}<extra></extra>",
        "marker": {"color": fill, "line": {"color": palette.INK, "width": 1}, **marker},
    }


def hatch(shape: str) -> dict[str, Any]:
    """A pattern over the fill colour (without overlay the fill would vanish)."""
    return {"pattern": {"shape": shape, "fillmode": "overlay", "fgcolor": palette.INK, "fgopacity": 0.22, "size": 9}}


def _round_ticks(end: float) -> list[float]:
    """Four to nine round steps from 0 to `end`."""
    rough = end / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    return [step * i for i in range(1, int(end / step) + 1)]


def bar_room(result: Result) -> float:
    """End of the memory bar's axis as a multiple of the capacity."""
    need = result.memory.total_bytes / result.memory.capacity_bytes
    return next((room for room in _BAR_ROOM if need <= room * 0.98), need * 1.1)


def memory_bar(result: Result, unit: Unit) -> Figure:
    """Weights, cache, reserve and what is free, stacked against the capacity line; the overrun is labelled."""
    m = result.memory

    def size(value: float) -> str:
        return format_bytes(value, unit)

    def x(value: float) -> float:
        return in_unit(value, unit)

    data = [
        _segment("weights", x(m.weights_bytes), f"weights {size(m.weights_bytes)}", palette.WEIGHTS),
        _segment("KV cache", x(m.kv_bytes), f"KV cache {size(m.kv_bytes)}", palette.CACHE, **hatch("/")),
        _segment("reserve", x(m.reserve_bytes), f"reserve {size(m.reserve_bytes)}", palette.RESERVE, **hatch(".")),
        _segment("free", x(m.free_bytes), f"free {size(m.free_bytes)}", palette.FREE),
    ]
    capacity = x(m.capacity_bytes)
    end = capacity * bar_room(result)
    ticks = _round_ticks(end)
    shapes: list[dict[str, Any]] = [
        {
            "type": "line",
            "x0": capacity,
            "x1": capacity,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": palette.OVER, "width": 3, "dash": "dash"},
        }
    ]
    annotations = [
        {
            "x": capacity,
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "xanchor": "right" if capacity > end / 2 else "left",
            "text": f"capacity {size(m.capacity_bytes)}",
            "showarrow": False,
        }
    ]
    if not m.fits:
        over_x = x(m.total_bytes)
        annotations.append(
            {
                "x": over_x,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "xanchor": "right",
                "text": f"<b>over by {size(m.over_by_bytes)}</b>",
                "showarrow": False,
            }
        )
        if over_x < end * 0.62:  # the two labels would collide: put the capacity's on the other side of its line
            annotations[0] |= {"xanchor": "right" if capacity > end * 0.18 else "left", "y": 0, "yanchor": "top"}
    return {
        "data": data,
        "layout": _layout(
            barmode="stack",
            bargap=0,
            height=106,
            margin={"l": 8, "r": 8, "t": 22, "b": 20},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            shapes=shapes,
            annotations=annotations,
            xaxis={"range": [0, end], "tickvals": ticks, "ticktext": [size(from_unit(t, unit)) for t in ticks]},
            yaxis={"showticklabels": False, "showgrid": False, "range": [-0.5, 0.5]},
        ),
    }


def batch_grid(largest: float) -> list[int]:
    """Batches to draw the sweep at: powers of two and the points between, to at least `largest`.

    >>> batch_grid(4)[:7]
    [1, 2, 3, 4, 6, 8, 12]
    """
    end = max(BATCH_STOPS[-1], min(BATCH_MAX, 2 ** math.ceil(math.log2(max(1.0, largest)))))
    found: set[int] = set()
    step = 1
    while step <= end:
        found |= {step, min(end, step + step // 2)}
        step *= 2
    return sorted(found)


def _decades(low: float, high: float) -> list[float]:
    """Whole decades around the curves, with half of one to spare above for labels."""
    top = math.log10(high)
    return [math.floor(math.log10(low)), math.ceil(top) if math.ceil(top) - top > 0.3 else math.ceil(top) + 0.5]


def ceiling_chart(result: Result) -> Figure:
    """Tokens/s against users: the system, each user, the asymptote, where memory ends, and you are here."""
    s, d, m = result.scenario, result.decode, result.memory
    batches = sorted({*batch_grid(s.batch), s.batch})
    steps = [r.decode for r in sweep(s, "batch", batches)]
    system = [step.tokens_per_s for step in steps]
    user = [step.tokens_per_s_per_user for step in steps]
    asymptote = limits(s).asymptote_tokens_per_s
    x_range = [math.log10(0.8), math.log10(batches[-1] * 1.25)]
    y_range = _decades(min(user), max(system))
    data: list[dict[str, Any]] = []
    if d.expected is not None:
        expected = [step.expected.tokens_per_s for step in steps if step.expected]
        data.append(_line("expected experts", batches, expected, palette.SYSTEM, "dot"))
    data += [
        _line("together", batches, system, palette.SYSTEM, "solid"),
        _line("each user", batches, user, palette.USER, "dash"),
        {
            "type": "scatter",
            "mode": "markers",
            "name": "you are here",
            "x": [s.batch, s.batch],
            "y": [d.tokens_per_s, d.tokens_per_s_per_user],
            "marker": {
                "size": 13,
                "symbol": "circle",
                "color": [palette.SYSTEM, palette.USER],
                "line": {"color": palette.PAPER, "width": 2},
            },
            "hovertemplate": "%{y:,.1f} tokens/s<extra>you are here</extra>",
        },
    ]
    here = math.log10(s.batch)
    edge = m.max_batch
    place = _Placement(x_range, here, None if edge is None else math.log10(max(edge, 0.8)))
    later = system[min(len(system) - 1, batches.index(s.batch) + 4)]
    annotations = place.labels(
        system=(d.tokens_per_s, f"<b>{format_rate(d.tokens_per_s)}</b> together"),
        user=(d.tokens_per_s_per_user, f"<b>{significant(d.tokens_per_s_per_user)}</b> each"),
        rising=later > 1.7 * d.tokens_per_s,
    )
    shapes: list[dict[str, Any]] = []
    if asymptote is not None and math.log10(asymptote) <= y_range[1]:
        shapes.append(_rule("y", asymptote, "dot"))
        annotations.append(
            {
                "xref": "paper",
                "x": 0.995 if place.right_is_free else 0.005,
                "xanchor": "right" if place.right_is_free else "left",
                "y": math.log10(asymptote),
                "yanchor": "bottom",
                "text": f"never above {format_rate(asymptote)} (asymptote)",
                "showarrow": False,
            }
        )
    if edge is not None and edge < batches[-1]:
        start = max(edge, 0.8)
        shapes.append(
            {
                "type": "rect",
                "x0": start,
                "x1": batches[-1] * 1.25,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "fillcolor": palette.SHADE,
                "line": {"width": 0},
                "layer": "below",
            }
        )
        shapes.append(_rule("x", start, "dash", palette.OVER, 2))
        right = math.log10(start) > x_range[0] + 0.6 * (x_range[1] - x_range[0])
        annotations.append(
            {
                "x": math.log10(start),
                "xanchor": "right" if right else "left",
                "yref": "paper",
                "y": 0.01,
                "yanchor": "bottom",
                "text": f"memory ends at {integer(edge)}" if edge else "not one user fits",
                "showarrow": False,
            }
        )
    powers = [b for b in batches if b & (b - 1) == 0]
    ticks = powers[:: max(2, -(-len(powers) // 8))]
    return {
        "data": data,
        "layout": _layout(
            height=270,
            margin={"l": 8, "r": 8, "t": 10, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis={
                "type": "log",
                "range": x_range,
                "title": {"text": "users (batch)"},
                "tickvals": ticks,
                "ticktext": [integer(t) for t in ticks],
            },
            yaxis={"type": "log", "range": y_range, "title": {"text": "tokens/s"}, "dtick": 1, "tickformat": ",~r"},
        ),
    }


def _line(name: str, x: list[int], y: list[float], color: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": color, "width": 3, "dash": dash},
        "hovertemplate": "%{x:,} users: %{y:,.1f} tokens/s<extra>" + name + "</extra>",
    }


def _rule(axis: str, at: float, dash: str, color: str = palette.RESERVE, width: float = 1.5) -> dict[str, Any]:
    other = "y" if axis == "x" else "x"
    return {
        "type": "line",
        f"{axis}0": at,
        f"{axis}1": at,
        f"{other}ref": "paper",
        f"{other}0": 0,
        f"{other}1": 1,
        "line": {"color": color, "width": width, "dash": dash},
    }


class _Placement:
    """Where the labels of the present batch go: beside their points, clear of curves, edge and frame."""

    WIDTH = 0.32  # of a label, as a share of the axis

    def __init__(self, x_range: list[float], here: float, edge: float | None) -> None:
        span = x_range[1] - x_range[0]
        self.here = here
        self.share = (here - x_range[0]) / span
        self.near = self.share < self.WIDTH
        at = None if edge is None else (edge - x_range[0]) / span
        cut_left = at is not None and self.share - self.WIDTH < at < self.share
        cut_right = at is not None and self.share < at < self.share + self.WIDTH
        right_fits = self.share < 1 - self.WIDTH
        self.to_left = not self.near and not (right_fits and cut_left and not cut_right)
        start = self.share - self.WIDTH if self.to_left else self.share
        self.right_is_free = start + self.WIDTH < 1 - self.WIDTH - 0.05

    def labels(self, *, system: tuple[float, str], user: tuple[float, str], rising: bool) -> list[dict[str, Any]]:
        """Both on the flat curve's free side at small batches, where the curves meet; else each beside its own."""
        if self.near:
            shifts = (-18, -36) if rising else (34, 16)
        else:
            shifts = (17, 34) if self.to_left else (-18, 17)
        return [self._label(*system, shifts[0]), self._label(*user, shifts[1])]

    def _label(self, y: float, text: str, shift: float) -> dict[str, Any]:
        return {
            "x": self.here,
            "y": math.log10(y),
            "text": text,
            "showarrow": False,
            "xanchor": "right" if self.to_left else "left",
            "xshift": -10 if self.to_left else 10,
            "yshift": shift,
        }
