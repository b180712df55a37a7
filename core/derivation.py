"""`Derivation`: a displayed figure as symbols, words and numbers, built from the values that were used.

Each figure is a small expression tree of quantities, so that what is printed can be multiplied out again: a test
does so with the exact values and with the printed text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core import units
from core.decode import tokens_on_one_gpu
from core.drafting import Speculation
from core.evaluate import (
    Result,
    attention_flops_per_token,
    bandwidth_bytes_per_s,
    costs,
    crossing_context,
    intensities,
    limits,
    peak_flops_per_s,
)
from core.kv_cache import tokens_kept
from core.levers import Waterfall
from core.model import Attention, LatentAttention, ModelSpec, Recurrent, SoftmaxAttention
from core.paging import Served
from core.pool import Pool
from core.scenario import Scenario

Mode = Literal["symbols", "words", "numbers"]
INPUT_DIGITS = 5
RESULT_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with its symbol, its words and its printed form."""

    symbol: str
    words: str
    value: float
    text: str

    def render(self, mode: Mode) -> str:
        """The quantity in one of the three forms."""
        return {"symbols": self.symbol, "words": self.words, "numbers": self.text}[mode]


@dataclass(frozen=True, slots=True)
class Expression:
    """Quantities and expressions joined by one operation."""

    operation: Literal["sum", "product", "quotient", "difference", "max", "floor"]
    parts: tuple[Quantity | Expression, ...]

    @property
    def value(self) -> float:
        """The expression multiplied out."""
        values = [part.value for part in self.parts]
        match self.operation:
            case "sum":
                return sum(values)
            case "product":
                return math.prod(values)
            case "quotient":
                return values[0] / values[1]
            case "difference":
                return values[0] - sum(values[1:])
            case "max":
                return max(values)
            case "floor":
                return math.floor(values[0])

    def render(self, mode: Mode) -> str:
        """The expression in one of the three forms, with brackets where a sum is a factor."""

        def inner(part: Quantity | Expression) -> str:
            text = part.render(mode)
            wrap = isinstance(part, Expression) and (
                part.operation in ("sum", "difference")
                or (part.operation in ("product", "quotient") and self.operation == "quotient")
            )
            return f"({text})" if wrap and self.operation not in ("sum", "max", "floor") else text

        join = {"sum": " + ", "product": " × ", "quotient": " / ", "difference": " − "}
        if self.operation in join:
            return join[self.operation].join(inner(part) for part in self.parts)
        name = "larger of" if self.operation == "max" else "whole part of"
        brackets = ", ".join(part.render(mode) for part in self.parts)
        return f"{name} ({brackets})"


@dataclass(frozen=True, slots=True)
class Derivation:
    """`result` = `expression`: one figure on screen with its arithmetic."""

    key: str
    title: str
    result: Quantity
    expression: Quantity | Expression

    @property
    def symbols(self) -> str:
        """The formula."""
        return f"{self.result.symbol} = {self.expression.render('symbols')}"

    @property
    def words(self) -> str:
        """The formula in words."""
        return f"{self.result.words} = {self.expression.render('words')}"

    @property
    def numbers(self) -> str:
        """The formula with its numbers in, and the result."""
        return f"{self.expression.render('numbers')} = {self.result.text}"


def product(*parts: Quantity | Expression) -> Expression:
    """All parts multiplied."""
    return Expression("product", parts)


