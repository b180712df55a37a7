"""`evaluate(scenario) -> Result`: the formulas put together for one scenario, and over a sweep."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from core import decode, prefill, roofline
from core.decode import tokens_on_one_gpu
from core.formats import WeightFormat
from core.kv_cache import CacheCurve
from core.model import LatentAttention, ModelSpec, SoftmaxAttention
from core.scenario import CONTEXT_MAX, Scenario, Split
from core.weights import WeightBytes, weight_bytes

BoundBy = Literal["memory", "compute"]


# A sweep makes one Memory and one DecodeStep a value: tuples, which take half as long to make as frozen dataclasses.
class Memory(NamedTuple):
    """What the group of GPUs must hold, against what it has."""

    weights_bytes: int
    kv_bytes: int
    reserve_bytes: int
    capacity_bytes: int
    max_batch: int | None  # None: a sequence takes no cache at all
    max_context: int | None  # memory's alone; None where memory never ends it, 0 where nothing fits

    @property
    def total_bytes(self) -> int:
        """Weights + cache + reserve."""
        return self.weights_bytes + self.kv_bytes + self.reserve_bytes

    @property
    def fits(self) -> bool:
        """Whether the total is at most the capacity."""
        return self.total_bytes <= self.capacity_bytes

    @property
    def over_by_bytes(self) -> int:
        """Bytes missing; 0 when it fits."""
        return max(0, self.total_bytes - self.capacity_bytes)

    @property
    def free_bytes(self) -> int:
        """Bytes left over; 0 when it does not fit."""
        return max(0, self.capacity_bytes - self.total_bytes)


class DecodeStep(NamedTuple):
    """One decode step at its lower bound. With layers split, bytes and FLOPs are those that pass one GPU.

    For mixtures of experts the bound reads the least experts, and `expected` is the same step at the experts expected.
    """

    batch: int
    weights_read_bytes: float
    kv_read_bytes: float
    flops: float
    memory_s: float
    compute_s: float
    experts_touched: float | None  # per MoE layer; None for dense models
    expected: DecodeStep | None = None

    @property
    def bytes_read(self) -> float:
        """Weights + cache."""
        return self.weights_read_bytes + self.kv_read_bytes

    @property
    def step_s(self) -> float:
        """Least time of the step."""
        return decode.step_time_s(memory_s=self.memory_s, compute_s=self.compute_s)

    @property
    def tokens_per_s(self) -> float:
        """Ceiling of the system."""
        return decode.system_tokens_per_s(batch=self.batch, step_s=self.step_s)

    @property
    def tokens_per_s_per_user(self) -> float:
        """Ceiling of one user."""
        return 1 / self.step_s

    @property
    def bound_by(self) -> BoundBy:
        """What sets the time of the step."""
        return "compute" if self.compute_s > self.memory_s else "memory"


@dataclass(frozen=True, slots=True)
class Prefill:
    """The prompt pass at its lower bound."""

    linear_flops: float
    attention_flops: float
    weights_read_bytes: float
    compute_s: float
    memory_s: float

    @property
    def flops(self) -> float:
        """Matrix multiplications + attention."""
        return self.linear_flops + self.attention_flops

    @property
    def ttft_s(self) -> float:
        """Least time to first token."""
        return max(self.compute_s, self.memory_s)

    @property
    def bound_by(self) -> BoundBy:
        """What sets that time."""
        return "compute" if self.compute_s > self.memory_s else "memory"


@dataclass(frozen=True)
class Result:
    """Everything the formulas say of one scenario."""

    scenario: Scenario
    memory: Memory
    decode: DecodeStep

    @cached_property
    def prefill(self) -> Prefill:
        """The prompt pass, worked out when it is asked for: sweeps read the other two."""
        return _prefill(self.scenario, costs(self.scenario))


@dataclass(frozen=True, slots=True)
class Limits:
    """Where the regimes of one scenario meet; None where they never do. Formula 10.

    `compute_bound_context` is the longest context at which some batch is compute-bound: 0 where none is at any
    context, None where some is at every context.
    """

    asymptote_tokens_per_s: float | None  # what reading the caches alone allows
    compute_cap_tokens_per_s: float  # what arithmetic alone allows
    crossover_batch: float | None
    crossover_context: float | None
    compute_bound_batch: float | None
    compute_bound_context: int | None

    @property
    def is_capped_by_memory(self) -> bool:
        """Whether the caches, not arithmetic, cap the system for a batch without limit."""
        return self.asymptote_tokens_per_s is not None and self.asymptote_tokens_per_s <= self.compute_cap_tokens_per_s

    @property
    def cap_tokens_per_s(self) -> float:
        """What no batch passes."""
        if self.asymptote_tokens_per_s is None:
            return self.compute_cap_tokens_per_s
        return min(self.asymptote_tokens_per_s, self.compute_cap_tokens_per_s)


@dataclass(frozen=True, slots=True)
class Intensities:
    """FLOPs per byte of the parts of a decode step, of prefill, and of the device's ridge. Formula 11.

    `decode_weights` counts the matrices alone (equal to the batch in 16 bits), not tables and norms.
    """

    decode_weights: float
    decode_attention: float | None
    decode_step: float
    prefill: float
    ridge: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What depends on model, formats and split, but not on batch or context."""

    weights: WeightBytes
    stored: CacheCurve
    read: CacheCurve
    body_params: int
    head_params: int

    def kv_read_bytes(self, context: int) -> Callable[[float], float]:
        """Cache bytes that one step of `tokens` sequences reads at a context, as a function of `tokens`. Formula 6."""
        scaled, denominator = self.read.scaled(context), self.read.denominator
        exact = scaled / denominator

        def read(tokens: float) -> float:
            return int(-(-scaled * tokens // denominator)) if isinstance(tokens, int) else exact * tokens

        return read

    def step_flops(self, *, attention_flops: float, tokens: float) -> float:
        """FLOPs of one step: `tokens` times the matrices' and the attention's of one token. Formula 8."""
        return tokens * (2 * (self.body_params + self.head_params) + attention_flops)


@lru_cache(maxsize=4096)
def _model_weights(model: ModelSpec, fmt: WeightFormat) -> WeightBytes:
    return weight_bytes(model.tensors, fmt, model.shape)


@lru_cache(maxsize=4096)
def model_costs(model: ModelSpec, fmt: WeightFormat, cache_bits: float, n_gpus: int, split: Split) -> Costs:
    """Weights, cache curves and matmul parameters of a model in given formats on a number of GPUs."""
    copies = n_gpus if split == "tensor" else 1
    body, head = model.matmul_params
    return Costs(
        weights=_model_weights(model, fmt),
        stored=model.cache_curve(bits=cache_bits, n_copies=copies),
        read=model.cache_curve(bits=cache_bits, n_copies=copies, read=True),
        body_params=body,
        head_params=head,
    )


def costs(scenario: Scenario) -> Costs:
    """Weights, cache curves and matmul parameters of a scenario's model and formats."""
    s = scenario
    return model_costs(s.model_spec, s.weight_format_spec, s.cache_bits, s.n_gpus, s.split)


def attention_flops_per_token(model: ModelSpec, context: int) -> float:
    """Attention FLOPs of one new token in all layers; recurrent updates are left out (still a bound). Formula 8."""
    total = 0.0
    for group in model.groups:
        a = group.attention
        if isinstance(a, SoftmaxAttention):
            tokens = context if a.span is None else min(context, a.span)
            per_layer = decode.attention_flops_per_token(n_q=a.n_q, d_k=a.d_k, d_v=a.d_v, tokens=tokens)
        elif isinstance(a, LatentAttention):
            tokens = min(context, a.indexer.top_k) if a.indexer else context
            per_layer = decode.latent_attention_flops_per_token(
                n_q=a.n_q, kv_lora_rank=a.kv_lora_rank, d_rope=a.d_rope, tokens=tokens
            )
        else:
            continue
        total += group.count * per_layer
    return total


def prefill_attention_flops(model: ModelSpec, context: int) -> float:
    """Causal attention FLOPs of one prompt in all layers. Formula 12."""
    total = 0.0
    for group in model.groups:
        a = group.attention
        if isinstance(a, SoftmaxAttention):
            pairs = prefill.attended_pairs(context=context, window=a.window, chunk=a.chunk)
            per_layer = prefill.attention_flops(n_q=a.n_q, d_k=a.d_k, d_v=a.d_v, pairs=pairs)
        elif isinstance(a, LatentAttention):
            pairs = prefill.attended_pairs(context=context, window=a.indexer.top_k if a.indexer else None)
            per_layer = prefill.attention_flops(n_q=a.n_q, d_k=a.d_nope + a.d_rope, d_v=a.d_v, pairs=pairs)
        else:
            continue
        total += group.count * per_layer
    return total


def bandwidth_bytes_per_s(scenario: Scenario) -> float:
    """BW that one step draws on: all GPUs' when every layer is on all of them, one GPU's when layers are split."""
    one = scenario.gpu_spec.bandwidth_bytes_per_s
    return decode.group_rate(one=one, n_gpus=scenario.n_gpus, split=scenario.split)


def peak_flops_per_s(scenario: Scenario) -> float:
    """C that one step draws on, for the scenario's weight format."""
    one = scenario.gpu_spec.peak_flops_per_s(scenario.weight_format_spec.peak)
    return decode.group_rate(one=one, n_gpus=scenario.n_gpus, split=scenario.split)


def capacity_bytes(scenario: Scenario) -> int:
    """Memory of the whole group of GPUs."""
    return scenario.gpu_spec.memory_bytes * scenario.n_gpus


def reserve_bytes(*, capacity: int, share: float) -> int:
    """Memory kept free: a share of the whole capacity.

    >>> reserve_bytes(capacity=85_520_809_984, share=0.1)
    8552080998
    """
    return round(capacity * share)


class _Group:
    """A model on its GPUs: all that batch and context leave as it is, worked out once for a sweep over them."""

    __slots__ = ("bandwidth", "capacity", "cost", "least_read", "moe", "peak", "reserve", "room", "scenario", "weights")

    def __init__(self, scenario: Scenario) -> None:
        s = scenario
        self.scenario = s
        self.cost = costs(s)
        self.capacity = capacity_bytes(s)
        self.reserve = reserve_bytes(capacity=self.capacity, share=s.reserve)
        self.weights = self.cost.weights.stored_bytes
        self.room = self.capacity - self.reserve - self.weights
        self.bandwidth = bandwidth_bytes_per_s(s)
        self.peak = peak_flops_per_s(s)
        self.moe = s.model_spec.moe
        self.least_read = self.cost.weights.read_bytes(skip_embedding=s.skip_embedding)

    def step(self, batch: int, kv_read_bytes: Callable[[float], float], attention: float) -> DecodeStep:
        """One decode step; `attention` are the FLOPs of one token's attention at the context."""
        s, cost, moe = self.scenario, self.cost, self.moe
        tokens = tokens_on_one_gpu(batch=batch, n_gpus=s.n_gpus, split=s.split)
        kv_read = kv_read_bytes(tokens)
        flops = cost.step_flops(attention_flops=attention, tokens=tokens)
        compute_s = decode.compute_time_s(flops=flops, peak_flops_per_s=self.peak)
        read = self.least_read
        memory_s = decode.memory_time_s(bytes_read=read + kv_read, bandwidth_bytes_per_s=self.bandwidth)
        if moe is None:
            return DecodeStep(batch, read, kv_read, flops, memory_s, compute_s, None)
        usual = cost.weights.read_bytes(skip_embedding=s.skip_embedding, tokens=tokens)
        usual_s = decode.memory_time_s(bytes_read=usual + kv_read, bandwidth_bytes_per_s=self.bandwidth)
        touched = cost.weights.experts[0].touched(tokens)
        expected = DecodeStep(batch, usual, kv_read, flops, usual_s, compute_s, touched)
        return DecodeStep(batch, read, kv_read, flops, memory_s, compute_s, float(moe.n_active), expected)

    def steps(self, batches: Iterable[int]) -> list[DecodeStep]:
        """The decode steps of batches at the scenario's context."""
        at = self._at(self.scenario.context)
        return [self.step(batch, *at) for batch in batches]

    def at_loads(self, loads: Sequence[tuple[int, int]]) -> list[tuple[Memory, DecodeStep]]:
        """Memory and decode step at each (context, batch)."""
        stored, room = self.cost.stored, self.room
        of_context = {c: (self._at(c), stored.largest_batch(room, c)) for c in {context for context, _ in loads}}
        of_batch = {b: stored.longest_context(room, b) for b in {batch for _, batch in loads}}
        found: list[tuple[Memory, DecodeStep]] = []
        for context, batch in loads:
            at, max_batch = of_context[context]
            kv_bytes = stored.bytes(context, batch)
            memory = Memory(self.weights, kv_bytes, self.reserve, self.capacity, max_batch, of_batch[batch])
            found.append((memory, self.step(batch, *at)))
        return found

    def _at(self, context: int) -> tuple[Callable[[float], float], float]:
        """What a step needs of the context."""
        return self.cost.kv_read_bytes(context), attention_flops_per_token(self.scenario.model_spec, context)


def _prefill(scenario: Scenario, cost: Costs) -> Prefill:
    s = scenario
    linear = prefill.linear_flops(
        body_params=cost.body_params, head_params=cost.head_params, context=s.context, batch=s.batch
    )
    attention = s.batch * prefill_attention_flops(s.model_spec, s.context)
    weights_read = cost.weights.read_bytes(skip_embedding=s.skip_embedding)
    # All GPUs can work on one prompt: chunks of it fill a pipeline, so layers split keep the whole group's C.
    peak = s.gpu_spec.peak_flops_per_s(s.weight_format_spec.peak) * s.n_gpus
    return Prefill(
        linear_flops=linear,
        attention_flops=attention,
        weights_read_bytes=weights_read,
        compute_s=decode.compute_time_s(flops=linear + attention, peak_flops_per_s=peak),
        memory_s=decode.memory_time_s(bytes_read=weights_read, bandwidth_bytes_per_s=bandwidth_bytes_per_s(s)),
    )


@lru_cache(maxsize=64)
def evaluate(scenario: Scenario) -> Result:
    """Memory, decode step and prefill of one scenario.

    >>> result = evaluate(Scenario(batch=32))
    >>> result.memory.weights_bytes, result.memory.kv_bytes, round(result.decode.tokens_per_s, 1)
    (16060522496, 34359738368, 2126.1)
    """
    [(memory, step)] = at_loads(scenario, [(scenario.context, scenario.batch)])
    return Result(scenario, memory, step)


def sweep(scenario: Scenario, field: str, values: Iterable[Any]) -> list[Result]:
    """`evaluate` with one field taking each value.

    >>> [round(r.decode.tokens_per_s) for r in sweep(Scenario(), "batch", (1, 32))]
    [196, 2126]
    """
    scenarios = [scenario.replace(**{field: value}) for value in values]
    if field in ("batch", "context"):
        found = at_loads(scenario, [(s.context, s.batch) for s in scenarios])
        return [Result(s, memory, step) for s, (memory, step) in zip(scenarios, found, strict=True)]
    return list(map(evaluate, scenarios))


def at_loads(scenario: Scenario, loads: Sequence[tuple[int, int]]) -> list[tuple[Memory, DecodeStep]]:
    """Memory and decode step of `evaluate` at each (context, batch): a sweep that needs no scenario for each.

    >>> [memory.fits for memory, _ in at_loads(Scenario(), [(8192, 56), (8192, 57)])]
    [True, False]
    """
    return _Group(scenario).at_loads(loads)


@dataclass(frozen=True, slots=True)
class Request:
    """One request from prompt to last token at its lower bound.

    The prompt pass yields the first token; each of `n_output` tokens after it takes one step.
    """

    ttft_s: float
    decode_s: float
    n_output: int

    @property
    def total_s(self) -> float:
        """Prefill + decode."""
        return self.ttft_s + self.decode_s

    @property
    def tpot_s(self) -> float:
        """Mean time per output token."""
        return self.decode_s / self.n_output

    @property
    def decode_share(self) -> float:
        """Share of the request's time spent in decode."""
        return self.decode_s / self.total_s


def step_times_s(scenario: Scenario) -> Callable[[int], tuple[float, float]]:
    """(memory time, compute time) of a decode step as a function of the context; the rest of the scenario fixed."""
    s = scenario
    cost = costs(s)
    tokens = tokens_on_one_gpu(batch=s.batch, n_gpus=s.n_gpus, split=s.split)
    weights_read = cost.weights.read_bytes(skip_embedding=s.skip_embedding)
    matmul = 2 * (cost.body_params + cost.head_params)
    bandwidth, peak = bandwidth_bytes_per_s(s), peak_flops_per_s(s)

    def at(context: int) -> tuple[float, float]:
        flops = tokens * (matmul + attention_flops_per_token(s.model_spec, context))
        return (weights_read + tokens * cost.read.exact_bytes(context)) / bandwidth, flops / peak

    return at


@lru_cache(maxsize=256)
def request(scenario: Scenario, n_output: int) -> Request:
    """A request of `scenario.context` prompt tokens and `n_output` output tokens, all users in step.

    Decode time is the sum of the step bound over the output tokens: the first of them attends the prompt, each next
    one token more. Memory and compute time are linear in the context between the windows' ends, so the sum is taken
    piece by piece.

    >>> round(request(Scenario(batch=1, context=8192), 1).decode_s * 1e3, 3)
    5.115
    """
    at = step_times_s(scenario)
    first, end = scenario.context, scenario.context + n_output
    edges = sorted({first, end, *(span for span, _ in costs(scenario).read.spans if first < span < end)})
    total = sum(decode.sum_of_larger(at, low, high) for low, high in itertools.pairwise(edges))
    return Request(evaluate(scenario).prefill.ttft_s, total, n_output)


def all_experts_sweep(scenario: Scenario, batches: Iterable[int]) -> list[DecodeStep]:
    """Steps if every expert were read: the slow edge of a mixture of experts' band; the plain steps when dense.

    >>> [step] = all_experts_sweep(Scenario(), [1])
    >>> step.weights_read_bytes == evaluate(Scenario()).decode.weights_read_bytes
    True
    """
    group = _Group(scenario)
    lookup = group.cost.weights.lookup_bytes if scenario.skip_embedding else 0
    read = group.weights - lookup
    touched = float(group.moe.n_experts) if group.moe else None

    def slowed(step: DecodeStep) -> DecodeStep:
        bytes_read = read + step.kv_read_bytes
        memory_s = decode.memory_time_s(bytes_read=bytes_read, bandwidth_bytes_per_s=group.bandwidth)
        return DecodeStep(step.batch, read, step.kv_read_bytes, step.flops, memory_s, step.compute_s, touched)

    return list(map(slowed, group.steps(batches)))


def decode_sweep(scenario: Scenario, batches: Iterable[int]) -> list[DecodeStep]:
    """Decode steps alone, for many batches: what a curve against users needs.

    >>> [round(step.tokens_per_s) for step in decode_sweep(Scenario(), (1, 32))]
    [196, 2126]
    """
    return _Group(scenario).steps(batches)


@lru_cache(maxsize=256)
def limits(scenario: Scenario) -> Limits:
    """Asymptote and crossovers of a scenario (bound reading: the least experts). Formula 10.

    >>> found = limits(Scenario())
    >>> round(found.asymptote_tokens_per_s), round(found.crossover_batch), found.compute_bound_batch
    (3120, 15, None)
    >>> found.compute_bound_context
    393
    """
    s = scenario
    cost = costs(s)
    stages = 1 if s.split == "tensor" else s.n_gpus
    weights_read = cost.weights.read_bytes(skip_embedding=s.skip_embedding)
    cache = cost.read.exact_bytes(s.context)
    bandwidth, peak = bandwidth_bytes_per_s(s), peak_flops_per_s(s)
    tokens = tokens_on_one_gpu(batch=s.batch, n_gpus=s.n_gpus, split=s.split)
    matmul = 2 * (cost.body_params + cost.head_params)

    def gains(context: int) -> bool:
        flops = matmul + attention_flops_per_token(s.model_spec, context)
        return flops / peak > cost.read.exact_bytes(context) / bandwidth

    compute_batch = decode.compute_bound_batch(
        weights_read_bytes=weights_read,
        cache_bytes_per_sequence=cache,
        flops_per_sequence=matmul + attention_flops_per_token(s.model_spec, s.context),
        bandwidth_bytes_per_s=bandwidth,
        peak_flops_per_s=peak,
    )
    if compute_batch is not None and compute_batch > 1:
        compute_batch *= stages  # below one sequence a stage, a single user is compute-bound already
    context_edge = decode.last_true(gains, low=1, high=CONTEXT_MAX) or 0
    crossover = (
        decode.crossover_batch(weights_read_bytes=weights_read, cache_bytes_per_sequence=cache) if cache else None
    )
    if crossover is not None and stages > 1:
        # Below n sequences a stage still reads one whole cache, so the two are equal only from one each upwards.
        crossover = crossover * stages if crossover >= 1 else None
    flops_per_token = matmul + attention_flops_per_token(s.model_spec, s.context)
    return Limits(
        compute_cap_tokens_per_s=stages * peak / flops_per_token,
        asymptote_tokens_per_s=decode.asymptote_tokens_per_s(
            bandwidth_bytes_per_s=bandwidth, cache_bytes_per_sequence=cache, n_stages=stages
        )
        if cache
        else None,
        crossover_batch=crossover,
        crossover_context=cost.read.crossing(weights_read / tokens),
        compute_bound_batch=compute_batch,
        compute_bound_context=None if context_edge == CONTEXT_MAX else context_edge,
    )


def crossing_context(scenario: Scenario) -> float | None:
    """Context at which all users' cache takes as much memory as the weights; None where it never does.

    Source: Llama 3.1 8B, one user: near 122,500 tokens.

    >>> round(crossing_context(Scenario(model="llama-3.1-8b")))
    122532
    """
    cost = costs(scenario)
    return cost.stored.crossing(cost.weights.stored_bytes / scenario.batch)


def intensities(scenario: Scenario, result: Result) -> Intensities:
    """Arithmetic intensities of a scenario's phases and its device's ridge. Formula 11.

    >>> found = intensities(Scenario(batch=32), evaluate(Scenario(batch=32)))
    >>> round(found.decode_attention, 6), round(found.ridge, 1)
    (4.0, 295.3)
    >>> found.decode_weights
    32.0
    """
    d, p = result.decode, result.prefill
    tokens = tokens_on_one_gpu(batch=scenario.batch, n_gpus=scenario.n_gpus, split=scenario.split)
    attention = tokens * attention_flops_per_token(scenario.model_spec, scenario.context)
    weights = costs(scenario).weights
    matrices = weights.matrix_bytes + weights.expert_bytes()
    return Intensities(
        decode_weights=roofline.intensity_flops_per_byte(flops=d.flops - attention, bytes_moved=matrices),
        decode_attention=roofline.intensity_flops_per_byte(flops=attention, bytes_moved=d.kv_read_bytes)
        if attention and d.kv_read_bytes
        else None,
        decode_step=roofline.intensity_flops_per_byte(flops=d.flops, bytes_moved=d.bytes_read),
        prefill=roofline.intensity_flops_per_byte(flops=p.flops, bytes_moved=p.weights_read_bytes),
        ridge=roofline.ridge_flops_per_byte(
            peak_flops_per_s=peak_flops_per_s(scenario), bandwidth_bytes_per_s=bandwidth_bytes_per_s(scenario)
        ),
    )
