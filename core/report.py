"""A result as rows of text, for the tables beneath the pictures; `core/exact.py` has the numbers for CSV."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from core.catalog import gpus, models
from core.derivation import COMPONENT_WORDS
from core.drafting import speculate
from core.evaluate import (
    Result,
    all_experts_sweep,
    bandwidth_bytes_per_s,
    costs,
    decode_sweep,
    evaluate,
    limits,
    peak_flops_per_s,
    sweep,
)
from core.formats import WEIGHT_FORMATS
from core.levers import Waterfall
from core.model import ModelSpec
from core.roofline import ridge_flops_per_byte
from core.scenario import Scenario
from core.stops import batch_stops, context_stops
from core.units import (
    Unit,
    format_bytes,
    format_flops,
    format_rate,
    format_ratio,
    format_seconds,
    integer,
    significant,
)
from core.variants import Architecture, Variant

Cell = str | int | float | None
Rows = list[tuple[str, str | float | None]]
Rowset = tuple[tuple[str, ...], list[tuple[Cell, ...]]]


def numbers_table(result: Result, unit: Unit, *, exact: bool = False) -> tuple[tuple[str, str], Rows]:
    """Header and rows of every figure; with `exact`, base units as numbers, else text for reading.

    >>> from core.evaluate import evaluate
    >>> from core.scenario import Scenario
    >>> header, rows = numbers_table(evaluate(Scenario(batch=32)), "GB")
    >>> header, rows[0]
    (('figure', 'value'), ('weights', '16.1 GB (16,060,522,496 bytes)'))
    """
    m, d, p, edge = result.memory, result.decode, result.prefill, limits(result.scenario)

    def size(value: float) -> str | float:
        return value if exact else f"{format_bytes(value, unit)} ({integer(value)} bytes)"

    def time(value: float) -> str | float:
        return value if exact else format_seconds(value, 4)

    def rate(value: float | None) -> str | float | None:
        return value if exact or value is None else format_rate(value, 4)

    def count(value: float | None, none: str = "no limit") -> str | float | None:
        if exact:
            return value
        return none if value is None else integer(value) if value == int(value) else significant(value, 4)

    def name(text: str, base_unit: str) -> str:
        return f"{text} ({base_unit})" if exact else text

    rows: Rows = [
        (name("weights", "bytes"), size(m.weights_bytes)),
        (name("KV cache", "bytes"), size(m.kv_bytes)),
        (name("reserve", "bytes"), size(m.reserve_bytes)),
        (name("total", "bytes"), size(m.total_bytes)),
        (name("capacity", "bytes"), size(m.capacity_bytes)),
        (name("missing", "bytes"), size(m.over_by_bytes)),
        (name("most users at this context", "users"), count(m.max_batch)),
        (name("longest context for these users", "tokens"), count(m.max_context)),
        (name("weights read a step", "bytes"), size(d.weights_read_bytes)),
        (name("cache read a step", "bytes"), size(d.kv_read_bytes)),
        (name("FLOPs a step", "FLOP"), d.flops if exact else format_flops(d.flops, 4)),
        (name("memory time of a step", "s"), time(d.memory_s)),
        (name("compute time of a step", "s"), time(d.compute_s)),
        (name("step at least", "s"), time(d.step_s)),
        (name("together at most", "tokens/s"), rate(d.tokens_per_s)),
        (name("each user at most", "tokens/s"), rate(d.tokens_per_s_per_user)),
        (name("asymptote for any batch, reading caches", "tokens/s"), rate(edge.asymptote_tokens_per_s)),
        (name("cap for any batch, arithmetic", "tokens/s"), rate(edge.compute_cap_tokens_per_s)),
        (name("batch whose cache equals the weights", "users"), count(edge.crossover_batch, "none")),
        (name("context whose cache equals the weights", "tokens"), count(edge.crossover_context, "none")),
        (name("batch from which arithmetic sets the pace", "users"), count(edge.compute_bound_batch, "none")),
        (name("time to first token at least", "s"), time(p.ttft_s)),
    ]
    if d.expected is not None:
        rows += [
            (name("experts touched a layer, least", "experts"), count(d.experts_touched)),
            (name("experts touched a layer, expected", "experts"), count(d.expected.experts_touched)),
            (name("together at the expected experts", "tokens/s"), rate(d.expected.tokens_per_s)),
        ]
    return ("figure", "value"), rows


@lru_cache(maxsize=1)
def model_rows() -> Rowset:
    """Every model of the catalog with its counts, cache and source.

    >>> header, rows = model_rows()
    >>> dict(zip(header, rows[0]))["parameters"] > 0
    True
    """
    header = (
        "model",
        "family",
        "released",
        "layers",
        "parameters",
        "published count",
        "difference (%)",
        "cache bytes per token",
        "cache bytes at full context",
        "max context",
        "native format",
        "source",
        "source of the count",
        "confidence",
        "recalled fields",
        "notes",
    )
    rows: list[tuple[Cell, ...]] = []
    for m in models().values():
        whole = m.n_params + sum(count for _, count in m.reconcile)
        off = None if m.official_params is None else round(100 * (whole / m.official_params - 1), 4)
        rows.append(
            (
                m.name,
                m.family,
                m.released,
                " + ".join(f"{g.count} {g.label}" for g in m.groups),
                m.n_params,
                m.official_params,
                off,
                m.kv_bytes_per_token(),
                m.kv_bytes(m.max_context) + m.state_bytes,
                m.max_context,
                m.native_format,
                m.source,
                m.source_params,
                m.confidence,
                ", ".join(m.recalled_fields),
                m.notes,
            )
        )
    return header, rows


@lru_cache(maxsize=1)
def gpu_rows() -> Rowset:
    """Every device of the catalog with its figures and sources.

    >>> header, rows = gpu_rows()
    >>> len(header) == len(rows[0])
    True
    """
    header = (
        "device",
        "vendor",
        "year",
        "capacity bytes",
        "capacity from",
        "bandwidth GB/s",
        "BF16 TFLOP/s",
        "FP16 TFLOP/s",
        "FP8 TFLOP/s",
        "INT8 TOP/s",
        "FP4 TFLOP/s",
        "ridge FLOP/byte",
        "preview",
        "confidence",
        "weak fields",
        "sources",
        "disagreements",
        "notes",
    )
    rows: list[tuple[Cell, ...]] = []
    for g in gpus().values():
        ridge = ridge_flops_per_byte(
            peak_flops_per_s=g.peak_flops_per_s(), bandwidth_bytes_per_s=g.bandwidth_bytes_per_s
        )
        rows.append(
            (
                g.name,
                g.vendor,
                g.year,
                g.memory_bytes,
                "driver" if g.driver_memory_bytes else f"{g.marketed_memory:g} {g.marketed_unit} as marketed",
                g.bandwidth_gb_per_s,
                g.bf16_tflops,
                g.fp16_tflops,
                g.fp8_tflops,
                g.int8_tflops,
                g.fp4_tflops,
                round(ridge, 1) if g.ridge_comparable else None,
                "preview" if g.preview else "",
                g.confidence,
                ", ".join(g.weak_fields),
                "; ".join(g.source),
                "; ".join(g.disagreements),
                g.notes,
            )
        )
    return header, rows


def variant_rows(variants: Sequence[Variant], unit: Unit) -> Rowset:
    """KV-head variants: weights, cache, users that fit, ceilings."""
    header = ("KV heads", "weights", "KV cache", "users that fit", "together at most", "each user at most")
    rows: list[tuple[Cell, ...]] = []
    for variant in variants:
        m, d = variant.result.memory, variant.result.decode
        sizes = (format_bytes(m.weights_bytes, unit), format_bytes(m.kv_bytes, unit))
        fits = "no limit" if m.max_batch is None else integer(m.max_batch)
        speeds = (format_rate(d.tokens_per_s), format_rate(d.tokens_per_s_per_user))
        rows.append((variant.label, *sizes, fits, *speeds))
    return header, rows


def architecture_rows(together: Sequence[Architecture], own: Sequence[Architecture], unit: Unit) -> Rowset:
    """Architectures: cache per token while no window is full, at a common context and at their own, by kind."""
    header = (
        "model",
        "cache per token",
        f"at {integer(together[0].context)} tokens",
        "own full context",
        "cache there",
        "of which",
    )
    rows: list[tuple[Cell, ...]] = []
    for short, full in zip(together, own, strict=True):
        shares = "; ".join(
            f"{p.n_layers} × {p.kind} {significant(100 * p.n_bytes / full.total_bytes, 2)} %" for p in full.parts
        )
        rows.append(
            (
                full.model.name,
                format_bytes(full.model.kv_bytes_per_token(), unit),
                format_bytes(short.total_bytes, unit),
                f"{integer(full.context)} tokens",
                format_bytes(full.total_bytes, unit),
                shares,
            )
        )
    return header, rows


def context_rows(scenario: Scenario, unit: Unit) -> Rowset:
    """Cache, users that fit and speed at the slider's stops."""
    header = ("context (tokens)", "KV cache", "cache / weights", "users that fit", "together at most")
    rows: list[tuple[Cell, ...]] = []
    stops = context_stops(scenario.released_model, scenario.context)
    for r in sweep(scenario, "context", stops):
        m = r.memory
        ratio = m.kv_bytes / m.weights_bytes
        fits = "no limit" if m.max_batch is None else integer(m.max_batch)
        size, speed = format_bytes(m.kv_bytes, unit), format_rate(r.decode.tokens_per_s)
        rows.append((integer(r.scenario.context), size, format_ratio(ratio), fits, speed))
    return header, rows


