"""Words in pictures: none is cut at the narrowest, none lies on another, keys fit a phone, hover texts are short."""

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.compare import compare
from core.drafting import speculate
from core.evaluate import evaluate
from core.levers import waterfall
from core.measured import Choice, select
from core.naive import findings
from core.predict import view_plan
from core.presets import STORY
from core.scenario import Scenario
from core.variants import architectures, kv_variants
from core.view import View
from tests.strategies import scenarios
from ui import charts
from ui.charts.base import CAMERA
from ui.charts.compare import speeds_figure
from ui.charts.labels import LINE, NARROW, Sheet, broken, extent, feet, round_numbers, spanned
from ui.charts.lecture import SCALE
from ui.charts.naive import naive_figure

LETTER, BOLD = 6.1, 6.8  # measured in Chromium at 14 pixels, on average
# Widths of pictures in pixels at the page's size of print: a phone's, half and all of a projector's, the page's.
PHONE, LECTURE_HALF, LECTURE, PAGE = 361.0, 406.0, 827.0, 1229.0
NUMBERS = 58  # of the axis at the left
MOST_KEY = 42  # letters of an entry of the key: a phone's width without the mark
MOST_HOVER = 44

FAMOUS = [step.scenario for step in STORY]
SCENARIOS = [
    *FAMOUS,
    Scenario(batch=32),
    Scenario(batch=64),
    Scenario(batch=4096),
    Scenario(batch=48),
    Scenario(model="llama-2-7b", batch=32, context=8192),
    Scenario(model="gemma-3-27b", batch=4, context=32_768),
    Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, batch=64, context=32_768),
    Scenario(model="gpt2-small", gpu="t4", batch=1, context=128),
]
IDS = [f"{s.released_model.slug}-{s.batch}-{s.context}" for s in SCENARIOS]


def curves(scenario: Scenario) -> Iterator[charts.Figure]:
    result = evaluate(scenario)
    yield charts.ceiling_chart(result)
    yield charts.users_figure(result)
    yield charts.context_figure(result, "GB")
    yield charts.roofline_figure(result)
    if result.decode.expected:
        yield charts.experts_figure(result)
        yield charts.experts_ceiling_figure(result)


def every_figure(scenario: Scenario) -> Iterator[charts.Figure]:
    result = evaluate(scenario)
    yield from curves(scenario)
    yield charts.memory_bar(result, "GB")
    yield from charts.kv_variants_figures(kv_variants(scenario), "GB")
    yield charts.architectures_figure("full context", architectures(None), "GB")
    yield charts.formats_figure(result, "GB")
    yield charts.phases_figure(result)
    view = View(scenario)
    yield charts.lever_memory_figure(waterfall(view_plan(view)), "GB")
    if view.draft_model is not None:
        found = speculate(scenario, view.draft_model, draft_length=4, acceptance=0.7)
        yield charts.expected_tokens_figure(found)
        yield from charts.speed_up_figures(scenario, view.draft_model, found)
    compared = compare(scenario)
    if compared.curves:
        yield speeds_figure(compared)
    yield charts.reality_figure(select(Choice()), "decode")
    yield naive_figure(findings(scenario))


def plain(text: str) -> str:
    return re.sub(r"<[^>]*>", "", text.replace("<br>", "\n"))


