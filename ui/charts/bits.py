"""Fewer bits: weights by component in every format, and the cache in each of its own."""

from __future__ import annotations

from typing import Any

from core.evaluate import Result, evaluate
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.report import weight_parts
from core.units import Unit, format_bytes, in_unit
from ui import palette
from ui.charts.base import FONT_SIZE, Figure, axis, bars, layout, panel_titles

# (what, components, fill, pattern): what takes the format first, then what stays wide.
PARTS: tuple[tuple[str, tuple[str, ...], str, str | None], ...] = (
    ("attention", ("attention",), palette.WEIGHTS, None),
    ("FFN", ("dense_ffn", "shared_experts"), palette.WEIGHTS_DEEP, "/"),
    ("experts", ("experts",), palette.WEIGHTS_DEEP, "x"),
    ("embedding", ("embedding", "positions"), palette.WEIGHTS_PALE, "."),
    ("output head", ("lm_head",), palette.WEIGHTS_FAINT, "-"),
    ("norms, routers", ("norms", "router"), palette.RESERVE, None),
)
_PANELS = ((0.0, 0.62), (0.70, 1.0))


def formats_figure(result: Result, unit: Unit) -> Figure:
    """Left: weights by component in each weight format. Right: the cache in each cache format."""
    s = result.scenario
    rows = [f"<b>{name}</b>" if name == s.weight_format else name for name in WEIGHT_FORMATS]
    by_format = [weight_parts(s, name) for name in WEIGHT_FORMATS]
    data: list[dict[str, Any]] = []
    for name, components, fill, pattern in PARTS:
        sizes = [sum(parts.get(c, 0) for c in components) for parts in by_format]
        if any(sizes):
            text = [f"{name} {format_bytes(size, unit)}" if size else "" for size in sizes]
            data.append(
                bars(name, [in_unit(size, unit) for size in sizes], rows, text, fill, pattern=pattern, xaxis="x")
            )
    cache_rows = [f"<b>{name}</b>" if name == s.cache_format else name for name in CACHE_FORMATS]
    caches = [evaluate(s.replace(cache_format=name)).memory.kv_bytes for name in CACHE_FORMATS]
    data.append(
        bars(
            "KV cache",
            [in_unit(size, unit) for size in caches],
            cache_rows,
            [format_bytes(size, unit) for size in caches],
            palette.CACHE,
            pattern="/",
            xaxis="x2",
            yaxis="y2",
        )
    )
    widest = max(in_unit(sum(parts.values()), unit) for parts in by_format)
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0.18,
            height=360,
            margin={"l": 8, "r": 8, "t": 34, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 3},
            annotations=panel_titles(("weights by format", "cache by format"), _PANELS),
            xaxis=axis(range=[0, widest * 1.03], domain=_PANELS[0], ticksuffix=f" {unit}", nticks=6, anchor="y"),
            xaxis2=axis(
                range=[0, in_unit(max(caches), unit) * 1.03],
                domain=_PANELS[1],
                ticksuffix=f" {unit}",
                nticks=4,
                anchor="y2",
            ),
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
            yaxis2=axis(autorange="reversed", showgrid=False, type="category", anchor="x2"),
        ),
    }
