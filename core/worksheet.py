"""A worksheet on one scenario and its answer key: questions with blanks, the data they need, and every answer.

Answers are attributes of a `Result`, their arithmetic the derivations of the explorer. Each can be worked out by hand
from the data on the sheet alone, which a test does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal

from core.decode import tokens_on_one_gpu
from core.derivation import (
    Derivation,
    memory_derivations,
    prefill_derivations,
    speed_derivations,
    token_derivation,
)
from core.evaluate import (
    Result,
    attention_flops_per_token,
    bandwidth_bytes_per_s,
    costs,
    evaluate,
    limits,
    peak_flops_per_s,
    prefill_attention_flops,
    reserve_bytes,
)
from core.formats import BF16_BITS, CACHE_FORMATS, WEIGHT_FORMATS
from core.model import LatentAttention, Recurrent, SoftmaxAttention
from core.scenario import BATCH_MAX, CONTEXT_MAX, Scenario
from core.units import (
    Unit,
    format_bandwidth,
    format_bytes,
    format_flop_rate,
    format_flops,
    format_rate,
    format_ratio,
    format_seconds,
    integer,
    plural,
    shortest,
    significant,
    trimmed,
)
from core.variants import unwindowed_cache
from core.verdict import setting

Topic = Literal["model", "GPU", "load"]
TOPICS: tuple[Topic, ...] = ("model", "GPU", "load")
CLOSE = 0.02  # what rounding to two or three digits on the way may cost
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, slots=True)
class Given:
    """One line of the data: its symbol, its words, its value in base units and as printed."""

    topic: Topic
    symbol: str
    words: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank with its answer, the arithmetic, and how far off (in base units) still counts as right."""

    key: str
    label: str
    value: float
    text: str
    unit: str  # as printed behind the blank
    arithmetic: str
    tolerance: float
    leeway: str

    def accepts(self, value: float) -> bool:
        """Whether a value in base units counts as right."""
        return abs(value - self.value) <= self.tolerance


@dataclass(frozen=True, slots=True)
class Question:
    """A question with one to three blanks."""

    slug: str
    text: str
    blanks: tuple[Blank, ...]


@dataclass(frozen=True, slots=True)
class Worksheet:
    """Eight to ten questions on one scenario; `seed` chooses the what-if."""

    scenario: Scenario
    seed: int
    title: str
    givens: tuple[Given, ...]
    questions: tuple[Question, ...]

    @property
    def blanks(self) -> dict[str, Blank]:
        """All blanks by their key."""
        return {blank.key: blank for question in self.questions for blank in question.blanks}


@dataclass(frozen=True, slots=True)
class _CacheKind:
    """Layers whose caches have one shape, as the sheet's data name them."""

    label: str
    factors: str  # what one token keeps in one layer, as words and as numbers
    text: str
    values: int
    span: int | None
    read_span: int | None
    copies: float
    copies_text: str
    copies_words: str


def _cache_kinds(scenario: Scenario) -> dict[_CacheKind, int]:
    """Kind -> layers."""
    n = scenario.n_gpus if scenario.split == "tensor" else 1
    found: dict[_CacheKind, int] = {}
    for group in scenario.model_spec.groups:
        a = group.attention
        kinds: list[_CacheKind] = []
        if isinstance(a, SoftmaxAttention):
            if a.d_k == a.d_v:
                words, text = "K and V × KV heads × head dim", f"2 × {a.n_kv} × {a.d_k}"
            else:
                words, text = "KV heads × (key dim + value dim)", f"{a.n_kv} × ({a.d_k} + {a.d_v})"
            copies = max(1.0, n / a.n_kv)
            copies_text = f"{n} / {a.n_kv}" if n > a.n_kv > 1 else trimmed(copies)
            why = "copies, since there are more GPUs than KV heads"
            values = a.values_per_token
            kinds.append(_CacheKind(group.label, words, text, values, a.span, a.span, copies, copies_text, why))
        elif isinstance(a, LatentAttention):
            top = a.indexer.top_k if a.indexer else None
            text, every, why = f"{a.kv_lora_rank} + {a.d_rope}", integer(n), "copies, one on each GPU"
            words = "latent + rope key, one for all heads"
            kinds.append(_CacheKind(group.label, words, text, a.latent_values_per_token, None, top, n, every, why))
            if a.index_values_per_token:
                keys = a.index_values_per_token
                kinds.append(_CacheKind("indexer", "indexer key", integer(keys), keys, None, None, n, every, why))
        for kind in kinds:
            found[kind] = found.get(kind, 0) + group.count
    return found


