"""Exactly one claim of each prediction holds, whatever the scenario, and presets reach different answers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.lessons import LESSONS, Lesson
from core.predict import FEWER_HEADS, MORE_CONTEXT, MORE_FLOPS, MORE_USERS, PREDICTIONS, Prediction, ask
from core.presets import Preset
from core.scenario import Scenario
from core.view import View
from tests.strategies import scenarios


@given(scenarios(), st.sampled_from(PREDICTIONS))
@settings(max_examples=150, deadline=None)
def test_exactly_one_claim_holds(scenario: Scenario, prediction: Prediction[Any]) -> None:
    asked = ask(prediction, View(scenario))  # raises when none or several hold
    if asked is None:
        assert prediction.nothing(View(scenario))
    else:
        assert asked.rows
        assert asked.why
        assert "nan" not in asked.why


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_presets_reach_different_answers(lesson: Lesson) -> None:
    assert len(lesson.presets) >= 5
    asked = [ask(lesson.prediction, View(preset.scenario)) for preset in lesson.presets]
    answers = {a.right for a in asked if a is not None}
    assert len(answers) >= 2


# The answers, worked out by hand from bytes: weights 16.06 GB (Llama 3 8B), 131,072 B of cache a token.
BY_HAND: list[tuple[Prediction[Any], Scenario, str]] = [
    # 32 x 8,192 tokens: 16.1 + 34.4 = 50.4 GB a step; twice the context 16.1 + 68.7 = 84.8: a factor of 1.68.
    (MORE_CONTEXT, Scenario(batch=32), "fall, but stay above half"),
    # 128 tokens: 16.8 MB of cache beside 16.1 GB of weights.
    (MORE_CONTEXT, Scenario(context=128), "hardly change"),
    # 2,048 users x 8,192 tokens: 2.2 TB of cache, the weights are one part in 137.
    (MORE_CONTEXT, Scenario(batch=2048), "tokens/s halve"),
    # Every layer of Mistral 7B v0.1 has a window of 4,096.
    (MORE_CONTEXT, Scenario(model="mistral-7b-v0.1", context=8192), "does not even double"),
    (MORE_USERS, Scenario(context=128), "Together they double"),
    (MORE_USERS, Scenario(batch=32), "less than double"),
    (MORE_USERS, Scenario(batch=2048), "hardly rise"),
    # 256 empty chats: 4.3 GB of cache, memory 6.1 ms, arithmetic 3.9 ms; 512 need 7.9 ms of arithmetic.
    (MORE_USERS, Scenario(batch=256, context=128), "less than double"),
    # One user: 16.1 + 0.13 GB against 17.1 + 0.27.
    (FEWER_HEADS, Scenario(context=1024, kv_heads=16), "hardly changes"),
    # 137.4 + 17.7 = 155 GB against 50.4: 3.1 times, the cache 4 times.
    (FEWER_HEADS, Scenario(batch=32), "less than the cache shrinks"),
    (FEWER_HEADS, Scenario(batch=1024), "about the factor"),
    (MORE_FLOPS, Scenario(batch=32), "first token comes twice as soon; tokens/s hardly"),
    (MORE_FLOPS, Scenario(context=16), "Neither changes"),
    # 8,192 users with one token each: arithmetic 124 ms, memory 5 ms.
    (MORE_FLOPS, Scenario(batch=8192, context=1), "Both become twice as fast"),
    (MORE_FLOPS, Scenario(batch=1024, context=128), "less than double"),
]


@pytest.mark.parametrize(("prediction", "scenario", "answer"), BY_HAND)
def test_answers_worked_by_hand(prediction: Prediction[Any], scenario: Scenario, answer: str) -> None:
    asked = ask(prediction, View(scenario))
    assert asked is not None
    assert answer in asked.claims[asked.right]


def test_reveal_shows_before_after_and_factor() -> None:
    asked = ask(MORE_CONTEXT, View(Scenario(batch=32)))
    assert asked is not None
    rows = {name: rest for name, *rest in asked.rows}
    assert rows["weights"] == ["16.1 GB", "16.1 GB", "× 1.00"]
    assert rows["KV cache"] == ["34.4 GB", "68.7 GB", "× 2.00"]


def test_presets_have_unique_slugs() -> None:
    seen: dict[str, Preset] = {}
    for preset in (p for lesson in LESSONS for p in lesson.presets):
        assert seen.setdefault(preset.slug, preset) == preset


def test_what_cannot_be_is_called_a_what_if() -> None:
    """The longest context of Llama 3 8B is 8,192 tokens (its config.json); 16 GB of weights do not fit a T4's 16 GB."""
    context = ask(MORE_CONTEXT, View(Scenario(batch=1, context=8192)))
    assert context is not None
    assert context.why.endswith(" A what-if: Llama 3 8B stops at 8,192 tokens.")
    weights = ask(MORE_USERS, View(Scenario(gpu="t4", context=1024)))
    assert weights is not None
    assert weights.why.endswith(
        "A what-if: 1 user of 1,024 tokens does not fit. A what-if: 2 users of 1,024 tokens do not fit."
    )
    fits = ask(MORE_USERS, View(Scenario(context=1024)))
    assert fits is not None
    assert "what-if" not in fits.why
