"""The live figure: valid, standing still but for its frames, and every drawn number is `evaluate()`'s."""

import itertools
import math
import re
from typing import Any

import orjson
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from core.catalog import gpus, models
from core.evaluate import Result, evaluate
from core.live import FIELDS, QUANTITIES, Quantity, Reel, quantities, reel
from core.scenario import Scenario
from core.units import format_bytes, from_unit, in_unit
from tests.strategies import scenarios
from ui import charts, palette
from ui.charts.labels import round_numbers
from ui.charts.live import CSS, LARGE, TEXT

SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
SIZES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
PARTS = ("weights", "KV cache", "reserve", "free")
NEVER_FITS = Scenario(model="llama-3.1-405b", batch=4)
MIXED = Scenario(model="gemma-4-31b", batch=8, context=30_000)
MLA = Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, batch=1)
SCENARIOS = [Scenario(batch=32), NEVER_FITS, MIXED, MLA]


def strict(figure: charts.Figure) -> go.Figure:
    """Plotly's own validation, frames included."""
    return go.Figure(figure["data"], figure["layout"], figure["frames"])


def plain(text: str) -> str:
    return re.sub(r"<[^>]+>", "", text).replace("\u00a0", " ")


def number(text: str) -> float:
    return float(text.replace(",", ""))


def sizes(text: str) -> dict[str, float]:
    """Bytes by name in "weights 16.1 GB · KV cache 34.4 GB"."""
    found = re.findall(r"(\w[\w ]*?) ([\d,.]+) ([KMGTPk]?i?B)\b", text)
    return {name: number(value) * SIZES[unit] for name, value, unit in found}


def near(shown: float, exact: float) -> bool:
    """Equal as far as three digits go."""
    return math.isclose(shown, exact, rel_tol=5.1e-3, abs_tol=0.5)


def result_of(found: Reel, index: int) -> Result:
    return evaluate(found.scenario.replace(**{FIELDS[found.quantity]: found.frames[index].value}))


def shown_at(figure: charts.Figure, index: int) -> dict[str, dict[str, Any]]:
    """The moving traces as a frame draws them, by name."""
    frame = figure["frames"][index]
    return {
        figure["data"][trace]["name"]: figure["data"][trace] | change
        for trace, change in zip(frame["traces"], frame["data"], strict=True)
    }


def assert_draws(found: Reel, figure: charts.Figure, index: int) -> None:
    """Bar, words and marker of one frame parse back to the formulas."""
    result = result_of(found, index)
    m, d = result.memory, result.decode
    exact = dict(zip(PARTS, (m.weights_bytes, m.kv_bytes, m.reserve_bytes, m.free_bytes), strict=True))
    drawn = shown_at(figure, index)
    for name in PARTS:
        (length,), (label,) = drawn[name]["x"], drawn[name]["text"]
        assert math.isclose(from_unit(length, found.unit), exact[name], rel_tol=1e-12)
        if label:
            assert near(sizes(label.strip())[name], exact[name])
    verdict, words, *listed, ceiling, goes_on = map(plain, drawn["words"]["text"])
    assert verdict.startswith("Fits, with" if m.fits else "Does not fit:")
    assert words == found.frames[index].words
    (said,) = re.findall(r"([\d,.]+) ([KMGTPk]?i?B) (?:free|too much)", verdict)
    assert near(number(said[0]) * SIZES[said[1]], m.free_bytes if m.fits else m.over_by_bytes)
    assert len(listed) == len(PARTS)
    for name, size in zip(PARTS, listed, strict=True):
        over = name == "free" and not m.fits
        assert size.startswith("−") is over
        assert near(sizes(f"x {size.removeprefix('−')}")["x"], m.over_by_bytes if over else exact[name])
    assert ceiling.startswith("At most" if m.fits else "If it fitted:")
    assert near(number(re.findall(r"([\d,.]+) tokens/s", ceiling)[0]), d.tokens_per_s)
    each = re.findall(r"together, . ([\d,.]+) each", ceiling)
    speeds = [d.tokens_per_s, d.tokens_per_s_per_user][: 1 + len(each)]
    if each:
        assert near(number(each[0]), d.tokens_per_s_per_user)
    else:
        assert d.tokens_per_s == d.tokens_per_s_per_user
    assert drawn["here"]["y"] == speeds
    assert drawn["here"]["x"] == [index] * len(speeds)
    assert bool(goes_on) is (in_unit(m.total_bytes, found.unit) > figure["layout"]["xaxis"]["range"][1])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.released_model.slug)