def _mark(number: int, kinds: Sized) -> str:
    """What tells the symbols of several kinds of layer apart."""
    return str(number + 1).translate(SUBSCRIPTS) if len(kinds) > 1 else ""


def _number(value: float) -> str:
    return integer(value) if value == int(value) else trimmed(value, 6)


def _bytes(value: float) -> str:
    return f"{_number(value)} B"


def _exactly(value: float, unit: Unit) -> str:
    """Bytes in five digits, enough to calculate with."""
    return shortest(value, partial(format_bytes, unit=unit))


def _model_givens(result: Result, unit: Unit) -> list[Given]:
    s = result.scenario
    model, weights = s.model_spec, costs(s).weights

    def given(symbol: str, words: str, value: float, text: str) -> Given:
        return Given("model", symbol, words, value, text)

    mean_bits = 8 * result.memory.weights_bytes / model.n_params
    found = [
        given("N", "parameters", model.n_params, integer(model.n_params)),
        given("w", f"bits a parameter on average: {s.weight_format_spec.label}", mean_bits, trimmed(mean_bits, 5)),
    ]
    if weights.experts:
        if len(weights.experts) == 1:
            (kind,) = weights.experts
            found += [
                given("E", "experts in a layer", kind.n_experts, integer(kind.n_experts)),
                given("k", "of them used by a token", kind.n_active, integer(kind.n_active)),
                given("W_E", "all experts", kind.stored_bytes, _exactly(kind.stored_bytes, unit)),
            ]
        else:
            least = weights.least_expert_bytes
            found.append(given("W_k", "those experts that one token uses", least, _exactly(least, unit)))
        rest = weights.every_step_bytes
        found.append(given("W_rest", "weights that every token passes", rest, _exactly(rest, unit)))
    if s.skip_embedding and weights.lookup_bytes:
        tables = weights.lookup_bytes
        found.append(given("W_table", "tables looked up, not read", tables, _exactly(tables, unit)))
    kinds = _cache_kinds(s)
    for number, (kind, layers) in enumerate(kinds.items()):
        mark = _mark(number, kinds)
        text = kind.text if kind.text == integer(kind.values) else f"{kind.text} = {integer(kind.values)}"
        found += [
            given(f"L{mark}", f"layers: {kind.label}", layers, integer(layers)),
            given(f"v{mark}", f"values a token keeps in each: {kind.factors}", kind.values, text),
        ]
        if kind.span is not None:
            found.append(given(f"m{mark}", "tokens they keep at most", kind.span, integer(kind.span)))
        elif kind.read_span is not None:
            found.append(given(f"m{mark}", "tokens they read at most", kind.read_span, integer(kind.read_span)))
        if kind.copies > 1:
            found.append(given(f"n_c{mark}", kind.copies_words, kind.copies, kind.copies_text))
    if kinds:
        label = CACHE_FORMATS[s.cache_format].label
        found.append(given("b", f"bits a cached value: {label}", s.cache_bits, trimmed(s.cache_bits, 6)))
    if model.state_bytes:
        layers = sum(g.count for g in model.groups if isinstance(g.attention, Recurrent))
        found += [
            given("L_Z", "layers with a constant state", layers, integer(layers)),
            given("Z", "constant state of one user", model.state_bytes, _bytes(model.state_bytes)),
        ]
    body, head = model.matmul_params
    attention = attention_flops_per_token(model, s.context)
    prompt = prefill_attention_flops(model, s.context)
    found += [
        given("P", "parameters in matrices that a token passes", body + head, integer(body + head)),
        given("P_head", "of these in the output head", head, integer(head)),
        given("a", f"attention FLOPs of one token after {integer(s.context)}", attention, _flops(attention)),
        given("A", "attention FLOPs of one whole prompt", prompt, _flops(prompt)),
    ]
    return found


