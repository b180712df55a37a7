"""Side by side: the same model with other KV heads, and other architectures with the same question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.catalog import gpus, models
from core.evaluate import Result, evaluate
from core.formats import Peak
from core.kv_cache import CacheCurve
from core.model import ModelSpec, cache_curve
from core.roofline import ridge_flops_per_byte
from core.scenario import Scenario
from core.units import Unit, format_bandwidth, format_bytes, format_flop_rate, format_ratio, shortest, significant

# One of each kind, in the order the lesson tells them.
ARCHITECTURES = (
    "llama-2-7b",
    "llama-3-8b",
    "falcon-7b",
    "deepseek-v3",
    "gemma-3-27b",
    "qwen3-next-80b-a3b",
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A named scenario with its result."""

    label: str
    result: Result


def kv_variants(scenario: Scenario) -> list[Variant]:
    """MHA, the released heads, MQA and the student's choice, without repetition, most heads first.

    >>> [v.label for v in kv_variants(Scenario(kv_heads=4))]
    ['MHA, 32', 'released, 8', 'yours, 4', 'MQA, 1']
    """
    model = scenario.released_model
    options = model.kv_head_options
    if not options:
        return [Variant("released", evaluate(scenario.replace(kv_heads=None)))]
    released = model.released_kv_heads
    words = {options[-1]: "MHA", options[0]: "MQA"}
    if len(options) == 1:
        words = {options[0]: "the only choice"}
    if len(released) == 1:
        known = words.get(released[0])
        words[released[0]] = f"released ({known})" if known else "released"
    if scenario.kv_heads is not None:
        known = words.get(scenario.kv_heads)
        words[scenario.kv_heads] = f"yours ({known})" if known else "yours"
    found = [
        Variant(f"{word}, {heads}", evaluate(scenario.replace(kv_heads=heads)))
        for heads, word in sorted(words.items(), reverse=True)
    ]
    if len(released) > 1:
        mixed = Variant(f"released, {' and '.join(map(str, released))}", evaluate(scenario.replace(kv_heads=None)))
        found.insert(1, mixed)
    return found


def unwindowed_cache(scenario: Scenario) -> CacheCurve:
    """Cache of one sequence if every layer kept every token, everything else as the scenario has it.

    >>> unwindowed_cache(Scenario()).bytes(8192) == evaluate(Scenario()).memory.kv_bytes
    True
    """
    copies = scenario.n_gpus if scenario.split == "tensor" else 1
    return scenario.model_spec.without_windows().cache_curve(bits=scenario.cache_bits, n_copies=copies)


@dataclass(frozen=True, slots=True)
class CachePart:
    """What one kind of layer adds to a sequence's cache."""

    kind: str
    n_layers: int
    n_bytes: int


def cache_parts(model: ModelSpec, context: int, bits: float = 16) -> list[CachePart]:
    """Cache of one sequence by layer kind, recurrent state included.

    >>> [(p.kind, p.n_layers, p.n_bytes) for p in cache_parts(models()["gemma-3-27b"], 131_072)]
    [('GQA, window 1,024', 52, 436207616), ('GQA', 10, 10737418240)]
    """
    found: dict[str, tuple[int, int]] = {}
    for group in model.groups:
        size = cache_curve((group,), bits=bits).bytes(context)
        layers, so_far = found.get(group.label, (0, 0))
        found[group.label] = (layers + group.count, so_far + size)
    return [CachePart(kind, layers, size) for kind, (layers, size) in found.items()]


@dataclass(frozen=True, slots=True)
class Architecture:
    """One model's cache per sequence, part by part."""

    model: ModelSpec
    context: int
    parts: tuple[CachePart, ...]

    @property
    def total_bytes(self) -> int:
        """All parts."""
        return sum(p.n_bytes for p in self.parts)


def architectures(context: int | None, slugs: Sequence[str] = ARCHITECTURES) -> list[Architecture]:
    """The architectures at one context, or each at its own full context (None).

    >>> [a.total_bytes for a in architectures(2048)][:2]
    [1073741824, 268435456]
    """
    found: list[Architecture] = []
    for slug in slugs:
        model = models()[slug]
        tokens = context or model.max_context
        found.append(Architecture(model, tokens, tuple(cache_parts(model, tokens))))
    return found


PEAK_NAMES: tuple[tuple[str, Peak | None], ...] = (("16 bits", None), ("FP8", "fp8"), ("INT8", "int8"), ("FP4", "fp4"))


@lru_cache(maxsize=128)
def ridge_rows(slug: str | None = None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The ridge of a device (of all, with None) in every number format it has, derived: C / BW.

    >>> ridge_rows("h100-sxm")[1][0]
    ('NVIDIA H100 SXM5', '16 bits', '989.4 TFLOP/s / 3.35 TB/s', '295.3 FLOP/byte', 'data sheet')
    """
    rows: list[tuple[str, ...]] = []
    for gpu in gpus().values():
        if slug is not None and gpu.slug != slug:
            continue
        base = gpu.peak_flops_per_s()
        for name, peak in PEAK_NAMES:
            rate = gpu.peak_flops_per_s(peak)
            if peak is not None and rate <= base:
                continue  # the device has no faster path for this format
            ridge = ridge_flops_per_byte(peak_flops_per_s=rate, bandwidth_bytes_per_s=gpu.bandwidth_bytes_per_s)
            bandwidth = shortest(gpu.bandwidth_bytes_per_s, format_bandwidth)
            sums = f"{shortest(rate, format_flop_rate)} / {bandwidth}"
            basis = "data sheet" if gpu.ridge_comparable else "not from a data sheet"
            rows.append((gpu.name, name, sums, f"{significant(ridge, 4)} FLOP/byte", basis))
    return ("device", "format", "peak / bandwidth", "ridge", "basis"), rows


def heads_summary(variants: Sequence[Variant], unit: Unit = "GB") -> str:
    """The variants in one sentence, most heads against fewest."""
    first, last = variants[0].result, variants[-1].result
    if len(variants) == 1:
        return "This model leaves no number of KV heads to choose."
    cache = first.memory.kv_bytes / last.memory.kv_bytes
    weights = 100 * (1 - last.memory.weights_bytes / first.memory.weights_bytes)
    speed = last.decode.tokens_per_s / first.decode.tokens_per_s
    return (
        f"From {variants[0].label} to {variants[-1].label}: the cache falls from "
        f"{format_bytes(first.memory.kv_bytes, unit)} to {format_bytes(last.memory.kv_bytes, unit)} "
        f"({format_ratio(cache)} times), the weights by {significant(weights, 2)} %, and the ceiling together rises "
        f"{format_ratio(speed, 3)} times."
    )


def shazeer_summary(scenario: Scenario) -> str:
    """Our ratio from multi-head to multi-query beside the measured one, and why they differ."""
    options = scenario.released_model.kv_head_options
    if len(options) < 2:
        return f"{scenario.released_model.name} has no KV heads to share, so there is no ratio to set beside it."
    many, one = (evaluate(scenario.replace(kv_heads=heads)).decode for heads in (options[-1], options[0]))
    share = 100 * many.kv_read_bytes / many.bytes_read
    return (
        f"Here the ceiling rises {format_ratio(one.tokens_per_s / many.tokens_per_s, 3)} times, since the cache is "
        f"{significant(share, 2)} % of what the multi-head step reads. Shazeer's six small layers served a batch of "
        "1,024, so nearly all of a step was cache; and his encoder, which like prefill sees all positions at once, is "
        "bound by arithmetic and hardly gains."
    )
