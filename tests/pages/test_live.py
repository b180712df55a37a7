"""The live page: every quantity, extremes, and no number on the page that a drag makes stale."""

import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.hf_config import read_hf_config
from core.live import QUANTITIES, Quantity, live_rows, reel
from core.scenario import Scenario
from core.units import format_rate
from core.view import View
from tests.harness import assert_sound, open_app, open_more, query, text
from ui.charts.live import TEXT

PAGE = "pages/live.py"
OPENING = Scenario(batch=32)
NEVER_FITS = Scenario(model="llama-3.1-405b", batch=4)
MLA = Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, split="layer", batch=3)
MAMBA = read_hf_config(
    {
        "model_type": "mamba",
        "hidden_size": 2560,
        "intermediate_size": 5120,
        "num_hidden_layers": 64,
        "vocab_size": 50280,
        "state_size": 16,
        "conv_kernel": 4,
        "time_step_rank": 160,
    }
)
EXTREMES = [
    NEVER_FITS,
    MLA,
    Scenario(model=MAMBA, batch=7),
    Scenario(model="mistral-7b-v0.1", batch=16, context=16_384),
    Scenario(model="gemma-4-31b", batch=64, context=100_000),
    Scenario(model="qwen3.5-397b-a17b", gpu="b200", n_gpus=8, batch=1000, context=1),
    Scenario(model="falcon-7b", gpu="apple-m1", batch=10**15, context=2**24),
    Scenario(model="gpt2-small", weight_format="int4", cache_format="q4_0", batch=5, context=1),
    Scenario(model="phi-3-mini", gpu="t4", kv_heads=32, reserve=0.9),
]


def open_live(scenario: Scenario = OPENING, unit="GB") -> AppTest:
    return open_app(View(scenario, unit).to_query(), PAGE)


def drag(at: AppTest, quantity: Quantity) -> AppTest:
    return at.segmented_control(key="live").set_value(quantity).run()


def choices(at: AppTest) -> list[str]:
    return list(at.segmented_control(key="live").options)


def spec(at: AppTest) -> dict[str, Any]:
    return json.loads(at.get("plotly_chart")[0].proto.spec)


def said(at: AppTest) -> list[str]:
    """The words that the picture opens with."""
    return next(trace["text"] for trace in spec(at)["data"] if trace["name"] == "words")


def test_it_opens_on_users() -> None:
    at = open_live()
    assert_sound(at, charts=1)
    assert at.segmented_control(key="live").value == "users"
    assert choices(at) == ["Users", "Context", "KV heads", "Conversation"]
    assert query(at) == View(OPENING).to_query()
    assert not at.info


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity(quantity: Quantity) -> None:
    at = drag(open_live(), quantity)
    assert_sound(at, charts=1)
    assert [f["name"] for f in spec(at)["frames"]] == [frame.label for frame in reel(OPENING, quantity).frames]
    assert query(at) == View(OPENING).to_query()


@pytest.mark.parametrize("unit", ["GB", "GiB"])
@pytest.mark.parametrize("scenario", EXTREMES, ids=lambda s: s.released_model.slug)
def test_extremes(scenario: Scenario, unit) -> None:
    at = open_live(scenario, unit)
    has_heads = len(scenario.released_model.kv_head_options) > 1
    assert ("KV heads" in choices(at)) is has_heads
    for quantity in QUANTITIES:
        if quantity == "kv_heads" and not has_heads:
            assert "no KV heads to drag" in text(at)
            continue
        drag(at, quantity)
        assert_sound(at, charts=1)
    assert query(at) == View(scenario, unit).to_query()


def test_a_story_of_one_frame() -> None:
    at = drag(open_live(NEVER_FITS), "story")
    assert_sound(at, charts=1)
    assert said(at)[1] == "Memory ends before the first token."


