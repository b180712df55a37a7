"""The verdict in words: sentences formatted from a `Result`, so that text and numbers cannot disagree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.drafting import Speculation
from core.evaluate import Memory, Request, Result, costs, crossing_context, evaluate, intensities, limits
from core.levers import Waterfall
from core.model import LatentAttention
from core.pool import Pool
from core.scenario import SPLIT_LABELS, Scenario
from core.units import (
    Unit,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    integer,
    plural,
    significant,
    trimmed,
)
from core.variants import Variant, heads_summary


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a page says of a result: the headline, the rest in short sentences, and cautions."""

    headline: str
    memory: tuple[str, ...]
    speed: tuple[str, ...]
    cautions: tuple[str, ...]


def cache_against_weights(m: Memory) -> str:
    """How the cache compares with the weights, in one sentence.

    >>> from core.evaluate import evaluate
    >>> from core.scenario import Scenario
    >>> cache_against_weights(evaluate(Scenario(batch=32)).memory)
    'The cache is 2.1 times the weights.'
    """
    if not m.kv_bytes:
        return "There is no cache."
    ratio = m.kv_bytes / m.weights_bytes
    many = format_ratio(max(ratio, 1 / ratio))
    if many == "1.0":
        return "The cache is about as large as the weights."
    return f"The cache is {many} times the weights." if ratio > 1 else f"The weights are {many} times the cache."


def _room(result: Result) -> tuple[str, ...]:
    s, m = result.scenario, result.memory
    name = s.released_model.name
    gpus = plural(s.n_gpus, "GPU")
    if m.weights_bytes + m.reserve_bytes > m.capacity_bytes:
        return (f"Weights and reserve alone pass the memory of {gpus}: not one user fits.",)
    found: list[str] = []
    if m.max_batch is None:
        found.append("No cache is kept, so memory sets no limit on users.")
    elif m.max_batch == 0:
        found.append("Not even one user fits at this context.")
    else:
        found.append(f"Up to {plural(m.max_batch, 'user')} at this context.")
    stops = f"the model stops at {integer(s.released_model.max_context)}"
    users = "this user" if s.batch == 1 else f"these {integer(s.batch)} users"
    if m.max_context is None:
        found.append(f"For {users} memory ends no context: {name}'s cache stops growing ({stops}).")
    elif m.max_context:
        found.append(f"For {users}, memory would allow {integer(m.max_context)} tokens ({stops}).")
    else:
        found.append(f"For {users}, memory allows no context at all.")
    return tuple(found)


def _speed(result: Result, unit: Unit) -> tuple[str, ...]:
    s, d = result.scenario, result.decode
    if d.bound_by == "memory":
        why = f"Memory sets the pace: each step reads {format_bytes(d.bytes_read, unit)}."
    else:
        why = f"Arithmetic sets the pace: each step computes for {format_seconds(d.compute_s)}."
    if s.batch == 1:
        ceiling = f"At most {format_rate(d.tokens_per_s)}; no system that makes one token a pass is faster."
    else:
        ceiling = (
            f"At most {format_rate(d.tokens_per_s)} together, {format_rate(d.tokens_per_s_per_user)} for each user; "
            "no system that makes one token a pass is faster."
        )
    found = [why, ceiling]
    if d.expected is not None and d.experts_touched is not None and d.expected.experts_touched is not None:
        found.append(
            f"That counts the fewest experts a layer can touch, {trimmed(d.experts_touched)}; with uniform "
            f"routing {trimmed(d.expected.experts_touched)} are expected, which gives "
            f"{format_rate(d.expected.tokens_per_s)} together (an estimate)."
        )
    return tuple(found)