def _flops(value: float) -> str:
    return shortest(value, format_flops) if value else "0 FLOP"


def _times(n: int, text: str) -> str:
    return text if n == 1 else f"{integer(n)} × {text}"


def _other_givens(result: Result, unit: Unit) -> list[Given]:
    s, m = result.scenario, result.memory
    gpu, n = s.gpu_spec, s.n_gpus
    together = n if s.split == "tensor" else 1  # GPUs that work on one step
    peak_one = gpu.peak_flops_per_s(s.weight_format_spec.peak)
    bandwidth = _times(together, shortest(gpu.bandwidth_bytes_per_s, format_bandwidth))
    peak = _times(together, shortest(peak_one, format_flop_rate))
    memory = _times(n, _exactly(gpu.memory_bytes, unit))
    who = "" if together == n else ", one GPU at a time"
    found = [
        Given("GPU", "M", "memory", m.capacity_bytes, memory),
        Given("GPU", "r", "share of it kept free", s.reserve, f"{trimmed(100 * s.reserve, 6)} %"),
        Given("GPU", "BW", f"bandwidth of a step{who}", bandwidth_bytes_per_s(s), bandwidth),
        Given("GPU", "C", f"peak arithmetic of a step{who}", peak_flops_per_s(s), peak),
    ]
    if together != n:
        every = _times(n, shortest(peak_one, format_flop_rate))
        found.append(Given("GPU", "C_all", "peak arithmetic of all, for a prompt", n * peak_one, every))
    found += [
        Given("load", "B", "users decoded together", s.batch, integer(s.batch)),
        Given("load", "S", "tokens in each user's cache", s.context, integer(s.context)),
    ]
    if together != n:
        tokens = tokens_on_one_gpu(batch=s.batch, n_gpus=n, split=s.split)
        words = "users that pass one GPU at a time: the larger of 1 and B / n"
        found.append(Given("load", "t", words, tokens, _number(tokens)))
    return found


# ---------------------------------------------------------------- blanks


def _blank(key: str, label: str, value: float, show: Callable[[float], str], arithmetic: str) -> Blank:
    text = show(value)
    leeway = f"± {100 * CLOSE:g} %"
    return Blank(key, label, value, text, text.partition(" ")[2], arithmetic, CLOSE * abs(value), leeway)


def _count(key: str, label: str, value: int, one: str, arithmetic: str) -> Blank:
    """Whole things: rounding on the way may cost one, or the usual share of many."""
    tolerance = max(1.0, CLOSE * value)
    unit = plural(2, one).partition(" ")[2]
    return Blank(key, label, value, plural(value, one), unit, arithmetic, tolerance, f"± {integer(tolerance)}")


def _answers(*derivations: Iterable[Derivation]) -> dict[str, Derivation]:
    return {d.key: d for made in derivations for d in made}


class _Sheet:
    """What the questions draw on."""

    def __init__(self, scenario: Scenario, unit: Unit) -> None:
        self.scenario = scenario
        self.unit: Unit = unit
        self.result = evaluate(scenario)
        self.sums = _answers(
            memory_derivations(self.result, unit),
            speed_derivations(self.result, unit),
            prefill_derivations(self.result),
        )
        self.tokens = tokens_on_one_gpu(batch=scenario.batch, n_gpus=scenario.n_gpus, split=scenario.split)
        self.each = plural(scenario.context, "token")
        self.users = "the user" if scenario.batch == 1 else f"all {integer(scenario.batch)} users"
        self.room = self.result.memory.capacity_bytes - self.result.memory.reserve_bytes

    def bytes(self, value: float) -> str:
        """Bytes in the sheet's unit."""
        return format_bytes(value, self.unit)

    def line(self, key: str) -> str:
        """The arithmetic of a figure."""
        return self.sums[key].numbers

    @property
    def is_shared_out(self) -> bool:
        """Whether a step passes the GPUs in turn."""
        return self.scenario.split == "layer" and self.scenario.n_gpus > 1

    def step_users(self) -> str:
        """The number of users whose bytes one GPU reads, as a symbol."""
        return "t" if self.is_shared_out else "B"


