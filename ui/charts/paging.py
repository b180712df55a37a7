"""Pages of cache: the pool as a map of slots, reserved against blocks, and the shares in total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.paging import Served
from core.pool import Pool
from core.published import RESERVED_USE
from core.units import integer, significant
from ui import palette
from ui.charts.base import FONT_SIZE, PINNED, Figure, axis, bars, layout, note, titled_layout, two_rows

COLUMNS, ROWS = 60, 20
USED, WASTED, FREE = 2, 1, 0
_STATES = ("free", "held, no token", "a token")
# Three steps of one scale: free, held without a token, held with one. Their lightness differs too.
_SCALE = [
    [0.0, palette.PAPER],
    [1 / 3, palette.PAPER],
    [1 / 3, palette.RESERVE],
    [2 / 3, palette.RESERVE],
    [2 / 3, palette.CACHE],
    [1.0, palette.CACHE],
]


POOL_KEY = ((palette.CACHE, "holds a token"), (palette.RESERVE, "held without a token"), (palette.PAPER, "free"))


def slot_map(served: Served) -> list[list[int]]:
    """The pool as rows of cells in the order of allocation; a cell shows the state of its middle slot.

    >>> Served(lengths=(5,), held=(10,), pool_tokens=20).n_served
    1
    """
    n_cells = COLUMNS * ROWS
    cells: list[int] = []
    request, start = 0, 0
    for cell in range(n_cells):
        slot = (cell + 0.5) * served.pool_tokens / n_cells
        while request < served.n_served and slot >= start + served.held[request]:
            start += served.held[request]
            request += 1
        if request == served.n_served:
            cells.append(FREE)
        else:
            cells.append(USED if slot < start + served.lengths[request] else WASTED)
    return [cells[row * COLUMNS : (row + 1) * COLUMNS] for row in range(ROWS)]


def pool_figures(found: Pool, before: Pool | None = None) -> tuple[Figure, Figure]:
    """Two maps of the same memory, reserved and in blocks: a token, held without one, free; the pin's users beside."""

    def users(served: Served, then: Served | None) -> str:
        pinned = f" ({PINNED}: {integer(then.n_served)})" if then else ""
        return f"{integer(served.n_served)} users{pinned}"

    both = (before.reserved, before.paged) if before else (None, None)
    reserved = f"reserved, {integer(found.longest)} tokens each: {users(found.reserved, both[0])}"
    paged = f"blocks of {integer(found.block)}: {users(found.paged, both[1])}"
    return _map(found.reserved, reserved), _map(found.paged, paged)


def _map(served: Served, title: str) -> Figure:
    z = slot_map(served)
    trace = {
        "type": "heatmap",
        "z": z,
        "text": [[_STATES[state] for state in row] for row in z],
        "hovertemplate": "%{text}<extra></extra>",
        "zmin": 0,
        "zmax": 2,
        "colorscale": _SCALE,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
    }
    bare = {"showticklabels": False, "showgrid": False, "ticks": ""}
    return {
        "data": [trace],
        "layout": titled_layout(title, 250, (), xaxis=axis(**bare), yaxis=axis(autorange="reversed", **bare)),
    }


def _shares(found: Pool, rows: Sequence[str]) -> list[dict[str, Any]]:
    both = (found.reserved, found.paged)

    def part(name: str, values: list[int], fill: str, pattern: str | None) -> dict[str, Any]:
        shares = [100 * value / found.pool_tokens for value in values]
        text = [f"{name} {significant(share)} %" if share else "" for share in shares]
        return bars(name, shares, rows, text, fill, pattern=pattern)

    return [
        part("tokens", [served.used_tokens for served in both], palette.CACHE, "/"),
        part("held, empty", [served.wasted_tokens for served in both], palette.RESERVE, "."),
        part("free", [served.free_tokens for served in both], palette.FREE, None),
    ]


def shares_figure(found: Pool, before: Pool | None = None) -> Figure:
    """The whole pool as shares: with a token, held without one, free; and where older systems were."""
    rows = ("reserved", f"blocks of {integer(found.block)}")
    data = _shares(found, rows)
    y_axis = axis(autorange="reversed", showgrid=False, type="category")
    if before:
        data, y_axis = two_rows(data, _shares(before, rows), rows, [0])
    low, high = (100 * share for share in RESERVED_USE)
    band = {
        "type": "rect",
        "x0": low,
        "x1": high,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": palette.OVER, "width": 2, "dash": "dash"},
    }
    label = note(
        (low + high) / 2,
        1,
        f"systems that reserve: {significant(low)} to {significant(high)} % held a token",
        yref="paper",
        yanchor="bottom",
    )
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0.2,
            height=180 if before else 150,
            margin={"l": 8, "r": 8, "t": 26, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 3},
            shapes=[band],
            annotations=[label],
            xaxis=axis(range=[0, 100], ticksuffix=" %", nticks=6),
            yaxis=y_axis,
        ),
    }