def _cautions(result: Result) -> tuple[str, ...]:
    s = result.scenario
    model = s.released_model
    found: list[str] = []
    if s.model_spec.is_hypothetical:
        released = " and ".join(map(str, model.released_kv_heads))
        heads = plural(s.kv_heads or 0, "KV head")
        found.append(f"{model.name} with {heads} is hypothetical: it was released with {released}.")
    if s.context > model.max_context:
        found.append(f"{integer(s.context)} tokens is a what-if: {model.name} stops at {integer(model.max_context)}.")
    if s.gpu_spec.memory_note:
        found.append(s.gpu_spec.memory_note)
    if s.gpu_spec.preview:
        found.append(f"{s.gpu_spec.name} is announced or in preview: its figures are not from a shipped datasheet.")
    if not result.memory.fits:
        found.append("It does not fit, so the speed is a what-if.")
    if any(isinstance(g.attention, LatentAttention) for g in model.groups) and s.n_gpus > 1 and s.split == "tensor":
        found.append(
            f"Tensor parallel keeps MLA's latent on each of the {s.n_gpus} GPUs; "
            "attention data parallelism does better."
        )
    if s.n_gpus > 1:
        found.append("Time on the links between GPUs is left out, so this stays a bound.")
    return tuple(found)


def headline(m: Memory, unit: Unit = "GB") -> str:
    """Whether it fits, and by how much, in a few words.

    >>> from core.evaluate import evaluate
    >>> headline(evaluate(Scenario(batch=128)).memory)
    'Does not fit: 76.5 GB too much.'
    """
    if m.fits:
        return f"Fits, with {format_bytes(m.free_bytes, unit)} free."
    return f"Does not fit: {format_bytes(m.over_by_bytes, unit)} too much."


def verdict(result: Result, unit: Unit = "GB") -> Verdict:
    """The sentences for one result.

    >>> from core.evaluate import evaluate
    >>> from core.scenario import Scenario
    >>> said = verdict(evaluate(Scenario(batch=32)))
    >>> said.headline
    'Fits, with 26.5 GB free.'
    >>> said.memory[1]
    'Up to 56 users at this context.'
    """
    memory = (cache_against_weights(result.memory), *_room(result))
    return Verdict(headline(result.memory, unit), memory, _speed(result, unit), _cautions(result))


def key_line(result: Result, unit: Unit) -> str:
    """All numbers of the memory bar in one line, for when labels do not fit inside it."""
    m = result.memory
    parts = [
        f"weights {format_bytes(m.weights_bytes, unit)}",
        f"KV cache {format_bytes(m.kv_bytes, unit)}",
        f"reserve {format_bytes(m.reserve_bytes, unit)}",
        f"free {format_bytes(m.free_bytes, unit)}" if m.fits else f"missing {format_bytes(m.over_by_bytes, unit)}",
        f"capacity {format_bytes(m.capacity_bytes, unit)}",
    ]
    return " · ".join(parts)


def memory_alt(result: Result, unit: Unit) -> str:
    """Alt text of the memory bar."""
    return f"Memory bar: {key_line(result, unit)}. {verdict(result, unit).headline}"


def ceiling_alt(result: Result) -> str:
    """Alt text of the ceiling chart."""
    s, d, m = result.scenario, result.decode, result.memory
    edge = "" if m.max_batch is None else f" Memory ends at {plural(m.max_batch, 'user')}."
    return (
        f"Tokens per second against users. At {plural(s.batch, 'user')}: {format_rate(d.tokens_per_s)} together, "
        f"{format_rate(d.tokens_per_s_per_user)} each.{edge}"
    )