def total(parts: Iterable[Quantity | Expression]) -> Quantity | Expression:
    """All parts added; a single part stays itself."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else Expression("sum", found)


def _count(symbol: str, words: str, value: float) -> Quantity:
    return Quantity(symbol, words, value, f"{value:,.0f}" if value == int(value) else f"{value:,.4f}".rstrip("0"))


def _bytes(symbol: str, words: str, value: float) -> Quantity:
    whole = value == int(value)
    return Quantity(symbol, words, value, f"{value:,.0f} B" if whole else f"{units.significant(value, 6)} B")


def _scaled(symbol: str, words: str, value: float, show: Callable[..., str], digits: int = INPUT_DIGITS) -> Quantity:
    return Quantity(symbol, words, value, units.shortest(value, show, digits))


def _tokens(value: float, digits: int) -> str:
    return f"{units.significant(value, digits)} tokens"


def _intensity(value: float, digits: int) -> str:
    return f"{units.significant(value, digits)} FLOP/byte"


def _bytes_result(symbol: str, words: str, value: float, unit: units.Unit) -> Quantity:
    exact, short = f"{value:,.0f} B", units.format_bytes(value, unit)
    return Quantity(symbol, words, value, exact if short == exact else f"{exact} = {short}")


def _weights(result: Result, unit: units.Unit) -> Derivation:
    s = result.scenario
    fmt, model, weights = s.weight_format_spec, s.model_spec, costs(s).weights
    outcome = _bytes_result("W_stored", "weights", result.memory.weights_bytes, unit)
    expression: Quantity | Expression
    if fmt.scheme == "plain":
        expression = product(
            _count("N", "parameters", model.n_params),
            Quantity("bits/8", "bytes each", fmt.linear_bits / 8, f"{fmt.linear_bits / 8:g} B"),
        )
    else:
        expression = total(
            _bytes(f"W_{component}", COMPONENT_WORDS[component], value) for component, value in weights.by_component
        )
    return Derivation("weights", "Weights", outcome, expression)


COMPONENT_WORDS = {
    "embedding": "embedding",
    "positions": "learned positions",
    "attention": "attention",
    "dense_ffn": "dense FFN",
    "shared_experts": "shared experts",
    "experts": "experts",
    "router": "routers",
    "norms": "norms",
    "lm_head": "output head",
}


class _CacheKind(NamedTuple):
    """Layers whose caches have one shape: KV heads, an MLA latent or indexer keys."""

    heads: int  # copies beyond this many GPUs; 1 for what every GPU holds whole
    factors: tuple[tuple[str, str, int], ...]  # (symbol, words, value), multiplied
    addends: tuple[tuple[str, str, int], ...]  # (symbol, words, value), added up and multiplied in
    span: int | None


def _cache_kinds(attention: Attention | None, *, read: bool) -> list[_CacheKind]:
    a = attention
    if isinstance(a, SoftmaxAttention):
        heads = ("n_kv", "KV heads", a.n_kv)
        if a.d_k == a.d_v:
            return [_CacheKind(a.n_kv, (("2", "K and V", 2), heads, ("d_h", "head dim", a.d_k)), (), a.span)]
        widths = (("d_k", "key dim", a.d_k), ("d_v", "value dim", a.d_v))
        return [_CacheKind(a.n_kv, (heads,), widths, a.span)]
    if isinstance(a, LatentAttention):
        widths = (("r_kv", "latent", a.kv_lora_rank), ("d_rope", "rope key", a.d_rope))
        kinds = [_CacheKind(1, (), widths, a.indexer.top_k if read and a.indexer else None)]
        if a.index_values_per_token:
            kinds.append(_CacheKind(1, (("d_index", "indexer key", a.index_values_per_token),), (), None))
        return kinds
    return []


def _cache_terms(scenario: Scenario, *, read: bool, one_token: bool = False) -> list[Quantity | Expression]:
    """Cache of one sequence, layer kind by layer kind, equal kinds merged; or what a token adds to it at first."""
    copies = scenario.n_gpus if scenario.split == "tensor" else 1
    bits = scenario.cache_bits
    value_text = f"{bits / 8:g} B" if bits % 8 == 0 else f"{bits:g}/8 B"
    layers: dict[_CacheKind, int] = {}
    for group in scenario.model_spec.groups:
        for kind in _cache_kinds(group.attention, read=read):
            layers[kind] = layers.get(kind, 0) + group.count
    terms: list[Quantity | Expression] = []
    for kind, n_layers in layers.items():
        parts: list[Quantity | Expression] = [_count("L", "layers", n_layers)]
        parts += [_count(*factor) for factor in kind.factors]
        if kind.addends:
            parts.append(Expression("sum", tuple(_count(*addend) for addend in kind.addends)))
        if not one_token:
            kept = tokens_kept(context=scenario.context, span=kind.span)
            symbol, words = ("S", "tokens") if kind.span is None else (f"min(S, {kind.span:,})", "tokens kept")
            parts.append(_count(symbol, words, kept))
        parts.append(Quantity("bits/8", "bytes per value", bits / 8, value_text))
        if copies > kind.heads > 1:
            over = (_count("n", "GPUs", copies), _count("n_kv", "KV heads", kind.heads))
            parts.append(Expression("quotient", over))
        elif copies > kind.heads:
            parts.append(_count("n", "copies, one a GPU", copies))
        terms.append(product(*parts))
    state = scenario.model_spec.state_bytes
    if state and not one_token:
        terms.append(_bytes("state", "recurrent state", state))
    return terms


def cache_derivation(result: Result, unit: units.Unit = "GB") -> Derivation:
    """The cache of all users.

    >>> from core.evaluate import evaluate
    >>> cache_derivation(evaluate(Scenario(batch=32))).numbers
    '32 × 32 × 2 × 8 × 128 × 8,192 × 2 B = 34,359,738,368 B = 34.4 GB'
    """
    s = result.scenario
    users = _count("B", "users", s.batch)
    one = total(_cache_terms(s, read=False))
    outcome = _bytes_result("KV", "KV cache", result.memory.kv_bytes, unit)
    return Derivation("kv_cache", "KV cache", outcome, product(users, one))


def token_derivation(scenario: Scenario, unit: units.Unit = "GB") -> Derivation | None:
    """Cache that one more token of one user takes while no window is full; None where no cache grows.

    >>> found = token_derivation(Scenario(cache_format="fp8"))
    >>> found.numbers if found else None
    '32 × 2 × 8 × 128 × 1 B = 65,536 B = 65.5 kB'
    """
    terms = _cache_terms(scenario, read=False, one_token=True)
    if not terms:
        return None
    outcome = _bytes_result("c_1", "cache of one token", costs(scenario).stored.per_token_bytes(), unit)
    return Derivation("token", "Cache of one token", outcome, total(terms))


def model_derivations(model: ModelSpec) -> list[Derivation]:
    """A model's parameters, its cache of one more token in 16 bits while no window is full, and its constant state.

    >>> from core.catalog import models
    >>> model_derivations(models()["llama-3-8b"])[1].numbers
    '32 × 2 × 8 × 128 × 2 B = 131,072 B = 131 kB'
    """
    counts = total(_count(f"N_{c}", COMPONENT_WORDS[c], n) for c, n in model.params_by_component.items())
    found = [Derivation("params", "Parameters", _count("N", "parameters", model.n_params), counts)]
    terms: dict[_CacheKind, int] = {}
    for group in model.groups:
        for kind in _cache_kinds(group.attention, read=False):
            terms[kind] = terms.get(kind, 0) + group.count
    parts: list[Quantity | Expression] = []
    for kind, n_layers in terms.items():
        factors: list[Quantity | Expression] = [_count("L", "layers", n_layers)]
        factors += [_count(*factor) for factor in kind.factors]
        if kind.addends:
            factors.append(Expression("sum", tuple(_count(*addend) for addend in kind.addends)))
        parts.append(product(*factors, Quantity("bits/8", "bytes per value", 2, "2 B")))
    per_token = _bytes_result("c_1", "cache of one token", model.kv_bytes_per_token(), "GB")
    if parts:
        found.append(Derivation("per_token", "Cache of one token, while no window is full", per_token, total(parts)))
    if model.state_bytes:
        states = total(
            product(_count("L", "layers", g.count), _bytes("state", "state of a layer", g.attention.state_bytes))
            for g in model.groups
            if isinstance(g.attention, Recurrent)
        )
        outcome = _bytes_result("state", "constant state", model.state_bytes, "GB")
        found.append(Derivation("state", "Constant state of a sequence", outcome, states))
    return found


def memory_derivations(result: Result, unit: units.Unit = "GB") -> list[Derivation]:
    """Weights, cache, reserve, total against capacity, and the largest batch and longest context."""
    s, m = result.scenario, result.memory
    weights = _bytes("W_stored", "weights", m.weights_bytes)
    cache = _bytes("KV", "KV cache", m.kv_bytes)
    reserve = _bytes("R", "reserve", m.reserve_bytes)
    capacity = _bytes("M", "capacity", m.capacity_bytes)
    found = [_weights(result, unit), cache_derivation(result, unit)]
    share = f"{s.reserve * 100:.6g} %"
    if s.n_gpus > 1:
        found.append(
            Derivation(
                "capacity",
                "Capacity",
                _bytes_result("M", "capacity", m.capacity_bytes, unit),
                product(_count("n", "GPUs", s.n_gpus), _bytes("M_1", "memory of one", s.gpu_spec.memory_bytes)),
            )
        )
    found += [
        Derivation(
            "reserve",
            "Reserve",
            _bytes_result("R", "reserve", m.reserve_bytes, unit),
            product(Quantity("r", "share kept free", s.reserve, share), capacity),
        ),
        Derivation(
            "total",
            "Total",
            _bytes_result("T", "total", m.total_bytes, unit),
            Expression("sum", (weights, cache, reserve)),
        ),
    ]
    need = _bytes("T", "total", m.total_bytes)
    if m.fits:
        outcome = _bytes_result("free", "free", m.free_bytes, unit)
        found.append(Derivation("free", "Free", outcome, Expression("difference", (capacity, need))))
    else:
        outcome = _bytes_result("missing", "missing", m.over_by_bytes, unit)
        found.append(Derivation("over", "Missing", outcome, Expression("difference", (need, capacity))))
    found += _solved(result, capacity, reserve, weights)
    crossing = crossing_context(s)
    curve = costs(s).stored
    if crossing is not None and not curve.spans and not curve.constant:
        per_token = _bytes("c_1", "cache of one token", curve.per_token_bytes())
        where = _scaled("S_cross", "context whose cache equals the weights", crossing, _tokens, RESULT_DIGITS)
        ratio = Expression("quotient", (weights, product(_count("B", "users", s.batch), per_token)))
        found.append(Derivation("crossing", "Crossing", where, ratio))
    return found


def _solved(result: Result, capacity: Quantity, reserve: Quantity, weights: Quantity) -> list[Derivation]:
    """Largest batch, and longest context where the cache grows evenly; only when there is room at all."""
    s, m = result.scenario, result.memory
    room = Expression("difference", (capacity, reserve, weights))
    curve = costs(s).stored
    found: list[Derivation] = []
    if room.value < 0:
        return found
    if m.max_batch is not None:
        one = _bytes("c", "cache of one user", curve.exact_bytes(s.context))
        most = _count("B_max", "users that fit", m.max_batch)
        ratio = Expression("quotient", (room, one))
        found.append(Derivation("max_batch", "Most users", most, Expression("floor", (ratio,))))
    if m.max_context and not curve.spans and not curve.constant:
        per_token = _bytes("c_1", "cache of one token", curve.per_token_bytes())
        longest = _count("S_max", "tokens that fit", m.max_context)
        ratio = Expression("quotient", (room, product(_count("B", "users", s.batch), per_token)))
        found.append(Derivation("max_context", "Longest context", longest, Expression("floor", (ratio,))))
    return found


def speed_derivations(result: Result, unit: units.Unit = "GB") -> list[Derivation]:
    """Bytes read, time of memory and of arithmetic, the step, and both ceilings."""
    s, d = result.scenario, result.decode
    weights = costs(s).weights
    parts: list[Quantity] = [_bytes("W_stored", "weights", weights.every_step_bytes + weights.least_expert_bytes)]
    if weights.experts:
        parts = [
            _bytes("W_shared", "weights every token passes", weights.every_step_bytes),
            _bytes("W_k", "k experts a layer", weights.least_expert_bytes),
        ]
    tokens = tokens_on_one_gpu(batch=s.batch, n_gpus=s.n_gpus, split=s.split)
    # Bandwidth is decimal by trade, so the step's bytes are too: only then does the line multiply out by eye.
    read_total = _scaled("bytes", "bytes read", d.bytes_read, units.format_bytes)
    bandwidth = _scaled("BW", "bandwidth", bandwidth_bytes_per_s(s), units.format_bandwidth)
    found: list[Derivation] = []
    if s.skip_embedding or weights.experts:
        kept = total(parts)
        expression = kept
        if s.skip_embedding:
            lookup = _bytes("W_lookup", "looked-up tables", weights.lookup_bytes)
            expression = Expression("difference", (kept, lookup))
        outcome = _bytes_result("W", "weights read", d.weights_read_bytes, unit)
        found.append(Derivation("weights_read", "Weights read", outcome, expression))
    moe = s.model_spec.moe
    if moe is not None and d.expected is not None:
        touched = d.expected.experts_touched or 0.0
        words = "experts expected a layer"
        outcome = Quantity("E_touched", words, touched, f"{units.significant(touched, RESULT_DIGITS)} experts")
        everything = _count("E", "experts", moe.n_experts)
        chance = (1 - moe.n_active / moe.n_experts) ** tokens
        symbol = f"E (1 − {moe.n_active}/{moe.n_experts})^{tokens:g}"
        asleep = Quantity(symbol, "those that nobody chooses", moe.n_experts * chance,
                          units.significant(moe.n_experts * chance, 6))  # fmt: skip
        found.append(
            Derivation("experts_touched", "Experts touched", outcome, Expression("difference", (everything, asleep)))
        )
    group = _count("B", "users", tokens) if s.split == "tensor" else _count("max(1, B/n)", "users a stage", tokens)
    one = total(_cache_terms(s, read=True))
    outcome = _bytes_result("c", "cache read", d.kv_read_bytes, unit)
    found.append(Derivation("kv_read", "Cache read", outcome, product(group, one)))
    found.append(
        Derivation(
            "bytes_read",
            "Bytes read",
            _bytes_result("bytes", "bytes read", d.bytes_read, unit),
            Expression(
                "sum",
                (
                    _bytes("W", "weights read", d.weights_read_bytes),
                    _bytes("c", "cache read", d.kv_read_bytes),
                ),
            ),
        )
    )
    memory_s = _scaled("t_mem", "memory time", d.memory_s, units.format_seconds, RESULT_DIGITS)
    found.append(Derivation("memory_s", "Memory time", memory_s, Expression("quotient", (read_total, bandwidth))))
    body, head = s.model_spec.matmul_params
    attention = attention_flops_per_token(s.model_spec, s.context)
    flops = _scaled("FLOPs", "FLOPs", d.flops, units.format_flops)
    found.append(
        Derivation(
            "flops",
            "FLOPs",
            _scaled("FLOPs", "FLOPs", d.flops, units.format_flops, RESULT_DIGITS),
            product(
                group,
                Expression(
                    "sum",
                    (
                        product(_count("2", "multiply and add", 2), _count("P", "matrix parameters", body + head)),
                        _count("a", "attention FLOPs of one token", attention),
                    ),
                ),
            ),
        )
    )
    peak = _scaled("C", "peak arithmetic", peak_flops_per_s(s), units.format_flop_rate)
    compute_s = _scaled("t_comp", "compute time", d.compute_s, units.format_seconds, RESULT_DIGITS)
    found.append(Derivation("compute_s", "Compute time", compute_s, Expression("quotient", (flops, peak))))
    found.append(
        Derivation(
            "step_s",
            "Step",
            _scaled("t", "step", d.step_s, units.format_seconds, RESULT_DIGITS),
            Expression("max", (memory_s, compute_s)),
        )
    )
    step = _scaled("t", "step", d.step_s, units.format_seconds)
    user = _scaled("1/t", "each user", d.tokens_per_s_per_user, units.format_rate, RESULT_DIGITS)
    found.append(Derivation("per_user", "Each user", user, Expression("quotient", (_count("1", "one token", 1), step))))
    system = _scaled("B/t", "together", d.tokens_per_s, units.format_rate, RESULT_DIGITS)
    users = _count("B", "users", s.batch)
    found.append(Derivation("system", "Together", system, Expression("quotient", (users, step))))
    found += _regimes(result, bandwidth)
    return found


def _regimes(result: Result, bandwidth: Quantity) -> list[Derivation]:
    s = result.scenario
    edge = limits(s)
    cache = costs(s).read.exact_bytes(s.context)
    found: list[Derivation] = []
    stages = _count("n", "stages", s.n_gpus)
    one = _scaled("c_1", "cache of one user", cache, units.format_bytes)
    if edge.asymptote_tokens_per_s is not None:
        many = _scaled("BW/c_1", "ceiling for any batch", edge.asymptote_tokens_per_s, units.format_rate, RESULT_DIGITS)
        ratio = Expression("quotient", (bandwidth, one))
        found.append(
            Derivation("asymptote", "For any batch", many, ratio if s.split == "tensor" else product(stages, ratio))
        )
    if edge.crossover_batch is not None:
        weights = _scaled("W", "weights read", result.decode.weights_read_bytes, units.format_bytes)
        where = Quantity(
            "B_cross",
            "users whose cache equals the weights",
            edge.crossover_batch,
            f"{units.significant(edge.crossover_batch, RESULT_DIGITS)} users",
        )
        ratio = Expression("quotient", (weights, one))
        found.append(
            Derivation("crossover_batch", "Crossover", where, ratio if s.split == "tensor" else product(stages, ratio))
        )
    return found


def prefill_derivations(result: Result) -> list[Derivation]:
    """FLOPs of the prompt pass and the least time to first token."""
    s, p = result.scenario, result.prefill
    body, head = s.model_spec.matmul_params
    users, tokens = _count("B", "users", s.batch), _count("S", "prompt tokens", s.context)
    linear = product(
        _count("2", "multiply and add", 2),
        users,
        Expression(
            "sum",
            (
                product(_count("P_body", "layer parameters", body), tokens),
                _count("P_head", "output head, last token only", head),
            ),
        ),
    )
    linear_result = _scaled("F_lin", "linear FLOPs", p.linear_flops, units.format_flops, RESULT_DIGITS)
    flops = Expression(
        "sum",
        (
            _scaled("F_lin", "linear FLOPs", p.linear_flops, units.format_flops),
            _scaled("F_att", "attention FLOPs", p.attention_flops, units.format_flops),
        ),
    )
    peak = s.gpu_spec.peak_flops_per_s(s.weight_format_spec.peak) * s.n_gpus
    rate = _scaled("C", "peak arithmetic", peak, units.format_flop_rate)
    compute = _scaled("t_comp", "compute time", p.compute_s, units.format_seconds, RESULT_DIGITS)
    weights = _scaled("W", "weights read", p.weights_read_bytes, units.format_bytes)
    bandwidth = _scaled("BW", "bandwidth", bandwidth_bytes_per_s(s), units.format_bandwidth)
    memory = _scaled("t_mem", "memory time", p.memory_s, units.format_seconds, RESULT_DIGITS)
    first = _scaled("TTFT", "time to first token", p.ttft_s, units.format_seconds, RESULT_DIGITS)
    return [
        Derivation("prefill_linear", "Linear layers", linear_result, linear),
        Derivation("prefill_compute_s", "Compute time", compute, Expression("quotient", (flops, rate))),
        Derivation("prefill_memory_s", "Memory time", memory, Expression("quotient", (weights, bandwidth))),
        Derivation("ttft_s", "Time to first token", first, Expression("max", (compute, memory))),
    ]


def intensity_derivations(result: Result) -> list[Derivation]:
    """Arithmetic intensities of decode's two parts and of prefill, and the ridge they are held against."""
    s, d, p = result.scenario, result.decode, result.prefill
    found = intensities(s, result)
    tokens = tokens_on_one_gpu(batch=s.batch, n_gpus=s.n_gpus, split=s.split)
    attention = tokens * attention_flops_per_token(s.model_spec, s.context)
    weights = costs(s).weights
    matrices = _scaled("W_mat", "bytes of the matrices", weights.matrix_bytes + weights.expert_bytes(), _gigabytes)

    def ratio(key: str, title: str, value: float, flops: float, moved: Quantity) -> Derivation:
        outcome = _scaled("I", "intensity", value, _intensity, RESULT_DIGITS)
        return Derivation(
            key,
            title,
            outcome,
            Expression("quotient", (_scaled("FLOPs", "FLOPs", flops, units.format_flops), moved)),
        )

    made = [ratio("intensity_weights", "Intensity of the weights", found.decode_weights, d.flops - attention, matrices)]
    if found.decode_attention is not None:
        cache = _scaled("c", "cache read", d.kv_read_bytes, _gigabytes)
        made.append(ratio("intensity_attention", "Intensity of attention", found.decode_attention, attention, cache))
    read = _scaled("W", "weights read", p.weights_read_bytes, _gigabytes)
    made.append(ratio("intensity_prefill", "Intensity of prefill", found.prefill, p.flops, read))
    peak = _scaled("C", "peak arithmetic", peak_flops_per_s(s), units.format_flop_rate)
    bandwidth = _scaled("BW", "bandwidth", bandwidth_bytes_per_s(s), units.format_bandwidth)
    ridge = _scaled("C/BW", "ridge", found.ridge, _intensity, RESULT_DIGITS)
    made.append(Derivation("ridge", "Ridge", ridge, Expression("quotient", (peak, bandwidth))))
    return made


