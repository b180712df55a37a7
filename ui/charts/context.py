"""Longer context: weights and cache against context, the crossing, and where memory ends."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Result, capacity_bytes, costs, crossing_context
from core.stops import FIRST_CONTEXT_STOP, context_stops
from core.units import Unit, format_bytes, in_unit, integer
from core.variants import unwindowed_cache
from ui import palette
from ui.charts import pinned
from ui.charts.base import PINNED, Figure, axis, dot, layout, line, note, rule, shade, side

_HOVER = "%{x:,} tokens: %{text}<extra>%{fullData.name}</extra>"


def context_grid(result: Result, before: Result | None = None) -> list[int]:
    """Contexts to draw: the slider's stops, well past the model's limit and the crossing when it is near.

    Also the pinned context.
    """
    s = result.scenario
    stops = context_stops(s.released_model, s.context)
    crossing = crossing_context(s)
    end = max(stops[-1], 4 * s.released_model.max_context)
    if crossing is not None and crossing < 64 * s.released_model.max_context:
        end = max(end, math.ceil(2 * crossing))
    found = set(stops) | {end}
    if before:
        end = max(end, before.scenario.context)
        found |= {before.scenario.context, end}
    step = FIRST_CONTEXT_STOP
    while step < end:
        found |= {step, step + step // 2}
        step *= 2
    for r in (result, before):
        found |= {span for span, _ in costs(r.scenario).stored.spans} if r else set()  # the curve bends exactly here
    return sorted(x for x in found if x <= end)


def context_figure(result: Result, unit: Unit, before: Result | None = None) -> Figure:
    """Bytes against context on logarithmic axes, for weights and for the cache at this batch; the pin's are faint."""
    s, m = result.scenario, result.memory
    curve = costs(s).stored
    contexts = context_grid(result, before)
    cache = [curve.bytes(context, s.batch) for context in contexts]

    def y(value: float) -> float:
        return math.log10(in_unit(value, unit))

    def texts(values: list[int]) -> list[str]:
        return [format_bytes(v, unit) for v in values]

    def scaled(values: list[int]) -> list[float]:
        return [in_unit(v, unit) for v in values]

    data: list[dict[str, Any]] = []
    if curve.spans or curve.constant:
        everything = unwindowed_cache(s)
        full = [everything.bytes(context, s.batch) for context in contexts]
        name = "if every layer kept every token"
        data.append(line(name, contexts, scaled(full), palette.RESERVE, "dot", text=texts(full), hovertemplate=_HOVER))
    weights = [m.weights_bytes] * len(contexts)
    data += [
        line("weights", contexts, scaled(weights), palette.WEIGHTS, text=texts(weights), hovertemplate=_HOVER),
        line("KV cache", contexts, scaled(cache), palette.CACHE, text=texts(cache), hovertemplate=_HOVER),
        dot("you are here", s.context, in_unit(m.kv_bytes, unit), palette.CACHE,
            hovertemplate=f"{integer(s.context)} tokens: {format_bytes(m.kv_bytes, unit)}<extra>you are here</extra>"),
    ]  # fmt: skip
    x_range = [math.log10(contexts[0] * 0.9), math.log10(contexts[-1] * 1.1)]
    highest = max(cache[-1], m.weights_bytes, capacity_bytes(s))
    lowest = max(1, min(cache[0], m.weights_bytes))
    if before:
        then, sizes = _pinned(result, before, contexts, unit)
        data[:0] = then
        highest, lowest = max(highest, *sizes), max(1, min(lowest, *sizes))
    y_range = [math.floor(y(lowest)), math.ceil(y(highest) + 0.1)]
    middle = (x_range[0] + x_range[1]) / 2
    here = math.log10(s.context)
    shapes = [rule("y", in_unit(m.capacity_bytes, unit), color=palette.OVER)]
    weights_above = m.weights_bytes > m.capacity_bytes
    annotations = [
        note(x_range[0], y(m.weights_bytes), f" weights {format_bytes(m.weights_bytes, unit)}", xanchor="left",
             yanchor="bottom" if weights_above else "top"),
        note(x_range[0], y(m.capacity_bytes), f" capacity {format_bytes(m.capacity_bytes, unit)}", xanchor="left",
             yanchor="top" if weights_above else "bottom"),
        note(here, y(max(1, m.kv_bytes)), f"<b>KV cache {format_bytes(m.kv_bytes, unit)}</b>",
             xanchor="right" if here > middle else "left", xshift=-12 if here > middle else 12,
             yshift=14 if here > middle else -14),
    ]  # fmt: skip
    crossing = crossing_context(s)
    edge, limit = m.max_context, s.released_model.max_context
    known = [math.log10(at) for at in (crossing, edge, limit) if at]

    def beside(at: float) -> dict[str, Any]:
        return side(at, [x for x in known if x != at], x_range)

    if crossing is not None and contexts[0] <= crossing <= contexts[-1]:
        at = math.log10(crossing)
        data.append(dot("crossing", crossing, in_unit(m.weights_bytes, unit), palette.COMPUTE))
        shapes.append(rule("x", crossing, "dot", palette.COMPUTE))
        annotations += [
            note(at, y_range[0], f"cache = weights at {integer(crossing)}", yanchor="bottom") | beside(at),
            note(at, 1, "weights dominate ◂", yref="paper", xanchor="right", yanchor="bottom", xshift=-6),
            note(at, 1, "▸ the cache dominates", yref="paper", xanchor="left", yanchor="bottom", xshift=6),
        ]  # fmt: skip
    if edge is not None and edge < contexts[-1]:
        start = max(edge, contexts[0] * 0.9)
        shapes += [shade(start, contexts[-1] * 1.1), rule("x", start, color=palette.OVER)]
        label = f"memory ends at {integer(edge)}" if edge else "memory allows no context"
        annotations.append(note(math.log10(start), 0.16, label, yref="paper") | beside(math.log10(start)))
    shapes.append(rule("x", limit, "dot"))
    stops = f"the model stops at {integer(limit)}"
    annotations.append(note(math.log10(limit), 0.08, stops, yref="paper") | beside(math.log10(limit)))
    ticks = _ticks(contexts)
    figure: Figure = {
        "data": data,
        "layout": layout(
            height=330,
            margin={"l": 8, "r": 8, "t": 26, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis=axis(type="log", range=x_range, tickvals=ticks, ticktext=[integer(t) for t in ticks],
                       title={"text": "context (tokens)"}),
            yaxis=axis(type="log", range=y_range, dtick=1, tickformat=",~r", ticksuffix=f" {unit}"),
        ),
    }  # fmt: skip
    if before:
        _label_pinned(figure, result, before, unit)
    return figure


def _ticks(contexts: list[int]) -> list[int]:
    """Powers of two, few enough for a phone."""
    powers = [c for c in contexts if c & (c - 1) == 0]
    return powers[:: max(2, -(-len(powers) // 8))]


def _pinned(
    result: Result, before: Result, contexts: list[int], unit: Unit
) -> tuple[list[dict[str, Any]], tuple[int, ...]]:
    """The pinned scenario's curves with its ring, and the sizes that the axis must hold."""
    p, curve = before.memory, costs(before.scenario).stored
    cache = [curve.bytes(context, before.scenario.batch) for context in contexts]

    def ghost(name: str, sizes: list[int], color: str) -> dict[str, Any]:
        words = [format_bytes(size, unit) for size in sizes]
        heights = [in_unit(size, unit) for size in sizes]
        return pinned.ghost(name, contexts, heights, color, text=words, hovertemplate=_HOVER)

    found = [ghost("KV cache", cache, palette.CACHE)]
    if p.weights_bytes != result.memory.weights_bytes:
        found.append(ghost("weights", [p.weights_bytes] * len(contexts), palette.WEIGHTS))
    found.append(pinned.ring("KV cache", before.scenario.context, in_unit(max(1, p.kv_bytes), unit), palette.CACHE))
    return found, (cache[0], cache[-1], p.weights_bytes, p.capacity_bytes)


def _label_pinned(figure: Figure, result: Result, before: Result, unit: Unit) -> None:
    m, p = result.memory, before.memory
    if p.capacity_bytes != m.capacity_bytes:
        line_at = in_unit(p.capacity_bytes, unit)
        figure["layout"]["shapes"].append(rule("y", line_at, "6px,4px", palette.OVER, 1.5))
    canvas = pinned.Canvas(figure, pinned.WIDE)
    cache = f"{PINNED} {format_bytes(p.kv_bytes, unit)}"
    canvas.label(before.scenario.context, in_unit(max(1, p.kv_bytes), unit), cache)
    low, high = (10**end for end in figure["layout"]["xaxis"]["range"])
    for name, size, own in (
        ("weights", p.weights_bytes, m.weights_bytes),
        ("capacity", p.capacity_bytes, m.capacity_bytes),
    ):
        if size != own:
            near, far = low**0.97 * high**0.03, low**0.6 * high**0.4
            canvas.label(near, in_unit(size, unit), f"{PINNED} {name} {format_bytes(size, unit)}", or_x=far)