class Drawn:
    """A label in pixels on a plot of some size, y upwards from the foot of the picture."""

    def __init__(self, label: dict[str, Any], layout: dict[str, Any], width: float, height: float) -> None:
        lines = plain(label["text"]).split("\n")
        wide = max(map(len, lines)) * (BOLD if "<b>" in label["text"] else LETTER)
        tall = LINE * len(lines)
        x, y = (self._share(label, layout, axis) * size for axis, size in (("x", width), ("y", height)))
        x += label.get("xshift", 0) - wide * {"left": 0, "right": 1}.get(label.get("xanchor", "center"), 0.5)
        y += label.get("yshift", 0) - tall * {"bottom": 0, "top": 1}.get(label.get("yanchor", "middle"), 0.5)
        self.text, self.left, self.right, self.bottom, self.top = plain(label["text"]), x, x + wide, y, y + tall

    @staticmethod
    def _share(label: dict[str, Any], layout: dict[str, Any], axis: str) -> float:
        ref = label.get(f"{axis}ref", axis)
        if ref == "paper":
            return label[axis]
        along = layout[f"{axis}axis{ref.removeprefix(axis).removesuffix(' domain')}"]
        start, end = along.get("domain", (0, 1))
        if ref.endswith("domain"):
            return start + label[axis] * (end - start)
        low, high = along["range"]
        return start + (label[axis] - low) / (high - low) * (end - start)

    def lies_on(self, other: "Drawn") -> bool:
        """Whether more than the corner of a letter is covered."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.top, other.top) - max(self.bottom, other.bottom)
        return across > 6 and down > 6


def drawn(figure: charts.Figure, width: float) -> list[Drawn]:
    layout = figure["layout"]
    margin = layout["margin"]
    tall = charts.TALL / SCALE if width == LECTURE else layout["height"]
    height = tall - margin["t"] - margin["b"] - 46  # numbers and title of the axis
    width -= margin["l"] + margin["r"] + NUMBERS
    return [Drawn(label, layout, width, height) for label in layout["annotations"]]


@pytest.mark.parametrize("width", [PHONE, LECTURE_HALF, LECTURE, PAGE])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=IDS)
def test_no_label_is_cut(scenario: Scenario, width: float) -> None:
    for figure in curves(scenario):
        end = width - NUMBERS - figure["layout"]["margin"]["l"]
        for label in drawn(figure, width):
            assert label.left >= -20, f"{label.text} is cut at the left, or stands in the numbers of the axis"
            assert label.right <= end, f"{label.text} is cut at the right"


@pytest.mark.parametrize("width", [PHONE, LECTURE, PAGE])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=IDS)
def test_no_label_lies_on_another(scenario: Scenario, width: float) -> None:
    for figure in curves(scenario):
        for one, other in itertools.combinations(drawn(figure, width), 2):
            assert not one.lies_on(other), f"{one.text} lies on {other.text}"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=IDS)
def test_keys_fit_a_phone_and_end_before_the_camera(scenario: Scenario) -> None:
    for figure in every_figure(scenario):
        layout = figure["layout"]
        shown = [part for part in (*figure["data"], *layout.get("shapes", ())) if part.get("showlegend")]
        assert bool(shown) <= layout["showlegend"]
        for part in shown:
            assert max(map(len, plain(part["name"]).split("\n"))) <= MOST_KEY
        if shown and layout["legend"]["yanchor"] == "top":
            assert layout["margin"]["r"] >= CAMERA


@pytest.mark.parametrize("scenario", SCENARIOS, ids=IDS)
def test_curves_without_a_label_are_in_the_key(scenario: Scenario) -> None:
    for figure in (f for f in curves(scenario) if f["layout"]["showlegend"]):
        headings = " ".join(label["text"] for label in figure["layout"]["annotations"])
        for trace in figure["data"]:
            if trace["mode"] == "lines" and trace["name"] != "roofline":  # its two ends have names of their own
                assert trace["showlegend"] or trace["name"] in headings


def hover_texts(figure: charts.Figure) -> Iterator[str]:
    for trace in figure["data"]:
        template = trace.get("hovertemplate")
        if template is None:
            assert trace.get("hoverinfo") == "skip", f"{trace['name']} shows what Plotly makes of it"
            continue
        assert template.endswith("<extra></extra>"), f"{trace['name']} has a second box, which a phone cuts"
        for text in trace.get("text", [""]) or [""]:
            words = template.replace("%{text}", str(text)).replace("%{fullData.name}", trace["name"])
            yield re.sub(r"%\{[^}]*\}", "1,234.5", words)


@pytest.mark.parametrize("scenario", SCENARIOS[:4] + SCENARIOS[-3:], ids=IDS[:4] + IDS[-3:])
def test_hover_texts_are_narrow(scenario: Scenario) -> None:
    for figure in every_figure(scenario):
        for text in hover_texts(figure):
            assert max(map(len, plain(text).split("\n"))) <= MOST_HOVER


@given(scenarios())
@settings(max_examples=30, deadline=None)
def test_axes_hold_every_curve_and_number(scenario: Scenario) -> None:
    for figure in curves(scenario):
        layout = figure["layout"]
        for trace in figure["data"]:
            along = layout[f"yaxis{trace.get('yaxis', 'y')[1:]}"]
            low, high = along["range"]
            heights = [math.log10(max(y, 1e-300)) if along.get("type") == "log" else y for y in trace["y"]]
            assert all(low - 1e-5 <= y <= high + 1e-5 for y in heights)
            assert len(along.get("tickvals", [1])) >= 1


# The rules themselves.


def sides(at: float, text: str = "memory ends at 56") -> str:
    (label,), _ = feet([(at, text)], [0, 10], [])
    return label["xanchor"]


def test_a_name_stands_on_the_side_where_it_is_whole() -> None:
    assert sides(0.2) == "left"
    assert sides(9.8) == "right"


def test_with_room_on_both_sides_a_name_stands_where_the_curve_is_higher() -> None:
    rising, falling = ([0.0, 10.0], [0.0, 10.0]), ([0.0, 10.0], [10.0, 0.0])
    assert feet([(5, "here")], [0, 10], [rising])[0][0]["xanchor"] == "left"
    assert feet([(5, "here")], [0, 10], [falling])[0][0]["xanchor"] == "right"


def test_names_that_would_meet_stand_in_rows() -> None:
    labels, rooms = feet([(5, "memory ends at 56"), (5.2, "cache = weights at 15")], [0, 10], [([0, 10], [1, 1])])
    assert len({label["yshift"] for label in labels}) == 2
    assert sorted(below for _, below, _ in rooms) == [LINE + 6, 2 * LINE + 6]
    apart, _ = feet([(0, "left"), (10, "right")], [0, 10], [])
    assert len({label["yshift"] for label in apart}) == 1


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 40), st.floats(0, 40)), min_size=1, max_size=6))
def test_a_range_leaves_every_height_its_room_or_is_two_fifths_full(rooms: list[tuple[float, float, float]]) -> None:
    low, high = spanned(rooms, 200)
    heights = [at for at, _, _ in rooms]
    assert low - 1e-5 <= min(heights) <= max(heights) <= high + 1e-5
    assert max(max(heights) - min(heights), 0.29) >= 0.39 * (high - low)
    is_roomy = all(
        (at - low) / (high - low) * 200 >= below - 1 and (high - at) / (high - low) * 200 >= above - 1
        for at, below, above in rooms
    )
    assert is_roomy or max(max(heights) - min(heights), 0.31) <= 0.75 * (high - low)


def test_a_number_avoids_curves_lines_frame_and_other_numbers() -> None:
    rising = ([0.0, 10.0], [0.0, 10.0])
    free = Sheet([0, 10], [0, 10], NARROW, [rising]).number(5, 5, "1,234")
    assert (free["xanchor"], free["yshift"] > 0) == ("right", True)
    beside_a_line = Sheet([0, 10], [0, 10], NARROW, [rising], [4.5]).number(5, 5, "1,234")
    assert (beside_a_line["xanchor"], beside_a_line["yshift"] > 0) == ("left", False)
    at_the_edge = Sheet([0, 10], [0, 10], NARROW, [rising]).number(0, 0.5, "1,234")
    assert at_the_edge["xanchor"] == "left"
    sheet = Sheet([0, 10], [0, 10], NARROW, [rising])
    one, two = sheet.number(5, 5, "1,234"), sheet.number(5, 5, "1,234")
    assert (one["xanchor"], one["yshift"]) != (two["xanchor"], two["yshift"])
    sheet = Sheet([0, 10], [0, 10], NARROW, [rising])
    sheet.avoid([{"x": 5, "y": 5.2, "text": "<b>in the way</b>", "xanchor": "right", "yanchor": "bottom"}])
    assert sheet.number(5, 5, "1,234")["xanchor"] == "left"


def test_extents() -> None:
    curve = ([0.0, 1.0, 2.0], [5.0, 1.0, 3.0])
    assert extent(curve, 0.5, 1.5) == (1.0, 3.0)
    assert extent(curve, -5, 0.25) == (4.0, 5.0)
    assert extent(curve, 2.5, 3) is None
    assert extent(curve, 2, 2) == (3.0, 3.0)


@given(st.text("ab ", max_size=200), st.integers(5, 60))
def test_broken_lines_keep_every_word(text: str, most: int) -> None:
    lines = broken(text, most)
    assert " ".join(lines) == text
    for line in lines:
        assert len(line) <= most or " " not in line.strip()


def test_round_numbers_are_round_and_few() -> None:
    for low, high in itertools.combinations([-2.0, -0.3, 0.9, 2.4, 2.9, 5.6], 2):
        for most in (3, 4, 7):
            ticks = round_numbers(low, high, most)
            assert 1 <= len(ticks) <= most
            assert all(f"{tick:.1e}"[:3] in ("1.0", "1.5", "2.0", "3.0", "4.0", "5.0", "7.0") for tick in ticks)
