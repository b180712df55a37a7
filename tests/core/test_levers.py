"""The waterfall adds up, and its order is by effect."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.drafting import draft_models
from core.evaluate import evaluate
from core.levers import LEVERS, bytes_per_token, plan, strength, waterfall
from core.scenario import Scenario
from tests.strategies import scenarios


@given(scenarios(), st.integers(0, 8), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_the_steps_add_up_exactly(scenario: Scenario, length: int, acceptance: float) -> None:
    drafts = draft_models(scenario.released_model)
    the_plan = plan(scenario, draft=drafts[0] if drafts else None, draft_length=length, acceptance=acceptance)
    fall = waterfall(the_plan)
    assert fall.start_bytes - sum((s.saved_bytes for s in fall.steps), Fraction(0)) == fall.end_bytes
    assert sorted(s.lever for s in fall.steps) == sorted(LEVERS)
    alone = [strength(the_plan, s.lever) for s in fall.steps]
    assert alone == sorted(alone, reverse=True)
    assert fall.end_bytes == bytes_per_token(the_plan, frozenset(LEVERS))
    assert fall.steps[0].alone_bytes == fall.steps[0].saved_bytes


def test_the_start_is_one_user_of_the_plain_model() -> None:
    """Llama 3 8B before GQA, one user of 8,192 tokens, 16 bits: 17.67 GB of weights and 4.29 GB of cache."""
    the_plan = plan(Scenario(batch=32), draft=None, draft_length=4, acceptance=0.7)
    before = evaluate(Scenario(kv_heads=32, weight_format="bf16")).decode
    assert bytes_per_token(the_plan, frozenset()) == before.bytes_read


def test_batching_shares_the_weights_alone() -> None:
    the_plan = plan(Scenario(batch=32), draft=None, draft_length=4, acceptance=0.7)
    start, shared = (bytes_per_token(the_plan, levers) for levers in (frozenset(), frozenset({"batch"})))
    weights = 2 * Scenario(kv_heads=32).model_spec.n_params
    assert start - shared == Fraction(31, 32) * weights


def test_experts_touch_fewer_than_all() -> None:
    the_plan = plan(Scenario(model="mixtral-8x7b", batch=4), draft=None, draft_length=4, acceptance=0.7)
    one = bytes_per_token(the_plan, frozenset({"experts"}))
    everything = bytes_per_token(the_plan, frozenset())
    experts = 45_097_156_608 * 2  # of 45,098,205,184 in the blocks, less the routers' 32 x 8 x 4,096
    assert float(everything - one) == pytest.approx(0.75 * experts, rel=1e-9)


@pytest.mark.parametrize(
    ("scenario", "strongest"),
    [
        (Scenario(batch=32), "batch"),
        (Scenario(model="llama-2-7b", batch=2, context=4096), "bits"),
        (Scenario(model="gpt-oss-120b", batch=2), "experts"),
        (Scenario(model="palm-540b", batch=2, context=2048, n_gpus=64, split="layer"), "bits"),
    ],
)
def test_different_models_have_different_strongest_levers(scenario: Scenario, strongest: str) -> None:
    the_plan = plan(scenario, draft=None, draft_length=4, acceptance=0.7)
    assert max(LEVERS, key=lambda lever: strength(the_plan, lever)) == strongest


def test_a_pulled_lever_keeps_the_student_s_setting() -> None:
    pulled = plan(Scenario(weight_format="fp8", cache_format="q8_0", batch=7), draft=None, draft_length=4, acceptance=0)
    assert pulled.label("bits") == "weights fp8, cache q8_0"
    assert pulled.label("batch") == "7 users"
    assert pulled.label("speculation") == "no draft model"
