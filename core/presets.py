"""Scenarios worth opening, each with what to notice in it; ten of them tell the story. A test checks what they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from core.evaluate import Result, bandwidth_bytes_per_s, crossing_context, evaluate, limits, reserve_bytes
from core.scenario import Scenario
from core.units import (
    GB,
    Unit,
    format_bandwidth,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    integer,
    plural,
    shortest,
    significant,
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A scenario worth opening, and what to notice in it."""

    slug: str
    title: str
    notice: str
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class StoryPreset(Preset):
    """A step of the story: `figures` puts the numbers of its result behind `notice`, `claim` says whether it holds."""

    figures: Callable[[Result, Unit], str]
    claim: Callable[[Result], bool]

    def line(self, unit: Unit = "GB") -> str:
        """What to notice, with its figures.

        >>> LONG_BOOK.line()[-71:]
        '17.2 GB of cache, 16.1 GB of weights; they are equal at 122,532 tokens.'
        """
        return f"{self.notice} {self.figures(evaluate(self.scenario), unit)}"


OPENING = Scenario(batch=32)

# ---------------------------------------------------------------- the story


def _share(part: float, whole: float) -> str:
    return f"{significant(100 * part / whole, 2)} %"


def _tiny_figures(r: Result, unit: Unit) -> str:
    # Bandwidth is decimal by trade, so the bytes over it are too.
    read = shortest(r.decode.bytes_read, format_bytes, 4)
    bandwidth = shortest(bandwidth_bytes_per_s(r.scenario), format_bandwidth)
    step, rate = format_seconds(r.decode.step_s, 4), format_rate(r.decode.tokens_per_s, 4)
    return f"{read} / {bandwidth} = {step}, so at most {rate}."


TINY_CALCULATION = StoryPreset(
    slug="tiny-calculation",
    title="The chapter's tiny calculation",
    notice="One user, an almost empty cache: the time of a step is the time to read the weights once.",
    scenario=Scenario(batch=1, context=128),
    figures=_tiny_figures,
    claim=lambda r: (
        r.memory.fits and r.decode.bound_by == "memory" and r.decode.weights_read_bytes > 0.99 * r.decode.bytes_read
    ),
)


def _chat_figures(r: Result, unit: Unit) -> str:
    m, empty = r.memory, evaluate(TINY_CALCULATION.scenario)
    slower = _share(empty.decode.tokens_per_s - r.decode.tokens_per_s, empty.decode.tokens_per_s)
    return (
        f"{format_bytes(m.kv_bytes, unit)} of cache, {_share(m.kv_bytes, m.weights_bytes)} of the weights; "
        f"{format_rate(r.decode.tokens_per_s)}, {slower} below the empty chat."
    )


ONE_CHAT = StoryPreset(
    slug="one-chat",
    title="One chat",
    notice="A single user, even with a long chat: the cache is small, and hardly costs speed.",
    scenario=Scenario(batch=1, context=8192),
    figures=_chat_figures,
    claim=lambda r: (
        r.memory.kv_bytes < 0.1 * r.memory.weights_bytes
        and r.decode.tokens_per_s > 0.9 * evaluate(TINY_CALCULATION.scenario).decode.tokens_per_s
    ),
)

_LITTLE_RESERVE = 0.01


def _class_figures(r: Result, unit: Unit) -> str:
    m = r.memory
    raised = evaluate(r.scenario.replace(reserve=_LITTLE_RESERVE)).memory
    return (
        f"{format_bytes(m.free_bytes, unit)} free, {_share(m.free_bytes, m.capacity_bytes)}; with a reserve of "
        f"{100 * _LITTLE_RESERVE:g} % it is {format_bytes(raised.over_by_bytes, unit)} too much."
    )


CLASS_OF_64 = StoryPreset(
    slug="class-of-64",
    title="A class of 64, no reserve",
    notice="It fits by less than one part in a hundred; raise the reserve and it does not.",
    scenario=Scenario(batch=64, reserve=0),
    figures=_class_figures,
    claim=lambda r: (
        r.memory.fits
        and r.memory.free_bytes < 0.01 * r.memory.capacity_bytes
        and not evaluate(r.scenario.replace(reserve=_LITTLE_RESERVE)).memory.fits
    ),
)


