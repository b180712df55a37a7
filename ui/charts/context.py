"""Longer context: weights and cache against context, the crossing, and where memory ends."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Result, capacity_bytes, costs, crossing_context
from core.stops import FIRST_CONTEXT_STOP, context_stops
from core.units import Unit, format_bytes, in_unit, integer
from core.variants import unwindowed_cache
from ui import palette
from ui.charts.base import Figure, axis, dot, layout, line, note, rule, shade, side

_HOVER = "%{x:,} tokens: %{text}<extra>%{fullData.name}</extra>"


def context_grid(result: Result) -> list[int]:
    """Contexts to draw: the slider's stops, well past the model's limit and the crossing when it is near."""
    s = result.scenario
    stops = context_stops(s.released_model, s.context)
    crossing = crossing_context(s)
    end = max(stops[-1], 4 * s.released_model.max_context)
    if crossing is not None and crossing < 64 * s.released_model.max_context:
        end = max(end, math.ceil(2 * crossing))
    found = set(stops) | {end}
    step = FIRST_CONTEXT_STOP
    while step < end:
        found |= {step, step + step // 2}
        step *= 2
    for span, _ in costs(s).stored.spans:  # the curve bends exactly here
        found.add(span)
    return sorted(x for x in found if x <= end)


def context_figure(result: Result, unit: Unit) -> Figure:
    """Bytes against context on logarithmic axes, for weights and for the cache at this batch."""
    s, m = result.scenario, result.memory
    curve = costs(s).stored
    contexts = context_grid(result)
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
    ticks = [c for c in contexts if c & (c - 1) == 0]
    ticks = ticks[:: max(2, -(-len(ticks) // 8))]
    return {
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
