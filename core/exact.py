"""The numbers behind the pages' pictures, exact and in base units, with the unit in each column's name: for CSV.

Curves are given at the stops of the page's slider. `core/report.py` has the same views as text for reading.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.derivation import COMPONENT_WORDS
from core.drafting import speculate
from core.evaluate import (
    Request,
    Result,
    all_experts_sweep,
    bandwidth_bytes_per_s,
    decode_sweep,
    evaluate,
    intensities,
    peak_flops_per_s,
    sweep,
)
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.levers import Waterfall
from core.model import ModelSpec
from core.pool import Pool
from core.report import Cell, Rowset, weight_parts
from core.roofline import attainable_flops_per_s
from core.scenario import Scenario
from core.speculation import ACCEPTANCES, expected_tokens
from core.stops import BATCH_STOPS, batch_stops, context_stops
from core.variants import Architecture, Variant, unwindowed_cache
from core.view import NUMBERS

DRAFT_LENGTHS = range(NUMBERS["draft_length"][1] + 1)


def users_curve(scenario: Scenario) -> Rowset:
    """Ceilings, bytes and times of a decode step against users; the expected experts' ceiling for MoE models.

    >>> header, rows = users_curve(Scenario(batch=48))
    >>> [(row[0], round(row[1])) for row in rows][6]
    (48, 2379)
    """
    header = (
        "users",
        "together at most (tokens/s)",
        "each user at most (tokens/s)",
        "together at the expected experts (tokens/s)",
        "weights read a step (bytes)",
        "cache read a step (bytes)",
        "memory time of a step (s)",
        "compute time of a step (s)",
        "step at least (s)",
        "bound by",
        "fits",
    )
    rows: list[tuple[Cell, ...]] = []
    for result in sweep(scenario, "batch", batch_stops(scenario.batch)):
        d = result.decode
        expected = None if d.expected is None else d.expected.tokens_per_s
        speeds = (d.batch, d.tokens_per_s, d.tokens_per_s_per_user, expected)
        times = (d.memory_s, d.compute_s, d.step_s)
        fits = "yes" if result.memory.fits else "no"
        rows.append((*speeds, d.weights_read_bytes, d.kv_read_bytes, *times, d.bound_by, fits))
    return header, rows


def context_curve(scenario: Scenario) -> Rowset:
    """Weights, cache, the cache without windows, users that fit and ceiling against context.

    >>> header, rows = context_curve(Scenario(batch=32))
    >>> rows[-1][:3]
    (8192, 16060522496, 34359738368)
    """
    header = (
        "context (tokens)",
        "weights (bytes)",
        "KV cache (bytes)",
        "KV cache if every layer kept every token (bytes)",
        "capacity (bytes)",
        "most users that fit",
        "together at most (tokens/s)",
    )
    rows: list[tuple[Cell, ...]] = []
    everything = unwindowed_cache(scenario)
    for r in sweep(scenario, "context", context_stops(scenario.released_model, scenario.context)):
        m, context = r.memory, r.scenario.context
        full = everything.bytes(context, scenario.batch)
        rows.append((context, m.weights_bytes, m.kv_bytes, full, m.capacity_bytes, m.max_batch, r.decode.tokens_per_s))
    return header, rows


def phases(result: Result, asked: Request) -> Rowset:
    """The roofline with its dots, both phases' times, and one request.

    >>> from core.evaluate import request
    >>> rows = dict(phases(evaluate(Scenario(batch=32)), request(Scenario(batch=32), 256))[1])
    >>> round(rows["ridge (FLOP/byte)"], 1), rows["intensity of attention in decode (FLOP/byte)"]
    (295.3, 4.0)
    """
    s, p, d = result.scenario, result.prefill, result.decode
    found = intensities(s, result)
    peak, bandwidth = peak_flops_per_s(s), bandwidth_bytes_per_s(s)

    def attainable(intensity: float | None) -> float | None:
        if intensity is None:
            return None
        return attainable_flops_per_s(
            intensity_flops_per_byte=intensity, peak_flops_per_s=peak, bandwidth_bytes_per_s=bandwidth
        )

    rows: list[tuple[Cell, ...]] = [
        ("peak (FLOP/s)", peak),
        ("bandwidth (bytes/s)", bandwidth),
        ("ridge (FLOP/byte)", found.ridge),
    ]
    dots = (
        ("prefill", found.prefill),
        ("the weights in decode", found.decode_weights),
        ("attention in decode", found.decode_attention),
    )
    for name, intensity in dots:
        rows.append((f"intensity of {name} (FLOP/byte)", intensity))
        rows.append((f"attainable by {name} (FLOP/s)", attainable(intensity)))
    rows += [
        ("prefill, memory time (s)", p.memory_s),
        ("prefill, compute time (s)", p.compute_s),
        ("time to first token at least (s)", p.ttft_s),
        ("decode step, memory time (s)", d.memory_s),
        ("decode step, compute time (s)", d.compute_s),
        ("decode step at least (s)", d.step_s),
        ("output (tokens)", asked.n_output),
        ("all decode steps at least (s)", asked.decode_s),
        ("time per output token, mean (s)", asked.tpot_s),
        ("request at least (s)", asked.total_s),
    ]
    return ("figure", "value"), rows


def weight_formats(scenario: Scenario) -> Rowset:
    """Every weight format: bytes by component, in total, bits a parameter, users that fit, ceiling, ridge.

    >>> header, rows = weight_formats(Scenario())
    >>> {row[0]: dict(zip(header, row))["total (bytes)"] for row in rows}["int4"]
    5727854592
    """
    by_format = {name: weight_parts(scenario, name) for name in WEIGHT_FORMATS}
    components = tuple(by_format["native"])
    header = (
        "weight format",
        *(f"{COMPONENT_WORDS[component]} (bytes)" for component in components),
        "total (bytes)",
        "bits a parameter",
        "most users that fit",
        "together at most (tokens/s)",
        "ridge (FLOP/byte)",
    )
    rows: list[tuple[Cell, ...]] = []
    for name, parts in by_format.items():
        r = evaluate(scenario.replace(weight_format=name))
        total = r.memory.weights_bytes
        bits = 8 * total / scenario.model_spec.n_params
        ridge = intensities(r.scenario, r).ridge
        sizes = (parts.get(component, 0) for component in components)
        rows.append((name, *sizes, total, bits, r.memory.max_batch, r.decode.tokens_per_s, ridge))
    return header, rows


def cache_formats(scenario: Scenario) -> Rowset:
    """Every cache format: bits a value, bytes, users that fit, ceiling.

    >>> [row[:3] for row in cache_formats(Scenario())[1]][:2]
    [('bf16', 16.0, 1073741824), ('fp8', 8.0, 536870912)]
    """
    header = (
        "cache format",
        "bits a value",
        "KV cache (bytes)",
        "most users that fit",
        "together at most (tokens/s)",
    )
    rows: list[tuple[Cell, ...]] = []
    for name, fmt in CACHE_FORMATS.items():
        r = evaluate(scenario.replace(cache_format=name))
        rows.append((name, fmt.bits, r.memory.kv_bytes, r.memory.max_batch, r.decode.tokens_per_s))
    return header, rows


def experts(scenario: Scenario) -> Rowset:
    """Experts touched a layer, weights read and ceilings against users, at each reading; no rows for dense models.

    >>> header, rows = experts(Scenario(model="mixtral-8x7b", n_gpus=2))
    >>> rows[2][:5]
    (4, 2, 5.46875, 8, 8)
    """
    header = (
        "users",
        "experts, least",
        "experts, expected",
        "experts, most",
        "experts, all",
        "weights read at the least (bytes)",
        "weights read at the expected (bytes)",
        "weights read at all (bytes)",
        "together at the least (tokens/s)",
        "together at the expected (tokens/s)",
        "together at all (tokens/s)",
    )
    moe = scenario.released_model.moe
    rows: list[tuple[Cell, ...]] = []
    if moe is None:
        return header, rows
    batches = batch_stops(scenario.batch)
    for step, slow in zip(decode_sweep(scenario, batches), all_experts_sweep(scenario, batches), strict=True):
        expected = step.expected or step
        readings = (step, expected, slow)
        most = min(moe.n_experts, moe.n_active * step.batch)
        touched = (step.batch, moe.n_active, expected.experts_touched, most, moe.n_experts)
        sizes = (reading.weights_read_bytes for reading in readings)
        rows.append((*touched, *sizes, *(reading.tokens_per_s for reading in readings)))
    return header, rows


def pool_shares(found: Pool) -> Rowset:
    """The pool both ways, in slots of one token.

    >>> from core.pool import pool
    >>> from core.view import View
    >>> pool_shares(pool(View(Scenario())))[1][0]
    ('users served', 56, 223)
    """
    both = (found.reserved, found.paged)
    rows: list[tuple[Cell, ...]] = [
        ("users served", *(served.n_served for served in both)),
        ("slots with a token", *(served.used_tokens for served in both)),
        ("slots held without a token", *(served.wasted_tokens for served in both)),
        ("free slots", *(served.free_tokens for served in both)),
        ("slots of the pool", found.pool_tokens, found.pool_tokens),
        ("slots handed out at a time", found.longest, found.block),
    ]
    return ("figure", "reserved", "in blocks"), rows


def pool_requests(found: Pool) -> Rowset:
    """Every request drawn: its tokens, and the slots it holds where it is served.

    >>> from core.pool import pool
    >>> from core.view import View
    >>> len(pool_requests(pool(View(Scenario())))[1])
    223
    """
    longer = max((found.reserved, found.paged), key=lambda served: served.n_served)

    def held(slots: Sequence[int], number: int) -> int | None:
        return slots[number] if number < len(slots) else None

    rows: list[tuple[Cell, ...]] = [
        (number + 1, tokens, held(found.reserved.held, number), held(found.paged.held, number))
        for number, tokens in enumerate(longer.lengths)
    ]
    return ("request", "tokens", "slots held, reserved", "slots held, in blocks"), rows


def by_draft_length(scenario: Scenario, draft: ModelSpec, acceptance: float) -> Rowset:
    """Speculation against the draft length; expected tokens also at the acceptances drawn beside it.

    >>> from core.drafting import draft_models
    >>> target = Scenario(model="llama-3-70b", n_gpus=4)
    >>> header, rows = by_draft_length(target, draft_models(target.released_model)[0], 0.7)
    >>> round(rows[4][1], 3)
    2.773
    """
    header = (
        "draft length (tokens)",
        "expected tokens a pass",
        *(f"expected tokens a pass at {100 * a:.0f} % accepted" for a in ACCEPTANCES),
        "round at least (s)",
        "speed-up",
        "together at most (tokens/s)",
    )
    rows: list[tuple[Cell, ...]] = []
    for length in DRAFT_LENGTHS:
        found = speculate(scenario, draft, draft_length=length, acceptance=acceptance)
        others = (expected_tokens(acceptance=a, draft_length=length) for a in ACCEPTANCES)
        rows.append((length, found.expected_tokens, *others, found.round_s, found.speed_up, found.tokens_per_s))
    return header, rows


def by_users(scenario: Scenario, draft: ModelSpec, draft_length: int, acceptance: float) -> Rowset:
    """Speculation against users.

    >>> from core.drafting import draft_models
    >>> target = Scenario(model="llama-3-70b", n_gpus=4)
    >>> header, rows = by_users(target, draft_models(target.released_model)[0], 4, 0.7)
    >>> rows[0][0], round(rows[0][2], 2)
    (1, 2.58)
    """
    header = ("users", "round at least (s)", "speed-up", "together at most (tokens/s)")
    rows: list[tuple[Cell, ...]] = []
    for batch in sorted({*BATCH_STOPS, scenario.batch}):
        s = scenario.replace(batch=batch)
        found = speculate(s, draft, draft_length=draft_length, acceptance=acceptance)
        rows.append((batch, found.round_s, found.speed_up, found.tokens_per_s))
    return header, rows


def levers(fall: Waterfall) -> Rowset:
    """The waterfall: what each lever saves alone and after those before it, what is left, and memory.

    >>> from core.levers import plan, waterfall
    >>> fall = waterfall(plan(Scenario(), draft=None, draft_length=4, acceptance=0.7))
    >>> levers(fall)[1][0][:2], len(levers(fall)[1])
    (('start: nothing pulled', None), 6)
    """
    header = (
        "lever",
        "saves alone (bytes a token)",
        "saves here (bytes a token)",
        "left (bytes a token)",
        "memory (bytes)",
        "capacity (bytes)",
    )
    start = ("start: nothing pulled", None, None, float(fall.start_bytes), fall.start_memory_bytes)
    rows: list[tuple[Cell, ...]] = [(*start, fall.capacity_bytes)]
    rows += [
        (s.label, float(s.alone_bytes), float(s.saved_bytes), float(s.after_bytes), s.memory_bytes, fall.capacity_bytes)
        for s in fall.steps
    ]
    return header, rows


def heads(variants: Sequence[Variant]) -> Rowset:
    """The same model with other KV heads: memory, users that fit, ceilings.

    >>> from core.variants import kv_variants
    >>> [row[2] for row in heads(kv_variants(Scenario()))[1]]
    [4294967296, 1073741824, 134217728]
    """
    header = (
        "KV heads",
        "weights (bytes)",
        "KV cache (bytes)",
        "reserve (bytes)",
        "capacity (bytes)",
        "most users that fit",
        "together at most (tokens/s)",
        "each user at most (tokens/s)",
    )
    rows: list[tuple[Cell, ...]] = []
    for variant in variants:
        m, d = variant.result.memory, variant.result.decode
        sizes = (m.weights_bytes, m.kv_bytes, m.reserve_bytes, m.capacity_bytes)
        rows.append((variant.label, *sizes, m.max_batch, d.tokens_per_s, d.tokens_per_s_per_user))
    return header, rows


def layer_kinds(*shown: Sequence[Architecture]) -> Rowset:
    """Cache of one sequence by kind of layer, model by model, at each context shown.

    >>> from core.variants import architectures
    >>> layer_kinds(architectures(2048))[1][0]
    ('Llama 2 7B', 2048, 'MHA', 32, 1073741824)
    """
    header = ("model", "context (tokens)", "kind of layer", "layers", "KV cache of one sequence (bytes)")
    rows: list[tuple[Cell, ...]] = [
        (found.model.name, found.context, part.kind, part.n_layers, part.n_bytes)
        for together in shown
        for found in together
        for part in found.parts
    ]
    return header, rows