def _weights(sheet: _Sheet) -> Question:
    s, m = sheet.scenario, sheet.result.memory
    if s.weight_format_spec.scheme == "plain":
        arithmetic = sheet.line("weights")
    else:
        bits = trimmed(8 * m.weights_bytes / s.model_spec.n_params, 5)
        arithmetic = f"{integer(s.model_spec.n_params)} × {bits} / 8 B = {sheet.bytes(m.weights_bytes)}"
    return Question(
        "weights",
        f"{s.released_model.name} has N parameters of w bits each. How much memory do the weights take?",
        (_blank("weights", "weights", m.weights_bytes, sheet.bytes, arithmetic),),
    )


def _cache(sheet: _Sheet) -> Question:
    s, m = sheet.scenario, sheet.result.memory
    blanks: list[Blank] = []
    one = token_derivation(s, sheet.unit)
    curve = costs(s).stored
    said: list[str] = []
    if one is not None:
        blanks.append(_blank("token", "one more token", one.result.value, sheet.bytes, one.numbers))
        first = " while no window is full" if curve.spans else ""
        said.append(f"How much cache does one more token of one user take{first}?")
        said.append(f"And {sheet.users} with {sheet.each}{' each' if s.batch > 1 else ''}?")
        if any(isinstance(g.attention, LatentAttention) for g in s.model_spec.groups):
            said.append("(MLA keeps one latent for all heads: no factor 2, no heads.)")
        if curve.spans:
            said.append("(A layer with a window keeps the smaller of S and m.)")
        if curve.constant:
            said.append("(The constant state is there from the first token on.)")
    else:
        said.append(f"Its layers keep a constant state, whatever the context. How much is that for {sheet.users}?")
    blanks.append(_blank("cache", sheet.users, m.kv_bytes, sheet.bytes, sheet.line("kv_cache")))
    return Question("cache", " ".join(said), tuple(blanks))


def _fits(sheet: _Sheet) -> Question:
    m = sheet.result.memory
    word, key = ("free", "free") if m.fits else ("missing", "over")
    value = m.free_bytes if m.fits else m.over_by_bytes
    yes = Blank("fits", "yes or no", float(m.fits), "yes" if m.fits else "no", "", sheet.line("total"), 0, "")
    # A small difference of large numbers: as wrong as those may be.
    tolerance = CLOSE / 2 * max(m.capacity_bytes, m.total_bytes)
    text = sheet.bytes(value)
    leeway = f"± {sheet.bytes(tolerance)}"
    room = Blank(word, "free or missing", value, text, text.partition(" ")[2], sheet.line(key), tolerance, leeway)
    return Question(
        "fits", "Do weights, cache and reserve fit in the memory M, and how much is free or missing?", (yes, room)
    )


def gpus_needed(scenario: Scenario) -> int:
    """The fewest GPUs of this kind that hold weights and reserve.

    >>> gpus_needed(Scenario(model="llama-3-70b")), gpus_needed(Scenario())
    (2, 1)
    """
    one, weights = scenario.gpu_spec.memory_bytes, evaluate(scenario).memory.weights_bytes

    def fits(n: int) -> bool:
        return weights + reserve_bytes(capacity=n * one, share=scenario.reserve) <= n * one

    n = max(1, math.floor(weights / (one * (1 - scenario.reserve))))
    while not fits(n):
        n += 1
    return n