def context_summary(result: Result) -> tuple[str, ...]:
    """Where the cache passes the weights, and what holds it back; tokens with the digits of the arithmetic.

    >>> from core.evaluate import evaluate
    >>> context_summary(evaluate(Scenario(batch=1024)))
    ('With 1,024 users the cache passes the weights at 119.7 tokens.',)
    """
    s = result.scenario
    curve = costs(s).stored
    crossing = crossing_context(s)
    users = plural(s.batch, "user")
    if crossing is None:
        found = [f"With {users} the cache never reaches the weights: it stops growing."]
    elif crossing < 1:
        found = [f"With {users} the cache passes the weights from the first token on."]
    else:
        beyond = crossing > s.released_model.max_context
        limit = f", beyond the {integer(s.released_model.max_context)} at which the model stops" if beyond else ""
        found = [f"With {users} the cache passes the weights at {significant(crossing, 4)} tokens{limit}."]
    if curve.spans:
        share = curve.per_token_bytes(s.context) / curve.per_token_bytes()
        words = " and ".join(dict.fromkeys(integer(span) for span, _ in curve.spans))
        found.append(
            f"Layers with a window keep at most {words} tokens: at {integer(s.context)} a new token adds "
            f"{format_ratio(100 * share)} % of what it adds at first."
        )
    if s.model_spec.state_bytes:
        found.append(
            f"The recurrent layers keep {format_bytes(s.model_spec.state_bytes)} for each user, whatever the context."
        )
    return tuple(found)


def users_summary(result: Result) -> tuple[str, ...]:
    """Asymptote, crossover and whether arithmetic ever sets the pace."""
    s = result.scenario
    edge = limits(s)
    found: list[str] = []
    cap = edge.cap_tokens_per_s
    why = "the caches alone take that long to read" if edge.is_capped_by_memory else "arithmetic alone takes that long"
    found.append(f"However many users, the system never passes {format_rate(cap)}: {why}.")
    if edge.crossover_batch is not None:
        if edge.crossover_batch >= 1:
            crossing = plural(math.ceil(edge.crossover_batch), "user")
            found.append(f"From {crossing} on, a step reads at least as much cache as weights.")
        else:
            found.append("Even one user's cache outweighs the weights.")
    if edge.compute_bound_batch is not None:
        found.append(f"From {plural(math.ceil(edge.compute_bound_batch), 'user')} on, arithmetic sets the pace.")
    elif edge.compute_bound_context:
        found.append(
            f"Beyond {integer(edge.compute_bound_context)} tokens of context no batch is compute-bound: each user "
            "adds more reading than arithmetic."
        )
    else:
        found.append("No batch is compute-bound, at any context.")
    return tuple(found)


def phases_summary(result: Result) -> tuple[str, ...]:
    """The three dots of the roofline in words."""
    s = result.scenario
    found = intensities(s, result)
    ridge = f"{significant(found.ridge)} FLOPs a byte"
    if not s.gpu_spec.ridge_comparable:
        ridge += " (not from a data sheet)"
    said = [f"{s.gpu_spec.name} needs {ridge} to be busy."]
    for name, value in (("Prefill", found.prefill), ("decode of the weights", found.decode_weights)):
        side = "busy" if value >= found.ridge else f"{format_ratio(found.ridge / value)} times too few"
        said.append(f"{name[0].upper()}{name[1:]} does {significant(value)}: {side}.")
    if found.decode_attention is not None:
        where = "whatever the batch" if s.model_spec.softmax else "shared by all heads, whatever the batch"
        enough = "busy" if found.decode_attention >= found.ridge else "too few"
        said.append(f"Attention in decode does {significant(found.decode_attention)}, {where}: {enough}.")
    return tuple(said)


def request_summary(scenario: Scenario, asked: Request) -> tuple[str, ...]:
    """A request's two phases in words."""
    together = "" if scenario.batch == 1 else f" for all {integer(scenario.batch)} prompts together"
    return (
        f"The first token takes at least {format_seconds(asked.ttft_s)}{together}, each of the "
        f"{integer(asked.n_output)} after it {format_seconds(asked.tpot_s)} on average.",
        f"Decode is {format_ratio(100 * asked.decode_share, 3)} % of the request's {format_seconds(asked.total_s)}.",
    )


