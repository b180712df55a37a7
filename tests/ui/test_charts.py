"""Charts are valid Plotly figures and draw what the result says."""

import math

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from core.evaluate import Result, evaluate, limits
from core.scenario import Scenario
from core.units import in_unit
from tests.strategies import scenarios
from ui import charts


def strict(figure: charts.Figure) -> go.Figure:
    """Plotly's own validation; raises on a misspelt or impossible property."""
    return go.Figure(figure["data"], figure["layout"])


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_every_scenario_draws(scenario: Scenario) -> None:
    result = evaluate(scenario)
    for figure in (charts.memory_bar(result, "GiB"), charts.ceiling_chart(result)):
        drawn = strict(figure)
        for trace in drawn.data:
            assert all(math.isfinite(v) and v >= 0 for v in (*trace.x, *trace.y) if not isinstance(v, str))


def bar(result: Result) -> dict[str, float]:
    return {trace["name"]: trace["x"][0] for trace in charts.memory_bar(result, "GB")["data"]}


def test_the_bar_is_the_parts() -> None:
    result = evaluate(Scenario(batch=32))
    parts = bar(result)
    assert parts["weights"] == pytest.approx(16.0605, abs=1e-3)
    assert parts["KV cache"] == pytest.approx(34.3597, abs=1e-3)
    assert sum(parts.values()) == pytest.approx(in_unit(result.memory.capacity_bytes, "GB"))


@pytest.mark.parametrize("batch", [1, 64, 4096])
def test_overrun_is_labelled_and_inside_the_axis(batch: int) -> None:
    result = evaluate(Scenario(batch=batch))
    layout = charts.memory_bar(result, "GB")["layout"]
    texts = " ".join(a["text"] for a in layout["annotations"])
    assert ("over by" in texts) is not result.memory.fits
    assert layout["xaxis"]["range"][1] >= in_unit(result.memory.total_bytes, "GB")


def test_the_axis_stands_still_while_the_bar_moves() -> None:
    ends = {charts.memory_bar(evaluate(Scenario(batch=b)), "GB")["layout"]["xaxis"]["range"][1] for b in (1, 8, 32, 56)}
    assert len(ends) == 1


def test_ceiling_marks_where_you_are_and_where_memory_ends() -> None:
    result = evaluate(Scenario(batch=48))
    figure = charts.ceiling_chart(result)
    here = next(t for t in figure["data"] if t["name"] == "you are here")
    assert here["x"] == [48, 48]
    assert here["y"] == [result.decode.tokens_per_s, result.decode.tokens_per_s_per_user]
    texts = [a["text"] for a in figure["layout"]["annotations"]]
    assert "memory ends at 56" in texts
    together = next(t for t in figure["data"] if t["name"] == "together")
    assert max(together["y"]) <= limits(result.scenario).asymptote_tokens_per_s
    assert together["y"][together["x"].index(48)] == result.decode.tokens_per_s


def test_moe_draws_the_expected_ceiling_too() -> None:
    names = [t["name"] for t in charts.ceiling_chart(evaluate(Scenario(model="mixtral-8x7b")))["data"]]
    assert "expected experts" in names


def test_axes_are_locked_and_legends_off() -> None:
    for figure in (charts.memory_bar(evaluate(Scenario()), "GB"), charts.ceiling_chart(evaluate(Scenario()))):
        layout = figure["layout"]
        assert layout["xaxis"]["fixedrange"]
        assert layout["yaxis"]["fixedrange"]
        assert not layout["showlegend"]
