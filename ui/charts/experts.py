"""Experts: how many a batch wakes, and the ceiling as a band."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Result, all_experts_sweep, decode_sweep
from core.units import significant
from ui import palette
from ui.charts import pinned
from ui.charts.base import Figure, axis, dot, key, keyed, line, note, rule, titled_layout
from ui.charts.home import USER_HOVER, batch_axis, both_batches, memory_edge, speed_axis
from ui.charts.labels import Sheet, feet, logarithms, spanned

_HOVER = "%{fullData.name}<br>%{x:,} users: %{y:,.2f} experts<extra></extra>"
HEIGHT = 340
_PLOT = 120  # pixels of the plot, at least


def experts_figure(result: Result, before: Result | None = None) -> Figure:
    """Experts touched a layer against users: least, expected, most and all there are; a dense pin has none."""
    s, moe, expected = result.scenario, result.scenario.released_model.moe, result.decode.expected
    if moe is None or expected is None:
        raise ValueError(f"{s.released_model.name} has no experts to draw")
    batches = both_batches(result, before)
    x_axis = batch_axis(batches, title={"text": "users (batch)"})
    x_range: list[float] = x_axis["range"]
    touched = expected.experts_touched or 0.0
    moe_then = before.scenario.released_model.moe if before else None
    then, touched_then = _expected_touched(before, batches)
    curve, _ = _expected_touched(result, batches)
    most = [float(min(moe.n_experts, moe.n_active * b)) for b in batches]
    least = [float(moe.n_active)] * len(batches)
    pins: list[dict[str, Any]] = []
    if before and then:
        pins = [
            pinned.ghost("expected", batches, then, palette.SYSTEM, hovertemplate=_HOVER),
            pinned.ring(f"{significant(touched_then)} expected", before.scenario.batch, touched_then, palette.SYSTEM),
        ]
    data = [
        *pins,
        line("most, no two alike", batches, most, palette.USER, "dash", hovertemplate=_HOVER),
        line("expected", batches, curve, palette.SYSTEM, hovertemplate=_HOVER),
        line("least, all alike", batches, least, palette.WEIGHTS, "dot", hovertemplate=_HOVER),
        dot("you are here", s.batch, touched, palette.SYSTEM, hoverinfo="skip"),
    ]
    keyed(data, *(trace["name"] for trace in data[len(pins) : -1]), *pinned.rings(pins))
    highest = max(moe.n_experts, moe_then.n_experts if moe_then else 0)
    _, top = spanned([(0, 0, 0), (highest, 0, 22), (touched, 0, 24)], _PLOT)
    y_range = [0.0, top]
    positions = [math.log10(batch) for batch in batches]
    sheet = Sheet(x_range, y_range, _PLOT, [(positions, trace["y"]) for trace in data if trace["mode"] == "lines"])
    annotations = [
        note(x_range[0], moe.n_experts, f" all {moe.n_experts}", xanchor="left", yanchor="bottom"),
        sheet.number(math.log10(s.batch), touched, significant(touched)),
    ]
    return {
        "data": data,
        "layout": titled_layout(
            "experts touched a layer",
            HEIGHT,
            annotations=annotations,
            shapes=[rule("y", moe.n_experts, "dot")],
            xaxis=x_axis,
            yaxis=axis(range=y_range, nticks=5),
            **key(),
        ),
    }


def _expected_touched(result: Result | None, batches: list[int]) -> tuple[list[float], float]:
    """The curve of experts expected, and its value at the result's own batch; nothing for a dense model."""
    if result is None or result.decode.expected is None:
        return [], 0.0
    steps = decode_sweep(result.scenario, batches)
    curve = [step.expected.experts_touched or 0.0 for step in steps if step.expected]
    return curve, result.decode.expected.experts_touched or 0.0


def experts_ceiling_figure(result: Result, before: Result | None = None) -> Figure:
    """The ceiling as a band: least experts (the bound), expected, every expert read; the pin's at those expected."""
    s, expected = result.scenario, result.decode.expected
    if expected is None:
        raise ValueError(f"{s.released_model.name} has no experts to draw")
    batches = both_batches(result, before)
    steps = decode_sweep(s, batches)
    upper = [step.tokens_per_s for step in steps]
    middle = [step.expected.tokens_per_s for step in steps if step.expected]
    lower = [step.tokens_per_s for step in all_experts_sweep(s, batches)]
    x_axis = batch_axis(batches, title={"text": "users (batch)"})
    x_range: list[float] = x_axis["range"]
    band = {"fill": "tonexty", "fillcolor": palette.SHADE, "hovertemplate": USER_HOVER}
    data = [
        line("every expert", batches, lower, palette.USER, "dash", hovertemplate=USER_HOVER),
        line("least (the bound)", batches, upper, palette.WEIGHTS, "dot", **band),
        line("expected", batches, middle, palette.SYSTEM, hovertemplate=USER_HOVER),
    ]
    pins: list[dict[str, Any]] = []
    if before:
        d = before.decode.expected or before.decode
        then = [(step.expected or step).tokens_per_s for step in decode_sweep(before.scenario, batches)]
        pins = [
            pinned.ghost("expected", batches, then, palette.SYSTEM, hovertemplate=USER_HOVER),
            pinned.ring(f"{significant(d.tokens_per_s)} expected", d.batch, d.tokens_per_s, palette.SYSTEM),
        ]
    curves = [logarithms(trace["x"], trace["y"]) for trace in (*pins, *data) if trace["mode"] == "lines"]
    shapes: list[dict[str, Any]] = []
    edges: list[tuple[float, str]] = []
    edge = result.memory.max_batch
    if edge is not None and edge < batches[-1]:
        at, words, shapes = memory_edge(edge, x_range, batches[-1] * 1.25)
        edges.append((at, words))
        shapes = shapes[1:]  # the band is shaded already
    annotations, rooms = feet(edges, x_range, curves)
    here, speed = math.log10(s.batch), expected.tokens_per_s
    heights = [y for _, ys in curves for y in ys]
    rooms += [(min(heights), 10, 0), (max(heights), 0, 10), (math.log10(speed), 23, 23)]
    y_range = spanned(rooms, _PLOT)
    sheet = Sheet(x_range, y_range, _PLOT, curves, [at for at, _ in edges])
    sheet.avoid(annotations)
    annotations.append(sheet.number(here, math.log10(speed), significant(speed)))
    data = [*pins, *data, dot("you are here", s.batch, speed, palette.SYSTEM, hoverinfo="skip")]
    keyed(data, *(trace["name"] for trace in data[len(pins) : -1]), *pinned.rings(pins))
    return {
        "data": data,
        "layout": titled_layout(
            "together, tokens/s",
            HEIGHT,
            annotations=annotations,
            shapes=shapes,
            xaxis=x_axis,
            yaxis=speed_axis(y_range, _PLOT),
            **key(),
        ),
    }
