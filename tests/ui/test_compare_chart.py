"""The compare page's pictures: valid, finite, axes pinned, and saying what the rows say."""

import math
import re
from collections.abc import Iterator

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog import gpus, models
from core.compare import CHART_ROWS, Choice, Comparison, compare
from core.compare_report import map_alt, point_name, speed_alt
from core.pinned import pinned_alt, side_by_side
from core.prices import Edit
from core.rows import COUNTS
from core.scenario import Scenario
from tests.strategies import scenarios
from ui import palette
from ui.charts import Figure
from ui.charts import compare as charts


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float):
        yield float(value)


def assert_sound(figure: Figure) -> None:
    go.Figure(figure["data"], figure["layout"])  # raises on what Plotly does not know
    assert all(math.isfinite(number) for number in numbers(figure))
    for name, axis in figure["layout"].items():
        if name.startswith(("xaxis", "yaxis")):
            assert axis["fixedrange"] is True
            assert "range" in axis or axis.get("autorange") == "reversed"


def trace(figure: Figure, name: str) -> dict:
    (found,) = [t for t in figure["data"] if t["name"] == name]
    return found


def texts(figure: Figure) -> str:
    return " | ".join(note["text"] for note in figure["layout"]["annotations"])


@given(scenarios(), st.sampled_from(["gpus", "models"]), st.sampled_from([1, 8, None]), st.sampled_from(COUNTS))
@settings(max_examples=40, deadline=None)
def test_every_comparison_draws(scenario: Scenario, over: str, at_most: int | None, count: str) -> None:
    found = compare(scenario, Choice(over=over, at_most=at_most, count=count))
    if found.curves:
        figure = charts.speeds_figure(found)
        assert_sound(figure)
        assert len(charts.compare_key(found)) >= 1
        dots = sum(len(t["x"]) for t in figure["data"] if t["mode"] == "markers")
        assert dots == len(found.curves)
        assert speed_alt(found)


@given(st.lists(scenarios(), min_size=1, max_size=4), st.sampled_from(["GB", "GiB"]))
@settings(max_examples=40, deadline=None)
def test_every_pin_draws(asked: list[Scenario], unit: str) -> None:
    pinned = side_by_side(asked)
    memory, speeds = charts.pinned_figures(pinned, unit)
    for figure in (memory, speeds):
        assert_sound(figure)
        assert all(len(set(t["y"])) == len(asked) for t in figure["data"])  # one row each, none drawn over another
    assert pinned_alt(pinned, unit)


def test_the_front_is_drawn_and_named() -> None:
    found = compare(Scenario(model="deepseek-v3"), Choice(at_most=16))
    figure = charts.speeds_figure(found)
    front = trace(figure, "front")
    assert front["line"]["shape"] == "hv"
    assert list(zip(front["x"], front["y"], strict=True)) == [(p.step_s, p.throughput) for p in found.front]
    said = texts(figure)
    for point in found.front_rows[-3:]:
        assert re.split(r"\s\(", point_name(found, point.row))[0] in said
        assert point_name(found, point.row) in speed_alt(found)
    assert "yours: 9 × H100 SXM5" in said


def boxes(layout: dict, width: float, height: float) -> list[tuple[float, float, float]]:
    """Left, right and middle of the labels in a picture of that size."""
    x_range, y_range = layout["xaxis"]["range"], layout["yaxis"]["range"]
    found = []
    for note in layout["annotations"]:
        if note.get("showarrow"):
            x = (note["x"] - x_range[0]) / (x_range[1] - x_range[0]) * width + note["ax"]
            up = (note["y"] - y_range[0]) / (y_range[1] - y_range[0]) * height - note["ay"]
            wide = 7.4 * (len(note["text"]) - 7)
            left = x - wide if note["xanchor"] == "right" else x
            found.append((left, left + wide, up))
    return found


def test_labels_do_not_lie_on_each_other() -> None:
    """On a phone, on a projector and on the page."""
    for model in models():
        found = compare(Scenario(model=model, context=128), Choice(at_most=None))
        if not found.curves:
            continue
        layout = charts.speeds_figure(found)["layout"]
        for width, height in [(250, 330), (760, 200), (1150, 330)]:
            labels = boxes(layout, width, height)
            assert 1 <= len(labels) <= 4
            for i, (left, right, up) in enumerate(labels):
                assert left >= -21
                assert right <= width + 34
                for other_left, other_right, other_up in labels[:i]:
                    assert left >= other_right or right <= other_left or abs(up - other_up) >= 15


