"""Speculation: expected tokens and speed-up against the draft length, and where it stops paying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.changes import Drafted
from core.drafting import Speculation, speculate
from core.model import ModelSpec
from core.scenario import Scenario
from core.speculation import ACCEPTANCES, expected_tokens
from core.stops import BATCH_STOPS
from core.units import format_ratio, significant
from core.view import NUMBERS
from ui import palette
from ui.charts import pinned
from ui.charts.base import PINNED, Figure, axis, dot, key, keyed, line, note, rule, titled_layout
from ui.charts.home import batch_axis

Curve = tuple[list[int], list[float]]

HEIGHT = 280
_NEAR = 0.045  # of the acceptance: a curve that close is hard to tell from it
_LENGTHS = list(range(NUMBERS["draft_length"][1] + 1))
_BY_LENGTH = {"range": [-0.5, _LENGTHS[-1] + 0.5], "dtick": 4, "title": {"text": "draft length"}}


def expected_tokens_figure(found: Speculation) -> Figure:
    """Expected tokens a pass against draft length, at this acceptance and at others for comparison."""
    a = found.acceptance

    def curve(acceptance: float) -> list[float]:
        return [expected_tokens(acceptance=acceptance, draft_length=g) for g in _LENGTHS]

    hover = "%{fullData.name}<br>%{x} drafted: %{y:.2f} tokens<extra></extra>"
    others = [other for other in ACCEPTANCES if abs(other - a) > _NEAR]
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
    top = max(curve(max(a, *ACCEPTANCES))) * 1.12
    return {
        "data": data,
        "layout": titled_layout(
            f"expected tokens a pass: {significant(found.expected_tokens)}",
            HEIGHT,
            annotations=annotations,
            xaxis=axis(**_BY_LENGTH),
            yaxis=axis(range=[0, top]),
        ),
    }


def _curves(
    scenario: Scenario, draft: ModelSpec, found: Speculation, batches: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Speed-up at each draft length, and at each batch."""

    def at(length: int, batch: int) -> float:
        s = scenario.replace(batch=batch)
        return speculate(s, draft, draft_length=length, acceptance=found.acceptance).speed_up

    return [at(g, scenario.batch) for g in _LENGTHS], [at(found.draft_length, b) for b in batches]


def speed_up_figures(
    scenario: Scenario, draft: ModelSpec, found: Speculation, before: Drafted | None = None
) -> tuple[Figure, Figure]:
    """Speed-up against draft length, and against users, where it stops paying; one scale for both."""
    batches = sorted({*BATCH_STOPS, scenario.batch} | ({before.scenario.batch} if before else set()))
    by_length, by_batch = _curves(scenario, draft, found, batches)
    then = _curves(before.scenario, before.draft, before.found, batches) if before else ([], [])
    y_axis = axis(range=[0, max(2.0, *by_length, *by_batch, *then[0], *then[1]) * 1.15])

    def figure(title: str, curve: Curve, old: list[float], x_axis: dict[str, Any]) -> Figure:
        log = x_axis.get("type") == "log"
        hover = f"%{{x:,}} {'users' if log else 'drafted'}: × %{{y:.2f}}<extra></extra>"
        here = scenario.batch if log else found.draft_length
        pins: list[dict[str, Any]] = []
        if before:
            there = before.scenario.batch if log else found.draft_length
            pins = [
                pinned.ghost("speed-up", curve[0], old, palette.COMPUTE, hovertemplate=f"{PINNED}, {hover}"),
                pinned.ring(
                    f"× {format_ratio(before.found.speed_up, 3)}", there, before.found.speed_up, palette.COMPUTE
                ),
            ]
        data = [
            *pins,
            line("speed-up", *curve, palette.COMPUTE, hovertemplate=hover),
            dot("you are here", here, found.speed_up, palette.COMPUTE, hoverinfo="skip"),
        ]
        keyed(data, *pinned.rings(pins))
        return {
            "data": data,
            "layout": titled_layout(
                f"speed-up by {title}: × {format_ratio(found.speed_up, 3)}",
                HEIGHT,
                [
                    note(
                        0.99,
                        1,
                        "no gain",
                        xref="paper",
                        xanchor="right",
                        yanchor="bottom" if curve[1][-1] < 1 else "top",
                    )
                ],
                shapes=[rule("y", 1)],
                xaxis=x_axis,
                yaxis=y_axis,
                **(key() if before else {}),
            ),
        }

    by_users = batch_axis(batches, title={"text": "users (batch)"})
    return (
        figure("draft length", (_LENGTHS, by_length), then[0], axis(**_BY_LENGTH)),
        figure("users", (batches, by_batch), then[1], by_users),
    )
