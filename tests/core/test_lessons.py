"""Pages, presets and misconceptions: what they claim is what the formulas give."""

import pytest

from core import lessons, presets
from core.evaluate import evaluate, limits
from core.lessons import PAGES
from core.misconceptions import MISCONCEPTIONS, Misconception
from tests.harness import ROOT


def test_pages_exist_and_start_at_home() -> None:
    assert PAGES[0].file == "app.py"
    assert {p.file for p in PAGES[1:]} == {f"pages/{f.name}" for f in (ROOT / "pages").glob("*.py")}
    assert len({p.question for p in PAGES}) == len(PAGES)


def test_the_menu_s_groups_hold_every_page_in_the_order_of_next() -> None:
    groups = [group for column in lessons.MENU for group in column]
    assert len(set(groups)) == len(groups)
    assert [page for group in groups for page in PAGES if page.group == group] == list(PAGES)
    assert [p.slug for p in PAGES if p.group == lessons.LESSON] == [lesson.page for lesson in lessons.LESSONS]


def test_the_plan_leads_through_every_lesson() -> None:
    slug, visited = lessons.LESSONS[0].page, []
    while slug != "home":
        visited.append(slug)
        slug = lessons.lesson(slug).next_page
    assert visited == [lesson.page for lesson in lessons.LESSONS]


@pytest.mark.parametrize("card", MISCONCEPTIONS.values(), ids=lambda card: card.slug)
def test_misconceptions_are_false_by_computation(card: Misconception) -> None:
    assert card.holds() is False
    assert card.explain("GB") != ""
    assert "nan" not in card.explain("GiB")


def test_every_lesson_confronts_some_and_seven_appear() -> None:
    shown = [slug for lesson in lessons.LESSONS for slug in lesson.misconceptions]
    assert len(set(shown)) >= 7
    assert len(shown) == len(set(shown))
    assert all(lesson.misconceptions for lesson in lessons.LESSONS)


def test_three_terabytes_of_cache() -> None:
    """Pope et al. 2022, section 2.1: "3 TB" of cache, "3 times" the parameters (of 540B at 16 bits)."""
    m = evaluate(presets.THREE_TERABYTES.scenario).memory
    assert m.kv_bytes == pytest.approx(3.04e12, rel=2e-3)
    assert m.kv_bytes / m.weights_bytes == pytest.approx(2.8, abs=0.05)


def test_class_of_64_fits_by_less_than_one_percent() -> None:
    s = presets.CLASS_OF_64.scenario
    m = evaluate(s).memory
    assert m.fits
    assert m.free_bytes / m.capacity_bytes < 0.01
    assert not evaluate(s.replace(reserve=0.01)).memory.fits


def test_equal_bandwidth_leaves_tokens_per_s_unchanged() -> None:
    slow, fast = (evaluate(p.scenario) for p in (presets.SLOW_ARITHMETIC, presets.FAST_ARITHMETIC))
    assert fast.scenario.gpu_spec.peak_flops_per_s() > 6 * slow.scenario.gpu_spec.peak_flops_per_s()
    assert fast.decode.tokens_per_s == slow.decode.tokens_per_s
    assert fast.prefill.ttft_s < slow.prefill.ttft_s / 6


def test_what_the_other_presets_say() -> None:
    assert evaluate(presets.OPENING).memory.kv_bytes > 2 * evaluate(presets.OPENING).memory.weights_bytes
    book = evaluate(presets.LONG_BOOK.scenario).memory
    assert book.kv_bytes > book.weights_bytes
    assert not evaluate(presets.BEFORE_GQA.scenario).memory.fits
    assert evaluate(presets.BUSY_ARITHMETIC.scenario).decode.bound_by == "compute"
    assert evaluate(presets.SHORT_PROMPT.scenario).prefill.bound_by == "memory"
    assert evaluate(presets.LONG_PROMPT.scenario).prefill.bound_by == "compute"
    crowded = evaluate(presets.BATCH_FOR_EVER.scenario)
    assert crowded.decode.tokens_per_s > 0.95 * (limits(crowded.scenario).asymptote_tokens_per_s or 0)
    big, small = evaluate(presets.BIG_MODEL.scenario), evaluate(presets.OPENING.replace(batch=16, context=4096))
    assert big.memory.weights_bytes / small.memory.weights_bytes > 8
    assert big.memory.kv_bytes / small.memory.kv_bytes == 2.5


def test_presets_fit_or_say_that_they_do_not() -> None:
    for preset in {*presets.STORY, *(p for lesson in lessons.LESSONS for p in lesson.presets)}:
        fits = evaluate(preset.scenario).memory.fits
        assert fits is not ("does not fit" in preset.notice.lower()), preset.slug