def batch_rows(scenario: Scenario) -> Rowset:
    """Speed, step and whether it fits at the slider's stops."""
    header = ("users", "together at most", "each user at most", "step at least", "bound by", "fits")
    rows: list[tuple[Cell, ...]] = []
    for r in sweep(scenario, "batch", batch_stops(scenario.batch)):
        d, fits = r.decode, "yes" if r.memory.fits else "no"
        together, each = format_rate(d.tokens_per_s), format_rate(d.tokens_per_s_per_user)
        rows.append((integer(d.batch), together, each, format_seconds(d.step_s), d.bound_by, fits))
    return header, rows


def weight_parts(scenario: Scenario, weight_format: str) -> dict[str, int]:
    """Weight bytes by component in one format.

    >>> sum(weight_parts(Scenario(), "int4").values())
    5727854592
    """
    s = scenario.replace(weight_format=weight_format)
    return dict(costs(s).weights.by_component)


def format_rows(scenario: Scenario, unit: Unit) -> Rowset:
    """Every weight format: size, bits a parameter, users that fit, ceiling, ridge."""
    header = (
        "weight format",
        "weights",
        "bits a parameter",
        "users that fit",
        "together at most",
        "multiplies in",
        "ridge (FLOP/byte)",
    )
    rows: list[tuple[Cell, ...]] = []
    for name, fmt in WEIGHT_FORMATS.items():
        r = evaluate(scenario.replace(weight_format=name))
        m, d = r.memory, r.decode
        bits = 8 * m.weights_bytes / scenario.model_spec.n_params
        ridge = ridge_flops_per_byte(
            peak_flops_per_s=peak_flops_per_s(r.scenario), bandwidth_bytes_per_s=bandwidth_bytes_per_s(r.scenario)
        )
        gpu, peak = r.scenario.gpu_spec, r.scenario.weight_format_spec.peak
        faster = peak is not None and gpu.peak_flops_per_s(peak) > gpu.peak_flops_per_s()
        arithmetic = peak.upper() if peak is not None and faster else "16 bits"
        label = f"as released: {r.scenario.weight_format_spec.label}" if name == "native" else fmt.label
        fits = "no limit" if m.max_batch is None else integer(m.max_batch)
        size, speed = format_bytes(m.weights_bytes, unit), format_rate(d.tokens_per_s)
        rows.append((label, size, significant(bits), fits, speed, arithmetic, significant(ridge)))
    return header, rows