@pytest.mark.parametrize("unit", ["GB", "GiB"])
def test_every_drawn_number_is_the_formulas(scenario: Scenario, unit) -> None:
    for quantity in quantities(scenario):
        found = reel(scenario, quantity, unit)
        figure = charts.live_figure(found)
        strict(figure)
        for index in range(len(found.frames)):
            assert_draws(found, figure, index)


@given(scenarios())
@settings(max_examples=12, deadline=None)
def test_every_scenario_draws(scenario: Scenario) -> None:
    for quantity in quantities(scenario):
        found = reel(scenario, quantity)
        figure = charts.live_figure(found)
        strict(figure)
        assert len(figure["frames"]) == len(found.frames)
        for index in {0, found.opening, len(found.frames) - 1}:
            assert_draws(found, figure, index)
        numbers = [v for trace in figure["data"] for v in (*trace["x"], *trace["y"])]
        assert all(math.isfinite(v) and v >= 0 for v in numbers)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_it_opens_on_its_opening_frame_and_never_by_itself(quantity: Quantity) -> None:
    found = reel(Scenario(batch=33, context=5003), quantity)
    figure = charts.live_figure(found)
    opening = shown_at(figure, found.opening)
    for name, trace in opening.items():
        assert trace in figure["data"], name
    (slider,) = figure["layout"]["sliders"]
    assert slider["active"] == found.opening
    assert [step["label"] for step in slider["steps"]] == [frame.label for frame in found.frames]
    for step, frame in zip(slider["steps"], figure["frames"], strict=True):
        (name,), options = step["args"]
        assert step["method"] == "animate"
        assert name == frame["name"] == step["label"]
        assert options["frame"]["duration"] == options["transition"]["duration"] == 0
        assert options["mode"] == "immediate"


def test_only_the_story_plays() -> None:
    for quantity in QUANTITIES:
        menus = charts.live_figure(reel(Scenario(batch=32), quantity))["layout"]["updatemenus"]
        assert bool(menus) is (quantity == "story")
    (menu,) = menus
    play, pause = menu["buttons"]
    assert play["args"][0] is None  # all frames
    assert play["args"][1]["fromcurrent"]
    assert play["args"][1]["frame"]["duration"] >= 100
    assert pause["args"][0] == [None]  # none: stops what runs


def test_one_frame_has_nothing_to_drag() -> None:
    figure = charts.live_figure(reel(NEVER_FITS, "story"))
    strict(figure)
    assert len(figure["frames"]) == 1
    assert figure["layout"]["sliders"] == figure["layout"]["updatemenus"] == []
    low, high = figure["layout"]["xaxis2"]["range"]
    assert low < 0 < high


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_axes_stand_still(quantity: Quantity) -> None:
    figure = charts.live_figure(reel(MIXED, quantity))
    changed = {tuple(frame["traces"]) for frame in figure["frames"]}
    assert len(changed) == 1
    assert all(set(frame) == {"name", "data", "traces"} for frame in figure["frames"]), "a frame changes no layout"
    for name in ("xaxis", "yaxis", "xaxis2", "yaxis2", "xaxis3", "yaxis3"):
        axis = figure["layout"][name]
        assert axis["fixedrange"]
        assert len(axis["range"]) == 2
    low, high = (10**end for end in figure["layout"]["yaxis2"]["range"])
    x_low, x_high = figure["layout"]["xaxis2"]["range"]
    for frame in figure["frames"]:
        here = frame["data"][4]
        assert all(low < y < high for y in here["y"])
        assert all(x_low < x < x_high for x in here["x"])


