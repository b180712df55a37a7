"""Experts: how many a batch wakes, and the ceiling as a band."""

from __future__ import annotations

import math

from core.evaluate import Result, all_experts_step, decode_sweep
from core.units import format_rate, significant
from ui import palette
from ui.charts.base import Figure, axis, dot, layout, line, note, panel_titles, rule
from ui.charts.home import USER_HOVER, batch_axis, batch_grid, decades, memory_edge

_DOMAINS = ((0.0, 0.47), (0.55, 1.0))
_HOVER = "%{x:,} users: %{y:,.2f} experts<extra>%{fullData.name}</extra>"


def experts_figure(result: Result) -> Figure:
    """Left: experts touched a layer, least, expected and all. Right: the ceiling that each reading gives."""
    s, d = result.scenario, result.decode
    moe = s.released_model.moe
    if moe is None or d.expected is None:
        raise ValueError(f"{s.released_model.name} has no experts to draw")
    batches = sorted({*batch_grid(s.batch), s.batch})
    steps = decode_sweep(s, batches)
    least = [float(moe.n_active)] * len(batches)
    most = [float(min(moe.n_experts, moe.n_active * b)) for b in batches]
    expected = [step.expected.experts_touched or 0.0 for step in steps if step.expected]
    upper = [step.tokens_per_s for step in steps]
    middle = [step.expected.tokens_per_s for step in steps if step.expected]
    lower = [all_experts_step(s, b).tokens_per_s for b in batches]
    here = math.log10(s.batch)
    x_axis = batch_axis(batches, title={"text": "users (batch)"}, domain=_DOMAINS[0])
    x_range: list[float] = x_axis["range"]
    left = here > sum(x_range) / 2
    beside = {"xanchor": "right" if left else "left", "xshift": -10 if left else 10}
    touched = d.expected.experts_touched or 0.0
    data = [
        line("all there are", batches, [moe.n_experts] * len(batches), palette.RESERVE, "dot", hovertemplate=_HOVER),
        line("most, no two alike", batches, most, palette.USER, "dash", hovertemplate=_HOVER),
        line("expected", batches, expected, palette.SYSTEM, hovertemplate=_HOVER),
        line("least, all alike", batches, least, palette.WEIGHTS, hovertemplate=_HOVER),
        dot("you are here", s.batch, touched, palette.SYSTEM, hoverinfo="skip"),
        line(
            "every expert read", batches, lower, palette.USER, "dash", hovertemplate=USER_HOVER, xaxis="x2", yaxis="y2"
        ),
        line(
            "least experts (the bound)",
            batches,
            upper,
            palette.WEIGHTS,
            hovertemplate=USER_HOVER,
            xaxis="x2",
            yaxis="y2",
            fill="tonexty",
            fillcolor=palette.SHADE,
        ),
        line("expected experts", batches, middle, palette.SYSTEM, hovertemplate=USER_HOVER, xaxis="x2", yaxis="y2"),
        dot("you are here", s.batch, d.expected.tokens_per_s, palette.SYSTEM, hoverinfo="skip", xaxis="x2", yaxis="y2"),
    ]
    edge = result.memory.max_batch
    shapes = [rule("y", moe.n_experts, "dot", xref="x")]
    annotations = [
        *panel_titles(("experts touched a layer", "together, tokens/s"), _DOMAINS),
        note(x_range[0], moe.n_experts, f" all {moe.n_experts}", xanchor="left", yanchor="bottom"),
        note(x_range[1], moe.n_active, f"least {moe.n_active} ", xanchor="right", yanchor="bottom"),
        note(here, touched, f"<b>{significant(touched)}</b> expected", yshift=-16) | beside,
        note(here, math.log10(d.expected.tokens_per_s), f"<b>{format_rate(d.expected.tokens_per_s)}</b> expected",
             xref="x2", yref="y2", yshift=-18) | beside,
        note(x_range[0] + 0.15, math.log10(upper[0]), "bound: least experts", xref="x2", yref="y2", xanchor="left",
             yshift=14),
        note(x_range[1], math.log10(lower[-1]), "every expert read ", xref="x2", yref="y2", xanchor="right",
             yshift=-22),
    ]  # fmt: skip
    if edge is not None and edge < batches[-1]:
        _, label = memory_edge(edge, x_range, batches[-1])
        shapes.append(rule("x", max(edge, 1), color=palette.OVER, xref="x2"))
        annotations.append(label | {"xref": "x2"})
    return {
        "data": data,
        "layout": layout(
            height=330,
            margin={"l": 8, "r": 8, "t": 34, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis=x_axis,
            xaxis2={**x_axis, "domain": _DOMAINS[1], "anchor": "y2"},
            yaxis=axis(range=[0, moe.n_experts * 1.12]),
            yaxis2=axis(
                type="log",
                range=decades(min(lower), max(upper)),
                dtick=1,
                tickformat=",~r",
                anchor="x2",
            ),
        ),
    }