def _gigabytes(value: float, digits: int) -> str:
    return units.format_bytes(value, digits=digits)


def paging_derivations(found: Pool) -> list[Derivation]:
    """Users served with reservations, the slots a request of mean length wastes, and shares in use."""
    reserved, paged = found.reserved, found.paged
    pool_slots = _count("M_slots", "slots of the pool", found.pool_tokens)
    longest = _count("S_max", "longest request", found.longest)
    # Not the number drawn, which stops at a few thousand.
    served = _count("B_reserved", "users with reservations", found.pool_tokens // found.longest)
    made = [
        Derivation(
            "reserved_users",
            "Users, reserved",
            served,
            Expression("floor", (Expression("quotient", (pool_slots, longest)),)),
        )
    ]

    def share(key: str, title: str, name: str, served_by: Served) -> Derivation:
        used = _count("used", "slots with a token", served_by.used_tokens)
        held = _count("held", "slots held", sum(served_by.held))
        text = f"{units.significant(100 * served_by.used_share, RESULT_DIGITS)} %"
        outcome = Quantity("used/held", name, served_by.used_share, text)
        return Derivation(key, title, outcome, Expression("quotient", (used, held)))

    made.append(share("reserved_share", "In use, reserved", "share in use, reserved", reserved))
    made.append(share("paged_share", "In use, blocks", "share in use, blocks", paged))
    first = paged.lengths[0]
    blocks = Expression(
        "product",
        (
            _count("ceil(S/b)", "blocks of the first request", paged.held[0] // found.block),
            _count("b", "tokens a block", found.block),
        ),
    )
    waste = _count("waste", "slots wasted by the first request", paged.held[0] - first)
    tokens = _count("S", "its tokens", first)
    made.append(Derivation("block_waste", "Last block", waste, Expression("difference", (blocks, tokens))))
    return made


def speculation_derivations(found: Speculation) -> list[Derivation]:
    """Expected tokens a pass, the round, and the speed-up."""
    a, g = found.acceptance, found.draft_length
    powers = [
        Quantity(f"a^{i}", f"chance that {i} are accepted", a**i, "1" if i == 0 else f"{units.significant(a**i, 6)}")
        for i in range(g + 1)
    ]
    tokens_result = Quantity(
        "E", "tokens a pass", found.expected_tokens, units.significant(found.expected_tokens, RESULT_DIGITS)
    )
    tokens = Quantity("E", "tokens a pass", found.expected_tokens, units.significant(found.expected_tokens, 6))
    target = _scaled("t", "plain step", found.target.step_s, units.format_seconds)
    draft = _scaled("t_draft", "draft step", found.draft.step_s, units.format_seconds)
    verify = _scaled("t_verify", "verifying pass", found.verify.step_s, units.format_seconds)
    length = _count("g", "draft length", g)
    round_result = _scaled("t_round", "round", found.round_s, units.format_seconds, RESULT_DIGITS)
    whole = _scaled("t_round", "round", found.round_s, units.format_seconds)
    speed = Quantity("speed-up", "speed-up", found.speed_up, f"× {units.significant(found.speed_up, RESULT_DIGITS)}")
    return [
        Derivation("expected_tokens", "Tokens a pass", tokens_result, total(powers)),
        Derivation("round_s", "Round", round_result, Expression("sum", (product(length, draft), verify))),
        Derivation("speed_up", "Speed-up", speed, Expression("quotient", (product(tokens, target), whole))),
    ]


def waterfall_derivations(fall: Waterfall, unit: units.Unit = "GB") -> list[Derivation]:
    """The levers subtracted one after the other: they add up to what is left, to the byte."""
    start = _bytes("start", "start", round(fall.start_bytes))
    steps = tuple(
        _bytes(f"s_{number}", step.label, round(step.saved_bytes)) for number, step in enumerate(fall.steps, start=1)
    )
    left = _bytes_result("left", "left", round(fall.end_bytes), unit)
    return [Derivation("left", "Left of a token's bytes", left, Expression("difference", (start, *steps)))]
