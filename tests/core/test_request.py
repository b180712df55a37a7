"""A request's decode time is the sum of its steps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evaluate import evaluate, request
from core.scenario import Scenario
from tests.strategies import scenarios


@given(scenarios(), st.integers(1, 40), st.integers(1, 9000))
@settings(max_examples=80, deadline=None)
def test_the_sum_of_the_steps(scenario: Scenario, n_output: int, context: int) -> None:
    scenario = scenario.replace(context=context)
    steps = sum(evaluate(scenario.replace(context=context + i)).decode.step_s for i in range(n_output))
    found = request(scenario, n_output)
    assert found.decode_s == pytest.approx(steps, rel=1e-9)
    assert found.total_s == found.ttft_s + found.decode_s


@pytest.mark.parametrize("model", ["gemma-3-27b", "mistral-7b-v0.1", "deepseek-v3.2", "llama-4-scout"])
def test_across_the_end_of_a_window(model: str) -> None:
    span = {"gemma-3-27b": 1024, "mistral-7b-v0.1": 4096, "deepseek-v3.2": 2048, "llama-4-scout": 8192}[model]
    s = Scenario(model=model, n_gpus=16, split="layer", context=span - 20)
    steps = sum(evaluate(s.replace(context=s.context + i)).decode.step_s for i in range(50))
    assert request(s, 50).decode_s == pytest.approx(steps, rel=1e-12)


def test_across_the_point_where_memory_takes_over() -> None:
    """1,024 users of Llama 3 8B on an H100 are compute-bound with short caches, memory-bound with longer ones."""
    s = Scenario(batch=1024, context=100)
    assert evaluate(s).decode.bound_by == "compute"
    assert evaluate(s.replace(context=400)).decode.bound_by == "memory"
    steps = sum(evaluate(s.replace(context=100 + i)).decode.step_s for i in range(300))
    assert request(s, 300).decode_s == pytest.approx(steps, rel=1e-12)
