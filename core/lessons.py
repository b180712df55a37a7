"""The lesson plan as data: pages in order with their question, presets, and where to read on."""

from __future__ import annotations

from dataclasses import dataclass

from core.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the app: `file` from the repository's root, `question` as its title and link label."""

    slug: str
    file: str
    question: str


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


PAGES: tuple[Page, ...] = (
    Page("home", "app.py", "How big is the cache?"),
    Page("sources", "pages/sources.py", "Where do the numbers come from?"),
)

OPENING = Scenario(batch=32)

TINY_CALCULATION = Preset(
    slug="tiny-calculation",
    title="The chapter's tiny calculation",
    notice="One user, an almost empty cache: the time of a step is the time to read the weights once.",
    scenario=Scenario(batch=1, context=128),
)

PRESETS: tuple[Preset, ...] = (
    Preset(
        slug="opening",
        title="A class of 32",
        notice="32 users with 8,192 tokens each: the cache is twice the weights.",
        scenario=OPENING,
    ),
    TINY_CALCULATION,
)

READING: tuple[Reading, ...] = (
    Reading("Prefill, Decode and the Memory Wall", None, "the chapter this page belongs to"),
    Reading("Pope et al. 2022", "https://arxiv.org/abs/2211.05102", "section 2: what a decode step must read"),
    Reading(
        "Shazeer 2019", "https://arxiv.org/abs/1911.02150", "sections 2.4 and 3.1: why sharing keys and values helps"
    ),
)


def page(slug: str) -> Page:
    """The page with this slug; KeyError when there is none.

    >>> page("home").file
    'app.py'
    """
    return _BY_SLUG[slug]


_BY_SLUG = {p.slug: p for p in PAGES}

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
