"""The lessons' pictures: valid, finite, and saying what the results say."""

import math
from collections.abc import Iterator

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from core.drafting import speculate
from core.evaluate import evaluate, intensities, limits, request
from core.levers import waterfall
from core.pool import pool
from core.predict import view_plan
from core.scenario import Scenario
from core.variants import architectures, kv_variants
from core.view import View
from tests.strategies import scenarios
from ui import charts


def all_figures(scenario: Scenario) -> Iterator[charts.Figure]:
    result = evaluate(scenario)
    asked = request(scenario, 100)
    yield from charts.kv_variants_figures(kv_variants(scenario), "GB")
    yield charts.context_figure(result, "GiB")
    yield charts.users_figure(result)
    yield charts.step_figure(result)
    yield charts.roofline_figure(result)
    yield charts.phases_figure(result)
    yield charts.request_figure(asked)
    yield charts.formats_figure(result, "GiB")
    yield charts.cache_formats_figure(result, "GiB")
    if result.decode.expected is not None:
        yield charts.experts_figure(result)
        yield charts.experts_ceiling_figure(result)
    view = View(scenario, draft_length=3)
    shared = pool(view)
    if shared is not None:
        yield from charts.pool_figures(shared)
        yield charts.shares_figure(shared)
    if view.draft_model is not None:
        found = speculate(scenario, view.draft_model, draft_length=3, acceptance=0.7)
        yield charts.expected_tokens_figure(found)
        yield from charts.speed_up_figures(scenario, view.draft_model, found)
    fall = waterfall(view_plan(view))
    yield charts.waterfall_figure(fall, "GB")
    yield charts.lever_memory_figure(fall, "GB")


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
@settings(max_examples=15, deadline=None)
def test_every_scenario_draws(scenario: Scenario) -> None:
    for figure in all_figures(scenario):
        go.Figure(figure["data"], figure["layout"])  # raises on what Plotly does not know
        assert all(math.isfinite(number) for number in numbers(figure))


def texts(figure: charts.Figure) -> str:
    return " | ".join(note["text"] for note in figure["layout"]["annotations"])


def test_variants_share_one_axis() -> None:
    both = charts.kv_variants_figures(kv_variants(Scenario(batch=32, kv_heads=4)), "GB")
    rows = ["MHA, 32", "released, 8", "yours, 4", "MQA, 1"]
    assert all(trace["y"] == rows and trace["yaxis"] == "y" for figure in both for trace in figure["data"])
    cache = both[0]["data"][0]["x"]
    assert [round(cache[0] / value) for value in cache] == [1, 4, 8, 32]


def test_architectures_show_each_kind() -> None:
    figure = charts.architectures_figure("full context", architectures(None), "GB")
    go.Figure(figure["data"], figure["layout"])
    kinds = {trace["name"] for trace in figure["data"]}
    assert {"MHA", "GQA", "MQA", "MLA", "GQA, window 1,024", "linear (gated DeltaNet)"} <= kinds


def test_the_crossing_is_marked_and_named() -> None:
    figure = charts.context_figure(evaluate(Scenario(model="llama-3.1-8b")), "GB")
    assert "cache = weights at 122,532" in texts(figure)
    assert "weights dominate" in texts(figure)
    assert figure["layout"]["xaxis"]["ticktext"][-1] == "<b>131,072</b><br>the model stops"
    assert figure["layout"]["xaxis"]["tickvals"][-1] == 131_072
    early = charts.context_figure(
        evaluate(Scenario(model="palm-540b-mha-pope", gpu="tpu-v4", n_gpus=64, batch=512)), "GB"
    )
    assert "the cache dominates" in texts(early)


def test_windows_are_set_against_no_windows() -> None:
    figure = charts.context_figure(evaluate(Scenario(model="gemma-3-27b")), "GB")
    curves = {trace["name"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in figure["data"]}
    full, kept = curves["if every layer kept every token"], curves["KV cache"]
    assert full[1024] == kept[1024]  # no window is full yet
    assert full[131_072] / kept[131_072] == pytest.approx(62 * 131_072 / (52 * 1024 + 10 * 131_072))


def test_edges_on_the_users_picture() -> None:
    said = texts(charts.users_figure(evaluate(Scenario(batch=32))))
    assert "cache = weights at 15" in said
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
    named = {name.split(":")[0].rpartition(" ")[0]: at for name, at in dots.items()}
    assert named["decode, attention"][0] == 4
    assert named["decode, weights"][0] == pytest.approx(batch)
    ridge = intensities(scenario, evaluate(scenario)).ridge
    for intensity, height in dots.values():
        assert height == pytest.approx(min(989.4, intensity * 3.35))
        assert (height == pytest.approx(989.4)) == (intensity >= ridge)
    assert "the group size: no batch moves it" in " ".join(trace["name"] for trace in figure["data"])


def test_the_step_bar_is_its_parts() -> None:
    result = evaluate(Scenario(batch=32))
    parts = {trace["name"]: trace["x"][0] for trace in charts.step_figure(result)["data"]}
    assert parts["weights"] + parts["KV cache"] == pytest.approx(result.decode.memory_s * 1e3)
    assert parts["weights"] == pytest.approx(16.0605 / 3.35, rel=1e-4)


def test_the_map_shows_what_is_held() -> None:
    found = pool(View(Scenario(model="llama-3.1-8b", context=8192)))
    assert found is not None
    for figure, served in zip(charts.pool_figures(found), (found.reserved, found.paged), strict=True):
        cells = [state for row in figure["data"][0]["z"] for state in row]
        share = cells.count(2) / len(cells)
        assert share == pytest.approx(served.used_tokens / found.pool_tokens, abs=0.03)
        assert cells.count(0) / len(cells) == pytest.approx(served.free_tokens / found.pool_tokens, abs=0.01)


def test_the_waterfall_floats_from_before_to_after() -> None:
    fall = waterfall(view_plan(View(Scenario(batch=32))))
    under, ends, saved = charts.waterfall_figure(fall, "GB")["data"]
    (memory,) = charts.lever_memory_figure(fall, "GB")["data"]
    tops = [a + b + c for a, b, c in zip(under["x"], ends["x"], saved["x"], strict=True)]
    assert tops[0] == tops[1] == pytest.approx(float(fall.start_bytes) / 1e9)  # the first lever starts at the top
    assert tops[2] == pytest.approx(under["x"][1])  # each next one where the one before ended
    assert ends["x"][-1] == pytest.approx(float(fall.end_bytes) / 1e9)
    assert memory["x"][0] == pytest.approx(fall.start_memory_bytes / 1e9)


def test_experts_band_and_its_labels() -> None:
    result = evaluate(Scenario(model="mixtral-8x7b", n_gpus=2, batch=4))
    figure, ceiling = charts.experts_figure(result), charts.experts_ceiling_figure(result)
    touched, speeds = ({trace["name"]: trace for trace in one["data"]} for one in (figure, ceiling))
    at = touched["expected"]["x"].index(4)
    assert touched["expected"]["y"][at] == pytest.approx(5.46875)
    assert touched["least, all alike"]["y"][at] == 2
    assert touched["most, no two alike"]["y"][at] == 8
    upper, lower = speeds["least (the bound)"]["y"], speeds["every expert"]["y"]
    assert all(low <= high for low, high in zip(lower, upper, strict=True))
    assert "5.47" in texts(figure)
    for one in (figure, ceiling):
        assert [t["name"] for t in one["data"] if t["showlegend"]] == [
            t["name"] for t in one["data"] if t["mode"] == "lines"
        ]