def _users(sheet: _Sheet) -> Question | None:
    s, m = sheet.scenario, sheet.result.memory
    if m.weights_bytes > sheet.room:
        n = gpus_needed(s)
        one = _exactly(s.gpu_spec.memory_bytes, sheet.unit)
        kept = f"{trimmed(100 * s.reserve, 6)} %"
        ratio = m.weights_bytes / (s.gpu_spec.memory_bytes * (1 - s.reserve))
        arithmetic = (
            f"{_exactly(m.weights_bytes, sheet.unit)} / ({one} × (1 − {kept})) = {significant(ratio, 4)}, rounded "
            f"up: {integer(n)}"
        )
        return Question(
            "gpus",
            f"Weights and reserve alone pass the memory. How many GPUs of {one} each would hold them?",
            (_count("gpus", "GPUs", n, "GPU", arithmetic),),
        )
    if m.max_batch is None:
        return None
    return Question(
        "users",
        f"How many users with {sheet.each} each fit at most?",
        (_count("users", "users", m.max_batch, "user", sheet.line("max_batch")),),
    )


def _read(sheet: _Sheet) -> Question:
    s, d = sheet.scenario, sheet.result.decode
    said = ["A decode step reads the weights once and the cache of every user."]
    if sheet.is_shared_out:
        said = ["The layers are shared out: in a step, all weights are read once, and the caches of t users."]
    tables = s.skip_embedding and costs(s).weights.lookup_bytes > 0
    if tables or s.model_spec.moe is not None:
        weights_line = sheet.line("weights_read")
    else:
        weights_line = f"all weights: {sheet.bytes(d.weights_read_bytes)}"
    if s.model_spec.moe is not None:
        said.append("Of the experts it reads at least the k that one token uses in each layer.")
    if tables:
        said.append("The looked-up tables are not read.")
    if any(isinstance(g.attention, LatentAttention) and g.attention.indexer for g in s.model_spec.groups):
        said.append("Of the latents it reads those of m tokens at most.")
    said.append("How many bytes of each?")
    blanks = [_blank("weights_read", "weights", d.weights_read_bytes, sheet.bytes, weights_line)]
    if d.kv_read_bytes:
        blanks.append(_blank("cache_read", "cache", d.kv_read_bytes, sheet.bytes, sheet.line("kv_read")))
    if d.expected is not None and sheet.tokens > 1 and len(costs(s).weights.experts) == 1:
        said.append(
            f"And if {sheet.step_users()} users choose their experts at random, how many of a layer's E are expected "
            "to be read?"
        )
        touched = d.expected.experts_touched or 0.0
        blanks.append(
            _blank("experts", "experts expected", touched, lambda v: f"{significant(v)} experts",
                   sheet.line("experts_touched"))
        )  # fmt: skip
    return Question("read", " ".join(said), tuple(blanks))


def _step(sheet: _Sheet) -> Question:
    d = sheet.result.decode
    users = sheet.step_users()
    return Question(
        "step",
        f"How long does it take to read that at BW, and how long to compute {users} × (2 P + a) FLOPs at C? The larger "
        "is the least time of a step.",
        (
            _blank("memory_s", "reading", d.memory_s, format_seconds, sheet.line("memory_s")),
            _blank("compute_s", "computing", d.compute_s, format_seconds,
                   f"{sheet.line('flops')}; {sheet.line('compute_s')}"),
            _blank("step_s", "step", d.step_s, format_seconds, sheet.line("step_s")),
        ),
    )  # fmt: skip


def _ceiling(sheet: _Sheet) -> Question:
    s, d = sheet.scenario, sheet.result.decode
    blanks = [_blank("per_user", "each user", d.tokens_per_s_per_user, format_rate, sheet.line("per_user"))]
    if s.batch > 1:
        blanks.append(_blank("system", "together", d.tokens_per_s, format_rate, sheet.line("system")))
    words = ": each user, and all together" if s.batch > 1 else ""
    return Question("ceiling", f"So how many tokens a second is that at most{words}?", tuple(blanks))