def _book_figures(r: Result, unit: Unit) -> str:
    m = r.memory
    return (
        f"{format_bytes(m.kv_bytes, unit)} of cache, {format_bytes(m.weights_bytes, unit)} of weights; they are equal "
        f"at {integer(crossing_context(r.scenario) or 0)} tokens."
    )


LONG_BOOK = StoryPreset(
    slug="long-book",
    title="One long book",
    notice="A single user with a whole book: the cache alone passes the weights.",
    scenario=Scenario(model="llama-3.1-8b", batch=1, context=131_072),
    figures=_book_figures,
    claim=lambda r: r.memory.fits and r.memory.kv_bytes > r.memory.weights_bytes,
)


def _before_figures(r: Result, unit: Unit) -> str:
    released = evaluate(r.scenario.replace(kv_heads=None)).memory
    return (
        f"{format_bytes(r.memory.kv_bytes, unit)} of cache instead of {format_bytes(released.kv_bytes, unit)}; "
        f"{format_bytes(r.memory.over_by_bytes, unit)} too much."
    )


BEFORE_GQA = StoryPreset(
    slug="before-gqa",
    title="Before GQA",
    notice="The same model with a KV head for every query head: the cache does not fit.",
    scenario=Scenario(batch=32, kv_heads=32),
    figures=_before_figures,
    claim=lambda r: (
        not r.memory.fits
        and evaluate(r.scenario.replace(kv_heads=None)).memory.fits
        and r.memory.over_by_bytes < r.memory.kv_bytes
    ),
)


def _smaller(scenario: Scenario) -> Scenario:
    return scenario.replace(model=OPENING.model)


def _big_figures(r: Result, unit: Unit) -> str:
    own, other = limits(r.scenario).crossover_batch or 0, limits(_smaller(r.scenario)).crossover_batch or 0
    m = r.memory
    return (
        f"{format_bytes(m.weights_bytes, unit)} of weights, {format_bytes(m.kv_bytes, unit)} of cache; a step reads "
        f"as much of either only at {plural(math.ceil(own), 'user')}, {math.ceil(other)} for "
        f"{OPENING.released_model.name}."
    )


BIG_MODEL = StoryPreset(
    slug="big-model",
    title="Bigger model, fewer users",
    notice="Far more weights and not much more cache: the weights rule again, and batching pays for longer.",
    scenario=Scenario(model="llama-3-70b", n_gpus=4, batch=16, context=4096),
    figures=_big_figures,
    claim=lambda r: (
        r.memory.fits
        and r.memory.weights_bytes > 4 * r.memory.kv_bytes
        and (limits(r.scenario).crossover_batch or 0) > 3 * (limits(_smaller(r.scenario)).crossover_batch or 0)
    ),
)


def _experts_figures(r: Result, unit: Unit) -> str:
    return (
        f"{format_bytes(r.memory.weights_bytes, unit)} in memory, {format_bytes(r.decode.weights_read_bytes, unit)} "
        "read."
    )


EXPERTS = StoryPreset(
    slug="experts",
    title="Experts: Mixtral 8x7B",
    notice="Memory holds all experts, a step of one user reads two a layer.",
    scenario=Scenario(model="mixtral-8x7b", n_gpus=2, batch=1, context=4096),
    figures=_experts_figures,
    claim=lambda r: (
        r.memory.fits and r.decode.experts_touched == 2 and r.decode.weights_read_bytes < r.memory.weights_bytes / 3
    ),
)


def _terabytes_figures(r: Result, unit: Unit) -> str:
    m = r.memory
    return (
        f"{format_bytes(m.kv_bytes, unit)} of cache, {format_ratio(m.kv_bytes / m.weights_bytes)} times the weights; "
        f"{format_bytes(m.over_by_bytes, unit)} too much for {integer(r.scenario.n_gpus)} TPUs."
    )


THREE_TERABYTES = StoryPreset(
    slug="three-terabytes",
    title="Pope et al.: 3 TB of cache",
    notice="A 540B multi-head model, batch 512: the cache is almost three times the weights, and it does not fit.",
    scenario=Scenario(model="palm-540b-mha-pope", gpu="tpu-v4", n_gpus=64, split="layer", batch=512, context=2048),
    figures=_terabytes_figures,
    claim=lambda r: (
        not r.memory.fits
        and round(r.memory.kv_bytes / 1e12) == 3
        and 2.5 < r.memory.kv_bytes / r.memory.weights_bytes < 3
    ),
)