def test_the_axis_of_the_bar_shows_the_mark_and_what_passes_it() -> None:
    for scenario in SCENARIOS:
        for quantity in quantities(scenario):
            figure = charts.live_figure(reel(scenario, quantity))
            capacity = in_unit(evaluate(scenario).memory.capacity_bytes, "GB")
            (mark, *_) = figure["layout"]["shapes"]
            assert mark["x0"] == mark["x1"] == capacity
            end = figure["layout"]["xaxis"]["range"][1]
            assert capacity < end
            over = [frame for frame in reel(scenario, quantity).frames if not frame.memory.fits]
            if over:
                assert in_unit(over[0].memory.total_bytes, "GB") > capacity


def test_where_memory_ends_lies_between_the_frames() -> None:
    found = reel(Scenario(batch=32), "users")
    figure = charts.live_figure(found)
    _, shade, rule = figure["layout"]["shapes"]
    last = next(i for i, frame in enumerate(found.frames) if frame.value == 56)
    assert shade["x0"] == rule["x0"] == last + 0.5
    labels = next(trace for trace in figure["data"] if trace["name"] == "labels")
    assert "memory ends at 56" in " ".join(map(plain, labels["text"]))
    assert len(charts.live_figure(reel(Scenario(), "kv_heads"))["layout"]["shapes"]) == 1


def test_curves_are_the_formulas_and_the_marker_lies_on_them() -> None:
    found = reel(Scenario(batch=32), "context")
    traces = {trace["name"]: trace for trace in charts.live_figure(found)["data"]}
    for index in range(len(found.frames)):
        d = result_of(found, index).decode
        assert traces["together"]["y"][index] == d.tokens_per_s
        assert traces["each user"]["y"][index] == d.tokens_per_s_per_user
    assert "each user" not in {trace["name"] for trace in charts.live_figure(reel(Scenario(), "context"))["data"]}


def test_roles_have_colour_and_pattern() -> None:
    traces = {trace["name"]: trace for trace in charts.live_figure(reel(Scenario(batch=32), "users"))["data"]}
    looks = {name: (traces[name]["marker"]["color"], traces[name]["marker"].get("pattern")) for name in PARTS}
    assert looks["weights"] == (palette.WEIGHTS, None)
    assert looks["KV cache"][0] == palette.CACHE
    assert looks["KV cache"][1]["shape"] == "/"
    assert looks["reserve"][0] == palette.RESERVE
    assert looks["reserve"][1]["shape"] == "."
    assert len(set(traces["here"]["marker"]["symbol"])) == 2


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.released_model.slug)
def test_words_are_large_and_fit_a_projector(scenario: Scenario) -> None:
    assert TEXT >= 20
    for quantity in quantities(scenario):
        figure = charts.live_figure(reel(scenario, quantity))
        layout = figure["layout"]
        assert layout["font"]["size"] == TEXT
        room = 1229 - layout["margin"]["l"] - layout["margin"]["r"]
        for index, frame in enumerate(figure["frames"]):
            drawn = shown_at(figure, index)
            for text, size in zip(drawn["words"]["text"], drawn["words"]["textfont"]["size"], strict=True):
                assert size in (TEXT, LARGE)
                assert len(plain(text)) * size * 0.5 < room, plain(text)
            end = layout["xaxis"]["range"][1]
            starts = itertools.accumulate((bar["x"][0] for bar in frame["data"][:4]), initial=0)
            for start, bar in zip(starts, frame["data"][:4], strict=False):
                shown = (min(start + bar["x"][0], end) - start) / end * room
                assert not bar["text"][0] or shown > len(bar["text"][0]) * TEXT * 0.4, bar["text"]


