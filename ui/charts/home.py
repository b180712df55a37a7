"""The explorer's two pictures: the memory bar, and the ceiling against users."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from core.evaluate import Memory, Result, decode_sweep, limits
from core.scenario import BATCH_MAX
from core.stops import BATCH_STOPS
from core.units import Unit, format_bytes, format_rate, from_unit, in_unit, integer, significant
from ui import palette
from ui.charts import pinned
from ui.charts.base import FONT_SIZE, PINNED, Figure, axis, bars, layout, line, note, rule, shade, two_rows
from ui.charts.nearest import nearest_traces

# The bar's axis ends at a few fixed multiples of the capacity, so that bars move and the axis does not.
_BAR_ROOM = (1.2, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def round_ticks(end: float) -> list[float]:
    """Four to nine round steps up to `end`."""
    rough = end / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    return [step * i for i in range(1, int(end / step) + 1)]


def bar_room(result: Result, before: Result | None = None) -> float:
    """End of the memory bar's axis as a multiple of the capacity; the pinned bar fits on it too."""
    most = result.memory.total_bytes
    if before:
        most = max(most, before.memory.total_bytes, before.memory.capacity_bytes)
    need = most / result.memory.capacity_bytes
    return next((room for room in _BAR_ROOM if need <= room * 0.98), need * 1.1)


def memory_bar(result: Result, unit: Unit, before: Result | None = None) -> Figure:
    """Weights, cache, reserve and what is free, stacked against the capacity line; the overrun is labelled.

    Beneath it, thin, the pinned scenario's, with a line for its own capacity where that is another.
    """
    m = result.memory

    def size(value: float) -> str:
        return format_bytes(value, unit)

    def x(value: float) -> float:
        return in_unit(value, unit)

    def part(name: str, value: int, fill: str, pattern: str | None = None) -> dict[str, Any]:
        return bars(name, [x(value)], [""], [f"{name} {size(value)}"], fill, pattern=pattern)

    def parts(m: Memory) -> list[dict[str, Any]]:
        return [
            part("weights", m.weights_bytes, palette.WEIGHTS),
            part("KV cache", m.kv_bytes, palette.CACHE, "/"),
            part("reserve", m.reserve_bytes, palette.RESERVE, "."),
            part("free", m.free_bytes, palette.FREE),
        ]

    data = parts(m)
    capacity = x(m.capacity_bytes)
    end = capacity * bar_room(result, before)
    above = {"yref": "paper", "yanchor": "bottom"}
    annotations = [
        note(capacity, 1, f"capacity {size(m.capacity_bytes)}", xanchor="right" if capacity > end / 2 else "left")
        | above
    ]
    if not m.fits:
        over_x = x(m.total_bytes)
        annotations.append(note(over_x, 1, f"<b>over by {size(m.over_by_bytes)}</b>", xanchor="right") | above)
        if over_x < end * 0.62:  # the two labels would collide: the capacity's goes below the bar
            annotations[0] |= {"xanchor": "right" if capacity > end * 0.18 else "left", "y": 0, "yanchor": "top"}
    ticks = round_ticks(end)
    shapes = [rule("x", capacity, color=palette.OVER, width=3)]
    y_axis = axis(showticklabels=False, showgrid=False, range=[-0.5, 0.5])
    if before:
        data, y_axis = two_rows(data, parts(before.memory), [""], [0])
        if before.memory.capacity_bytes != m.capacity_bytes:
            shapes.append(pinned.capacity_mark(x(before.memory.capacity_bytes)))
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0,
            height=138 if before else 106,
            margin={"l": 8, "r": 8, "t": 22, "b": 20},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            shapes=shapes,
            annotations=annotations,
            xaxis=axis(range=[0, end], tickvals=ticks, ticktext=[size(from_unit(t, unit)) for t in ticks]),
            yaxis=y_axis,
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


