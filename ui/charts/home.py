"""The explorer's two pictures: the memory bar, and the ceiling against users."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from core.evaluate import Memory, Result, decode_sweep, limits
from core.scenario import BATCH_MAX
from core.stops import BATCH_STOPS
from core.units import Unit, format_bytes, from_unit, in_unit, integer, significant
from ui import palette
from ui.charts import pinned
from ui.charts.base import (
    CAMERA,
    FONT_SIZE,
    Figure,
    axis,
    bars,
    key,
    keyed,
    layout,
    line,
    note,
    rule,
    shade,
    two_rows,
)
from ui.charts.labels import CHARACTER, LINE, NARROW, Sheet, feet, logarithms, round_numbers, spanned
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


def _parts(m: Memory) -> dict[str, int]:
    return {"weights": m.weights_bytes, "KV cache": m.kv_bytes, "reserve": m.reserve_bytes, "free": m.free_bytes}


def _bars(m: Memory, end_bytes: float, plot_px: float, unit: Unit) -> list[dict[str, Any]]:
    """The parts of a bar in a row. Words say the name where a phone has room for it, else the size alone.

    The larger side of a part that the capacity line cuts has its words.
    """
    found: list[dict[str, Any]] = []
    start = 0
    for name, value in _parts(m).items():
        cut = m.capacity_bytes - start if start < m.capacity_bytes < start + value else 0
        anchor = "middle" if not cut else "start" if cut > value - cut else "end"
        words = f"{name} {format_bytes(value, unit)}"
        fits = max(cut, value - cut) / end_bytes * plot_px > CHARACTER * len(words)
        fill, pattern = _LOOKS[name]
        text = words if fits else format_bytes(value, unit)
        look = {"pattern": pattern, "insidetextanchor": anchor, "hovertemplate": f"{words}<extra></extra>"}
        found.append(bars(name, [in_unit(value, unit)], [""], [text], fill, **look))
        start += value
    return found


_LOOKS = {
    "weights": (palette.WEIGHTS, None),
    "KV cache": (palette.CACHE, "/"),
    "reserve": (palette.RESERVE, "."),
    "free": (palette.FREE, None),
}


def memory_bar(result: Result, unit: Unit, before: Result | None = None) -> Figure:
    """Weights, cache, reserve and what is free, stacked against the capacity line, with a key; the overrun is named.

    Beneath it, thin, the pinned scenario's, with a line for its own capacity where that is another.
    """
    m = result.memory
    end_bytes = m.capacity_bytes * bar_room(result, before)
    plot_px = NARROW if before else NARROW + 90  # the word "pinned" stands beside it

    data = _bars(m, end_bytes, plot_px, unit)
    keyed(data, *(name for name, value in _parts(m).items() if value))
    y_axis = axis(showticklabels=False, showgrid=False, range=[-0.5, 0.5])
    capacity, end = in_unit(m.capacity_bytes, unit), in_unit(end_bytes, unit)
    shapes = [
        rule("x", capacity, "solid", palette.PAPER, 5),  # the line stays visible on every fill
        rule("x", capacity, color=palette.OVER, width=3),
    ]
    if before:
        data, y_axis = two_rows(data, _bars(before.memory, end_bytes, plot_px, unit), [""], [0])
        if before.memory.capacity_bytes != m.capacity_bytes:
            shapes.append(pinned.capacity_mark(in_unit(before.memory.capacity_bytes, unit)))
    ticks = round_ticks(end)
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0,
            height=164 if before else 122,
            margin={"l": 8, "r": 8, "t": 24, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            shapes=shapes,
            annotations=[_capacity_label(m, capacity / end, unit)],
            xaxis=axis(
                range=[0, end], tickvals=ticks, ticktext=[format_bytes(from_unit(t, unit), unit) for t in ticks]
            ),
            yaxis=y_axis,
            **key(),
        ),
    }


def _capacity_label(m: Memory, share: float, unit: Unit) -> dict[str, Any]:
    """The capacity and by how much it is passed, in one label that no width can cut: over the line, or beside it."""
    words = f"capacity {format_bytes(m.capacity_bytes, unit)}"
    if not m.fits:
        words += f", <b>over by {format_bytes(m.over_by_bytes, unit)}</b>"
    anchor = "left" if share < 0.35 else "right" if share > 0.65 else "center"
    return note(share, 1, words, xref="paper", yref="paper", xanchor=anchor, yanchor="bottom")


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


USER_HOVER = "%{fullData.name}<br>%{x:,} users: %{y:,.1f} tokens/s<extra></extra>"


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
    rings = ((d.tokens_per_s, "together", palette.SYSTEM, "y"), (d.tokens_per_s_per_user, "each", palette.USER, lower))
    return [
        pinned.ghost("together", batches, together, palette.SYSTEM, hovertemplate=USER_HOVER, yaxis="y"),
        pinned.ghost("each user", batches, each, palette.USER, hovertemplate=USER_HOVER, yaxis=lower),
        *(
            pinned.ring(f"{significant(speed)} {name}", d.batch, speed, color, yaxis=ref)
            for speed, name, color, ref in rings
        ),
    ]


def ceiling_chart(result: Result, before: Result | None = None) -> Figure:
    """Tokens/s against users: the system, each user, the asymptote, where memory ends, and you are here.

    The pinned scenario's two curves are faint, with a ring where it stands; the key has its numbers.
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
            "hovertemplate": "you are here<br>%{y:,.1f} tokens/s<extra></extra>",
        },
    ]
    data += nearest_traces(s) + nearest_traces(s, each=True)
    expected = [step.expected.tokens_per_s for step in steps if step.expected]
    if expected:
        dotted_line = line("expected experts", batches, expected, palette.SYSTEM, "dot", hovertemplate=USER_HOVER)
        data.insert(len(then), dotted_line)
    keyed(data, "together", "each user", "expected experts", *pinned.rings(then))
    edges: list[tuple[float, str]] = []
    shapes: list[dict[str, Any]] = []
    if edge is not None and edge < batches[-1]:
        at, words, shapes = memory_edge(edge, x_range, batches[-1] * 1.25)
        edges.append((at, words))
    curves = [logarithms(trace["x"], trace["y"]) for trace in data if trace["mode"] == "lines"]
    annotations, rooms = feet(edges, x_range, curves)
    here = math.log10(s.batch)
    heights = [y for _, ys in curves for y in ys]
    rooms += [(min(heights), 12, 0), (max(heights), 0, 16)]
    speeds = list(dict.fromkeys((d.tokens_per_s, d.tokens_per_s_per_user)))
    rooms += [(math.log10(speed), 24, 24) for speed in speeds]
    if math.log10(cap) < max(heights) + 0.3:
        rooms.append((math.log10(cap), 0, LINE + 2))
        shapes.append(rule("y", cap, "dot"))
        annotations.append(cap_label(cap, x_range, at_right=here < sum(x_range) / 2))
        curves.append((x_range, [math.log10(cap)] * 2))
    y_range = spanned(rooms, _PLOT)
    sheet = Sheet(x_range, y_range, _PLOT, curves, [at for at, _ in edges])
    sheet.avoid(annotations)
    annotations += [sheet.number(here, math.log10(speed), significant(speed)) for speed in speeds]
    return {
        "data": data,
        "layout": layout(
            height=310 if before else 276 if expected else 254,
            margin={"l": 8, "r": CAMERA, "t": 26, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis=x_axis,
            yaxis=speed_axis(y_range, _PLOT),
            **key(top=True, title="tokens/s"),
        ),
    }


_PLOT = 150  # pixels of the ceiling chart's plot, at least


def speed_axis(y_range: Sequence[float], plot_px: float, **changes: Any) -> dict[str, Any]:
    """A logarithmic axis of tokens/s, without a tick in the corner, where the other axis has its first."""
    low, high = y_range
    ticks = round_numbers(low + 10 / plot_px * (high - low), high, most=int(plot_px / LINE))
    return axis(type="log", range=[low, high], tickvals=ticks, tickformat=",~r", **changes)


def cap_label(cap: float, x_range: Sequence[float], *, at_right: bool) -> dict[str, Any]:
    """Names the level that no batch passes."""
    end, side, shift = (x_range[1], "right", -2) if at_right else (x_range[0], "left", 2)
    words = f"never above {significant(cap)}"
    return note(end, math.log10(cap), words, xanchor=side, xshift=shift, yanchor="bottom")


def memory_edge(
    edge: int, x_range: Sequence[float], end: float, show: Callable[[float], str] = integer
) -> tuple[float, str, list[dict[str, Any]]]:
    """Where memory ends on a logarithmic axis, its name, and the shade behind it with its line."""
    start = max(edge, 10 ** x_range[0])
    words = f"memory ends at {show(edge)}" if edge else "nothing fits"
    return math.log10(start), words, [shade(start, end), rule("x", start, color=palette.OVER)]