def _crossover(sheet: _Sheet) -> Question | None:
    s, d = sheet.scenario, sheet.result.decode
    edge, curve = limits(s), costs(s).read
    blanks: list[Blank] = []
    said: list[str] = []
    if edge.crossover_batch is not None:
        note = "" if edge.crossover_batch >= 1 else "; even one user's cache is more than the weights"
        blanks.append(
            _blank("crossover_batch", "users", edge.crossover_batch, lambda v: f"{significant(v)} users",
                   sheet.line("crossover_batch") + note)
        )  # fmt: skip
        said.append(f"At how many users with {sheet.each} each does a step read as much cache as weights?")
    where = edge.crossover_context
    if where is not None and 1 <= where <= CONTEXT_MAX and not curve.spans and curve.endless:
        own = s.released_model.max_context
        note = "" if where <= own else f"; the model stops at {integer(own)}"
        one = curve.per_token_bytes()
        state = f" − {_number(sheet.tokens)} × {_bytes(curve.exact_bytes(0))}" if curve.constant else ""
        top = f"({_bytes(d.weights_read_bytes)}{state})" if state else _bytes(d.weights_read_bytes)
        arithmetic = f"{top} / ({_number(sheet.tokens)} × {_bytes(one)}) = {integer(where)} tokens{note}"
        blanks.append(_blank("crossover_context", "tokens", where, lambda v: f"{integer(v)} tokens", arithmetic))
        said.append(f"And at how many tokens, for {sheet.users}?" if blanks[1:] else
                    f"At how many tokens does a step read as much cache as weights, for {sheet.users}?")  # fmt: skip
    return Question("crossover", " ".join(said), tuple(blanks)) if blanks else None


def _phases(sheet: _Sheet) -> Question:
    s, p, d = sheet.scenario, sheet.result.prefill, sheet.result.decode
    peak = "C_all" if sheet.is_shared_out else "C"
    steps = p.ttft_s / d.step_s
    lines = [sheet.line(key) for key in ("prefill_linear", "prefill_compute_s", "prefill_memory_s", "ttft_s")]
    prompts = "the prompt" if s.batch == 1 else f"all {integer(s.batch)} prompts"
    ratio = f"{format_seconds(p.ttft_s, 4)} / {format_seconds(d.step_s, 4)} = {significant(steps, 4)}"
    return Question(
        "phases",
        f"Before the first token, {prompts} of {sheet.each} must be processed: B × (2 ((P − P_head) S + P_head) + A) "
        f"FLOPs at {peak}, or once all the weights of a step at BW if that takes longer. How long is that at least "
        "(TTFT), and how many times the step after it (TPOT)?",
        (
            _blank("ttft_s", "first token", p.ttft_s, format_seconds, "; ".join(lines)),
            _blank("phases", "TTFT / TPOT", steps, lambda v: f"{significant(v)} times", ratio),
        ),
    )


# ---------------------------------------------------------------- what if


_Ask = Callable[[], Question]  # only the one that is asked is worked out


def _changed(sheet: _Sheet, text: str, *, key: str, users: bool = True, **changes: object) -> Question:
    """The cache of everybody under another assumption, and who then fits."""
    after = evaluate(sheet.scenario.replace(**changes))
    sums = _answers(memory_derivations(after, sheet.unit))
    blanks = [_blank(f"{key}_cache", "cache", after.memory.kv_bytes, sheet.bytes, sums["kv_cache"].numbers)]
    said = f"What if {text}: how large is the cache of {sheet.users}"
    if users and "max_batch" in sums and after.memory.max_batch is not None:
        said += ", and how many users fit"
        blanks.append(_count(f"{key}_users", "users", after.memory.max_batch, "user", sums["max_batch"].numbers))
    return Question("what-if", f"{said}?", tuple(blanks))


def _single_kv_heads(scenario: Scenario) -> int | None:
    released = scenario.model_spec.released_kv_heads
    return released[0] if len(released) == 1 else None


def _every_head(sheet: _Sheet) -> _Ask | None:
    s = sheet.scenario
    heads, options = _single_kv_heads(s), s.released_model.kv_head_options
    softmax = s.model_spec.softmax
    if heads is None or softmax is None or heads == softmax.n_q or softmax.n_q not in options or _repeats(s, heads):
        return None
    text = f"each of the {integer(softmax.n_q)} query heads had a KV head of its own, as before grouping"
    return partial(_changed, sheet, text, key="every_head", users=False, kv_heads=softmax.n_q)