def batch_axis(batches: list[int], **changes: Any) -> dict[str, Any]:
    """The logarithmic axis of users: powers of four, few enough for a phone."""
    powers = [b for b in batches if b & (b - 1) == 0]
    ticks = powers[:: max(2, -(-len(powers) // 8))]
    span = [math.log10(0.8), math.log10(batches[-1] * 1.25)]
    return axis(type="log", range=span, tickvals=ticks, ticktext=[integer(t) for t in ticks], **changes)


def decades(low: float, high: float) -> list[float]:
    """Whole decades around the curves, with a third of one to spare above for labels."""
    top = math.log10(high)
    return [math.floor(math.log10(low)), math.ceil(top) if math.ceil(top) - top > 0.3 else math.ceil(top) + 0.5]


USER_HOVER = "%{x:,} users: %{y:,.1f} tokens/s<extra>%{fullData.name}</extra>"


def both_batches(result: Result, before: Result | None) -> list[int]:
    """Batches to draw the sweep at, the present one and the pinned one among them."""
    known = {r.scenario.batch for r in (result, before) if r}
    return sorted({*batch_grid(max(known)), *known})


def pinned_curves(before: Result, batches: list[int], lower: str = "y") -> list[dict[str, Any]]:
    """The pinned scenario's speed against users, and where it stands; each user's on the axis `lower`."""
    d = before.decode
    steps = decode_sweep(before.scenario, batches)
    together = [step.tokens_per_s for step in steps]
    each = [step.tokens_per_s_per_user for step in steps]
    return [
        pinned.ghost("together", batches, together, palette.SYSTEM, hovertemplate=USER_HOVER, yaxis="y"),
        pinned.ghost("each user", batches, each, palette.USER, hovertemplate=USER_HOVER, yaxis=lower),
        pinned.ring("together", d.batch, d.tokens_per_s, palette.SYSTEM, yaxis="y"),
        pinned.ring("each user", d.batch, d.tokens_per_s_per_user, palette.USER, yaxis=lower),
    ]


def label_pinned_speeds(canvas: pinned.Canvas, before: Result, lower: str = "y") -> None:
    """The numbers beside both rings."""
    d = before.decode
    canvas.label(d.batch, d.tokens_per_s, f"{PINNED} {significant(d.tokens_per_s)}")
    canvas.label(d.batch, d.tokens_per_s_per_user, f"{PINNED} {significant(d.tokens_per_s_per_user)}", lower)


def ceiling_chart(result: Result, before: Result | None = None) -> Figure:
    """Tokens/s against users: the system, each user, the asymptote, where memory ends, and you are here.

    The pinned scenario's two curves are faint, with a ring where it stands.
    """
    s, d, edge = result.scenario, result.decode, result.memory.max_batch
    batches = both_batches(result, before)
    steps = decode_sweep(s, batches)
    system = [step.tokens_per_s for step in steps]
    user = [step.tokens_per_s_per_user for step in steps]
    then = pinned_curves(before, batches) if before else []
    cap = limits(s).cap_tokens_per_s
    x_axis = batch_axis(batches, title={"text": "users (batch)"})
    x_range: list[float] = x_axis["range"]
    speeds = [*user, *system, *(speed for trace in then for speed in trace["y"])]
    y_range = decades(min(speeds), max(speeds))
    data = [
        *then,
        line("together", batches, system, palette.SYSTEM, hovertemplate=USER_HOVER),
        line("each user", batches, user, palette.USER, "dash", hovertemplate=USER_HOVER),
        {
            "type": "scatter",
            "mode": "markers",
            "name": "you are here",
            "x": [s.batch, s.batch],
            "y": [d.tokens_per_s, d.tokens_per_s_per_user],
            "marker": {
                "size": 13,
                "color": [palette.SYSTEM, palette.USER],
                "line": {"color": palette.PAPER, "width": 2},
            },
            "hovertemplate": "%{y:,.1f} tokens/s<extra>you are here</extra>",
        },
    ]
    data += nearest_traces(s) + nearest_traces(s, each=True)
    expected = [step.expected.tokens_per_s for step in steps if step.expected]
    if expected:
        dotted_line = line("expected experts", batches, expected, palette.SYSTEM, "dot", hovertemplate=USER_HOVER)
        data.insert(len(then), dotted_line)
    place = Placement(x_range, math.log10(s.batch), None if edge is None else math.log10(max(edge, 0.8)))
    later = system[min(len(system) - 1, batches.index(s.batch) + 4)]
    annotations = place.labels(
        system=(d.tokens_per_s, f"<b>{format_rate(d.tokens_per_s)}</b> together"),
        user=(d.tokens_per_s_per_user, f"<b>{significant(d.tokens_per_s_per_user)}</b> each"),
        rising=later > 1.7 * d.tokens_per_s,
    )
    if expected:
        dotted = batches[-6]
        at = (math.log10(dotted), math.log10(expected[batches.index(dotted)]))
        annotations.append(note(*at, "dotted: expected experts", xanchor="right", yshift=-14))
    shapes: list[dict[str, Any]] = []
    if math.log10(cap) <= y_range[1]:
        shapes.append(rule("y", cap, "dot"))
        annotations.append(cap_label(cap, at_right=place.right_is_free))
    if edge is not None and edge < batches[-1]:
        more, label = memory_edge(edge, x_range, batches[-1] * 1.25)
        shapes += more
        annotations.append(label)
    figure: Figure = {
        "data": data,
        "layout": layout(
            height=270,
            margin={"l": 8, "r": 8, "t": 10, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis=x_axis,
            yaxis=axis(type="log", range=y_range, title={"text": "tokens/s"}, dtick=1, tickformat=",~r"),
        ),
    }
    if before:
        label_pinned_speeds(pinned.Canvas(figure, pinned.THREE_FIFTHS, lecture=False), before)
    return figure


def cap_label(cap: float, *, at_right: bool) -> dict[str, Any]:
    """Names the level that no batch passes."""
    return note(
        0.995 if at_right else 0.005,
        math.log10(cap),
        f"never above {significant(cap)}",
        xref="paper",
        xanchor="right" if at_right else "left",
        yanchor="bottom",
    )


def memory_edge(
    edge: int, x_range: list[float], end: float, show: Callable[[float], str] = integer
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Shade and label where memory ends on a logarithmic axis."""
    start = max(edge, 10 ** x_range[0])
    right = math.log10(start) > x_range[0] + 0.6 * (x_range[1] - x_range[0])
    label = note(
        math.log10(start),
        0.01,
        f"memory ends at {show(edge)}" if edge else "nothing fits",
        xanchor="right" if right else "left",
        yref="paper",
        yanchor="bottom",
    )
    return [shade(start, end), rule("x", start, color=palette.OVER)], label


class Placement:
    """Where the labels of the present batch go: beside their points, clear of curves, edge and frame."""

    WIDTH = 0.32  # of a label, as a share of the axis

    def __init__(self, x_range: list[float], here: float, edge: float | None) -> None:
        """Positions are logarithms of batches; `edge` is where memory ends."""
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
        return [self.label(*system, shifts[0]), self.label(*user, shifts[1])]

    def label(self, y: float, text: str, shift: float) -> dict[str, Any]:
        """One label beside the point at height y of a logarithmic axis."""
        return note(
            self.here,
            math.log10(y),
            text,
            xanchor="right" if self.to_left else "left",
            xshift=-10 if self.to_left else 10,
            yshift=shift,
        )
