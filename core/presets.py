"""Scenarios worth opening, each with what to notice in it; a test checks what they say."""

from __future__ import annotations

from dataclasses import dataclass

from core.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Preset:
    """A scenario worth opening, and what to notice in it."""

    slug: str
    title: str
    notice: str
    scenario: Scenario


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

PRESETS: tuple[Preset, ...] = (CLASS_OF_32, TINY_CALCULATION, CLASS_OF_64, LONG_BOOK, BEFORE_GQA)
