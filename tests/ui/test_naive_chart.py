"""The naive bench's picture: valid, finite, right in the middle, over and under told apart without colour."""

import math

import plotly.graph_objects as go
import pytest

from core.catalog import models
from core.naive import PRESETS, findings
from core.scenario import Scenario
from ui.charts.naive import REACH, naive_figure


@pytest.mark.parametrize("slug", models())
def test_every_model(slug: str) -> None:
    model = models()[slug]
    for s in (Scenario(model=slug, batch=1, context=1), Scenario(model=slug, batch=64, context=model.max_context)):
        found = findings(s)
        figure = naive_figure(found)
        go.Figure(figure["data"], figure["layout"])
        drawn = {y: x for t in figure["data"] for x, y in zip(t["x"], t["y"], strict=True)}
        assert drawn == {f.mistake.title: math.log10(f.factor) for f in found if f.factor}
        low, high = figure["layout"]["xaxis"]["range"]
        assert all(low < x < high for x in drawn.values())
        # At a single token a recurrent model's state is thousands of times its cache, and the axis makes room.
        assert s.context == 1 or (low, high) == (REACH[0] - 0.1, REACH[1] + 0.1)


def test_over_and_under_differ_in_side_pattern_and_words() -> None:
    figure = naive_figure(findings(PRESETS[3].scenario))
    over, under = figure["data"]
    assert (over["name"], under["name"]) == ("too much", "too little")
    assert min(over["x"]) > 0 > max(under["x"])
    assert over["marker"]["pattern"]["shape"] != under["marker"]["pattern"]["shape"]
    assert all("too much" in text for text in over["customdata"])
    titles = figure["layout"]["yaxis"]["categoryarray"]
    for label in figure["layout"]["annotations"][1:]:
        title = titles[label["y"]]
        side = "right" if title in over["y"] else "left"
        assert label["xanchor"] == side


def test_right_is_the_middle() -> None:
    axis = naive_figure(findings(Scenario()))["layout"]["xaxis"]
    assert dict(zip(axis["tickvals"], axis["ticktext"], strict=True))[0] == "right"


def test_nothing_to_draw() -> None:
    figure = naive_figure([])
    go.Figure(figure["data"], figure["layout"])
