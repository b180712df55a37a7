"""Claims to judge: whether each holds, and the figures of its explanation, are computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from core.drafting import Speculation, speculate
from core.evaluate import Result, evaluate, intensities, limits
from core.levers import Waterfall, waterfall
from core.paging import blocks_needed
from core.pool import pool
from core.predict import view_plan
from core.presets import (
    BATCH_FOR_EVER,
    BEFORE_GQA,
    CLASS_OF_32,
    DRAFT_CROWD,
    DRAFT_FOR_70B,
    EXPERTS,
    FAST_ARITHMETIC,
    FOUR_BITS,
    LONG_BOOK,
    OPENING,
    OPT_13B,
    SLOW_ARITHMETIC,
    Preset,
)
from core.units import GIB, Unit, format_bytes, format_rate, format_ratio, in_unit, integer, significant
from core.view import View


@dataclass(frozen=True, slots=True)
class Misconception:
    """A claim to judge. Whether it holds is computed, and so are the figures of the explanation."""

    slug: str
    claim: str
    preset: Preset
    holds: Callable[[], bool]
    explain: Callable[[Unit], str]


def _share(part: float, whole: float) -> str:
    return f"{significant(100 * part / whole, 3)} %"


def _at(preset: Preset, **changes: object) -> Result:
    return evaluate(preset.scenario.replace(**changes))


def _explain_small(unit: Unit) -> str:
    m = _at(CLASS_OF_32).memory
    return (
        f"A class of 32 keeps {format_bytes(m.kv_bytes, unit)} of cache beside {format_bytes(m.weights_bytes, unit)} "
        f"of weights: {format_ratio(m.kv_bytes / m.weights_bytes)} times as much."
    )


def _explain_saves(unit: Unit) -> str:
    r = _at(LONG_BOOK)
    return (
        f"It costs memory and saves arithmetic: a book takes {format_bytes(r.memory.kv_bytes, unit)} that a model "
        f"without cache would not need, but spares it a new prefill of {significant(r.prefill.ttft_s)} s for every "
        f"token, where a step takes {significant(r.decode.step_s * 1e3)} ms."
    )


def _explain_flops(unit: Unit) -> str:
    slow, fast = _at(SLOW_ARITHMETIC), _at(FAST_ARITHMETIC)
    peak = [r.scenario.gpu_spec.peak_flops_per_s() for r in (slow, fast)]
    return (
        f"At equal bandwidth {format_ratio(peak[1] / peak[0])} times the FLOP/s leave the ceiling at "
        f"{format_rate(fast.decode.tokens_per_s)}, as against {format_rate(slow.decode.tokens_per_s)}. "
        f"Only the first token comes sooner: {significant(fast.prefill.ttft_s)} s instead of "
        f"{significant(slow.prefill.ttft_s)} s."
    )


def _explain_free(unit: Unit) -> str:
    half, full = _at(BATCH_FOR_EVER, batch=BATCH_FOR_EVER.scenario.batch // 2), _at(BATCH_FOR_EVER)
    edge = limits(full.scenario).asymptote_tokens_per_s or 0
    return (
        f"From {integer(half.scenario.batch)} to {integer(full.scenario.batch)} users the system gains "
        f"{_share(full.decode.tokens_per_s - half.decode.tokens_per_s, half.decode.tokens_per_s)} and can never pass "
        f"{format_rate(edge)}; memory ends at {integer(full.memory.max_batch or 0)} users anyway."
    )


def _explain_attention(unit: Unit) -> str:
    one, many = (_at(CLASS_OF_32, batch=b) for b in (1, 1024))
    found = [intensities(r.scenario, r) for r in (one, many)]
    return (
        f"With one user or {integer(many.scenario.batch)}, attention in decode does "
        f"{significant(found[0].decode_attention or 0, 1)} FLOPs a byte, and this GPU needs "
        f"{significant(found[0].ridge)}: every user brings a cache of their own."
    )


def _explain_gqa(unit: Unit) -> str:
    many, few = _at(BEFORE_GQA), _at(CLASS_OF_32)
    heads = f"From {many.scenario.kv_heads} to {few.scenario.released_model.released_kv_heads[0]} KV heads"
    saved = many.memory.weights_bytes - few.memory.weights_bytes
    return (
        f"{heads} the cache shrinks {format_ratio(many.memory.kv_bytes / few.memory.kv_bytes)} times, "
        f"the weights by {_share(saved, many.memory.weights_bytes)}."
    )


def _explain_constant(unit: Unit) -> str:
    short, long = _at(LONG_BOOK, context=1024), _at(LONG_BOOK)
    return (
        f"The limit is where it may end, not where it starts: {format_bytes(short.memory.kv_bytes, unit)} after "
        f"{integer(short.scenario.context)} tokens, {format_bytes(long.memory.kv_bytes, unit)} after "
        f"{integer(long.scenario.context)}."
    )


def _explain_one_speed(unit: Unit) -> str:
    d = _at(CLASS_OF_32).decode
    return (
        f"A class of 32 has two: {format_rate(d.tokens_per_s)} together and {format_rate(d.tokens_per_s_per_user)} "
        "for each. Batching raises the one and lowers the other."
    )


def _explain_quarter(unit: Unit) -> str:
    full, small = _at(FOUR_BITS, weight_format="bf16"), _at(FOUR_BITS)
    return (
        f"{format_bytes(full.memory.weights_bytes, unit)} become {format_bytes(small.memory.weights_bytes, unit)}, "
        f"{_share(small.memory.weights_bytes, full.memory.weights_bytes)}: tables, head and norms keep 16 bits, scales "
        f"take space, and the cache of {format_bytes(small.memory.kv_bytes, unit)} is untouched."
    )


def _explain_experts(unit: Unit) -> str:
    r = _at(EXPERTS)
    return (
        f"A token reads {format_bytes(r.decode.weights_read_bytes, unit)}, memory holds "
        f"{format_bytes(r.memory.weights_bytes, unit)}: which experts come next is not known beforehand."
    )


def _explain_paging(unit: Unit) -> str:
    found = pool(View(OPT_13B.scenario))
    if found is None:
        return ""
    return (
        f"A token takes as much in a block as in a reservation. What shrinks is the waste: "
        f"{significant(100 * found.reserved.used_share)} % of the held slots have a token when reserved, "
        f"{significant(100 * found.paged.used_share)} % in blocks, so {integer(found.paged.n_served)} users fit "
        f"instead of {integer(found.reserved.n_served)}."
    )


def _drafted(preset: Preset) -> Speculation:
    view = View(preset.scenario)
    draft = view.draft_model or preset.scenario.released_model
    return speculate(view.scenario, draft, draft_length=view.draft_length, acceptance=view.accepted)


def _explain_speculation(unit: Unit) -> str:
    one, crowd = _drafted(DRAFT_FOR_70B), _drafted(DRAFT_CROWD)
    return (
        f"For one user × {format_ratio(one.speed_up, 3)}; for {integer(crowd.target.batch)} users "
        f"× {format_ratio(crowd.speed_up, 3)}: there the verifying pass computes for "
        f"{significant(crowd.verify.compute_s * 1e3)} ms and reads for {significant(crowd.verify.memory_s * 1e3)} ms."
    )


def _fall(preset: Preset) -> Waterfall:
    return waterfall(view_plan(View(preset.scenario)))


def _explain_levers(unit: Unit) -> str:
    fall = _fall(CLASS_OF_32)
    alone = math.prod(float(fall.start_bytes / (fall.start_bytes - step.alone_bytes)) for step in fall.steps)
    together = float(fall.start_bytes / fall.end_bytes)
    why = (
        "many users leave mostly cache, so what shrinks the cache does more than it does alone"
        if together > alone
        else "each works only on what the others left"
    )
    factors = f"Alone their factors multiply to {format_ratio(alone, 3)}, together they give"
    return f"{factors} {format_ratio(together, 3)}: {why}."


def _explain_ceiling(unit: Unit) -> str:
    gpu = OPENING.gpu_spec
    decimal = gpu.marketed_memory
    return (
        f"The driver of the {gpu.name} reports {format_bytes(gpu.memory_bytes)}, which is "
        f"{significant(in_unit(gpu.memory_bytes, 'GiB'))} GiB; sold as {decimal:g} GB. And a ceiling leaves out "
        "kernels, scheduling and links, so real systems stay below it."
    )


MISCONCEPTIONS: dict[str, Misconception] = {
    m.slug: m
    for m in (
        Misconception(
            "cache-is-small",
            "The cache is small next to the weights.",
            CLASS_OF_32,
            lambda: _at(CLASS_OF_32).memory.kv_bytes < _at(CLASS_OF_32).memory.weights_bytes,
            _explain_small,
        ),
        Misconception(
            "cache-saves-memory",
            "The KV cache saves memory.",
            LONG_BOOK,
            lambda: _at(LONG_BOOK).memory.kv_bytes <= 0,
            _explain_saves,
        ),
        Misconception(
            "more-flops",
            "A GPU with more FLOP/s decodes faster.",
            FAST_ARITHMETIC,
            lambda: _at(FAST_ARITHMETIC).decode.tokens_per_s > _at(SLOW_ARITHMETIC).decode.tokens_per_s,
            _explain_flops,
        ),
        Misconception(
            "batching-is-free",
            "Batching is free, without limit.",
            BATCH_FOR_EVER,
            lambda: limits(BATCH_FOR_EVER.scenario).asymptote_tokens_per_s is None,
            _explain_free,
        ),
        Misconception(
            "attention-becomes-compute-bound",
            "A bigger batch makes Llama 3's attention compute-bound.",
            CLASS_OF_32,
            lambda: (
                (intensities(OPENING, _at(CLASS_OF_32)).decode_attention or 0)
                > intensities(OPENING, _at(CLASS_OF_32)).ridge
            ),
            _explain_attention,
        ),
        Misconception(
            "gqa-shrinks-the-model",
            "Grouped-query attention makes the model much smaller.",
            BEFORE_GQA,
            lambda: _at(CLASS_OF_32).memory.weights_bytes < _at(BEFORE_GQA).memory.weights_bytes / 2,
            _explain_gqa,
        ),
        Misconception(
            "memory-is-constant",
            "Memory is constant, because the context limit is.",
            LONG_BOOK,
            lambda: _at(LONG_BOOK, context=1024).memory.kv_bytes == _at(LONG_BOOK).memory.kv_bytes,
            _explain_constant,
        ),
        Misconception(
            "one-speed",
            "Tokens per second is one number.",
            CLASS_OF_32,
            lambda: _at(CLASS_OF_32).decode.tokens_per_s == _at(CLASS_OF_32).decode.tokens_per_s_per_user,
            _explain_one_speed,
        ),
        Misconception(
            "four-bits-quarter",
            "4-bit weights quarter the memory.",
            FOUR_BITS,
            lambda: _at(FOUR_BITS).memory.total_bytes * 4 <= _at(FOUR_BITS, weight_format="bf16").memory.total_bytes,
            _explain_quarter,
        ),
        Misconception(
            "experts-save-memory",
            "A mixture of experts needs only its active experts in memory.",
            EXPERTS,
            lambda: _at(EXPERTS).memory.weights_bytes <= _at(EXPERTS).decode.weights_read_bytes,
            _explain_experts,
        ),
        Misconception(
            "paging-shrinks-the-cache",
            "Paged attention makes each user's cache smaller.",
            OPT_13B,
            lambda: blocks_needed(tokens=500, block=16) * 16 < 500,
            _explain_paging,
        ),
        Misconception(
            "speculation-always-pays",
            "Speculation helps at any batch.",
            DRAFT_CROWD,
            lambda: _drafted(DRAFT_CROWD).speed_up >= _drafted(DRAFT_FOR_70B).speed_up,
            _explain_speculation,
        ),
        Misconception(
            "levers-multiply",
            "The levers' factors multiply.",
            CLASS_OF_32,
            lambda: math.isclose(
                math.prod(
                    float(_fall(CLASS_OF_32).start_bytes / (_fall(CLASS_OF_32).start_bytes - step.alone_bytes))
                    for step in _fall(CLASS_OF_32).steps
                ),
                float(_fall(CLASS_OF_32).start_bytes / _fall(CLASS_OF_32).end_bytes),
                rel_tol=0.05,
            ),
            _explain_levers,
        ),
        Misconception(
            "ceiling-is-the-speed",
            "80 GB is 80 GB, GB is GiB, and the ceiling is the speed.",
            CLASS_OF_32,
            lambda: OPENING.gpu_spec.memory_bytes == OPENING.gpu_spec.marketed_memory * GIB,
            _explain_ceiling,
        ),
    )
}
