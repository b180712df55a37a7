"""Speculation: the paper's values, the limits, and what verifying costs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog import models
from core.drafting import draft_models, speculate, verify_step
from core.evaluate import evaluate
from core.scenario import Scenario
from core.speculation import expected_tokens, speed_up
from core.verdict import speculation_summary
from tests.strategies import scenarios

# Leviathan et al. 2022 (arXiv:2211.17192), Table 1, operations column at c = 0.
PUBLISHED = [(0.8, 5, 3.69), (0.9, 10, 6.86)]


@pytest.mark.parametrize(("acceptance", "length", "tokens"), PUBLISHED)
def test_expected_tokens_of_the_paper(acceptance: float, length: int, tokens: float) -> None:
    assert expected_tokens(acceptance=acceptance, draft_length=length) == pytest.approx(tokens, abs=0.005)


@pytest.mark.parametrize("acceptance", [0.5, 0.6, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("length", range(1, 11))
def test_the_closed_form(acceptance: float, length: int) -> None:
    """The paper's equation 1, where ours sums the chances one by one."""
    closed = (1 - acceptance ** (length + 1)) / (1 - acceptance)
    assert expected_tokens(acceptance=acceptance, draft_length=length) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize("length", [0, 1, 4, 16])
def test_the_limits(length: int) -> None:
    assert expected_tokens(acceptance=0.0, draft_length=length) == 1
    assert expected_tokens(acceptance=1.0, draft_length=length) == length + 1
    assert expected_tokens(acceptance=0.7, draft_length=0) == 1


@given(st.floats(0, 1), st.integers(0, 16), st.floats(0.001, 1.0))
def test_theorem_3_8_when_verifying_costs_a_step(acceptance: float, length: int, cost: float) -> None:
    found = speed_up(
        acceptance=acceptance, draft_length=length, target_step_s=1.0, draft_step_s=cost, verify_step_s=1.0
    )
    tokens = sum(acceptance**i for i in range(length + 1))
    assert found == pytest.approx(tokens / (length * cost + 1), rel=1e-12)


@given(scenarios(), st.integers(0, 16))
@settings(max_examples=80, deadline=None)
def test_verifying_reads_once_and_computes_for_all(scenario: Scenario, length: int) -> None:
    plain, wide = evaluate(scenario).decode, verify_step(scenario, length)
    assert wide.kv_read_bytes == plain.kv_read_bytes
    assert wide.flops == pytest.approx((length + 1) * plain.flops)
    if plain.expected is None:
        assert wide.weights_read_bytes == plain.weights_read_bytes
    else:
        assert wide.weights_read_bytes >= plain.expected.weights_read_bytes * (1 - 1e-12)
        assert wide.experts_touched >= plain.expected.experts_touched - 1e-9


def test_it_stops_paying_where_arithmetic_is_busy() -> None:
    draft = models()["llama-3.2-1b"]
    one = speculate(Scenario(model="llama-3-70b", n_gpus=4), draft, draft_length=4, acceptance=0.7)
    crowd = speculate(
        Scenario(model="llama-3-70b", n_gpus=4, batch=512, context=256), draft, draft_length=4, acceptance=0.7
    )
    assert one.verify.bound_by == "memory"
    assert one.speed_up > 2
    assert crowd.verify.bound_by == "compute"
    assert crowd.speed_up < 1


def test_nothing_drafted_changes_nothing() -> None:
    found = speculate(Scenario(model="llama-3-70b"), models()["llama-3-8b"], draft_length=0, acceptance=0.7)
    assert found.speed_up == 1


def test_drafts_are_smaller_and_of_the_family() -> None:
    for model in models().values():
        for draft in draft_models(model):
            assert 2 * draft.n_params <= model.n_params
            assert draft.vocab == pytest.approx(model.vocab, rel=1e-3)
    assert [m.slug for m in draft_models(models()["gemma-3-27b"])] == ["gemma-3-1b", "gemma-3-4b", "gemma-3-12b"]
    assert draft_models(models()["phi-4"]) == []


@pytest.mark.parametrize(
    ("scenario", "draft", "words"),
    [
        (Scenario(model="llama-3-70b", n_gpus=4), "llama-3.2-1b", "pays: the verifying pass takes no longer"),
        # Every drafted token wakes experts: verifying takes twice a plain step, bound by memory all the same.
        (
            Scenario(model="gpt-oss-120b", n_gpus=2, context=4096),
            "gpt-oss-20b",
            "does not pay: each drafted token wakes",
        ),
        (Scenario(model="llama-3-70b", n_gpus=4, batch=512, context=256), "llama-3.2-1b", "bound by arithmetic"),
    ],
)
def test_the_reason_is_the_true_one(scenario: Scenario, draft: str, words: str) -> None:
    found = speculate(scenario, models()[draft], draft_length=4, acceptance=0.7)
    assert words in speculation_summary(found, "GB")[0]
