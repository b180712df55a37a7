"""Fewer KV heads: the variants as small multiples, and architectures side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.units import Unit, format_bytes, in_unit, integer, significant
from core.variants import Architecture, Variant
from ui import palette
from ui.charts.base import Figure, Panel, axis, bars, rows_figure, rule

OUTSIDE_ROOM = 1.5  # of the longest bar, for the label beside it
OUTSIDE = {"textposition": "outside", "cliponaxis": False}  # the page's style gives such labels the theme's ink


def _single(
    title: str, rows: Sequence[str], values: Sequence[float], text: Sequence[str], fill: str, **more: Any
) -> Panel:
    end = max(values) * OUTSIDE_ROOM
    trace = bars(title, values, rows, text, fill, **OUTSIDE, **more)
    return Panel(title, [trace], axis(range=[0, end or 1], showticklabels=False))


def kv_variants_figures(variants: Sequence[Variant], unit: Unit) -> tuple[Figure, Figure]:
    """Small multiples over the same rows: cache and memory; users that fit and ceiling."""
    rows = [v.label for v in variants]
    memories = [v.result.memory for v in variants]
    speeds = [v.result.decode.tokens_per_s for v in variants]
    fits = [m.max_batch for m in memories]
    caches = [m.kv_bytes for m in memories]
    parts = (
        ("weights", [m.weights_bytes for m in memories], palette.WEIGHTS, None),
        ("cache", caches, palette.CACHE, "/"),
        ("reserve", [m.reserve_bytes for m in memories], palette.RESERVE, "."),
    )

    def size(value: float) -> str:
        return format_bytes(value, unit)

    def scaled(values: Sequence[float]) -> list[float]:
        return [in_unit(value, unit) for value in values]

    capacity = memories[0].capacity_bytes
    end = in_unit(max(capacity * 1.1, *(m.total_bytes for m in memories)), unit) * 1.04
    memory = Panel(
        "memory, line: capacity",
        [
            bars(name, scaled(values), rows, [f"{name} {size(v)}" for v in values], fill, pattern=pattern)
            for name, values, fill, pattern in parts
        ],
        axis(range=[0, end], showticklabels=False),
        [rule("x", in_unit(capacity, unit), color=palette.OVER)],
    )
    cache = _single("KV cache", rows, scaled(caches), [size(v) for v in caches], palette.CACHE, pattern="/")
    counts = ["no limit" if f is None else integer(f) for f in fits]
    users = _single("users that fit", rows, [f or 0 for f in fits], counts, palette.FREE)
    ceiling = _single("together, tokens/s", rows, speeds, [significant(v) for v in speeds], palette.SYSTEM)
    height = 46 * len(rows) + 50
    return rows_figure((cache, memory), height), rows_figure((users, ceiling), height)


def kind_fill(kind: str) -> tuple[str, str | None]:
    """Colour and pattern of a kind of layer."""
    if "MLA" in kind:
        return palette.LATENT, "x"
    if "linear" in kind:
        return palette.RESERVE, "."
    if "window" in kind or "chunks" in kind:
        return palette.WINDOW, "|"
    return palette.CACHE, "/"


def architectures_figure(title: str, shown: Sequence[Architecture], unit: Unit) -> Figure:
    """Cache of one sequence by kind of layer, model by model."""
    rows = [a.model.name for a in shown]
    traces: list[dict[str, Any]] = []
    for kind in dict.fromkeys(part.kind for a in shown for part in a.parts):
        sizes = [sum(p.n_bytes for p in a.parts if p.kind == kind) for a in shown]
        fill, pattern = kind_fill(kind)
        text = [f"{kind} {format_bytes(size, unit)}" if size else "" for size in sizes]
        traces.append(bars(kind, [in_unit(size, unit) for size in sizes], rows, text, fill, pattern=pattern))
    end = max(in_unit(a.total_bytes, unit) for a in shown)
    panel = Panel(title, traces, axis(range=[0, end * 1.04], ticksuffix=f" {unit}", nticks=5))
    return rows_figure((panel,), 44 * len(rows) + 70)
