"""The lecture plan: fifteen minutes, ten different links, one for each line of the chapter, answers computed."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from core import lessons
from core.evaluate import evaluate
from core.lecture import EXPECT, LECTURE, MINUTES, PLAN, Step, links, times
from core.misconceptions import MISCONCEPTIONS
from core.predict import ask
from core.scenario import Scenario
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
    assert f"no more than {result.decode.tokens_per_s:.0f} tokens/s" in tiny
    assert "compute-bound), each token after it" in phases
    assert "(memory-bound" in phases
    assert "here 256; NVIDIA H100 SXM5 needs 295" in intensity
    assert "With empty chats 31 times" in users
    assert "3.04 TB of cache" in pope
    assert "The cache falls 4.0 times" in heads
    assert "36 %" in bits
    assert "8 of 8 experts" in experts
    assert "29 %" in paging
    assert "× 2.58" in speculation


def test_misconceptions_to_expect_are_ten() -> None:
    assert len(set(EXPECT)) == 10
    assert all(MISCONCEPTIONS[slug].holds() is False for slug in EXPECT)