def cache_room_bytes(scenario: Scenario, memory_bytes: int) -> int:
    """What weights and reserve leave for the cache if one GPU held `memory_bytes`; negative when nothing is left.

    >>> cache_room_bytes(EIGHTY_GB.scenario, 80 * GB)
    2892587008
    """
    capacity = scenario.n_gpus * memory_bytes
    return capacity - reserve_bytes(capacity=capacity, share=scenario.reserve) - evaluate(scenario).memory.weights_bytes


def _as_sold(scenario: Scenario) -> int:
    return cache_room_bytes(scenario, int(scenario.gpu_spec.marketed_memory * GB))


def _as_reported(scenario: Scenario) -> int:
    return cache_room_bytes(scenario, scenario.gpu_spec.memory_bytes)


def _eighty_figures(r: Result, unit: Unit) -> str:
    s = r.scenario
    return (
        f"{format_bytes(_as_reported(s), unit)} are left for the cache, not {format_bytes(_as_sold(s), unit)}; these "
        f"{plural(s.batch, 'user')} need {format_bytes(r.memory.kv_bytes, unit)}."
    )


EIGHTY_GB = StoryPreset(
    slug="eighty-gb",
    title="“80 GB” is not 80e9",
    notice="The driver's bytes count, not the label's; the unit switch changes labels, never a verdict.",
    scenario=Scenario(model="llama-3-70b", n_gpus=2, batch=4, context=8192),
    figures=_eighty_figures,
    claim=lambda r: r.memory.fits and _as_sold(r.scenario) < r.memory.kv_bytes <= _as_reported(r.scenario),
)


def _half(r: Result) -> Result:
    return evaluate(r.scenario.replace(batch=r.scenario.batch // 2))


def _for_ever_figures(r: Result, unit: Unit) -> str:
    edge = limits(r.scenario).asymptote_tokens_per_s or 0
    half = _half(r)
    return (
        f"{_share(half.decode.tokens_per_s, edge)} of the {format_rate(edge)} that no batch passes with "
        f"{plural(half.scenario.batch, 'user')}, {_share(r.decode.tokens_per_s, edge)} with twice as many, each at "
        "about half the speed."
    )


BATCH_FOR_EVER = StoryPreset(
    slug="batch-for-ever",
    title="Batch for ever",
    notice="Near the asymptote another user only takes speed from the others. It does not fit.",
    scenario=Scenario(batch=512, context=8192),
    figures=_for_ever_figures,
    claim=lambda r: (
        not r.memory.fits
        and r.decode.tokens_per_s > 0.95 * (limits(r.scenario).asymptote_tokens_per_s or 0)
        and r.decode.tokens_per_s < 1.05 * _half(r).decode.tokens_per_s
        and r.decode.tokens_per_s_per_user < 0.55 * _half(r).decode.tokens_per_s_per_user
    ),
)

STORY: tuple[StoryPreset, ...] = (
    TINY_CALCULATION,
    ONE_CHAT,
    CLASS_OF_64,
    LONG_BOOK,
    BEFORE_GQA,
    BIG_MODEL,
    EXPERTS,
    THREE_TERABYTES,
    EIGHTY_GB,
    BATCH_FOR_EVER,
)


def story_index(scenario: Scenario) -> int | None:
    """Which step of the story a scenario is, counted from 0; None when it is none.

    >>> story_index(Scenario(batch=1, context=128)), story_index(OPENING)
    (0, None)
    """
    return next((i for i, step in enumerate(STORY) if step.scenario == scenario), None)


# ---------------------------------------------------------------- for the lessons


CLASS_OF_32 = Preset(
    slug="opening",
    title="A class of 32",
    notice="32 users with long contexts: the cache is larger than the weights.",
    scenario=OPENING,
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
EMPTY_CHATS = Preset(
    slug="empty-chats",
    title="Many users, empty chats",
    notice="Next to no cache: throughput rises with the batch until arithmetic sets the pace.",
    scenario=Scenario(batch=256, context=128),
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
    notice="It takes a larger crowd to wake 128 experts than to wake eight.",
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