def _half_heads(sheet: _Sheet) -> _Ask | None:
    s = sheet.scenario
    heads = _single_kv_heads(s)
    if heads is None or heads % 2 or heads // 2 not in s.released_model.kv_head_options or _repeats(s, heads // 2):
        return None
    text = f"there were half as many KV heads, {integer(heads // 2)}"
    return partial(_changed, sheet, text, key="half_heads", users=False, kv_heads=heads // 2)


def _repeats(scenario: Scenario, heads: int) -> bool:
    """Whether more GPUs than KV heads would repeat some, and blur what fewer heads save."""
    return scenario.split == "tensor" and scenario.n_gpus > heads


def _no_latent(sheet: _Sheet) -> _Ask | None:
    found = [g.attention for g in sheet.scenario.model_spec.groups if isinstance(g.attention, LatentAttention)]
    shapes = {(a.n_q, a.kv_lora_rank, a.d_nope, a.d_rope, a.d_v) for a in found}
    return partial(_each_head_apart, found[0]) if len(shapes) == 1 else None


def _each_head_apart(a: LatentAttention) -> Question:
    wide, latent = a.n_q * (a.d_nope + a.d_rope + a.d_v), a.latent_values_per_token
    line = f"{integer(a.n_q)} × ({a.d_nope + a.d_rope} + {a.d_v}) / {integer(latent)} = {significant(wide / latent, 4)}"
    return Question(
        "what-if",
        f"What if each of the {integer(a.n_q)} heads kept a key of {a.d_nope + a.d_rope} values and a value of {a.d_v} "
        "of its own, instead of the common latent and rope key: how many times as large would that part of the cache "
        "be?",
        (_blank("no_latent", "times", wide / latent, lambda v: f"{format_ratio(v, 3)} times", line),),
    )


def _no_windows(sheet: _Sheet) -> _Ask | None:
    s = sheet.scenario
    curve, softmax = costs(s).stored, s.model_spec.softmax
    if softmax is None or not (curve.constant or any(span < s.context for span, _ in curve.spans)):
        return None
    return partial(_every_token_kept, sheet, softmax)


def _every_token_kept(sheet: _Sheet, softmax: SoftmaxAttention) -> Question:
    s = sheet.scenario
    curve, full = costs(s).stored, unwindowed_cache(s)
    value = full.bytes(s.context, s.batch)
    kinds = _cache_kinds(s)
    place = next(i for i, kind in enumerate(kinds) if kind.values == softmax.values_per_token)
    first = f"v{_mark(place, kinds)}"
    like = f" (each layer with a state keeping {first} values a token instead)" if curve.constant else ""
    one = full.per_token_bytes()
    line = f"{integer(s.batch)} × {integer(s.context)} × {_bytes(one)} = {sheet.bytes(value)}"
    return Question(
        "what-if",
        f"What if every layer kept every token{like}: how large would the cache of {sheet.users} be?",
        (_blank("no_windows", "cache", value, sheet.bytes, line),),
    )


def _four_bits(sheet: _Sheet) -> _Ask | None:
    fmt = sheet.scenario.weight_format_spec
    return partial(_linear_layers_narrow, sheet) if fmt.scheme == "plain" and fmt.linear_bits == BF16_BITS else None


def _linear_layers_narrow(sheet: _Sheet) -> Question:
    s = sheet.scenario
    after = evaluate(s.replace(weight_format="int4"))
    m, n = after.memory, s.model_spec.n_params
    bits = trimmed(8 * m.weights_bytes / n, 5)
    line = f"{integer(n)} × {bits} / 8 B = {sheet.bytes(m.weights_bytes)}"
    blanks = [_blank("four_bits", "weights", m.weights_bytes, sheet.bytes, line)]
    sums = _answers(memory_derivations(after, sheet.unit))
    said = "how large are the weights"
    if "max_batch" in sums and m.max_batch is not None:
        said += ", and how many users fit"
        blanks.append(_count("four_bits_users", "users", m.max_batch, "user", sums["max_batch"].numbers))
    label = WEIGHT_FORMATS["int4"].label.partition(",")[0]
    return Question(
        "what-if",
        f"What if the linear layers were in {label}, which with scales and what stays wide makes {bits} bits a "
        f"parameter: {said}?",
        tuple(blanks),
    )


def _double_context(sheet: _Sheet) -> _Ask | None:
    s = sheet.scenario
    if 2 * s.context > CONTEXT_MAX or not _cache_kinds(s):
        return None
    text = f"each context were {integer(2 * s.context)} tokens"
    return partial(_changed, sheet, text, key="double_context", context=2 * s.context)


def _fp8_cache(sheet: _Sheet) -> _Ask | None:
    s = sheet.scenario
    if s.cache_format != "bf16" or not _cache_kinds(s):
        return None
    return partial(_changed, sheet, "the cache were kept in 8 bits a value", key="fp8_cache", cache_format="fp8")


def _double_users(sheet: _Sheet) -> _Ask | None:
    return partial(_with_users_doubled, sheet) if 2 * sheet.scenario.batch <= BATCH_MAX else None


def _with_users_doubled(sheet: _Sheet) -> Question:
    s = sheet.scenario
    after = evaluate(s.replace(batch=2 * s.batch))
    sums = _answers(speed_derivations(after, sheet.unit))
    d = after.decode
    lines = "; ".join(sums[key].numbers for key in ("memory_s", "compute_s", "step_s"))
    return Question(
        "what-if",
        f"What if there were {integer(2 * s.batch)} users (memory left aside): how long is a step, and how many tokens "
        "a second have all together?",
        (
            _blank("double_users_step", "step", d.step_s, format_seconds, lines),
            _blank("double_users", "together", d.tokens_per_s, format_rate, sums["system"].numbers),
        ),
    )


# What is special about the model first, so that the first sheet asks it.
WHAT_IFS: tuple[Callable[[_Sheet], _Ask | None], ...] = (
    _no_latent,
    _no_windows,
    _every_head,
    _half_heads,
    _four_bits,
    _double_context,
    _fp8_cache,
    _double_users,
)


def _what_if(sheet: _Sheet, seed: int) -> Question | None:
    found = [ask for what_if in WHAT_IFS if (ask := what_if(sheet)) is not None]
    return found[(seed - 1) % len(found)]() if found else None


def worksheet(scenario: Scenario, seed: int = 1, unit: Unit = "GB") -> Worksheet:
    """The sheet of a scenario: the same scenario and seed give the same sheet; another seed asks another what-if.

    >>> sheet = worksheet(Scenario(batch=32))
    >>> [question.slug for question in sheet.questions]
    ['weights', 'cache', 'fits', 'users', 'read', 'step', 'ceiling', 'crossover', 'what-if', 'phases']
    >>> sheet.blanks["cache"].text, sheet.blanks["cache"].arithmetic
    ('34.4 GB', '32 × 32 × 2 × 8 × 128 × 8,192 × 2 B = 34,359,738,368 B = 34.4 GB')
    """
    sheet, givens, asked, last = _whatever_the_seed(scenario, unit)
    what_if = _what_if(sheet, seed)
    questions = (*asked, what_if, last) if what_if else (*asked, last)
    return Worksheet(scenario, seed, setting(scenario), givens, questions)


@lru_cache(maxsize=16)
def _whatever_the_seed(
    scenario: Scenario, unit: Unit
) -> tuple[_Sheet, tuple[Given, ...], tuple[Question, ...], Question]:
    """What a sheet draws on, its data, and its questions before and after the what-if."""
    sheet = _Sheet(scenario, unit)
    givens = (*_model_givens(sheet.result, unit), *_other_givens(sheet.result, unit))
    ask = (_weights, _cache, _fits, _users, _read, _step, _ceiling, _crossover)
    asked = (question for made in ask if (question := made(sheet)) is not None)
    return sheet, givens, tuple(asked), _phases(sheet)
