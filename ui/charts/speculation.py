"""Speculation: expected tokens and speed-up against the draft length, and where it stops paying."""

from __future__ import annotations

import math
from typing import Any

from core.drafting import Speculation, speculate
from core.model import ModelSpec
from core.scenario import Scenario
from core.speculation import expected_tokens
from core.stops import BATCH_STOPS
from core.units import format_ratio, integer, significant
from core.view import NUMBERS
from ui import palette
from ui.charts.base import Figure, axis, dot, layout, line, note, panel_titles, rule

_DOMAINS = ((0.0, 0.28), (0.36, 0.64), (0.72, 1.0))
ACCEPTANCES = (0.5, 0.7, 0.9)


def speculation_figure(scenario: Scenario, draft: ModelSpec, found: Speculation) -> Figure:
    """Three panels: expected tokens a pass, speed-up, both against draft length; speed-up against users."""
    lengths = list(range(NUMBERS["draft_length"][1] + 1))
    here, a = found.draft_length, found.acceptance

    def at(length: int, batch: int) -> Speculation:
        return speculate(scenario.replace(batch=batch), draft, draft_length=length, acceptance=a)

    by_length = [at(g, scenario.batch).speed_up for g in lengths]
    batches = sorted({*BATCH_STOPS, scenario.batch})
    by_batch = [at(here, b).speed_up for b in batches]
    data: list[dict[str, Any]] = [
        line(f"{100 * other:.0f} % accepted", lengths,
             [expected_tokens(acceptance=other, draft_length=g) for g in lengths], palette.RESERVE, "dot",
             hovertemplate="%{x} drafted: %{y:.2f} tokens<extra>%{fullData.name}</extra>")
        for other in ACCEPTANCES
        if abs(other - a) > 1e-9
    ]  # fmt: skip
    data += [
        line("expected tokens", lengths, [expected_tokens(acceptance=a, draft_length=g) for g in lengths],
             palette.SYSTEM, hovertemplate="%{x} drafted: %{y:.2f} tokens<extra></extra>"),
        dot("you are here", here, found.expected_tokens, palette.SYSTEM, hoverinfo="skip"),
        line("speed-up", lengths, by_length, palette.COMPUTE, hovertemplate="%{x} drafted: × %{y:.2f}<extra></extra>",
             xaxis="x2", yaxis="y2"),
        dot("you are here", here, found.speed_up, palette.COMPUTE, hoverinfo="skip", xaxis="x2", yaxis="y2"),
        line("speed-up", batches, by_batch, palette.COMPUTE, hovertemplate="%{x:,} users: × %{y:.2f}<extra></extra>",
             xaxis="x3", yaxis="y2"),
        dot("you are here", scenario.batch, found.speed_up, palette.COMPUTE, hoverinfo="skip", xaxis="x3", yaxis="y2"),
    ]  # fmt: skip
    tops = max(expected_tokens(acceptance=max(a, *ACCEPTANCES), draft_length=lengths[-1]), 2)
    top = max(2.0, *by_length, *by_batch) * 1.15
    ends = [expected_tokens(acceptance=other, draft_length=lengths[-1]) for other in ACCEPTANCES]
    annotations = [
        *panel_titles(("expected tokens a pass", "speed-up, by draft length", "speed-up, by users"), _DOMAINS),
        *(
            note(lengths[-1], end, f"{100 * other:.0f} %", xanchor="right", yanchor="bottom")
            for other, end in zip(ACCEPTANCES, ends, strict=True)
        ),
        note(here, found.expected_tokens, f"<b>{significant(found.expected_tokens)}</b>", yshift=16),
        note(here, found.speed_up, f"<b>× {format_ratio(found.speed_up, 3)}</b>", xref="x2", yref="y2", yshift=18),
        note(math.log10(scenario.batch), found.speed_up, f"<b>× {format_ratio(found.speed_up, 3)}</b>", xref="x3",
             yref="y2", yshift=18),
        note(lengths[-1], 1, "no gain", xref="x2", yref="y2", xanchor="right", yanchor="top"),
    ]  # fmt: skip
    x_lengths = axis(range=[-0.5, lengths[-1] + 0.5], dtick=4, title={"text": "draft length"})
    ticks = batches_ticks()
    return {
        "data": data,
        "layout": layout(
            height=300,
            margin={"l": 8, "r": 8, "t": 34, "b": 8},
            shapes=[rule("y", 1, "dash", xref="paper", x0=_DOMAINS[1][0], x1=1, yref="y2")],
            annotations=annotations,
            xaxis={**x_lengths, "domain": _DOMAINS[0]},
            xaxis2={**x_lengths, "domain": _DOMAINS[1], "anchor": "y2"},
            xaxis3=axis(
                type="log",
                range=[-0.1, math.log10(batches[-1]) + 0.1],
                domain=_DOMAINS[2],
                anchor="y2",
                tickvals=ticks,
                ticktext=[integer(t) for t in ticks],
                title={"text": "users (batch)"},
            ),
            yaxis=axis(range=[0, tops * 1.1]),
            yaxis2=axis(range=[0, top], anchor="x2"),
        ),
    }


def batches_ticks() -> list[int]:
    """Few enough ticks for a narrow panel."""
    return list(BATCH_STOPS[::4])
