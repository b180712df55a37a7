"""The lesson plan as data: pages in order, what each lesson says and links, and where to read on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
)
from core.presets import (
    ALL_WINDOWS,
    BATCH_FOR_EVER,
    BIG_MODEL,
    BUSY_ARITHMETIC,
    CACHE_HEAVY,
    CLASS_OF_32,
    CROWDED,
    DEEPSEEK_EXPERTS,
    DRAFT_CROWD,
    DRAFT_EXPERTS,
    DRAFT_FOR_70B,
    DRAFT_QWEN,
    EIGHT_BITS,
    EMPTY_CHATS,
    EXPERTS,
    FALCON,
    FAST_ARITHMETIC,
    FOUR_BITS,
    GPT_OSS,
    HYBRID,
    LATENT,
    LLAMA_2,
    LLAMA_4,
    LOCAL_CHAT,
    LONG_BOOK,
    LONG_LIMIT,
    LONG_PROMPT,
    MANY_SHORT,
    MIXTRAL_CROWD,
    NO_DRAFT_MODEL,
    ONE_USER_GQA,
    OPT_13B,
    QWEN_EXPERTS,
    SHORT_PROMPT,
    SLOW_ARITHMETIC,
    SMALL_VOCABULARY,
    THREE_TERABYTES,
    TIGHT,
    TINY_CALCULATION,
    WINDOWED,
    Preset,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text to read on, and what to look for in it."""

    title: str
    url: str | None
    where: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the app: `file` from the repository's root, `question` as title and link label, menu `group`."""

    slug: str
    file: str
    question: str
    group: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a lesson page says around its pictures."""

    page: str
    prediction: Prediction[Any]
    takeaway: str
    presets: tuple[Preset, ...]
    misconceptions: tuple[str, ...]
    next_page: str


# Groups of the menu in its columns; the pages stand in the same order.
EXPLORE, LESSON, OWN, EVIDENCE, CLASS = "Explore", "Lessons", "Your choice", "Evidence", "For instructors"
MENU: tuple[tuple[str, ...], ...] = ((EXPLORE, LESSON), (OWN, EVIDENCE, CLASS))

PAGES: tuple[Page, ...] = (
    Page("home", "app.py", "How Big Is the Cache?", EXPLORE),
    Page("live", "pages/live.py", "What happens while you drag?", EXPLORE),
    Page("fewer-kv-heads", "pages/fewer_kv_heads.py", "What do fewer KV heads buy?", LESSON),
    Page("longer-context", "pages/longer_context.py", "When does the cache outgrow the weights?", LESSON),
    Page("more-users", "pages/more_users.py", "Why serve many users at once?", LESSON),
    Page("two-phases", "pages/two_phases.py", "Why is the GPU idle?", LESSON),
    Page("fewer-bits", "pages/fewer_bits.py", "What does quantization shrink?", LESSON),
    Page("experts", "pages/experts.py", "How many experts does a batch wake?", LESSON),
    Page("paged-cache", "pages/paged_cache.py", "What do reservations waste?", LESSON),
    Page("speculation", "pages/speculation.py", "More than one token per read?", LESSON),
    Page("cut-the-bytes", "pages/cut_the_bytes.py", "Which lever moves this model most?", LESSON),
    Page("bring-your-own", "pages/bring_your_own.py", "What about my model or GPU?", OWN),
    Page("compare", "pages/compare.py", "Which GPU, which model?", OWN),
    Page("reality", "pages/reality.py", "How close do real systems get?", EVIDENCE),
    Page("naive", "pages/naive.py", "How wrong is the usual formula?", EVIDENCE),
    Page("papers", "pages/papers.py", "Which published numbers come out?", EVIDENCE),
    Page("sources", "pages/sources.py", "Where do the numbers come from?", EVIDENCE),
    Page("worksheet", "pages/worksheet.py", "Can I work it out by hand?", CLASS),
    Page("instructor", "pages/instructor.py", "How do I teach this in fifteen minutes?", CLASS),
)

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
