"""Fewer bits: weights by component in every format, and the cache in each of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from core.evaluate import Result, evaluate
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.report import weight_parts
from core.scenario import Scenario
from core.units import Unit, format_bytes, in_unit
from ui import palette
from ui.charts.base import Figure, Panel, axis, bars, rows_figure

HEIGHT, PINNED_HEIGHT = 360, 464
Sizes = TypeVar("Sizes")

# (what, components, fill, pattern): what takes the format first, then what stays wide.
PARTS: tuple[tuple[str, tuple[str, ...], str, str | None], ...] = (
    ("attention", ("attention",), palette.WEIGHTS, None),
    ("FFN", ("dense_ffn", "shared_experts"), palette.WEIGHTS_DEEP, "/"),
    ("experts", ("experts",), palette.LATENT, "x"),
    ("embedding", ("embedding", "positions"), palette.WEIGHTS_PALE, "."),
    ("output head", ("lm_head",), palette.WEIGHTS_FAINT, "-"),
    ("norms, routers", ("norms", "router"), palette.RESERVE, None),
)


def parts_key(*results: Result | None) -> list[tuple[str, str]]:
    """Colours with their words, for the parts that any of the results has."""
    known = [weight_parts(r.scenario, r.scenario.weight_format) for r in results if r]
    return [
        (fill, words)
        for words, components, fill, _ in PARTS
        if any(parts.get(c) for parts in known for c in components)
    ]


def formats_figure(result: Result, unit: Unit, before: Result | None = None) -> Figure:
    """Weights by component in each weight format; the one in use is bold.

    The pinned scenario's weights are thin: in every format where they differ, else in its own alone.
    """
    s = result.scenario
    rows = [f"<b>{name}</b>" if name == s.weight_format else name for name in WEIGHT_FORMATS]
    by_format = {row: weight_parts(s, name) for row, name in zip(rows, WEIGHT_FORMATS, strict=True)}
    thin: dict[str, dict[str, int]] = {}
    at: list[int] = []
    if before:
        thin, at = _pinned(rows, by_format, tuple(WEIGHT_FORMATS), before.scenario.weight_format,
                           lambda name: weight_parts(before.scenario, name))  # fmt: skip
    widest = max(in_unit(sum(parts.values()), unit) for parts in (*by_format.values(), *thin.values()))
    x_axis = axis(range=[0, widest * 1.03], ticksuffix=f" {unit}", nticks=6)
    panel = Panel("weights by format", _weight_bars(by_format, unit), x_axis, pinned=_weight_bars(thin, unit))
    return rows_figure((panel,), PINNED_HEIGHT if before else HEIGHT, rows if before else (), at)


def _weight_bars(by_row: Mapping[str, Mapping[str, int]], unit: Unit) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, components, fill, pattern in PARTS:
        sizes = [sum(parts.get(c, 0) for c in components) for parts in by_row.values()]
        if any(sizes):
            text = [f"{name} {format_bytes(size, unit)}" if size else "" for size in sizes]
            widths = [in_unit(size, unit) for size in sizes]
            found.append(bars(name, widths, list(by_row), text, fill, pattern=pattern))
    return found


def _pinned(
    rows: Sequence[str], drawn: Mapping[str, Sizes], names: Sequence[str], own: str, of: Callable[[str], Sizes]
) -> tuple[dict[str, Sizes], list[int]]:
    """The pin's sizes by row, all rows or where all are the same its own, and the number of that row."""
    found = {row: of(name) for row, name in zip(rows, names, strict=True)}
    at = names.index(own)
    return ({rows[at]: found[rows[at]]} if found == drawn else found), [at]


def cache_formats_figure(result: Result, unit: Unit, before: Result | None = None) -> Figure:
    """The cache in each cache format; the one in use is bold, and the pinned scenario's as with the weights."""
    s = result.scenario
    rows = [f"<b>{name}</b>" if name == s.cache_format else name for name in CACHE_FORMATS]

    def cache(of: Scenario, name: str) -> int:
        return evaluate(of.replace(cache_format=name)).memory.kv_bytes

    def traces(sizes: Mapping[str, int]) -> list[dict[str, Any]]:
        text = [format_bytes(size, unit) for size in sizes.values()]
        widths = [in_unit(size, unit) for size in sizes.values()]
        return [bars("KV cache", widths, list(sizes), text, palette.CACHE, pattern="/")]

    caches = {row: cache(s, name) for row, name in zip(rows, CACHE_FORMATS, strict=True)}
    thin: dict[str, int] = {}
    at: list[int] = []
    if before:
        thin, at = _pinned(rows, caches, tuple(CACHE_FORMATS), before.scenario.cache_format,
                           lambda name: cache(before.scenario, name))  # fmt: skip
    widest = in_unit(max(*caches.values(), *thin.values()), unit)
    x_axis = axis(range=[0, widest * 1.03], ticksuffix=f" {unit}", nticks=4)
    panel = Panel("cache by format", traces(caches), x_axis, pinned=traces(thin) if before else ())
    return rows_figure((panel,), PINNED_HEIGHT if before else HEIGHT, rows if before else (), at)
