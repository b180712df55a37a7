"""The reality page's pictures: valid, finite, axes pinned, nothing typed by a stranger drawn as markup."""

import math
from collections.abc import Iterator

import plotly.graph_objects as go
import pytest

from core.measured import BYS, KINDS, Choice, nearest, own_point, select, summary
from core.scenario import Scenario
from ui import charts


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float):
        yield float(value)


def assert_sound(figure: charts.Figure) -> None:
    go.Figure(figure["data"], figure["layout"])  # raises on what Plotly does not know
    assert all(math.isfinite(number) for number in numbers(figure))
    for name, axis in figure["layout"].items():
        if name.startswith(("xaxis", "yaxis")):
            assert axis["fixedrange"] is True
            assert "range" in axis


def marks(figure: charts.Figure) -> list[dict]:
    return [t for t in figure["data"] if t["mode"] == "markers" and t["name"] not in ("median", "yours")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_all_its_points(kind: str) -> None:
    found = select(Choice(kind))
    figure = charts.reality_figure(found, kind)
    assert_sound(figure)
    assert sum(len(t["x"]) for t in marks(figure)) == len(found)
    low, high = figure["layout"]["xaxis"]["range"]
    for trace in marks(figure):
        assert all(low <= math.log10(value) <= high for value in (*trace["x"], *trace["y"]))
        assert len(trace["text"]) == len(trace["x"]) == len(trace["marker"]["symbol"])
    for by in BYS:
        strip = charts.ratio_figure(found, by)
        assert_sound(strip)
        assert sum(len(t["x"]) for t in marks(strip)) == len(found)
        assert len(strip["layout"]["yaxis"]["ticktext"]) <= 10
        assert charts.enlarged(strip, 330)["layout"]["height"] == 330


def test_axes_stay_when_filtered_and_grow_for_own_points() -> None:
    all_ = charts.reality_figure(select(Choice()), "decode")
    few = charts.reality_figure(select(Choice(one_gpu=True, engines=frozenset({"gpt-fast"}))), "decode")
    assert few["layout"]["xaxis"] == all_["layout"]["xaxis"]
    far = own_point(Scenario(batch=4096, context=64), tokens_per_s=90_000)
    assert charts.reality_figure((), "decode", (far,))["layout"]["xaxis"]["range"][1] > math.log10(far.ceiling)


def test_shapes_differ_and_hollow_means_the_rows_own_bytes() -> None:
    found = select(Choice())
    figure = charts.reality_figure(found, "decode")
    shapes = [{s.removesuffix("-open") for s in t["marker"]["symbol"]} for t in marks(figure)]
    assert all(len(shape) == 1 for shape in shapes)
    assert len(set.union(*shapes)) == len(shapes)
    hollow = sum(s.endswith("-open") for t in marks(figure) for s in t["marker"]["symbol"])
    assert hollow == sum(p.path == "row" for p in found)
    assert len(charts.reality_key(found)) == len(shapes)


def test_medians_are_the_summarys() -> None:
    found = select(Choice())
    strip = charts.ratio_figure(found, "batch")
    (medians,) = [t for t in strip["data"] if t["name"] == "median"]
    of = dict(summary(found).by)["batch"]
    assert medians["x"] == [spread.median for _, spread in of]
    for text, (name, spread) in zip(strip["layout"]["yaxis"]["ticktext"], of, strict=True):
        assert text == f"{name} ({spread.count}) <b>{spread.median:.2f}</b>"


def test_nothing_to_show() -> None:
    assert_sound(charts.reality_figure((), "decode"))
    for by in BYS:
        assert_sound(charts.ratio_figure((), by))
    assert charts.reality_key(()) == []


def test_own_points_are_marked_and_their_words_are_text() -> None:
    mine = own_point(Scenario(), tokens_per_s=120, engine="<b>$x$</b>")
    for figure in (charts.reality_figure((), "decode", (mine,)), charts.ratio_figure((), "engine", (mine,))):
        assert_sound(figure)
        (trace,) = [t for t in figure["data"] if t["name"] == "yours"]
        assert "&lt;b&gt;&#36;x&#36;&lt;/b&gt;" in trace["text"][0]
        assert "<b>" not in trace["text"][0]


def test_a_ratio_beyond_the_strip_widens_it() -> None:
    mine = own_point(Scenario(), tokens_per_s=1e5)
    figure = charts.ratio_figure(select(Choice()), "engine", (mine,))
    assert_sound(figure)
    assert figure["layout"]["xaxis"]["range"][1] > mine.ratio


def test_the_cache_term() -> None:
    figure = charts.cache_term_figure()
    assert_sound(figure)
    assert [len(t["x"]) for t in figure["data"]] == [5, 5]
    assert {note["text"] for note in figure["layout"]["annotations"][1:]} == {
        "<b>caches read 0.78</b>",
        "<b>only weights read 0.62</b>",
    }


def test_hollow_marks_for_other_pictures() -> None:
    s = Scenario(model="qwen2.5-7b", gpu="gb10", weight_format="q8_0", batch=8, context=528)
    (together,) = charts.nearest_traces(s)
    (each,) = charts.nearest_traces(s, ("x", "y2"), each=True)
    assert together["x"] == each["x"] == [n.batch for n in nearest(s)]
    assert together["y"] == [n.tokens_per_s for n in nearest(s)]
    assert each["y"] == [n.each for n in nearest(s)]
    assert (together["yaxis"], each["yaxis"]) == ("y", "y2")
    assert together["marker"]["symbol"] == "diamond-open"
    assert "llama.cpp" in together["text"][0]
    go.Figure([together, each])
    assert charts.nearest_traces(Scenario(gpu="t4")) == []
