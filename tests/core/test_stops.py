"""Slider stops: round numbers, the limits, and any exact value from a link."""

from hypothesis import given
from hypothesis import strategies as st

from core.catalog import models
from core.stops import batch_stops, context_stops


@given(st.integers(1, 10**15))
def test_any_batch_is_a_stop(batch: int) -> None:
    stops = batch_stops(batch)
    assert batch in stops
    assert stops == sorted(set(stops))
    assert {1, 4096} <= set(stops)


@given(st.sampled_from(sorted(models())), st.integers(1, 2**24))
def test_any_context_is_a_stop(slug: str, context: int) -> None:
    model = models()[slug]
    stops = context_stops(model, context)
    assert {context, model.max_context} <= set(stops)
    assert stops == sorted(set(stops))


def test_limits_that_are_no_power_of_two() -> None:
    assert context_stops(models()["qwen3-32b"], 40_960)[-2:] == [32_768, 40_960]
