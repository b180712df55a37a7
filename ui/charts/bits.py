"""Fewer bits: weights by component in every format, and the cache in each of its own."""

from __future__ import annotations

from typing import Any

from core.evaluate import Result, evaluate
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.report import weight_parts
from core.units import Unit, format_bytes, in_unit
from ui import palette
from ui.charts.base import Figure, Panel, axis, bars, rows_figure

HEIGHT = 360

# (what, components, fill, pattern): what takes the format first, then what stays wide.
PARTS: tuple[tuple[str, tuple[str, ...], str, str | None], ...] = (
    ("attention", ("attention",), palette.WEIGHTS, None),
    ("FFN", ("dense_ffn", "shared_experts"), palette.WEIGHTS_DEEP, "/"),
    ("experts", ("experts",), palette.WEIGHTS_DEEP, "x"),
    ("embedding", ("embedding", "positions"), palette.WEIGHTS_PALE, "."),
    ("output head", ("lm_head",), palette.WEIGHTS_FAINT, "-"),
    ("norms, routers", ("norms", "router"), palette.RESERVE, None),
)

PARTS_KEY = tuple((fill, words) for words, _, fill, _ in PARTS)


def formats_figure(result: Result, unit: Unit) -> Figure:
    """Weights by component in each weight format; the one in use is bold."""
    s = result.scenario
    rows = [f"<b>{name}</b>" if name == s.weight_format else name for name in WEIGHT_FORMATS]
    by_format = [weight_parts(s, name) for name in WEIGHT_FORMATS]
    traces: list[dict[str, Any]] = []
    for name, components, fill, pattern in PARTS:
        sizes = [sum(parts.get(c, 0) for c in components) for parts in by_format]
        if any(sizes):
            text = [f"{name} {format_bytes(size, unit)}" if size else "" for size in sizes]
            traces.append(bars(name, [in_unit(size, unit) for size in sizes], rows, text, fill, pattern=pattern))
    widest = max(in_unit(sum(parts.values()), unit) for parts in by_format)
    x_axis = axis(range=[0, widest * 1.03], ticksuffix=f" {unit}", nticks=6)
    return rows_figure((Panel("weights by format", traces, x_axis),), HEIGHT)


def cache_formats_figure(result: Result, unit: Unit) -> Figure:
    """The cache in each cache format; the one in use is bold."""
    s = result.scenario
    rows = [f"<b>{name}</b>" if name == s.cache_format else name for name in CACHE_FORMATS]
    caches = [evaluate(s.replace(cache_format=name)).memory.kv_bytes for name in CACHE_FORMATS]
    sizes = [in_unit(size, unit) for size in caches]
    text = [format_bytes(size, unit) for size in caches]
    trace = bars("KV cache", sizes, rows, text, palette.CACHE, pattern="/")
    x_axis = axis(range=[0, max(sizes) * 1.03], ticksuffix=f" {unit}", nticks=4)
    return rows_figure((Panel("cache by format", [trace], x_axis),), HEIGHT)
