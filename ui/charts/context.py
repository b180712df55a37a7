"""Longer context: weights and cache against context, the crossing, and where memory ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from core.evaluate import Result, costs, crossing_context
from core.stops import FIRST_CONTEXT_STOP, context_stops
from core.units import Unit, format_bytes, in_unit, integer
from core.variants import unwindowed_cache
from ui import palette
from ui.charts import pinned
from ui.charts.base import CAMERA, PINNED, Figure, axis, dot, key, keyed, layout, line, note, rule, shade
from ui.charts.labels import CHARACTER, LINE, NARROW, Sheet, feet, logarithms, round_numbers, spanned

_HOVER = "%{fullData.name}<br>%{x:,} tokens: %{text}<extra></extra>"


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
    """Bytes against context on logarithmic axes, for weights and for the cache at this batch; the pin's are faint.

    The key has the sizes.
    """
    s, m = result.scenario, result.memory
    curve = costs(s).stored
    contexts = context_grid(result, before)
    ends = [contexts[0] * 0.9, contexts[-1] * 1.1]
    x_range = [math.log10(end) for end in ends]

    def drawn(name: str, sizes: Sequence[int], color: str, dash: str = "solid") -> dict[str, Any]:
        words, heights = [format_bytes(v, unit) for v in sizes], [in_unit(v, unit) for v in sizes]
        return line(name, contexts, heights, color, dash, text=words, hovertemplate=_HOVER)

    def level(name: str, size: int, **look: Any) -> dict[str, Any]:
        words = f"{name} {format_bytes(size, unit)}"
        return line(words, ends, [in_unit(size, unit)] * 2, palette.OVER, "dash", hoverinfo="skip") | look

    data = [
        level("capacity", m.capacity_bytes),
        drawn(f"weights {format_bytes(m.weights_bytes, unit)}", [m.weights_bytes] * len(contexts), palette.WEIGHTS),
        drawn("KV cache", [curve.bytes(context, s.batch) for context in contexts], palette.CACHE),
    ]
    if curve.spans or curve.constant:
        everything = unwindowed_cache(s)
        sizes = [everything.bytes(context, s.batch) for context in contexts]
        data.append(drawn("if every layer kept every token", sizes, palette.RESERVE, "dot"))
    if before:
        p, then = before.memory, costs(before.scenario).stored
        sizes = [then.bytes(context, before.scenario.batch) for context in contexts]
        data.append(_ghost(drawn("KV cache", sizes, palette.CACHE)))
        if p.weights_bytes != m.weights_bytes:
            words = f"weights {format_bytes(p.weights_bytes, unit)}"
            data.append(_ghost(drawn(words, [p.weights_bytes] * len(contexts), palette.WEIGHTS)))
        if p.capacity_bytes != m.capacity_bytes:
            data.append(_ghost(level("capacity", p.capacity_bytes)))
        here, size = before.scenario.context, in_unit(max(1, p.kv_bytes), unit)
        data.append(pinned.ring(f"KV cache {format_bytes(p.kv_bytes, unit)}", here, size, palette.CACHE))
    keyed(data, *(trace["name"] for trace in data if trace["name"] != f"{PINNED}: KV cache"))
    curves = [logarithms(trace["x"], trace["y"]) for trace in data if trace["mode"] == "lines"]
    here, size = math.log10(s.context), math.log10(in_unit(max(1, m.kv_bytes), unit))
    upright, shapes = _upright(result, contexts, x_range)
    annotations, rooms = feet([(at, words) for at, words in upright if words], x_range, curves)
    heights = [y for _, ys in curves for y in ys]
    rooms += [(min(heights), 10, 0), (max(heights), 0, 10), (size, 26, 26)]
    crossing = crossing_context(s)
    if crossing is not None and contexts[0] <= crossing <= contexts[-1]:
        at = math.log10(crossing)
        place = f"{integer(crossing)} tokens: {format_bytes(m.weights_bytes, unit)} each"
        mark = dot("crossing", crossing, in_unit(m.weights_bytes, unit), palette.COMPUTE, showlegend=False)
        data.append(mark | {"hovertemplate": f"{place}<extra></extra>"})
        annotations += _who_dominates(at, (at - x_range[0]) / (x_range[1] - x_range[0]))
        rooms.append((max(heights), 0, LINE + 4))
    words = f"you are here<br>{integer(s.context)} tokens: {format_bytes(m.kv_bytes, unit)}<extra></extra>"
    mark = dot("you are here", s.context, in_unit(m.kv_bytes, unit), palette.CACHE, hovertemplate=words)
    data.append(mark | {"showlegend": False})
    low, high = spanned(rooms, _PLOT)
    sheet = Sheet(x_range, (low, high), _PLOT, curves, [at for at, _ in upright])
    sheet.avoid(annotations)
    annotations.append(sheet.number(here, size, format_bytes(m.kv_bytes, unit)))
    ticks = round_numbers(low + 10 / _PLOT * (high - low), high, most=4)
    return {
        "data": data,
        "layout": layout(
            height=380 if before else 330,
            margin={"l": 8, "r": CAMERA, "t": 28, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis=_context_axis(contexts, x_range, s.released_model.max_context),
            yaxis=axis(
                type="log", range=[low, high], tickvals=ticks, ticktext=[f"{tick:,.12g} {unit}" for tick in ticks]
            ),
            **key(top=True),
        ),
    }


_PLOT = 140  # pixels: on the page it has more, on a projector less


def _ghost(trace: dict[str, Any]) -> dict[str, Any]:
    """A curve as the pin's."""
    changes = {name: trace[name] for name in ("text", "hovertemplate", "hoverinfo") if name in trace}
    return pinned.ghost(trace["name"], trace["x"], trace["y"], trace["line"]["color"], **changes)


