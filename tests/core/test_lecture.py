"""The lecture plan: fifteen minutes, ten different links, one for each line of the chapter, answers computed."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from core import lessons, presets
from core.drafting import speculate
from core.evaluate import evaluate, intensities, limits
from core.lecture import EXPECT, LECTURE, MINUTES, PLAN, Step, links, times
from core.misconceptions import MISCONCEPTIONS
from core.predict import ask
from core.scenario import Scenario
from core.stops import BATCH_STOPS
from core.units import UNITS
from core.view import View

# What the chapter teaches, in its order, by a word of each line.
CHAPTER = (
    "tiny calculation",
    "Prefill",
    "intensity",
    "throughput rises",
    "weights dominate",
    "grouped-query attention",
    "quantization",
    "mixture of experts",
    "paged attention",
    "speculative decoding",
)


def test_fifteen_minutes() -> None:
    assert sum(step.minutes for step in PLAN) == MINUTES
    assert times()[0][0] == 0
    assert all(start == end for (_, end), (start, _) in zip(times(), times()[1:], strict=False))


def test_ten_steps_for_ten_lines() -> None:
    assert len(PLAN) == len(CHAPTER)
    for step, word in zip(PLAN, CHAPTER, strict=True):
        assert word in step.line


def test_links_differ_and_open_silently() -> None:
    found = links("https://example.org/app/")
    assert len({(step.page, step.view.scenario) for step in PLAN}) == len(set(found)) == len(PLAN)
    for step, link in zip(PLAN, found, strict=True):
        assert link.startswith(f"https://example.org/app/{step.path()}?")
        query = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
        view, notes = View.from_query(query, View(Scenario()))
        assert not notes
        assert view.scenario == step.view.scenario
        assert query.items() >= LECTURE.items()
        assert lessons.page(step.page).file.endswith(f"{step.path() or 'app'}.py")


@pytest.mark.parametrize("step", PLAN, ids=lambda step: step.line.split(":")[0])
def test_each_answer_is_one_sentence_from_its_result(step: Step) -> None:
    for unit in UNITS:
        said = step.answer(unit)
        assert said.endswith(".")
        assert ". " not in said.replace("e.g. ", "")
        assert "nan" not in said.lower()
    scenario = step.view.scenario.replace(gpu="a100-80gb-sxm", context=1000, weight_format="fp8")
    assert step.said(step.view.replace(scenario=scenario), "GB") != step.answer()


def test_the_lessons_of_the_plan_have_something_to_predict() -> None:
    for step in PLAN:
        if step.page != "home":
            assert ask(lessons.lesson(step.page).prediction, step.view) is not None


def test_what_the_steps_say() -> None:
    tiny, phases, intensity, users, pope, heads, bits, experts, paging, speculation = (step.answer() for step in PLAN)
    result = evaluate(Scenario(batch=1, context=128))
    assert f"no more than {result.decode.tokens_per_s:.1f} tokens/s" in tiny
    assert "compute-bound), each token after it" in phases
    assert "(memory-bound" in phases
    assert "here 256; NVIDIA H100 SXM5 needs 295.3, and" in intensity
    assert "11 times the tokens/s of one, not 32 times: the caches take 2.1 times" in users
    assert "3.04 TB of cache" in pope
    assert "The cache falls 4.0 times" in heads
    assert "the weights by 9.1 %, and all together get 3.08 times" in heads
    assert "from 16.1 GB to 5.73 GB, 35.7 %" in bits
    assert "8 of 8 experts" in experts
    assert "29.4 %" in paging
    assert "× 2.58; for 256 users of 512 tokens × 0.803" in speculation


def test_what_the_steps_show_is_so() -> None:
    """What the words point at, by the result: the picture must hold it."""
    tiny = evaluate(PLAN[0].view.scenario).memory
    assert tiny.kv_bytes < 0.002 * tiny.capacity_bytes, "too thin to see: two pixels of a thousand"
    assert tiny.free_bytes > 0.5 * tiny.capacity_bytes
    phases = evaluate(PLAN[1].view.scenario)
    found = intensities(phases.scenario, phases)
    assert found.decode_attention < found.decode_weights < found.ridge < found.prefill
    assert evaluate(PLAN[2].view.scenario).decode.bound_by == "memory"
    assert limits(PLAN[2].view.scenario).compute_bound_batch < BATCH_STOPS[-1], "the curve bends on the picture"
    (pin,) = PLAN[3].view.pins
    assert pin == PLAN[3].view.scenario.replace(batch=1)
    assert PLAN[5].view.scenario.kv_heads is None, "as released"
    crowd = presets.DRAFT_CROWD
    key = lessons.lesson(PLAN[9].page).presets.index(crowd) + 1
    assert f"press {key} (“{crowd.title}”)" in PLAN[9].show
    draft = PLAN[9].view.draft_model
    assert speculate(crowd.scenario, draft, draft_length=4, acceptance=0.7).speed_up < 1


def test_misconceptions_to_expect_are_ten() -> None:
    assert len(set(EXPECT)) == 10
    assert all(MISCONCEPTIONS[slug].holds() is False for slug in EXPECT)
