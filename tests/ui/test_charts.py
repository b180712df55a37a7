"""Charts are valid Plotly figures and draw what the result says."""

import math

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from core.evaluate import Result, evaluate, limits
from core.scenario import Scenario
from core.units import format_bytes, from_unit, in_unit, significant
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


def test_axes_are_locked_and_the_key_does_not_switch_traces() -> None:
    for figure in (charts.memory_bar(evaluate(Scenario()), "GB"), charts.ceiling_chart(evaluate(Scenario()))):
        layout = figure["layout"]
        assert layout["xaxis"]["fixedrange"]
        assert layout["yaxis"]["fixedrange"]
        assert layout["legend"]["itemclick"] is layout["legend"]["itemdoubleclick"] is False


def keyed(figure: charts.Figure) -> list[str]:
    """What the key names."""
    return [trace["name"] for trace in figure["data"] if trace["showlegend"]]


@pytest.mark.parametrize("batch", [1, 32, 64, 4096])
@pytest.mark.parametrize(
    "pin", [None, Scenario(batch=8), Scenario(model="palm-540b-mha-pope", gpu="tpu-v4", n_gpus=64)]
)
def test_every_part_of_the_bar_has_a_name_and_a_size(batch: int, pin: Scenario | None) -> None:
    result = evaluate(Scenario(batch=batch))
    figure = charts.memory_bar(result, "GB", evaluate(pin) if pin else None)
    own = [trace for trace in figure["data"] if not trace["name"].startswith("pinned")]
    assert keyed(figure) == [trace["name"] for trace in own if trace["x"][0]]
    for trace in own:
        assert trace["name"] in trace["hovertemplate"]
        size = format_bytes(from_unit(trace["x"][0], "GB"))
        assert trace["text"][0] in (size, f"{trace['name']} {size}")
    looks = {(t["marker"]["color"], t["marker"].get("pattern", {}).get("shape")) for t in own}
    assert len(looks) == 4


def test_a_part_without_room_for_its_name_says_its_size() -> None:
    texts = {t["name"]: t["text"][0] for t in charts.memory_bar(evaluate(Scenario(batch=32)), "GB")["data"]}
    assert texts == {
        "weights": "16.1 GB",
        "KV cache": "KV cache 34.4 GB",
        "reserve": "8.55 GB",
        "free": "free 26.5 GB",
    }


@pytest.mark.parametrize("batch", [1, 2, 16, 48, 56, 57, 64, 128, 4096])
def test_capacity_and_overrun_are_one_label_that_no_width_cuts(batch: int) -> None:
    result = evaluate(Scenario(batch=batch))
    (label,) = charts.memory_bar(result, "GB")["layout"]["annotations"]
    assert "capacity 85.5 GB" in label["text"]
    assert ("over by" in label["text"]) is not result.memory.fits
    width = 6.6 * len(label["text"].replace("<b>", "").replace("</b>", "")) / 345
    left = label["x"] - {"left": 0, "center": width / 2, "right": width}[label["xanchor"]]
    assert left >= 0
    assert left + width <= 1


def test_words_in_a_cut_part_stand_beside_the_capacity_line() -> None:
    """The line runs through the cache, here through its first tenth, there through its last."""
    for batch, side in ((512, "end"), (64, "start")):
        cache = next(
            t
            for t in charts.memory_bar(evaluate(Scenario(batch=batch, reserve=0)), "GB")["data"]
            if t["name"] == "KV cache"
        )
        fits = evaluate(Scenario(batch=batch, reserve=0)).memory.fits
        assert cache["insidetextanchor"] == ("middle" if fits else side)


def test_the_key_of_the_ceiling_names_every_curve_and_the_pin_s_numbers() -> None:
    figure = charts.ceiling_chart(
        evaluate(Scenario(model="mixtral-8x7b", n_gpus=2, batch=8)), evaluate(Scenario(batch=8))
    )
    d = evaluate(Scenario(batch=8)).decode
    names = keyed(figure)
    assert {"together", "each user", "expected experts"} <= set(names)
    assert f"pinned: {significant(d.tokens_per_s)} together" in names
    assert f"pinned: {significant(d.tokens_per_s_per_user)} each" in names
