"""The pinned scenario in a picture: thin bars, faint dashed curves and hollow marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ui import palette
from ui.charts.base import PINNED, THIN, THIN_AT, dot, line


def capacity_mark(x: float, row: int = 0) -> dict[str, Any]:
    """Where the pinned scenario's own memory ends, across its bar alone."""
    reach = THIN * 0.9
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": row + THIN_AT - reach,
        "y1": row + THIN_AT + reach,
        "line": {"color": palette.OVER, "width": 3},
    }


def ghost(name: str, x: Sequence[float], y: Sequence[float], color: str, **changes: Any) -> dict[str, Any]:
    """A curve as the pin's: thin and dashed."""
    curve = line(f"{PINNED}: {name}", x, y, color, **changes)
    return curve | {"line": {"color": color, "width": 1.5, "dash": "6px,4px"}, "opacity": 0.8}


def ring(name: str, x: float, y: float, color: str, symbol: str = "circle", **changes: Any) -> dict[str, Any]:
    """A mark as the pin's: hollow, and large enough to show around a filled one."""
    marker = {"size": 18, "symbol": f"{symbol}-open", "color": color, "line": {"width": 2, "color": color}}
    words = f"{PINNED}: {name}"
    return dot(words, x, y, color, marker=marker, hovertemplate=f"{words}<extra></extra>", **changes)


def rings(traces: Sequence[dict[str, Any]]) -> list[str]:
    """Names of the hollow marks, for the key: they have the pin's numbers."""
    return [trace["name"] for trace in traces if trace["mode"] == "markers"]
