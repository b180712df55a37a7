"""Pinned scenarios in words, and side by side in rows."""

from __future__ import annotations

from collections.abc import Sequence

from core.cost import dollars_per_million_tokens
from core.evaluate import evaluate
from core.prices import Edits, terms
from core.report import Cell, Rowset
from core.scenario import Scenario
from core.units import Unit, format_bytes, format_dollars, format_rate, format_seconds, integer, plural
from core.variants import Variant


def pin_label(scenario: Scenario) -> str:
    """A scenario in few words: model, devices, load, and the formats where they are not the usual ones.

    >>> pin_label(Scenario(n_gpus=2, weight_format="fp8", cache_format="fp8"))
    'Llama 3 8B · 2 × H100 SXM5 · 1 × 8,192 tokens · weights fp8, cache fp8'
    """
    s = scenario
    device = s.gpu_spec.name.removeprefix(f"{s.gpu_spec.vendor} ")
    model = s.released_model.name
    if s.model_spec.is_hypothetical:
        model += f" ({plural(s.kv_heads or 0, 'KV head')})"
    parts = [
        model,
        device if s.n_gpus == 1 else f"{integer(s.n_gpus)} × {device}",
        f"{integer(s.batch)} × {plural(s.context, 'token')}",
    ]
    usual = Scenario()
    formats = [
        f"{word} {name}"
        for word, name, default in (
            ("weights", s.weight_format, usual.weight_format),
            ("cache", s.cache_format, usual.cache_format),
        )
        if name != default
    ]
    return " · ".join([*parts, ", ".join(formats)] if formats else parts)


def side_by_side(scenarios: Sequence[Scenario]) -> list[Variant]:
    """Results of pinned scenarios, numbered, to draw on one axis.

    >>> [v.label for v in side_by_side([Scenario(batch=32)])]
    ['1: Llama 3 8B · H100 SXM5 · 32 × 8,192 tokens']
    """
    return [Variant(f"{number}: {pin_label(s)}", evaluate(s)) for number, s in enumerate(scenarios, 1)]


def pinned_rows(pinned: Sequence[Variant], unit: Unit, edits: Edits = ()) -> Rowset:
    """Pinned scenarios side by side: memory, ceilings, first token, cost at best with their own users.

    >>> header, rows = pinned_rows(side_by_side([Scenario(batch=32), Scenario()]), "GB")
    >>> header, rows[1:3]
    (('figure', '1', '2'), [('weights', '16.1 GB', '16.1 GB'), ('KV cache', '34.4 GB', '1.07 GB')])
    """
    header = ("figure", *(variant.label.partition(":")[0] for variant in pinned))
    columns = [_pinned_column(variant, unit, edits) for variant in pinned]
    names = (
        "scenario",
        "weights",
        "KV cache",
        "reserve",
        "capacity",
        "fits",
        "together at most",
        "each user at most",
        "first token at least",
        "$ per Mtok, at best",
    )
    rows: list[tuple[Cell, ...]] = list(zip(names, *columns, strict=True))
    return header, rows


def _pinned_column(variant: Variant, unit: Unit, edits: Edits) -> tuple[str, ...]:
    s, m, d = variant.result.scenario, variant.result.memory, variant.result.decode
    price = terms(s.gpu_spec, dict(edits).get(s.gpu_spec.slug)).low
    dollars = dollars_per_million_tokens(price_per_gpu_hour=price, n_gpus=s.n_gpus, tokens_per_s=d.tokens_per_s)
    sizes = (m.weights_bytes, m.kv_bytes, m.reserve_bytes, m.capacity_bytes)
    return (
        pin_label(s),
        *(format_bytes(size, unit) for size in sizes),
        "yes" if m.fits else f"no, {format_bytes(m.over_by_bytes, unit)} too much",
        format_rate(d.tokens_per_s),
        format_rate(d.tokens_per_s_per_user),
        format_seconds(variant.result.prefill.ttft_s),
        "unknown" if dollars is None else format_dollars(dollars),
    )


def pinned_alt(pinned: Sequence[Variant], unit: Unit) -> str:
    """Alt text of the pinned bars."""
    said = [
        f"{v.label}: {format_bytes(v.result.memory.total_bytes, unit)} of "
        f"{format_bytes(v.result.memory.capacity_bytes, unit)}, at most {format_rate(v.result.decode.tokens_per_s)}"
        for v in pinned
    ]
    return f"Memory of the pinned scenarios on one axis. {'. '.join(said)}."


def refusal(scenario: Scenario, pinned: Sequence[Scenario], most: int) -> str | None:
    """Why a scenario cannot be pinned, in one sentence; None when it can.

    >>> refusal(Scenario(), [Scenario()], 4)
    'Already pinned: Llama 3 8B · H100 SXM5 · 1 × 8,192 tokens.'
    """
    if scenario in pinned:
        return f"Already pinned: {pin_label(scenario)}."
    if len(pinned) >= most:
        return f"{integer(most)} scenarios are pinned, which is all there is room for: take one away first."
    return None
