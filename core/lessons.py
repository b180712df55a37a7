"""The lesson plan as data: pages in order, presets, misconceptions, and where to read on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.drafting import Speculation, speculate
from core.evaluate import Result, evaluate, intensities, limits
from core.levers import Waterfall, waterfall
from core.paging import blocks_needed
from core.pool import pool
from core.predict import (
    CUT_THE_BYTES,
    EXPERTS_AWAKE,
    FEWER_BITS,
    FEWER_HEADS,
    MORE_CONTEXT,
    MORE_FLOPS,
    MORE_USERS,
    PAGES_OF_CACHE,
    SPECULATION,
    Prediction,
    view_plan,
)
from core.scenario import Scenario
from core.units import GIB, Unit, format_bytes, format_rate, format_ratio, in_unit, integer, significant
from core.view import View


@dataclass(frozen=True, slots=True)
class Preset:
    """A scenario worth opening, and what to notice in it."""

    slug: str
    title: str
    notice: str
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Reading:
    """A text to read on, and what to look for in it."""

    title: str
    url: str | None
    where: str


@dataclass(frozen=True, slots=True)
class Misconception:
    """A claim to judge. Whether it holds is computed, and so are the figures of the explanation."""

    slug: str
    claim: str
    preset: Preset
    holds: Callable[[], bool]
    explain: Callable[[Unit], str]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the app: `file` from the repository's root, `question` as its title and link label."""

    slug: str
    file: str
    question: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a lesson page says around its pictures."""

    page: str
    prediction: Prediction[Any]
    takeaway: str
    presets: tuple[Preset, ...]
    misconceptions: tuple[str, ...]
    next_page: str


PAGES: tuple[Page, ...] = (
    Page("home", "app.py", "How big is the cache?"),
    Page("fewer-kv-heads", "pages/fewer_kv_heads.py", "What do fewer KV heads buy?"),
    Page("longer-context", "pages/longer_context.py", "When does the cache outgrow the weights?"),
    Page("more-users", "pages/more_users.py", "Why serve many users at once?"),
    Page("two-phases", "pages/two_phases.py", "Why is the GPU idle?"),
    Page("fewer-bits", "pages/fewer_bits.py", "What does quantization shrink?"),
    Page("experts", "pages/experts.py", "How many experts does a batch wake?"),
    Page("paged-cache", "pages/paged_cache.py", "What do reservations waste?"),
    Page("speculation", "pages/speculation.py", "More than one token per read?"),
    Page("cut-the-bytes", "pages/cut_the_bytes.py", "Which lever moves this model most?"),
    Page("sources", "pages/sources.py", "Where do the numbers come from?"),
)

OPENING = Scenario(batch=32)

TINY_CALCULATION = Preset(
    slug="tiny-calculation",
    title="The chapter's tiny calculation",
    notice="One user, an almost empty cache: the time of a step is the time to read the weights once.",
    scenario=Scenario(batch=1, context=128),
)
CLASS_OF_32 = Preset(
    slug="opening",
    title="A class of 32",
    notice="32 users with long contexts: the cache is larger than the weights.",
    scenario=OPENING,
)
BEFORE_GQA = Preset(
    slug="before-gqa",
    title="Before GQA",
    notice="The same model with a KV head for every query head: the cache does not fit.",
    scenario=Scenario(batch=32, kv_heads=32),
)
LLAMA_2 = Preset(
    slug="llama-2",
    title="Llama 2 7B, multi-head",
    notice="Released with a KV head for every query head: a smaller model with a larger cache.",
    scenario=Scenario(model="llama-2-7b", batch=16, context=4096),
)
FALCON = Preset(
    slug="falcon",
    title="Falcon 7B, multi-query",
    notice="Released with a single KV head for all query heads: next to no cache.",
    scenario=Scenario(model="falcon-7b", batch=64, context=2048),
)
LATENT = Preset(
    slug="latent",
    title="DeepSeek-V3, latent",
    notice="No KV heads at all: one compressed latent serves every head.",
    scenario=Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, split="layer", batch=32, context=32_768),
)
ONE_USER_GQA = Preset(
    slug="one-user",
    title="One user, half the heads",
    notice="With one user and a short context the weights rule, and fewer heads hardly help.",
    scenario=Scenario(batch=1, context=1024, kv_heads=16),
)
CROWDED = Preset(
    slug="crowded",
    title="A full house",
    notice="So many long chats that a step is nearly all cache: fewer heads arrive as speed in full. It does not fit.",
    scenario=Scenario(batch=1024, context=8192),
)
LONG_BOOK = Preset(
    slug="long-book",
    title="One long book",
    notice="A single user with a whole book: the cache alone passes the weights.",
    scenario=Scenario(model="llama-3.1-8b", batch=1, context=131_072),
)
WINDOWED = Preset(
    slug="windowed",
    title="Gemma 3: windows",
    notice="Most layers forget what left their window, so the curve bends.",
    scenario=Scenario(model="gemma-3-27b", batch=4, context=32_768),
)
ALL_WINDOWS = Preset(
    slug="all-windows",
    title="Mistral 7B v0.1: all windows",
    notice="Every layer has a window: beyond it the cache stops growing.",
    scenario=Scenario(model="mistral-7b-v0.1", batch=16, context=16_384),
)
HYBRID = Preset(
    slug="hybrid",
    title="Qwen3-Next: constant state",
    notice="Three of four layers keep a constant state instead of a cache.",
    scenario=Scenario(model="qwen3-next-80b-a3b", gpu="h200-sxm", n_gpus=2, batch=32, context=65_536),
)
THREE_TERABYTES = Preset(
    slug="three-terabytes",
    title="Pope et al.: 3 TB of cache",
    notice="A 540B multi-head model, batch 512: the cache is almost three times the weights, and it does not fit.",
    scenario=Scenario(model="palm-540b-mha-pope", gpu="tpu-v4", n_gpus=64, split="layer", batch=512, context=2048),
)
EMPTY_CHATS = Preset(
    slug="empty-chats",
    title="Many users, empty chats",
    notice="Next to no cache: throughput rises with the batch until arithmetic sets the pace.",
    scenario=Scenario(batch=256, context=128),
)
BATCH_FOR_EVER = Preset(
    slug="batch-for-ever",
    title="Batch for ever",
    notice="Near the asymptote another user only takes speed from the others. It does not fit.",
    scenario=Scenario(batch=512, context=8192),
)
BIG_MODEL = Preset(
    slug="big-model",
    title="Llama 3 70B on four",
    notice="Far more weights and not much more cache: batching pays for longer.",
    scenario=Scenario(model="llama-3-70b", n_gpus=4, batch=16, context=4096),
)
LONG_PROMPT = Preset(
    slug="long-prompt",
    title="Long prompt, short answer",
    notice="Most of the first token's time is arithmetic.",
    scenario=Scenario(model="llama-3.1-8b", batch=1, context=32_768),
)
SHORT_PROMPT = Preset(
    slug="short-prompt",
    title="Very short prompt",
    notice="So few tokens that even prefill waits for the weights.",
    scenario=Scenario(batch=1, context=128),
)
SLOW_ARITHMETIC = Preset(
    slug="slow-arithmetic",
    title="H20: little arithmetic",
    notice="The bandwidth of a GH200 with far fewer FLOP/s, and the same tokens/s.",
    scenario=Scenario(model="llama-3.1-8b", gpu="h20", batch=8, context=8192),
)
FAST_ARITHMETIC = Preset(
    slug="fast-arithmetic",
    title="GH200: much arithmetic",
    notice="Far more FLOP/s than the H20 at equal bandwidth leave tokens/s unchanged.",
    scenario=Scenario(model="llama-3.1-8b", gpu="gh200-96gb", batch=8, context=8192),
)
BUSY_ARITHMETIC = Preset(
    slug="busy-arithmetic",
    title="Arithmetic at last",
    notice="A thousand empty chats: here decode itself is bound by arithmetic.",
    scenario=Scenario(batch=1024, context=128),
)
CLASS_OF_64 = Preset(
    slug="class-of-64",
    title="A class of 64, no reserve",
    notice="It fits by less than one part in a hundred; raise the reserve and it does not.",
    scenario=Scenario(batch=64, reserve=0),
)
EXPERTS = Preset(
    slug="experts",
    title="Mixtral 8x7B",
    notice="Memory holds all experts, a step of one user reads two a layer.",
    scenario=Scenario(model="mixtral-8x7b", n_gpus=2, batch=1, context=4096),
)
FOUR_BITS = Preset(
    slug="four-bits",
    title="Llama 3 8B in 4 bits",
    notice="Embedding, output head and norms stay in 16 bits, so four bits are not a quarter.",
    scenario=Scenario(batch=1, context=8192, weight_format="int4"),
)

EIGHT_BITS = Preset(
    slug="eight-bits",
    title="FP8 weights and cache",
    notice="Both halves of a step shrink together.",
    scenario=Scenario(batch=32, weight_format="fp8", cache_format="fp8"),
)
LOCAL_CHAT = Preset(
    slug="local-chat",
    title="At home: 4 bits on a 4090",
    notice="What makes a large model fit a gaming card.",
    scenario=Scenario(model="qwen3-32b", gpu="rtx-4090", batch=1, context=8192, weight_format="q4_k_m"),
)
CACHE_HEAVY = Preset(
    slug="cache-heavy",
    title="A full house in 4 bits",
    notice="With so much cache the weights' format hardly matters. It does not fit.",
    scenario=Scenario(batch=1024, context=8192, weight_format="int4"),
)
GPT_OSS = Preset(
    slug="gpt-oss",
    title="gpt-oss 120B as released",
    notice="Experts in MXFP4, the rest in 16 bits: one card holds it.",
    scenario=Scenario(model="gpt-oss-120b", batch=16, context=8192),
)
SMALL_VOCABULARY = Preset(
    slug="big-model-4-bits",
    title="Llama 3 70B in 4 bits",
    notice="The larger the model, the smaller the part of what stays wide.",
    scenario=Scenario(model="llama-3-70b", batch=4, context=8192, weight_format="int4"),
)
MIXTRAL_CROWD = Preset(
    slug="mixtral-crowd",
    title="Mixtral, 32 users",
    notice="Eight experts are soon all awake.",
    scenario=Scenario(model="mixtral-8x7b", n_gpus=2, batch=32, context=4096),
)
QWEN_EXPERTS = Preset(
    slug="qwen-experts",
    title="Qwen3 30B-A3B",
    notice="128 experts fall asleep less easily than eight wake up.",
    scenario=Scenario(model="qwen3-30b-a3b", batch=8, context=4096),
)
DEEPSEEK_EXPERTS = Preset(
    slug="deepseek-experts",
    title="DeepSeek-V3",
    notice="256 experts and one shared: even a class does not wake them all.",
    scenario=Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, batch=32, context=4096),
)
LLAMA_4 = Preset(
    slug="llama-4",
    title="Llama 4 Scout",
    notice="One expert a token beside a shared one.",
    scenario=Scenario(model="llama-4-scout", gpu="h200-sxm", n_gpus=2, batch=32, context=8192),
)
OPT_13B = Preset(
    slug="opt-13b",
    title="OPT-13B, as in the paper",
    notice="800 KiB of cache a token on a 40 GB card: the setting of the PagedAttention paper.",
    scenario=Scenario(model="opt-13b", gpu="a100-40gb-sxm", batch=1, context=2048),
)
LONG_LIMIT = Preset(
    slug="long-limit",
    title="A generous limit",
    notice="The longer the promise, the more a reservation wastes.",
    scenario=Scenario(model="llama-3.1-8b", batch=1, context=131_072),
)
MANY_SHORT = Preset(
    slug="many-short",
    title="Thousands of requests",
    notice="A small model with short limits: blocks still pay.",
    scenario=Scenario(model="falcon-7b", gpu="h200-sxm", batch=1, context=2048),
)
TIGHT = Preset(
    slug="tight",
    title="Hardly any room",
    notice="Few fit at all, so single requests decide.",
    scenario=Scenario(model="llama-2-13b", gpu="a100-40gb-sxm", batch=1, context=4096),
)
DRAFT_FOR_70B = Preset(
    slug="draft-70b",
    title="A 1B drafts for 70B",
    notice="A small draft for a large target: nearly every accepted token is a gift.",
    scenario=Scenario(model="llama-3-70b", n_gpus=4, batch=1, context=4096),
)
DRAFT_CROWD = Preset(
    slug="draft-crowd",
    title="The same for a crowd",
    notice="Many users fill the arithmetic units, and verifying is no longer free.",
    scenario=Scenario(model="llama-3-70b", n_gpus=4, batch=256, context=512),
)
DRAFT_QWEN = Preset(
    slug="draft-qwen",
    title="Qwen3 0.6B drafts for 32B",
    notice="Another family, the same trade.",
    scenario=Scenario(model="qwen3-32b", n_gpus=2, batch=4, context=8192),
)
DRAFT_EXPERTS = Preset(
    slug="draft-experts",
    title="Experts verify",
    notice="Each drafted token wakes experts of its own, so verifying reads more.",
    scenario=Scenario(model="gpt-oss-120b", n_gpus=2, batch=1, context=4096),
)
NO_DRAFT_MODEL = Preset(
    slug="no-draft",
    title="Nobody to draft",
    notice="The catalog holds no smaller model of this family.",
    scenario=Scenario(model="phi-4", batch=1, context=4096),
)

PRESETS: tuple[Preset, ...] = (CLASS_OF_32, TINY_CALCULATION)

LESSONS: tuple[Lesson, ...] = (
    Lesson(
        page="fewer-kv-heads",
        prediction=FEWER_HEADS,
        takeaway="Sharing keys and values among query heads divides the cache and leaves the weights almost alone. "
        "It pays most where the cache rules the step: many users, long contexts.",
        presets=(CLASS_OF_32, ONE_USER_GQA, CROWDED, LLAMA_2, FALCON, LATENT),
        misconceptions=("gqa-shrinks-the-model", "cache-is-small"),
        next_page="longer-context",
    ),
    Lesson(
        page="longer-context",
        prediction=MORE_CONTEXT,
        takeaway="The cache grows with every token of every user; the weights do not. Somewhere the lines cross, and "
        "only windows, a constant state or fewer KV heads move that point.",
        presets=(CLASS_OF_32, TINY_CALCULATION, LONG_BOOK, WINDOWED, ALL_WINDOWS, HYBRID, THREE_TERABYTES),
        misconceptions=("memory-is-constant", "cache-saves-memory"),
        next_page="more-users",
    ),
    Lesson(
        page="more-users",
        prediction=MORE_USERS,
        takeaway="Users share one reading of the weights, and nobody shares a cache. Batching is nearly free while "
        "the caches are small next to the weights. Where they weigh as much, a step takes twice as long; beyond that, "
        "or once arithmetic sets the pace, it mostly trades one user's speed for another's.",
        presets=(CLASS_OF_32, TINY_CALCULATION, EMPTY_CHATS, BATCH_FOR_EVER, BIG_MODEL, BUSY_ARITHMETIC, EXPERTS),
        misconceptions=("batching-is-free", "one-speed", "attention-becomes-compute-bound"),
        next_page="two-phases",
    ),
    Lesson(
        page="two-phases",
        prediction=MORE_FLOPS,
        takeaway="Prefill fills the arithmetic units, decode waits for memory. A crowd moves the weights' dot, "
        "never attention's: with grouped heads it stays far below the ridge, which only multi-query or latent "
        "attention reach.",
        presets=(CLASS_OF_32, LONG_PROMPT, SHORT_PROMPT, SLOW_ARITHMETIC, FAST_ARITHMETIC, BUSY_ARITHMETIC),
        misconceptions=("more-flops", "ceiling-is-the-speed"),
        next_page="fewer-bits",
    ),
    Lesson(
        page="fewer-bits",
        prediction=FEWER_BITS,
        takeaway="Weights and cache have formats of their own. Tables, output head and norms stay wide and scales take "
        "space, so four bits are never a quarter; and what shrinks the weights leaves the cache as it is.",
        presets=(FOUR_BITS, EIGHT_BITS, SMALL_VOCABULARY, CACHE_HEAVY, GPT_OSS, LOCAL_CHAT),
        misconceptions=("four-bits-quarter",),
        next_page="experts",
    ),
    Lesson(
        page="experts",
        prediction=EXPERTS_AWAKE,
        takeaway="Experts cut what one token reads, not what memory holds. A batch wakes more of them with every user, "
        "so the saving melts as the batch grows, soon with few experts and late with many.",
        presets=(EXPERTS, MIXTRAL_CROWD, QWEN_EXPERTS, GPT_OSS, DEEPSEEK_EXPERTS, LLAMA_4),
        misconceptions=("experts-save-memory",),
        next_page="paged-cache",
    ),
    Lesson(
        page="paged-cache",
        prediction=PAGES_OF_CACHE,
        takeaway="A reservation for the longest request keeps memory from everybody else. Blocks hand it out as tokens "
        "arrive, and waste at most the rest of one block a request.",
        presets=(OPT_13B, CLASS_OF_32, LONG_LIMIT, MANY_SHORT, TIGHT, LLAMA_2),
        misconceptions=("paging-shrinks-the-cache",),
        next_page="speculation",
    ),
    Lesson(
        page="speculation",
        prediction=SPECULATION,
        takeaway="A small model guesses, the large one checks several tokens for one reading of its weights. It pays "
        "while the check waits for memory; a crowd of short chats keeps the arithmetic busy, and then it can lose.",
        presets=(DRAFT_FOR_70B, DRAFT_CROWD, DRAFT_QWEN, DRAFT_EXPERTS, CLASS_OF_32, NO_DRAFT_MODEL),
        misconceptions=("speculation-always-pays",),
        next_page="cut-the-bytes",
    ),
    Lesson(
        page="cut-the-bytes",
        prediction=CUT_THE_BYTES,
        takeaway="Batching is the strongest lever and needs memory, which the others give: fewer heads and fewer bits "
        "make room for the users that share each reading.",
        presets=(CLASS_OF_32, LLAMA_2, MIXTRAL_CROWD, GPT_OSS, LONG_BOOK, DRAFT_FOR_70B),
        misconceptions=("levers-multiply",),
        next_page="home",
    ),
)


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

READING: tuple[Reading, ...] = (
    Reading("Prefill, Decode and the Memory Wall", None, "the chapter this page belongs to"),
    Reading("Pope et al. 2022", "https://arxiv.org/abs/2211.05102", "section 2: what a decode step must read"),
    Reading("Shazeer 2019", "https://arxiv.org/abs/1911.02150", "sections 2.4, 3.1: why sharing keys and values pays"),
)

# (what, why and in which direction): every omission keeps the ceiling a ceiling.
NOT_MODELLED: tuple[tuple[str, str], ...] = (
    ("Interconnect", "Time on the links between GPUs is left out, so real groups of GPUs are slower."),
    ("Activations and runtime", "They are the reserve, a share of the capacity that you set."),
    ("Kernels and scheduling", "Launch time, imperfect overlap and idle gaps are left out; real steps take longer."),
    ("Write-back", "The new token's cache entry and the updated recurrent state are read, not also written."),
    ("Recurrent updates and indexer scores", "Their arithmetic is left out; their memory is counted."),
    ("Quality", "What a format, a window or fewer KV heads do to the answers is another subject."),
    ("What an engine reserves", "The cache is what the model needs; an engine may reserve full pages for windows too."),
)


def page(slug: str) -> Page:
    """The page with this slug; KeyError when there is none.

    >>> page("home").file
    'app.py'
    """
    return _PAGE_BY_SLUG[slug]


def lesson(slug: str) -> Lesson:
    """The lesson of a page; KeyError when the page has none.

    >>> lesson("more-users").next_page
    'two-phases'
    """
    return _LESSON_BY_PAGE[slug]


_PAGE_BY_SLUG = {p.slug: p for p in PAGES}
_LESSON_BY_PAGE = {found.page: found for found in LESSONS}
