"""Speculation: expected tokens and speed-up against the draft length, and where it stops paying."""

from __future__ import annotations

import math
from typing import Any

from core.drafting import Speculation, speculate
from core.model import ModelSpec
from core.scenario import Scenario
from core.speculation import ACCEPTANCES, expected_tokens
from core.stops import BATCH_STOPS
from core.units import format_ratio, significant
from core.view import NUMBERS
from ui import palette
from ui.charts.base import Figure, axis, dot, line, note, rule, titled_layout
from ui.charts.home import batch_axis

Curve = tuple[list[int], list[float]]

HEIGHT = 280
_LENGTHS = list(range(NUMBERS["draft_length"][1] + 1))
_BY_LENGTH = {"range": [-0.5, _LENGTHS[-1] + 0.5], "dtick": 4, "title": {"text": "draft length"}}


def expected_tokens_figure(found: Speculation) -> Figure:
    """Expected tokens a pass against draft length, at this acceptance and at others for comparison."""
    a = found.acceptance

    def curve(acceptance: float) -> list[float]:
        return [expected_tokens(acceptance=acceptance, draft_length=g) for g in _LENGTHS]

    hover = "%{x} drafted: %{y:.2f} tokens<extra>%{fullData.name}</extra>"
    others = [other for other in ACCEPTANCES if abs(other - a) > 1e-9]
    data = [
        line(f"{100 * other:.0f} % accepted", _LENGTHS, curve(other), palette.RESERVE, "dot", hovertemplate=hover)
        for other in others
    ]
    data += [
        line("expected tokens", _LENGTHS, curve(a), palette.SYSTEM, hovertemplate=hover),
        dot("you are here", found.draft_length, found.expected_tokens, palette.SYSTEM, hoverinfo="skip"),
    ]
    annotations = [
        note(_LENGTHS[-1], curve(other)[-1], f"{100 * other:.0f} %", xanchor="right", yanchor="bottom")
        for other in (*others, a)
    ]
    annotations.append(
        note(found.draft_length, found.expected_tokens, f"<b>{significant(found.expected_tokens)}</b>", yshift=16)
    )
    top = max(curve(max(a, *ACCEPTANCES))) * 1.12
    return {
        "data": data,
        "layout": titled_layout(
            "expected tokens a pass",
            HEIGHT,
            annotations=annotations,
            xaxis=axis(**_BY_LENGTH),
            yaxis=axis(range=[0, top]),
        ),
    }


def speed_up_figures(scenario: Scenario, draft: ModelSpec, found: Speculation) -> tuple[Figure, Figure]:
    """Speed-up against draft length, and against users, where it stops paying; one scale for both."""

    def at(length: int, batch: int) -> float:
        s = scenario.replace(batch=batch)
        return speculate(s, draft, draft_length=length, acceptance=found.acceptance).speed_up

    by_length = [at(g, scenario.batch) for g in _LENGTHS]
    batches = sorted({*BATCH_STOPS, scenario.batch})
    by_batch = [at(found.draft_length, b) for b in batches]
    y_axis = axis(range=[0, max(2.0, *by_length, *by_batch) * 1.15])
    label = f"<b>× {format_ratio(found.speed_up, 3)}</b>"

    def figure(
        title: str, curve: tuple[list[int], list[float]], here: int, x_axis: dict[str, Any], unit: str
    ) -> Figure:
        hover = f"%{{x:,}} {unit}: × %{{y:.2f}}<extra></extra>"
        log = x_axis.get("type") == "log"
        return {
            "data": [
                line("speed-up", *curve, palette.COMPUTE, hovertemplate=hover),
                dot("you are here", here, found.speed_up, palette.COMPUTE, hoverinfo="skip"),
            ],
            "layout": titled_layout(
                title,
                HEIGHT,
                annotations=[
                    note(math.log10(here) if log else here, found.speed_up, label, yshift=18),
                    note(0.99, 1, "no gain", xref="paper", xanchor="right", yanchor="top"),
                ],
                shapes=[rule("y", 1)],
                xaxis=x_axis,
                yaxis=y_axis,
            ),
        }

    by_users = batch_axis(batches, title={"text": "users (batch)"})
    return (
        figure("speed-up, by draft length", (_LENGTHS, by_length), found.draft_length, axis(**_BY_LENGTH), "drafted"),
        figure("speed-up, by users", (batches, by_batch), scenario.batch, by_users, "users"),
    )
