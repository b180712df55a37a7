"""Fewer KV heads: the variants as small multiples, and architectures side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.units import Unit, format_bytes, in_unit, integer, significant
from core.variants import Architecture, Variant
from ui import palette
from ui.charts.base import FONT_SIZE, Figure, axis, bars, layout, panel_titles, rule

OUTSIDE_ROOM = 1.5  # of the longest bar, for the label beside it
_PANELS = ((0.0, 0.22), (0.26, 0.50), (0.54, 0.75), (0.79, 1.0))


def kv_variants_figure(variants: Sequence[Variant], unit: Unit) -> Figure:
    """Cache, memory in total, users that fit and the ceiling, one row for each number of KV heads."""
    rows = [v.label for v in variants]
    memories = [v.result.memory for v in variants]
    decodes = [v.result.decode for v in variants]

    def size(value: float) -> str:
        return format_bytes(value, unit)

    def scaled(values: Sequence[float]) -> list[float]:
        return [in_unit(value, unit) for value in values]

    def panel(number: int, name: str, values: Sequence[float], text: Sequence[str], fill: str, **more: Any) -> Any:
        return bars(name, values, rows, text, fill, xaxis=f"x{number}", yaxis="y", **more)

    outside = {"textposition": "outside", "cliponaxis": False}  # the page's style gives it the theme's ink
    fits = [m.max_batch for m in memories]
    caches = [m.kv_bytes for m in memories]
    weights = [m.weights_bytes for m in memories]
    reserves = [m.reserve_bytes for m in memories]
    counts = ["no limit" if f is None else integer(f) for f in fits]
    speeds = [d.tokens_per_s for d in decodes]
    rates = [significant(speed) for speed in speeds]
    data = [
        panel(1, "KV cache", scaled(caches), [size(v) for v in caches], palette.CACHE, pattern="/", **outside),
        panel(2, "weights", scaled(weights), [f"weights {size(v)}" for v in weights], palette.WEIGHTS),
        panel(2, "KV cache", scaled(caches), [f"cache {size(v)}" for v in caches], palette.CACHE, pattern="/"),
        panel(2, "reserve", scaled(reserves), [f"reserve {size(v)}" for v in reserves], palette.RESERVE, pattern="."),
        panel(3, "users that fit", [f or 0 for f in fits], counts, palette.FREE, **outside),
        panel(4, "ceiling together", speeds, rates, palette.SYSTEM, **outside),
    ]
    totals = [m.total_bytes for m in memories]
    capacity = memories[0].capacity_bytes
    ends = [
        in_unit(max(caches), unit) * OUTSIDE_ROOM,
        in_unit(max(capacity * 1.1, *totals), unit) * 1.04,
        max(f or 0 for f in fits) * OUTSIDE_ROOM,
        max(speeds) * OUTSIDE_ROOM,
    ]
    axes = {
        f"xaxis{number}": axis(range=[0, end or 1], domain=domain, showticklabels=False, anchor="y")
        for number, (end, domain) in enumerate(zip(ends, _PANELS, strict=True), start=1)
    }
    titles = ("KV cache", "memory, line: capacity", "users that fit", "together, tokens/s")
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0.25,
            height=46 * len(rows) + 50,
            margin={"l": 8, "r": 8, "t": 34, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 3},
            annotations=panel_titles(titles, _PANELS),
            shapes=[rule("x", in_unit(capacity, unit), color=palette.OVER, xref="x2")],
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
            **axes,
        ),
    }


def kind_fill(kind: str) -> tuple[str, str | None]:
    """Colour and pattern of a kind of layer."""
    if "MLA" in kind:
        return palette.LATENT, "x"
    if "linear" in kind:
        return palette.RESERVE, "."
    if "window" in kind or "chunks" in kind:
        return palette.WINDOW, "|"
    return palette.CACHE, "/"


def architectures_figure(panels: Sequence[tuple[str, Sequence[Architecture]]], unit: Unit) -> Figure:
    """Cache of one sequence by kind of layer, a panel for each context."""
    domains = ((0.0, 0.47), (0.53, 1.0))[: len(panels)]
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for number, ((_, shown), domain) in enumerate(zip(panels, domains, strict=True), start=1):
        rows = [a.model.name for a in shown]
        kinds = dict.fromkeys(part.kind for a in shown for part in a.parts)
        for kind in kinds:
            sizes = [sum(p.n_bytes for p in a.parts if p.kind == kind) for a in shown]
            fill, pattern = kind_fill(kind)
            text = [f"{kind} {format_bytes(size, unit)}" if size else "" for size in sizes]
            values = [in_unit(size, unit) for size in sizes]
            data.append(bars(kind, values, rows, text, fill, pattern=pattern, xaxis=f"x{number}", yaxis="y"))
        end = max(in_unit(a.total_bytes, unit) for a in shown)
        axes[f"xaxis{number}"] = axis(range=[0, end * 1.04], domain=domain, ticksuffix=f" {unit}", nticks=5, anchor="y")
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0.25,
            height=44 * len(panels[0][1]) + 70,
            margin={"l": 8, "r": 8, "t": 34, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 3},
            annotations=panel_titles([title for title, _ in panels], domains),
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
            **axes,
        ),
    }