def test_names_of_ones_own_are_text() -> None:
    named = models()["llama-3-8b"].model_copy(update={"slug": "own", "name": "<b>$x$</b> & " + "y" * 200})
    figure = charts.live_figure(reel(Scenario(model=named, batch=4), "context"))
    strict(figure)
    labels = next(trace for trace in figure["data"] if trace["name"] == "labels")
    assert labels["text"][0].replace("<br>", " ").startswith("&lt;b&gt;&#36;x&#36;&lt;/b&gt; &amp; y")
    assert labels["text"][0].endswith("…")


def test_it_is_not_too_large_to_send() -> None:
    largest = 0
    for slug in models():
        scenario = Scenario(model=slug, gpu=next(iter(gpus())), n_gpus=64, batch=33, context=5003)
        for quantity in quantities(scenario):
            largest = max(largest, len(orjson.dumps(charts.live_figure(reel(scenario, quantity)))))
    assert largest < 80_000


def test_every_part_is_named_above_its_size() -> None:
    figure = charts.live_figure(reel(Scenario(batch=32), "users"))
    traces = {trace["name"]: trace for trace in figure["data"]}
    places = {plain(text)[2:]: x for text, x in zip(traces["labels"]["text"], traces["labels"]["x"], strict=True)}
    columns = traces["words"]["x"][2:6]
    assert [places[name] for name in PARTS] == columns
    colours = [traces[name]["marker"]["color"] for name in PARTS[:3]]
    for text, colour in zip(traces["labels"]["text"][2:5], colours, strict=True):
        assert colour in text


def test_line_and_words_agree_where_kv_heads_come_in_leaps() -> None:
    found = reel(Scenario(batch=32), "kv_heads")
    figure = charts.live_figure(found)
    labels = next(trace for trace in figure["data"] if trace["name"] == "labels")
    assert "8 fit, 16 do not" in " ".join(map(plain, labels["text"]))
    _, _, line = figure["layout"]["shapes"]
    values = [frame.value for frame in found.frames]
    assert values.index(8) < line["x0"] < values.index(16)


def test_words_are_short_enough_for_a_phone() -> None:
    """About 5.3 pixels a letter at 11.5 pixels, and a plot of 297."""
    for scenario in SCENARIOS:
        for quantity in quantities(scenario):
            figure = charts.live_figure(reel(scenario, quantity))
            lines = [
                line
                for trace in figure["data"]
                if trace["name"] == "labels"
                for t in trace["text"]
                for line in t.split("<br>")
            ]
            lines += [line for frame in figure["frames"] for line in frame["data"][5]["text"]]
            assert max(len(plain(line)) for line in lines) <= 58


def test_round_numbers_are_few_and_inside() -> None:
    for low, high in itertools.combinations([-2.0, -0.3, 0.9, 2.4, 2.9, 5.6, 7.2], 2):
        ticks = round_numbers(low, high)
        assert ticks == sorted(ticks)
        assert 1 <= len(ticks) <= 10
        assert all(low <= math.log10(tick) <= high for tick in ticks)


def test_style_honours_reduced_motion_and_far_hands() -> None:
    assert re.search(
        r"prefers-reduced-motion: reduce\) \{ \.js-plotly-plot \.updatemenu-container \{ display: none", CSS
    )
    (stroke,) = re.findall(r"slider-grip-rect \{ stroke-width: (\d+)px", CSS)
    assert 20 + int(stroke) >= 34


def test_sizes_helper_reads_what_formatters_write() -> None:
    for value in (5, 70_272, 16_060_522_496, 3.04e12):
        assert near(sizes(f"x {format_bytes(value)}")["x"], value)
        assert near(sizes(f"x {format_bytes(value, 'GiB')}")["x"], value)