def component_rows(scenario: Scenario, unit: Unit) -> Rowset:
    """Bytes by component: in 16 bits, and in the scenario's weight format."""
    wide, narrow = weight_parts(scenario, "bf16"), weight_parts(scenario, scenario.weight_format)
    header = ("component", "in 16 bits", f"in {scenario.weight_format}", "share left")
    rows: list[tuple[Cell, ...]] = [
        (
            COMPONENT_WORDS[component],
            format_bytes(size, unit),
            format_bytes(narrow[component], unit),
            f"{significant(100 * narrow[component] / size)} %",
        )
        for component, size in wide.items()
    ]
    return header, rows


def expert_rows(scenario: Scenario, unit: Unit) -> Rowset:
    """Experts touched and the band of ceilings at the slider's stops."""
    header = (
        "users",
        "least",
        "expected",
        "all",
        "weights read, least",
        "expected",
        "all",
        "together at least experts",
        "at expected",
        "at all",
    )
    moe = scenario.released_model.moe
    rows: list[tuple[Cell, ...]] = []
    if moe is None:
        return header, rows
    batches = batch_stops(scenario.batch)
    for step, slow in zip(decode_sweep(scenario, batches), all_experts_sweep(scenario, batches), strict=True):
        if step.expected is None:
            continue
        touched = step.expected.experts_touched or 0.0
        readings = (step, step.expected, slow)
        speeds = [r.tokens_per_s for r in readings]
        sizes = [r.weights_read_bytes for r in readings]
        counts = (integer(moe.n_active), significant(touched), integer(moe.n_experts))
        shown = (*(format_bytes(v, unit) for v in sizes), *(significant(v) for v in speeds))
        rows.append((integer(step.batch), *counts, *shown))
    return header, rows


def draft_rows(scenario: Scenario, draft: ModelSpec, acceptance: float, longest: int) -> Rowset:
    """Speculation against the draft length."""
    header = ("draft length", "expected tokens", "round at least", "speed-up", "together at most")
    rows: list[tuple[Cell, ...]] = []
    for length in range(longest + 1):
        found = speculate(scenario, draft, draft_length=length, acceptance=acceptance)
        tokens, gain = significant(found.expected_tokens), f"× {format_ratio(found.speed_up, 3)}"
        rows.append((length, tokens, format_seconds(found.round_s), gain, format_rate(found.tokens_per_s)))
    return header, rows


def lever_rows(fall: Waterfall, unit: Unit) -> Rowset:
    """The waterfall: what each lever saves alone and after those before it, what is left, and memory."""
    header = ("lever", "saves alone", "saves here", "left a token", "memory")

    def size(value: float | Fraction) -> str:
        return format_bytes(float(value), unit)

    rows: list[tuple[Cell, ...]] = [
        ("start: nothing pulled", "", "", size(fall.start_bytes), size(fall.start_memory_bytes))
    ]
    rows += [
        (s.label, size(s.alone_bytes), size(s.saved_bytes), size(s.after_bytes), size(s.memory_bytes))
        for s in fall.steps
    ]
    return header, rows
