"""Fewer KV heads: the variants as small multiples, and architectures side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.changes import Pair
from core.evaluate import Result
from core.units import Unit, format_bytes, in_unit, integer, significant
from core.variants import Architecture, Variant
from ui import palette
from ui.charts.base import Figure, Panel, axis, bars, capacity_lines, key, keyed, rows_figure

OUTSIDE_ROOM = 1.5  # of the longest bar, for the label beside it
OUTSIDE = {"textposition": "outside", "cliponaxis": False}  # the page's style gives such labels the theme's ink


KEY_PX = 26  # of a key of one row
ONE_LINE = 14  # characters of a name beside its bar

Traces = list[dict[str, Any]]


def _bars(rows: Sequence[str], results: Sequence[Result | None], unit: Unit) -> tuple[Traces, Traces, Traces, Traces]:
    """Bars of cache, memory, users that fit and ceiling; a row that a model cannot have stays empty."""
    there = [(row, r.memory, r.decode) for row, r in zip(rows, results, strict=True) if r]
    names, memories = [row for row, _, _ in there], [m for _, m, _ in there]

    def sizes(name: str, values: Sequence[int], fill: str, pattern: str | None, label: str, **more: Any) -> Traces:
        text = [f"{label}{format_bytes(value, unit)}" for value in values]
        return [bars(name, [in_unit(value, unit) for value in values], names, text, fill, pattern=pattern, **more)]

    def numbers(title: str, values: Sequence[float], text: Sequence[str], fill: str) -> Traces:
        return [bars(title, values, names, text, fill, **OUTSIDE)]

    caches, fits = [m.kv_bytes for m in memories], [m.max_batch for m in memories]
    speeds = [d.tokens_per_s for _, _, d in there]
    return (
        sizes("KV cache", caches, palette.CACHE, "/", "", **OUTSIDE),
        [
            *sizes("weights", [m.weights_bytes for m in memories], palette.WEIGHTS, None, "weights "),
            *sizes("cache", caches, palette.CACHE, "/", "cache "),
            *sizes("reserve", [m.reserve_bytes for m in memories], palette.RESERVE, ".", "reserve "),
        ],
        numbers("users that fit", [f or 0 for f in fits], ["no limit" if f is None else integer(f) for f in fits],
                palette.FREE),
        numbers("together, tokens/s", speeds, [significant(v) for v in speeds], palette.SYSTEM),
    )  # fmt: skip


def kv_variants_figures(variants: Sequence[Variant], unit: Unit, pairs: Sequence[Pair] = ()) -> tuple[Figure, Figure]:
    """Small multiples over the same rows: cache and memory; users that fit and ceiling.

    `pairs` takes the variants' place where a scenario is pinned: each row then has the pin's thin bars too.
    """
    rows = [p.label for p in pairs] or [v.label for v in variants]
    now = [p.now for p in pairs] or [v.result for v in variants]
    then = [p.pinned for p in pairs]
    known = [r.memory for r in (*now, *then) if r]
    drawn, thin = _bars(rows, now, unit), _bars(rows, then, unit) if pairs else ([], [], [], [])

    def single(title: str, traces: Traces, pinned: Traces) -> Panel:
        end = max(value for trace in (*traces, *pinned) for value in trace["x"]) * OUTSIDE_ROOM
        return Panel(title, traces, axis(range=[0, end or 1], showticklabels=False), pinned=pinned)

    capacities = list(dict.fromkeys(next(r for r in side if r).memory.capacity_bytes for side in (now, then) if side))
    end = in_unit(max(capacities[0] * 1.1, *capacities, *(m.total_bytes for m in known)), unit) * 1.04
    lines = capacity_lines([in_unit(capacity, unit) for capacity in capacities])
    memory = Panel("memory", drawn[1], axis(range=[0, end], showticklabels=False), lines, thin[1])
    cache = single("KV cache", drawn[0], thin[0])
    users = single("users that fit", drawn[2], thin[2])
    ceiling = single("together, tokens/s", drawn[3], thin[3])
    height = (58 if pairs else 46) * len(rows) + 50 + KEY_PX
    at = [number for number, pair in enumerate(pairs) if pair.is_pin]
    numbered = rows if pairs else ()
    sizes = rows_figure((cache, memory), height, numbered, at)
    keyed(sizes["data"], "weights", "cache", "reserve")
    sizes["layout"] |= key()
    counts = rows_figure((users, ceiling), height, numbered, at)
    counts["layout"]["margin"] |= {"b": 8 + KEY_PX}  # its rows stand beside the others
    return sizes, counts


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
    rows = [_two_lines(a.model.name) for a in shown]
    traces: list[dict[str, Any]] = []
    alike: dict[tuple[str, str | None], list[str]] = {}
    for kind in dict.fromkeys(part.kind for a in shown for part in a.parts):
        sizes = [sum(p.n_bytes for p in a.parts if p.kind == kind) for a in shown]
        fill, pattern = kind_fill(kind)
        alike.setdefault((fill, pattern), []).append(kind)
        text = [f"{kind} {format_bytes(size, unit)}" if size else "" for size in sizes]
        traces.append(bars(kind, [in_unit(size, unit) for size in sizes], rows, text, fill, pattern=pattern))
    end = max(in_unit(a.total_bytes, unit) for a in shown)
    keyed(traces)
    # Kinds that look alike share one entry of the key, which is a bar without length.
    traces += [
        bars(", ".join(kinds), [0], rows[:1], [""], fill, pattern=pattern, showlegend=True, hoverinfo="skip")
        for (fill, pattern), kinds in alike.items()
    ]
    panel = Panel(title, traces, axis(range=[0, end * 1.04], ticksuffix=f" {unit}", nticks=5))
    figure = rows_figure((panel,), 44 * len(rows) + 96)
    figure["layout"] |= key()
    return figure


def _two_lines(name: str) -> str:
    """A long name broken at a space near its middle.

    >>> _two_lines("Gemma 3 27B (text part)"), _two_lines("Llama 3 8B")
    ('Gemma 3 27B<br>(text part)', 'Llama 3 8B')
    """
    spaces = [at for at, letter in enumerate(name) if letter == " "]
    if len(name) <= ONE_LINE or not spaces:
        return name
    at = min(spaces, key=lambda at: abs(at - len(name) / 2))
    return f"{name[:at]}<br>{name[at + 1 :]}"