def bits_summary(result: Result, unit: Unit) -> tuple[str, ...]:
    """What the formats shrink, and what they do not touch."""
    s, m = result.scenario, result.memory
    wide = evaluate(s.replace(weight_format="bf16", cache_format="bf16"))
    if m.weights_bytes == wide.memory.weights_bytes and m.kv_bytes == wide.memory.kv_bytes:
        return (
            f"Weights ({format_bytes(m.weights_bytes, unit)}) and cache ({format_bytes(m.kv_bytes, unit)}) are both in "
            "16 bits: choose a format for either and see what shrinks.",
        )
    weights = 100 * m.weights_bytes / wide.memory.weights_bytes
    cache = 100 * m.kv_bytes / wide.memory.kv_bytes if wide.memory.kv_bytes else 100.0
    bits = 8 * m.weights_bytes / s.model_spec.n_params
    return (
        f"Against 16 bits the weights take {significant(weights)} %, {format_bytes(m.weights_bytes, unit)} instead of "
        f"{format_bytes(wide.memory.weights_bytes, unit)}, the cache {significant(cache)} %, "
        f"{format_bytes(m.kv_bytes, unit)}.",
        f"A step reads {format_bytes(result.decode.bytes_read, unit)} instead of "
        f"{format_bytes(wide.decode.bytes_read, unit)}: together at most {format_rate(result.decode.tokens_per_s)} "
        f"instead of {format_rate(wide.decode.tokens_per_s)}.",
        f"That makes {significant(bits)} bits a parameter, with scales and what stays wide.",
    )


def experts_summary(result: Result, unit: Unit) -> tuple[str, ...]:
    """How many experts a batch wakes, in words; the expectation named as an estimate."""
    s, d = result.scenario, result.decode
    moe = s.released_model.moe
    if moe is None or d.expected is None:
        return (f"{s.released_model.name} is dense: every weight is read for every token.",)
    read, everything = (format_bytes(n, unit) for n in (d.weights_read_bytes, result.memory.weights_bytes))
    users = "1 user touches" if s.batch == 1 else f"{plural(s.batch, 'user')} touch"
    experts = f"{moe.n_active} of {moe.n_experts} experts a layer"
    bound = f"at most {format_rate(d.tokens_per_s)} together"
    touched = d.expected.experts_touched or 0.0
    if math.isclose(touched, d.experts_touched or 0.0):
        alone = "" if s.batch == 1 else ", one at a time"
        return (
            f"{users} {experts}{alone}.",
            f"A step reads {read} of the {everything} of weights in memory: {bound}.",
            "Shared experts and dense layers are always read.",
        )
    return (
        f"{users} at least {experts}; {trimmed(touched)} are expected if all choose at random.",
        f"A step reads {read} or {format_bytes(d.expected.weights_read_bytes, unit)} of the {everything} of weights: "
        f"{bound} (the bound), {significant(d.expected.tokens_per_s)} expected (the dot).",
        "The least is read if all choose alike. The expectation takes choices as uniform and independent: an estimate, "
        "not a bound, and measured systems have beaten it. Shared experts and dense layers are always read.",
    )


def pool_summary(found: Pool) -> tuple[str, ...]:
    """Who is served, and what is wasted, both ways."""
    more = " (and more would: the drawing stops there)" if found.is_cut else ""
    return (
        f"Room for {integer(found.longest)} tokens each: {plural(found.reserved.n_served, 'user')}, and "
        f"{significant(100 * found.reserved.used_share)} % of the held slots have a token. Blocks of "
        f"{integer(found.block)}: {plural(found.paged.n_served, 'user')}{more}, and "
        f"{significant(100 * found.paged.used_share)} %.",
        f"A block wastes less than {plural(found.block, 'slot')} a request: here "
        f"{significant(found.paged.wasted_tokens / max(1, found.paged.n_served))} on average.",
    )


