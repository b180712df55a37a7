"""The lesson plan as data: pages in order, presets, misconceptions, and where to read on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.evaluate import Result, evaluate, intensities, limits
from core.predict import FEWER_HEADS, MORE_CONTEXT, MORE_FLOPS, MORE_USERS, Prediction
from core.scenario import Scenario
from core.units import GIB, Unit, format_bytes, format_rate, format_ratio, in_unit, integer, significant


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
    notice="The same model with a KV head for every query head: the cache no longer fits.",
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
    scenario=Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, batch=32, context=32_768),
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
    notice="So many long chats that a step is nearly all cache: fewer heads arrive as speed in full.",
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
    scenario=Scenario(model="gemma-3-27b", batch=8, context=32_768),
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
    notice="A 540B multi-head model, batch 512: the cache is almost three times the weights.",
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
    notice="Near the asymptote another user only takes speed from the others.",
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
        takeaway="Users share one reading of the weights, and nobody shares a cache. Batching is nearly free until "
        "the caches weigh as much as the weights; from there it only trades one user's speed for another's.",
        presets=(CLASS_OF_32, TINY_CALCULATION, EMPTY_CHATS, BATCH_FOR_EVER, BIG_MODEL, BUSY_ARITHMETIC, EXPERTS),
        misconceptions=("batching-is-free", "one-speed", "attention-becomes-compute-bound"),
        next_page="two-phases",
    ),
    Lesson(
        page="two-phases",
        prediction=MORE_FLOPS,
        takeaway="Prefill fills the arithmetic units, decode waits for memory. Attention in decode stays where it is, "
        "at the group size, whatever the batch: no crowd makes it compute-bound.",
        presets=(CLASS_OF_32, LONG_PROMPT, SHORT_PROMPT, SLOW_ARITHMETIC, FAST_ARITHMETIC, BUSY_ARITHMETIC),
        misconceptions=("more-flops", "ceiling-is-the-speed"),
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
            "A bigger batch makes attention compute-bound.",
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