def test_a_model_without_heads_takes_the_choice_away() -> None:
    at = drag(open_live(), "kv_heads")
    at.selectbox(key="model").set_value("deepseek-v3").run()
    assert_sound(at, charts=1)
    assert choices(at) == ["Users", "Context", "Conversation"]
    assert at.segmented_control(key="live").value == "users"
    assert "has no KV heads to drag: MLA keeps one latent for all heads." in text(at)
    at.selectbox(key="model").set_value("llama-3-8b").run()
    assert "KV heads" in choices(at)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_nothing_outside_the_picture_goes_stale(quantity: Quantity) -> None:
    """What the scrub changes is in the picture alone: no verdict, no size, no speed, not even the dragged value."""
    scenario = Scenario(batch=33, context=5003)
    at = drag(open_live(scenario), quantity)
    figure = at.get("plotly_chart")[0].proto
    outside = re.sub(r"<style>.*?</style>", "", text(at), flags=re.DOTALL)
    for words in (outside, figure.alt):
        assert not re.search(r"\d\s*(?:[KMGTP]i?B|tokens/s)", words)
        for frame in reel(scenario, quantity).frames:
            assert frame.verdict not in words
            assert format_rate(frame.tokens_per_s) not in words
    assert not re.search(r"\d", re.sub(r"Llama 3 8B|H100 SXM5", "", outside))
    # The ordinary controls of what is dragged are in the popover, which a click on the picture closes.
    assert not [s.key for s in at.select_slider]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_frame_as_a_row(quantity: Quantity) -> None:
    at = drag(open_live(), quantity)
    at.session_state["live_numbers"] = True
    at.run()
    assert_sound(at, charts=1)
    header, rows = live_rows(reel(OPENING, quantity))
    shown = text(at)
    assert " | ".join(header) in shown
    for row in rows:
        assert " | ".join(map(str, row)) in shown
    assert any("Download as CSV" in str(button.proto) for button in at.get("download_button"))


def test_the_ordinary_controls_move_the_picture() -> None:
    at = open_more(open_live())
    for key, field, value in (("batch", "batch", 64), ("context", "context", 2048), ("kv_heads", "kv_heads", "1")):
        before = spec(at)
        at.select_slider(key=key).set_value(value).run()
        assert_sound(at, charts=1)
        assert query(at)[field] == str(value)
        assert spec(at) != before
    found = reel(Scenario(batch=64, context=2048, kv_heads=1), "users")
    opening = found.frames[found.opening]
    assert opening.value == 64
    assert said(at)[0].startswith(f"<b>{opening.verdict}</b>")
    assert spec(at)["layout"]["sliders"][0]["active"] == found.opening


def test_the_story_starts_at_its_prompt_and_says_so() -> None:
    at = open_more(drag(open_live(), "story"))
    assert "The story starts from a short prompt" in text(at)
    assert spec(at)["layout"]["sliders"][0]["active"] == 0
    at.select_slider(key="batch").set_value(64).run()
    first = reel(OPENING.replace(batch=64), "story").frames[0]
    assert said(at)[0].startswith(f"<b>{first.verdict}</b>")


def test_both_ends_of_the_controls() -> None:
    at = open_more(open_live())
    for key, values in (("batch", (1, 4096)), ("context", (128, 8192)), ("kv_heads", ("1", "32"))):
        for value in values:
            at.select_slider(key=key).set_value(value).run()
            for quantity in QUANTITIES:
                drag(at, quantity)
                assert_sound(at, charts=1)


def test_the_page_says_what_its_link_leaves_out() -> None:
    assert "those are in the link, where the grip stands is not" in text(open_live())


def test_lecture_view_is_the_picture_and_its_choice() -> None:
    at = open_app(View(OPENING, view="lecture").to_query(), PAGE)
    assert_sound(at, charts=1)
    assert spec(at)["layout"]["font"]["size"] == TEXT, "large already"
    assert "Drag the grip" not in text(at)
    open_more(at)
    assert_sound(at, charts=1)
    assert at.selectbox(key="model").value == "llama-3-8b"
    at.segmented_control(key="unit").set_value("GiB").run()
    assert query(at)["unit"] == "GiB"


def test_the_scenario_goes_along() -> None:
    at = open_app(View(OPENING.replace(batch=8)).to_query())
    at.switch_page(PAGE).run()
    assert_sound(at, charts=1)
    drag(at, "context")
    at.switch_page("app.py").run()
    assert query(at) == View(OPENING.replace(batch=8)).to_query()