def test_each_maker_has_its_own_shape_and_colour() -> None:
    figure = charts.speeds_figure(compare(Scenario()))
    markers = [t["marker"] for t in figure["data"] if t["mode"] == "markers" and t["x"]]
    assert len({m["symbol"] for m in markers}) == len({m["color"] for m in markers}) == len(markers) == 6
    key = charts.compare_key(compare(Scenario()))
    assert [words[2:] for _, words in key] == ["NVIDIA", "AMD", "Google", "AWS", "Intel", "Apple"]


def test_a_device_of_ones_own_is_among_the_others() -> None:
    gpu = gpus()["h100-sxm"].model_copy(update={"slug": "custom", "name": "My device", "vendor": "me"})
    found = compare(Scenario(gpu=gpu))
    figure = charts.speeds_figure(found)
    assert len(trace(figure, "others")["x"]) == 1
    assert "yours: My device" in texts(figure)


def test_tokens_per_dollar_follow_an_edited_price() -> None:
    def top(price: float) -> float:
        found = compare(Scenario(), Choice(count="dollar"), (("t4", Edit(price_per_gpu_hour=price)),))
        (dot,) = [c[-1].throughput for c in found.curves if c[-1].row.gpu.slug == "t4"]
        assert dot in trace(charts.speeds_figure(found), "NVIDIA")["y"]
        return dot

    assert top(0.2) == pytest.approx(2 * top(0.4))


@pytest.fixture(scope="module")
def whole() -> Comparison:
    return compare(Scenario(context=128), Choice(over="all", at_most=None))


def test_the_map_is_a_staircase_of_gpus_needed(whole: Comparison) -> None:
    assert len(whole.rows) > CHART_ROWS
    figure = charts.map_figure(whole)
    assert_sound(figure)
    (cells,) = figure["data"]
    assert len(cells["y"]) == len(models())
    assert len(cells["x"]) == len(gpus()) - whole.n_announced
    assert len(set(cells["x"])) == len(cells["x"])
    assert len(set(cells["y"])) == len(cells["y"])
    by_name = {(row.model_name, row.gpu_name.removeprefix(f"{row.gpu.vendor} ")): row for row in whole.rows}
    for y, line in zip(cells["y"], cells["customdata"], strict=True):
        for x, count in zip(cells["x"], line, strict=True):
            assert count == by_name[y, x].n_gpus
    first, last = cells["customdata"][0], cells["customdata"][-1]
    assert set(first) == {1}
    assert (last[0] or math.inf) > (last[-1] or 0)  # the largest model needs more of the smallest device
    assert map_alt(whole)


def test_the_map_s_key_has_only_what_is_there(whole: Comparison) -> None:
    assert [words for _, words in charts.map_key(whole)] == ["one GPU", "two", "up to four", "up to eight", "more"]
    few = compare(Scenario(context=128), Choice(over="all", at_most=2))
    assert [words for _, words in charts.map_key(few)] == ["one GPU", "two"]


def test_pins_share_one_axis_and_each_has_its_capacity() -> None:
    pinned = side_by_side([Scenario(batch=32), Scenario(model="llama-3-70b", n_gpus=2, batch=4)])
    memory, speeds = charts.pinned_figures(pinned, "GB")
    assert trace(memory, "weights")["x"] == pytest.approx([16.060522496, 141.107412992])
    assert trace(memory, "capacity")["x"] == pytest.approx([85.520809984, 171.041619968])
    assert memory["layout"]["xaxis"]["range"][0] == 0
    assert memory["layout"]["xaxis"]["range"][1] >= 171.041619968
    assert {t["xaxis"] for t in memory["data"]} == {"x"}
    together = trace(speeds, "together, tokens/s")
    assert together["x"] == pytest.approx([v.result.decode.tokens_per_s for v in pinned])
    assert together["marker"]["color"] == palette.SYSTEM
