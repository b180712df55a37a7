"""The usual wrong formulas beside the right ones: each mistake's figure for a scenario, ours, and the factor between.

Ours is always a figure of `evaluate`. A wrong cache is `evaluate` of the model that the mistake takes this one for, so
that one thing alone differs (an indexer's keys are forgotten along with MLA's latent).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.derivation import Expression, Quantity, cache_derivation, product, total
from core.evaluate import all_experts_sweep, costs, evaluate, peak_flops_per_s
from core.kv_cache import tokens_kept
from core.model import LatentAttention, LayerGroup, ModelSpec, MoeFfn, SoftmaxAttention
from core.presets import Preset
from core.report import Cell, Rowset
from core.scenario import Scenario
from core.units import (
    GB,
    GIB,
    Unit,
    format_bytes,
    format_flop_rate,
    format_ratio,
    integer,
    plural,
    shortest,
    trimmed,
)

Kind = Literal["bytes", "FLOP/s"]
SAME = 1e-9  # relative; below it two figures are one
# Architectures whose data sheets also print a rate "with sparsity", twice the dense one in 16 bits: NVIDIA's since
# Ampere (A100 white paper, 2020), AMD's since CDNA 3. Previews are left out.
SPARSE_ARCHITECTURES = ("Ampere", "Ada", "Hopper", "Blackwell", "CDNA3", "CDNA4")


@dataclass(frozen=True, slots=True)
class Figure:
    """A value in base units and the numbers it is made of."""

    value: float
    numbers: str


Judged = tuple[Figure, Figure] | str  # (wrong, right), or why there is nothing to compare


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong formula: what it says, what is right, and who would notice."""

    slug: str
    title: str
    figure: str
    wrong: str
    right: str
    notices: str
    judge: Callable[[Scenario], Judged]
    kind: Kind = "bytes"


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake made on one scenario; without figures `reason` says why there is nothing to see."""

    mistake: Mistake
    wrong: Figure | None
    right: Figure | None
    reason: str

    @property
    def factor(self) -> float | None:
        """Wrong over right; None where the mistake does not apply or makes no difference."""
        return self.wrong.value / self.right.value if self.wrong and self.right else None

    @property
    def text(self) -> str:
        """The factor and its direction, or the reason why there is none.

        >>> find(Scenario(), "ignore-gqa").text, find(Scenario(), "gib-as-gb").text
        ('× 4, too much', '× 0.9313, too little')
        """
        factor = self.factor
        if factor is None:
            return self.reason
        return f"× {_times(factor)}, too {'little' if factor < 1 else 'much'}"


def _times(factor: float) -> str:
    percent = 0.9 < factor < 1.1
    return trimmed(factor, 4 if percent else 3)


# ---------------------------------------------------------------- the figures


@lru_cache(maxsize=64)  # several mistakes share what is right
def _cache(scenario: Scenario) -> Figure:
    result = evaluate(scenario)
    return Figure(result.memory.kv_bytes, cache_derivation(result).expression.render("numbers"))


def _taken_for(scenario: Scenario, swap: Callable[[LayerGroup], LayerGroup]) -> Judged:
    """The cache of the model with every layer group swapped, beside the true one."""
    model = scenario.model_spec
    groups = tuple(swap(group) for group in model.groups)
    wrong = model.model_copy(update={"groups": groups, "is_hypothetical": True})
    return _cache(scenario.replace(model=wrong, kv_heads=None)), _cache(scenario)


def _swapped(group: LayerGroup, attention: SoftmaxAttention) -> LayerGroup:
    return group.model_copy(update={"attention": attention})


def _softmax(model: ModelSpec) -> list[SoftmaxAttention]:
    return [g.attention for g in model.groups if isinstance(g.attention, SoftmaxAttention)]


def _latent(model: ModelSpec) -> list[LatentAttention]:
    return [g.attention for g in model.groups if isinstance(g.attention, LatentAttention)]


def _no_heads(model: ModelSpec) -> str:
    return f"Does not apply: {model.why_no_kv_heads}."


def _ignore_gqa(scenario: Scenario) -> Judged:
    model = scenario.model_spec
    found = _softmax(model)
    if not found:
        return _no_heads(model)
    if all(a.n_kv == a.n_q for a in found):
        return "No difference: every query head has a KV head of its own."

    def swap(group: LayerGroup) -> LayerGroup:
        a = group.attention
        return _swapped(group, a.model_copy(update={"n_kv": a.n_q})) if isinstance(a, SoftmaxAttention) else group

    return _taken_for(scenario, swap)


def _hidden_over_heads(scenario: Scenario) -> Judged:
    model = scenario.model_spec
    found = _softmax(model)
    if not found:
        return _no_heads(model)
    for a in found:
        if model.d_model % a.n_q:
            return f"Does not apply: {integer(model.d_model)} / {integer(a.n_q)} is no whole number, so it shows."

    def swap(group: LayerGroup) -> LayerGroup:
        a = group.attention
        if not isinstance(a, SoftmaxAttention):
            return group
        width = model.d_model // a.n_q
        return _swapped(group, a.model_copy(update={"d_k": width, "d_v": width}))

    return _or_same(_taken_for(scenario, swap), "this model's head dim is the hidden size over the heads")


NO_MLA = "Does not apply: no layer has MLA."


def _mla(scenario: Scenario, swap: Callable[[LatentAttention], SoftmaxAttention]) -> Judged:
    if not _latent(scenario.model_spec):
        return NO_MLA

    def each(group: LayerGroup) -> LayerGroup:
        a = group.attention
        return _swapped(group, swap(a)) if isinstance(a, LatentAttention) else group

    return _taken_for(scenario, each)


def _mla_as_heads(scenario: Scenario) -> Judged:
    return _mla(scenario, lambda a: SoftmaxAttention(n_q=a.n_q, n_kv=a.n_q, d_k=a.d_nope + a.d_rope, d_v=a.d_v))


def _mla_twice(scenario: Scenario) -> Judged:
    return _mla(scenario, lambda a: SoftmaxAttention(n_q=1, n_kv=1, d_k=a.kv_lora_rank, d_v=a.kv_lora_rank))


def _mla_without_rope(scenario: Scenario) -> Judged:
    s = scenario
    layers: dict[LatentAttention, int] = {}
    for group in s.model_spec.groups:
        if isinstance(group.attention, LatentAttention):
            layers[group.attention] = layers.get(group.attention, 0) + group.count
        elif group.attention is not None and _latent(s.model_spec):
            return "Does not apply: MLA is only in some of its layers."
    if not layers:
        return NO_MLA
    copies = s.n_gpus if s.split == "tensor" else 1
    each = Quantity("bits/8", "bytes per value", s.cache_bits / 8, f"{s.cache_bits / 8:g} B")
    kept = _number("S", tokens_kept(context=s.context))
    parts: list[Quantity | Expression] = []
    for a, count in layers.items():
        for width in (a.kv_lora_rank, a.index_values_per_token):
            if width:
                factors = [_number("L", count), _number("width", width), kept, each]
                parts.append(product(*factors, *([_number("n", copies)] if copies > 1 else [])))
    expression = product(_number("B", s.batch), total(parts))
    return Figure(math.ceil(expression.value), expression.render("numbers")), _cache(s)


def _number(symbol: str, value: float) -> Quantity:
    return Quantity(symbol, symbol, value, integer(value))


def _windows_ignored(scenario: Scenario) -> Judged:
    model = scenario.model_spec
    wrong = model.without_windows()
    if wrong.groups == model.groups:
        return "No difference: every layer keeps every token."
    figures = _cache(scenario.replace(model=wrong, kv_heads=None)), _cache(scenario)
    return _or_same(figures, "the context is no longer than the window")


def _window_everywhere(scenario: Scenario) -> Judged:
    found = _softmax(scenario.model_spec)
    spans = [a for a in found if a.span]
    if not spans:
        return "Does not apply: no layer has a window."
    if len(spans) == len(found):
        return "No difference: every attention layer has a window."
    like = {"window": spans[0].window, "chunk": spans[0].chunk}

    def swap(group: LayerGroup) -> LayerGroup:
        a = group.attention
        whole = isinstance(a, SoftmaxAttention) and not a.span
        return _swapped(group, a.model_copy(update=like)) if whole and isinstance(a, SoftmaxAttention) else group

    return _or_same(_taken_for(scenario, swap), "the context is no longer than the window")


def _or_same(figures: Judged, why: str) -> Judged:
    if isinstance(figures, str):
        return figures
    wrong, right = figures
    return f"No difference: {why}." if math.isclose(wrong.value, right.value, rel_tol=SAME) else figures


# ---------------------------------------------------------------- experts


NO_EXPERTS = "Does not apply: the model is dense, without experts."


def _bytes(value: float) -> str:
    return f"{integer(value)} B"


def _moe(scenario: Scenario) -> MoeFfn | None:
    return scenario.model_spec.moe


def _active_as_memory(scenario: Scenario) -> Judged:
    if _moe(scenario) is None:
        return NO_EXPERTS
    weights = costs(scenario).weights
    stored = evaluate(scenario).memory.weights_bytes
    active = weights.every_step_bytes + weights.least_expert_bytes
    shared = f"{_bytes(weights.every_step_bytes)} for every token"
    return (
        Figure(active, f"{shared} + {_bytes(weights.least_expert_bytes)} of active experts"),
        Figure(stored, f"{shared} + {_bytes(stored - weights.every_step_bytes)} of all experts"),
    )


def _read(scenario: Scenario, value: float, experts: str) -> Figure:
    weights = costs(scenario).weights
    always = weights.every_step_bytes - (weights.lookup_bytes if scenario.skip_embedding else 0)
    return Figure(value, f"{_bytes(always)} for every token + {_bytes(value - always)} of {experts}")


def _expected(scenario: Scenario, moe: MoeFfn) -> Figure:
    step = evaluate(scenario).decode.expected
    value = step.weights_read_bytes if step else 0.0
    touched = (step.experts_touched if step else None) or 0.0
    return _read(scenario, value, f"{trimmed(touched, 4)} of {integer(moe.n_experts)} experts a layer, expected")


def _active_at_any_batch(scenario: Scenario) -> Judged:
    moe = _moe(scenario)
    if moe is None:
        return NO_EXPERTS
    wrong = _read(scenario, evaluate(scenario).decode.weights_read_bytes, f"{plural(moe.n_active, 'expert')} a layer")
    return _or_same((wrong, _expected(scenario, moe)), "a single user wakes exactly the active experts")


def _all_experts(scenario: Scenario) -> Judged:
    moe = _moe(scenario)
    if moe is None:
        return NO_EXPERTS
    (step,) = all_experts_sweep(scenario, [scenario.batch])
    value = step.weights_read_bytes
    wrong = _read(scenario, value, f"all {integer(moe.n_experts)} experts a layer")
    return _or_same((wrong, _expected(scenario, moe)), "so many users wake every expert anyway")


# ---------------------------------------------------------------- the device and the units


def _sparse(scenario: Scenario) -> Judged:
    gpu = scenario.gpu_spec
    if not gpu.arch.startswith(SPARSE_ARCHITECTURES):
        return f"Does not apply: no peak with sparsity is known for {gpu.name}."
    dense, n = peak_flops_per_s(scenario), scenario.n_gpus if scenario.split == "tensor" else 1
    wrong = peak_flops_per_s(scenario.replace(gpu=gpu.with_twice_the_flops()))
    group = f"{plural(n, 'GPU')} × " if n > 1 else ""
    return (
        Figure(wrong, f"{group}2 × {shortest(dense / n, format_flop_rate)}"),
        Figure(dense, f"{group}{format_flop_rate(dense / n)}"),
    )


def _gib_as_gb(scenario: Scenario) -> Judged:
    n_bytes = evaluate(scenario).memory.total_bytes
    return (
        Figure(n_bytes / GIB * GB, f"{_bytes(n_bytes)} / 2^30, printed as so many GB"),
        Figure(n_bytes, _bytes(n_bytes)),
    )


def _on_the_box(scenario: Scenario) -> Judged:
    gpu, n = scenario.gpu_spec, scenario.n_gpus
    group = f"{plural(n, 'GPU')} × " if n > 1 else ""
    right = evaluate(scenario).memory.capacity_bytes
    wrong = gpu.marketed_memory * GB * n
    reports = "as the driver reports" if gpu.driver_memory_bytes else f"{gpu.marketed_memory:g} {gpu.marketed_unit}"
    figures = (
        Figure(wrong, f"{group}{gpu.marketed_memory:g} × 10^9 B"),
        Figure(right, f"{group}{_bytes(gpu.memory_bytes)}, {reports}"),
    )
    return _or_same(figures, "no driver's report is known, so the figure on the box stands")


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "ignore-gqa",
        "GQA ignored",
        "KV cache",
        "users × layers × 2 × query heads × head dim × tokens × bytes",
        "users × layers × 2 × KV heads × head dim × tokens × bytes",
        "Whoever pays: memory is bought that stays empty, and far fewer users are admitted than fit.",
        _ignore_gqa,
    ),
    Mistake(
        "hidden-over-heads",
        "Head dim as hidden / heads",
        "KV cache",
        "users × layers × 2 × KV heads × (hidden / heads) × tokens × bytes",
        "users × layers × 2 × KV heads × the configuration's head dim × tokens × bytes",
        "Whoever serves: the first long prompts run out of memory, or blocks stay free.",
        _hidden_over_heads,
    ),
    Mistake(
        "mla-as-heads",
        "MLA as full heads",
        "KV cache",
        "users × layers × heads × (key dim + value dim) × tokens × bytes",
        "users × layers × (latent + rope key) × tokens × bytes, once for all heads",
        "Whoever compares models: the one with the smallest cache seems to have the largest.",
        _mla_as_heads,
    ),
    Mistake(
        "mla-without-rope",
        "MLA without the rope key",
        "KV cache",
        "users × layers × latent × tokens × bytes",
        "users × layers × (latent + rope key) × tokens × bytes",
        "Whoever fills the card to the brim: the last users do not fit.",
        _mla_without_rope,
    ),
    Mistake(
        "mla-factor-two",
        "MLA with a factor 2",
        "KV cache",
        "users × layers × 2 × latent × tokens × bytes, as if keys and values were kept apart",
        "users × layers × (latent + rope key) × tokens × bytes, keys and values from one latent",
        "Whoever reads the engine's log: it reports nearly twice the tokens that were planned.",
        _mla_twice,
    ),
    Mistake(
        "windows-ignored",
        "Windows ignored",
        "KV cache",
        "every layer keeps every token",
        "a layer keeps its window, its chunk or its state, the others all tokens",
        "Whoever writes off long contexts: they would have fitted.",
        _windows_ignored,
    ),
    Mistake(
        "window-everywhere",
        "Window on every layer",
        "KV cache",
        "every layer keeps its window only",
        "the full layers keep every token",
        "Whoever opens a long document: memory runs out, though the sum said that length costs nothing.",
        _window_everywhere,
    ),
    Mistake(
        "active-as-memory",
        "Active experts as memory",
        "weights in memory",
        "active parameters × bytes",
        "all parameters × bytes",
        "Everybody, at once: the model does not load.",
        _active_as_memory,
    ),
    Mistake(
        "active-at-any-batch",
        "Active experts at any batch",
        "weights read a step",
        "k experts a layer, whatever the batch",
        "E (1 − (1 − k/E)^B) experts a layer, expected",
        "Whoever measures under load: as a bound k is right, but a step of many users is expected to read far more.",
        _active_at_any_batch,
    ),
    Mistake(
        "all-experts",
        "All experts at any batch",
        "weights read a step",
        "all E experts a layer, also for one user",
        "E (1 − (1 − k/E)^B) experts a layer, expected",
        "Whoever tries it alone: it is faster than the sum allows, which a ceiling must never be.",
        _all_experts,
    ),
    Mistake(
        "sparse-flops",
        "FLOP/s with sparsity",
        "peak arithmetic",
        "the large figure of the data sheet",
        "the dense figure, since language models' weights are dense",
        "Whoever reports utilization: it comes out at half, and prefill at twice the speed.",
        _sparse,
        "FLOP/s",
    ),
    Mistake(
        "gib-as-gb",
        "GiB printed as GB",
        "total memory",
        "bytes / 2^30, called GB",
        "bytes / 10^9 are GB, bytes / 2^30 are GiB",
        "Whoever adds the two: seven parts in a hundred are missing.",
        _gib_as_gb,
    ),
    Mistake(
        "gb-on-the-box",
        "Memory as on the box",
        "capacity",
        "the marketed number × 10^9",
        "what the driver reports; most boxes mean GiB, less a little",
        "Whoever packs a card full: the last user, or the one turned away.",
        _on_the_box,
    ),
)
_BY_SLUG = {m.slug: m for m in MISTAKES}


def find(scenario: Scenario, slug: str) -> Finding:
    """One mistake on a scenario; KeyError when there is none of that name.

    >>> found = find(Scenario(model="qwen3-32b", batch=1, context=1), "hidden-over-heads")
    >>> found.wrong.value, found.right.value
    (163840, 262144)
    """
    mistake = _BY_SLUG[slug]
    judged = mistake.judge(scenario)
    if isinstance(judged, str):
        return Finding(mistake, None, None, judged)
    wrong, right = judged
    if right.value <= 0:
        return Finding(mistake, None, None, "Does not apply: there is nothing to count.")
    if math.isclose(wrong.value, right.value, rel_tol=SAME):  # so many GPUs repeat the KV heads, for one
        return Finding(mistake, None, None, "No difference: both come to the same figure here.")
    return Finding(mistake, wrong, right, "")


def findings(scenario: Scenario) -> list[Finding]:
    """Every mistake on a scenario, in a fixed order.

    >>> [f.mistake.slug for f in findings(Scenario()) if f.factor]
    ['ignore-gqa', 'sparse-flops', 'gib-as-gb', 'gb-on-the-box']
    """
    return [find(scenario, mistake.slug) for mistake in MISTAKES]


def worst(found: Sequence[Finding]) -> Finding | None:
    """The finding furthest from right, whether over or under; None when no mistake matters."""
    those = [f for f in found if f.factor]
    return max(those, key=lambda f: abs(math.log(f.factor or 1)), default=None)


def summary(scenario: Scenario, found: Sequence[Finding], unit: Unit) -> list[str]:
    """Which mistake is worst here, in sentences."""
    top = worst(found)
    over = sum((f.factor or 1) > 1 for f in found)
    under = sum((f.factor or 1) < 1 for f in found)
    name = scenario.model_spec.name
    if top is None or top.wrong is None or top.right is None:
        return [f"None of these mistakes changes a figure of {name}."]
    wrong, right = shown(top.wrong.value, top.mistake.kind, unit), shown(top.right.value, top.mistake.kind, unit)
    return [
        f"The worst for {name} is “{top.mistake.title}”: {wrong} of {top.mistake.figure} instead of {right}, "
        f"{_words(top.factor or 1)}.",
        f"Of {plural(len(found), 'mistake')} {integer(over)} overestimate here and {integer(under)} underestimate; the "
        "others make no difference or do not apply.",
        top.mistake.notices,
    ]


def _words(factor: float) -> str:
    return f"{_times(factor)} of it" if factor < 1 else f"{_times(factor)} times as much"


def shown(value: float, kind: Kind, unit: Unit) -> str:
    """A figure for people."""
    return format_flop_rate(value) if kind == "FLOP/s" else format_bytes(value, unit)


def rows(found: Sequence[Finding], unit: Unit) -> Rowset:
    """Every mistake with both figures and the factor, or the reason why there is none."""
    header = ("mistake", "figure", "wrong", "right", "wrong / right")
    made: list[tuple[Cell, ...]] = []
    for f in found:
        kind = f.mistake.kind
        if f.wrong and f.right and f.factor:
            figures = (shown(f.wrong.value, kind, unit), shown(f.right.value, kind, unit))
            made.append((f.mistake.title, f.mistake.figure, *figures, f"× {_times(f.factor)}"))
        else:
            made.append((f.mistake.title, f.mistake.figure, "", "", f.reason))
    return header, made


def exact_rows(scenario: Scenario) -> Rowset:
    """Both figures in base units with their arithmetic, for CSV."""
    header = ("mistake", "figure", "unit", "wrong", "right", "factor", "wrong as", "right as", "reason")
    made: list[tuple[Cell, ...]] = []
    for f in findings(scenario):
        unit = "bytes" if f.mistake.kind == "bytes" else "FLOP/s"
        values = (f.wrong.value, f.right.value) if f.wrong and f.right else (None, None)
        sums = (f.wrong.numbers, f.right.numbers) if f.wrong and f.right else (f.mistake.wrong, f.mistake.right)
        made.append((f.mistake.title, f.mistake.figure, unit, *values, f.factor, *sums, f.reason))
    return header, made


def alt(scenario: Scenario, found: Sequence[Finding]) -> str:
    """The chart in words."""
    those = "; ".join(f"{f.mistake.title} × {format_ratio(f.factor, 3)}" for f in found if f.factor)
    return f"Wrong over right for {scenario.model_spec.name}, one is right: {those or 'no mistake matters'}."


# Models on which a mistake is worst of the whole catalog (a test compares), and one that is often got wrong.
PRESETS: tuple[Preset, ...] = (
    Preset(
        "naive-falcon",
        "Falcon 7B: one KV head",
        "71 query heads share one KV head: whoever counts query heads buys the cache 71 times.",
        Scenario(model="falcon-7b", batch=32, context=2048),
    ),
    Preset(
        "naive-qwen",
        "Qwen3 32B: its own head dim",
        "Hidden size over heads is 80, the head dim is 128.",
        Scenario(model="qwen3-32b", batch=32, context=8192),
    ),
    Preset(
        "naive-palm",
        "PaLM 540B, multihead: a small head dim",
        "Hidden size over heads is three times the head dim.",
        Scenario(model="palm-540b-mha-pope", batch=512, context=2048),
    ),
    Preset(
        "naive-deepseek",
        "DeepSeek-V3: three ways to misread MLA",
        "One latent and one rope key for all heads: full heads, a factor 2 and a forgotten rope key all miss it.",
        Scenario(model="deepseek-v3", batch=32, context=8192),
    ),
    Preset(
        "naive-gemma",
        "Gemma 4 31B: windows at a long context",
        "Most layers keep a window only; the others keep all.",
        Scenario(model="gemma-4-31b", batch=1, context=131_072),
    ),
    Preset(
        "naive-gpt-oss",
        "gpt-oss 120B: half the layers see all",
        "A window on every other layer: on all of them, a long context would cost almost nothing.",
        Scenario(model="gpt-oss-120b", batch=1, context=131_072),
    ),
    Preset(
        "naive-kimi",
        "Kimi K2, one user",
        "384 experts, eight active: memory holds all, one user's step reads eight.",
        Scenario(model="kimi-k2", batch=1, context=8192),
    ),
    Preset(
        "naive-kimi-crowd",
        "Kimi K2, a crowd",
        "So many users wake nearly every expert.",
        Scenario(model="kimi-k2", batch=1024, context=8192),
    ),
)
