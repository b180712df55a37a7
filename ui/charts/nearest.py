"""Hollow marks of measured systems for the pictures of tokens/s against users."""

from __future__ import annotations

from typing import Any

from core.measured import nearest
from core.measured_report import near_hover
from core.scenario import Scenario
from ui import palette
from ui.charts.labels import broken
from ui.text import charted


def nearest_traces(
    scenario: Scenario, axes: tuple[str, str] = ("x", "y"), *, each: bool = False
) -> list[dict[str, Any]]:
    """Hollow marks of the measurements nearest to a scenario, for a picture of tokens/s against users.

    `axes` are Plotly's names of the axes; `each` gives one user's tokens/s instead of all users' together. Empty where
    nothing was measured: the figure is then as before.
    """
    found = nearest(scenario)
    if not found:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "measured",
            "x": [n.batch for n in found],
            "y": [n.each if each else n.tokens_per_s for n in found],
            "xaxis": axes[0],
            "yaxis": axes[1],
            "text": ["<br>".join(charted(part) for line in near_hover(n) for part in broken(line)) for n in found],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {
                "symbol": "diamond-open",
                "size": 11,
                "color": palette.USER if each else palette.SYSTEM,
                "line": {"width": 2.5, "color": palette.USER if each else palette.SYSTEM},
            },
        }
    ]