def _upright(
    result: Result, contexts: Sequence[int], x_range: Sequence[float]
) -> tuple[list[tuple[float, str]], list[dict[str, Any]]]:
    """Places and names of the upright lines, and the lines: where cache and weights are equal, where memory ends."""
    limit, edge, crossing = (
        result.scenario.released_model.max_context,
        result.memory.max_context,
        crossing_context(result.scenario),
    )
    names: list[tuple[float, str]] = []
    shapes = [rule("x", limit, "dot")]  # its name is at the axis
    if crossing is not None and contexts[0] <= crossing <= contexts[-1]:
        names.append((math.log10(crossing), f"cache = weights at {integer(crossing)}"))
        shapes.append(rule("x", crossing, "dot", palette.COMPUTE))
    if edge is not None and edge < contexts[-1]:
        start = max(edge, contexts[0] * 0.9)
        names.append((math.log10(start), f"memory ends at {integer(edge)}" if edge else "memory allows no context"))
        shapes += [shade(start, 10 ** x_range[1]), rule("x", start, color=palette.OVER)]
    return names, shapes


def _who_dominates(at: float, share: float) -> list[dict[str, Any]]:
    """On each side of the crossing what takes more memory there, where there is room for the words."""
    sides = (("weights dominate ◂", share, "right", -6), ("▸ the cache dominates", 1 - share, "left", 6))
    return [
        note(at, 1, words, yref="paper", yanchor="top", xanchor=anchor, xshift=shift)
        for words, room, anchor, shift in sides
        if room * NARROW > CHARACTER * len(words)
    ]


def _context_axis(contexts: Sequence[int], x_range: Sequence[float], limit: int) -> dict[str, Any]:
    """The axis of context: powers of two, few enough for a phone, and the model's limit by name."""
    powers = [c for c in contexts if c & (c - 1) == 0]
    step = max(2, -(-len(powers) // 7))
    apart = 0.2 * (x_range[1] - x_range[0])
    ticks = [tick for tick in powers[::step] if abs(math.log10(tick / limit)) > apart]
    texts = [integer(tick) for tick in ticks]
    return axis(
        type="log",
        range=list(x_range),
        tickvals=[*ticks, limit],
        ticktext=[*texts, f"<b>{integer(limit)}</b><br>the model stops"],
        tickangle=0,
        title={"text": "context (tokens)"},
    )
