"""The lessons' pictures: valid, finite, and saying what the results say."""

import math
from collections.abc import Iterator

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from core.evaluate import evaluate, intensities, limits, request
from core.scenario import Scenario
from core.variants import architectures, kv_variants
from tests.strategies import scenarios
from ui import charts


def all_figures(scenario: Scenario) -> Iterator[charts.Figure]:
    result = evaluate(scenario)
    asked = request(scenario, 100)
    yield charts.kv_variants_figure(kv_variants(scenario), "GB")
    yield charts.context_figure(result, "GiB")
    yield charts.users_figure(result)
    yield charts.step_figure(result)
    yield charts.roofline_figure(result)
    yield charts.phases_figure(result)
    yield charts.request_figure(asked)


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float):
        yield float(value)


@given(scenarios())
@settings(max_examples=40, deadline=None)
def test_every_scenario_draws(scenario: Scenario) -> None:
    for figure in all_figures(scenario):
        go.Figure(figure["data"], figure["layout"])  # raises on what Plotly does not know
        assert all(math.isfinite(number) for number in numbers(figure))


def texts(figure: charts.Figure) -> str:
    return " | ".join(note["text"] for note in figure["layout"]["annotations"])


def test_variants_share_one_axis() -> None:
    figure = charts.kv_variants_figure(kv_variants(Scenario(batch=32, kv_heads=4)), "GB")
    rows = ["MHA, 32", "released, 8", "yours, 4", "MQA, 1"]
    assert all(trace["y"] == rows for trace in figure["data"])
    cache = figure["data"][0]["x"]
    assert [round(cache[0] / value) for value in cache] == [1, 4, 8, 32]


def test_architectures_show_each_kind() -> None:
    figure = charts.architectures_figure((("a", architectures(2048)), ("b", architectures(None))), "GB")
    go.Figure(figure["data"], figure["layout"])
    kinds = {trace["name"] for trace in figure["data"]}
    assert {"MHA", "GQA", "MQA", "MLA", "GQA, window 1,024", "linear (gated DeltaNet)"} <= kinds


def test_the_crossing_is_marked_and_named() -> None:
    said = texts(charts.context_figure(evaluate(Scenario(model="llama-3.1-8b")), "GB"))
    assert "cache = weights at 122,532" in said
    assert "weights dominate" in said
    assert "the cache dominates" in said
    assert "the model stops at 131,072" in said


def test_windows_are_set_against_no_windows() -> None:
    figure = charts.context_figure(evaluate(Scenario(model="gemma-3-27b")), "GB")
    curves = {trace["name"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in figure["data"]}
    full, kept = curves["if every layer kept every token"], curves["KV cache"]
    assert full[1024] == kept[1024]  # no window is full yet
    assert full[131_072] / kept[131_072] == pytest.approx(62 * 131_072 / (52 * 1024 + 10 * 131_072))


def test_edges_on_the_users_picture() -> None:
    said = texts(charts.users_figure(evaluate(Scenario(batch=32))))
    assert "cache = weights at 15.0" in said
    assert "memory ends at 56" in said
    assert "arithmetic from" not in said
    short = Scenario(batch=32, context=128)
    assert f"arithmetic from {math.ceil(limits(short).compute_bound_batch or 0)}" in texts(
        charts.users_figure(evaluate(short))
    )


@pytest.mark.parametrize("batch", [1, 64, 4096])
def test_attention_stays_at_the_group_size(batch: int) -> None:
    scenario = Scenario(batch=batch)
    figure = charts.roofline_figure(evaluate(scenario))
    dots = {trace["name"]: (trace["x"][0], trace["y"][0]) for trace in figure["data"] if trace["mode"] == "markers"}
    assert dots["decode, attention"][0] == 4
    assert dots["decode, weights"][0] == pytest.approx(batch)
    ridge = intensities(scenario, evaluate(scenario)).ridge
    for intensity, height in dots.values():
        assert height == pytest.approx(min(989.4, intensity * 3.35))
        assert (height == pytest.approx(989.4)) == (intensity >= ridge)
    assert "the group size: no batch moves it" in texts(figure)


def test_the_step_bar_is_its_parts() -> None:
    result = evaluate(Scenario(batch=32))
    parts = {trace["name"]: trace["x"][0] for trace in charts.step_figure(result)["data"]}
    assert parts["weights"] + parts["KV cache"] == pytest.approx(result.decode.memory_s * 1e3)
    assert parts["weights"] == pytest.approx(16.0605 / 3.35, rel=1e-4)