def speculation_summary(found: Speculation, unit: Unit) -> tuple[str, ...]:
    """What speculation brings and costs."""
    verdict_word = "pays" if found.speed_up > 1 else "does not pay"
    slower = found.verify.step_s > found.target.step_s
    if slower and found.verify.bound_by == "compute":
        why = "the verifying pass is bound by arithmetic, so its extra tokens take time"
    elif slower:
        why = "each drafted token wakes experts of its own, so the verifying pass reads more than a plain step"
    elif found.speed_up > 1:
        why = "the verifying pass takes no longer than a plain step"
    else:
        why = "the verifying pass takes no longer than a plain step, but the draft steps cost more than they bring"
    extra = found.draft_weights_bytes + found.draft_kv_bytes
    return (
        f"With {plural(found.draft_length, 'drafted token')} a pass yields {significant(found.expected_tokens)} "
        f"tokens a user: × {format_ratio(found.speed_up, 3)}, at most {format_rate(found.tokens_per_s)} together. It "
        f"{verdict_word}: {why}.",
        f"The draft model takes {format_bytes(extra, unit)} of memory with its cache.",
    )


def levers_summary(fall: Waterfall, unit: Unit) -> tuple[str, ...]:
    """From the plain start to every lever, in words."""
    factor = float(fall.start_bytes / fall.end_bytes)
    first = fall.steps[0]
    return (
        f"From {format_bytes(float(fall.start_bytes), unit)} to {format_bytes(float(fall.end_bytes), unit)} a token: "
        f"{format_ratio(factor, 3)} times fewer. The strongest lever alone is {first.label}, "
        f"{format_ratio(first.factor, 3)} times.",
    )


def heads_summaries(variants: Sequence[Variant], scenario: Scenario, unit: Unit = "GB") -> tuple[str, ...]:
    """From the most KV heads to the scenario's own, then to the fewest; one sentence where its own are an end.

    >>> from core.variants import kv_variants
    >>> [said.partition(":")[0] for said in heads_summaries(kv_variants(Scenario()), Scenario())]
    ['From MHA, 32 to released, 8', 'From MHA, 32 to MQA, 1']
    """
    own = [n for n, variant in enumerate(variants) if variant.result.scenario.model_spec == scenario.model_spec]
    ends = [n for n in own if 0 < n < len(variants) - 1]
    return tuple(heads_summary(variants[: n + 1], unit) for n in (*ends[:1], len(variants) - 1))


_USUAL = Scenario()


def setting(scenario: Scenario, load: str | None = None) -> str:
    """What is looked at, in one line: model, devices, load, and the assumptions that are not the usual ones.

    `load` stands in for users and context on pages that share the memory out in another way.

    >>> setting(Scenario(batch=32))
    'Llama 3 8B on NVIDIA H100 SXM5, 32 users of 8,192 tokens.'
    >>> setting(Scenario(n_gpus=2, cache_format="fp8", reserve=0))
    'Llama 3 8B on 2 × NVIDIA H100 SXM5, 1 user of 8,192 tokens, cache in FP8, reserve 0 %.'
    """
    s = scenario
    devices = s.gpu_spec.name if s.n_gpus == 1 else f"{integer(s.n_gpus)} × {s.gpu_spec.name}"
    heads = "" if not s.model_spec.is_hypothetical else f" with {plural(s.kv_heads or 0, 'KV head')}"
    said = [f"{s.released_model.name}{heads} on {devices}"]
    said.append(load or f"{plural(s.batch, 'user')} of {plural(s.context, 'token')}")
    if s.n_gpus > 1 and s.split != _USUAL.split:
        said.append(SPLIT_LABELS[s.split].partition(":")[0])
    if s.weight_format != _USUAL.weight_format:
        said.append(f"weights in {s.weight_format.upper()}")
    if s.cache_format != _USUAL.cache_format:
        said.append(f"cache in {s.cache_format.upper()}")
    if s.reserve != _USUAL.reserve:
        said.append(f"reserve {100 * s.reserve:.6g} %")
    if s.skip_embedding:
        said.append("input embedding not read")
    return f"{', '.join(said)}."
