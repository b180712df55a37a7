"""Experts: how many a batch wakes, and the ceiling as a band."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Result, all_experts_step, decode_sweep
from core.units import format_rate, significant
from ui import palette
from ui.charts import pinned
from ui.charts.base import PINNED, Figure, axis, dot, line, note, rule, titled_layout
from ui.charts.home import USER_HOVER, batch_axis, both_batches, decades, memory_edge

_HOVER = "%{x:,} users: %{y:,.2f} experts<extra>%{fullData.name}</extra>"
HEIGHT = 320


def _beside(result: Result, x_range: list[float]) -> dict[str, Any]:
    left = math.log10(result.scenario.batch) > sum(x_range) / 2
    return {"xanchor": "right" if left else "left", "xshift": -10 if left else 10}


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
    annotations = [
        note(x_range[0], moe.n_experts, f" all {moe.n_experts}", xanchor="left", yanchor="bottom"),
        note(x_range[1], moe.n_active, f"least {moe.n_active} ", xanchor="right", yanchor="bottom"),
        note(math.log10(s.batch), touched, f"<b>{significant(touched)}</b> expected", yshift=-16)
        | _beside(result, x_range),
    ]
    pins: list[dict[str, Any]] = []
    if before and then:
        pins = [
            pinned.ghost("expected", batches, then, palette.SYSTEM, hovertemplate=_HOVER),
            pinned.ring("expected", before.scenario.batch, touched_then, palette.SYSTEM),
        ]
    figure: Figure = {
        "data": [
            *pins,
            line("most, no two alike", batches, most, palette.USER, "dash", hovertemplate=_HOVER),
            line("expected", batches, curve, palette.SYSTEM, hovertemplate=_HOVER),
            line("least, all alike", batches, least, palette.WEIGHTS, hovertemplate=_HOVER),
            dot("you are here", s.batch, touched, palette.SYSTEM, hoverinfo="skip"),
        ],
        "layout": titled_layout(
            "experts touched a layer",
            HEIGHT,
            annotations=annotations,
            shapes=[rule("y", moe.n_experts, "dot")],
            xaxis=x_axis,
            yaxis=axis(range=[0, max(moe.n_experts, moe_then.n_experts if moe_then else 0) * 1.12]),
        ),
    }
    if before and then:
        label = f"{PINNED} {significant(touched_then)}"
        pinned.Canvas(figure, pinned.HALF).label(before.scenario.batch, touched_then, label)
    return figure


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
    lower = [all_experts_step(s, b).tokens_per_s for b in batches]
    x_axis = batch_axis(batches, title={"text": "users (batch)"})
    x_range: list[float] = x_axis["range"]
    band = {"fill": "tonexty", "fillcolor": palette.SHADE, "hovertemplate": USER_HOVER}
    data = [
        line("every expert read", batches, lower, palette.USER, "dash", hovertemplate=USER_HOVER),
        line("least experts (the bound)", batches, upper, palette.WEIGHTS, **band),
        line("expected experts", batches, middle, palette.SYSTEM, hovertemplate=USER_HOVER),
        dot("you are here", s.batch, expected.tokens_per_s, palette.SYSTEM, hoverinfo="skip"),
    ]
    speeds = [*lower, *upper]
    here = (before.decode.expected or before.decode) if before else None
    if before and here:
        then = [(step.expected or step).tokens_per_s for step in decode_sweep(before.scenario, batches)]
        speeds += then
        data[:0] = [
            pinned.ghost("expected experts", batches, then, palette.SYSTEM, hovertemplate=USER_HOVER),
            pinned.ring("expected experts", here.batch, here.tokens_per_s, palette.SYSTEM),
        ]
    middle_x = batches[len(batches) // 2]
    annotations = [
        note(math.log10(s.batch), math.log10(expected.tokens_per_s), f"<b>{format_rate(expected.tokens_per_s)}</b>",
             yshift=-18) | _beside(result, x_range),
        note(math.log10(middle_x), math.log10(upper[len(upper) // 2]), "bound: least experts",
             xanchor="right", yshift=16),
        note(x_range[1], math.log10(lower[-1]), "every expert read ", xanchor="right", yshift=-22),
    ]  # fmt: skip
    shapes: list[dict[str, Any]] = []
    edge = result.memory.max_batch
    if edge is not None and edge < batches[-1]:
        more, label = memory_edge(edge, x_range, batches[-1] * 1.25)
        shapes += more[1:]
        annotations.append(label)
    figure: Figure = {
        "data": data,
        "layout": titled_layout(
            "together, tokens/s",
            HEIGHT,
            annotations=annotations,
            shapes=shapes,
            xaxis=x_axis,
            yaxis=axis(type="log", range=decades(min(speeds), max(speeds)), dtick=1, tickformat=",~r"),
        ),
    }
    if here:
        canvas = pinned.Canvas(figure, pinned.HALF)
        canvas.label(here.batch, here.tokens_per_s, f"{PINNED} {significant(here.tokens_per_s)}")
    return figure
