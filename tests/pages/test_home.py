"""The home page through Streamlit's own test runner: default, every model and device, both ends, hostile links."""

from itertools import cycle, islice
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.catalog import gpus, models
from core.evaluate import evaluate
from core.presets import STORY, StoryPreset, story_index
from core.scenario import CACHE_NAMES, SPLITS, WEIGHT_NAMES, Scenario
from core.verdict import setting, verdict
from core.view import View
from tests import harness
from tests.harness import open_app, open_more, query, text
from ui import shell
from ui.text import escaped


def open_home(link: dict[str, str] | None = None) -> AppTest:
    return open_app(link)


def assert_sound(at: AppTest) -> None:
    harness.assert_sound(at, charts=2)


@pytest.fixture(scope="module")
def home() -> AppTest:
    """One session that the cheap cases share, as a student's long session would."""
    return open_home()


def test_untouched_it_teaches() -> None:
    at = open_home()
    assert_sound(at)
    assert query(at) == View(Scenario(batch=32)).to_query()
    assert not at.info
    shown = text(at)
    for words in ("The cache is 2.1 times the weights.", "34,359,738,368 B = 34.4 GB", "16,060,522,496 B = 16.1 GB"):
        assert words in shown
    assert "2,126 tokens/s" in shown


def test_every_model_and_every_gpu(home: AppTest) -> None:
    n = max(len(models()), len(gpus()))
    for model, gpu in islice(zip(cycle(models()), cycle(gpus()), strict=False), n):
        home.selectbox(key="model").set_value(model)
        home.selectbox(key="gpu").set_value(gpu).run()
        assert_sound(home)
        assert (query(home)["model"], query(home)["gpu"]) == (model, gpu)


ENDS = [
    ("number_input", "n_gpus", "gpus", (1, 1024)),
    ("select_slider", "batch", "batch", (1, 4096)),
    ("select_slider", "context", "context", (128, 8192)),
    ("select_slider", "kv_heads", "kv_heads", ("1", "32", "released")),
    ("selectbox", "weight_format", "weights", WEIGHT_NAMES),
    ("selectbox", "cache_format", "cache", CACHE_NAMES),
    ("slider", "reserve", "reserve", (0.0, 90.0)),
    ("number_input", "exact_batch", "batch", (1, 10**15)),
    ("number_input", "exact_context", "context", (1, 2**24)),
]


@pytest.mark.parametrize(
    ("kind", "key", "parameter", "value"),
    [(kind, key, parameter, value) for kind, key, parameter, values in ENDS for value in values],
)
def test_both_ends_of_every_control(kind: str, key: str, parameter: str, value: Any) -> None:
    at = open_more(open_home())
    getattr(at, kind)(key=key).set_value(value).run()
    assert_sound(at)
    assert query(at)[parameter] == (f"{value:g}" if isinstance(value, float) else str(value))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("model", ["llama-3-70b", "deepseek-v3", "qwen3-next-80b-a3b"])
def test_several_gpus(model: str, split: str) -> None:
    at = open_home(View(Scenario(model=model, n_gpus=4, split=split)).to_query())
    assert_sound(at)
    assert not at.info


def test_hidden_controls_keep_their_values() -> None:
    """The popover's widgets come and go; what they were set to stays."""
    at = open_more(open_home())
    at.slider(key="reserve").set_value(30.0).run()
    at.session_state["more"] = False
    at.run()
    assert not any(s.key == "reserve" for s in at.slider)
    at.select_slider(key="batch").set_value(8).run()
    assert query(at)["reserve"] == "30"
    assert open_more(at).slider(key="reserve").value == 30.0


def test_skip_embedding_raises_the_ceiling() -> None:
    at = open_home(View(Scenario(context=128)).to_query())
    assert "208.4 tokens/s" in text(at)
    open_more(at).toggle(key="skip_embedding").set_value(True).run()
    assert "222.9 tokens/s" in text(at)
    assert query(at)["skip_embedding"] == "1"


def test_unit_changes_labels_and_no_verdict() -> None:
    at = open_home()
    at.segmented_control(key="unit").set_value("GiB").run()
    assert_sound(at)
    assert query(at)["unit"] == "GiB"
    assert "34,359,738,368 B = 32.0 GiB" in text(at)
    assert "Up to 56 users" in text(at)


def test_mla_disables_kv_heads_with_a_reason() -> None:
    at = open_home(View(Scenario(model="deepseek-v3")).to_query())
    disabled = at.selectbox(key="kv_heads_none")
    assert disabled.disabled
    assert "MLA" in disabled.value
    assert not any(s.key == "kv_heads" for s in at.select_slider)


def test_two_released_widths_stay_released() -> None:
    at = open_home(View(Scenario(model="gemma-4-31b")).to_query())
    slider = at.select_slider(key="kv_heads")
    assert slider.value == "released"
    slider.set_value("8").run()
    assert query(at)["kv_heads"] == "8"
    assert "hypothetical" in text(at)


def test_preset_tiny_calculation() -> None:
    at = open_home()
    at.button(key="preset_tiny-calculation").click().run()
    assert_sound(at)
    assert query(at) == View(Scenario(batch=1, context=128)).to_query()
    assert at.select_slider(key="batch").value == 1
    assert "208.4 tokens/s" in text(at)


@pytest.mark.parametrize("preset", STORY, ids=lambda preset: preset.slug)
def test_every_step_of_the_story(preset: StoryPreset) -> None:
    at = open_home(View(Scenario(model="gpt2-small", context=64), "GiB").to_query())
    at.button(key=f"preset_{preset.slug}").click().run()
    assert_sound(at)
    assert query(at) == View(preset.scenario, "GiB").to_query()
    assert not at.info
    number = story_index(preset.scenario)
    assert number is not None
    assert f"**{number + 1}. {preset.title}**. {preset.line('GiB')}" in text(at)


@pytest.mark.parametrize("step", STORY, ids=lambda step: step.slug)
def test_projected_a_step_says_what_to_notice(step: StoryPreset) -> None:
    at = open_home(View(step.scenario, view="lecture").to_query())
    harness.assert_sound(at, charts=1)
    shown = text(at)
    number = STORY.index(step) + 1
    assert f"<b>{number}. {escaped(step.title)}</b>. {escaped(step.line())}" in shown
    assert setting(step.scenario) in shown
    assert ("reserve 0 %" in shown) is (step.scenario.reserve == 0)
    at.select_slider(key="batch").set_value(128).run()
    assert escaped(step.line()) not in text(at), "another scenario: there is nothing of it to notice"
    assert verdict(evaluate(step.scenario.replace(batch=128))).headline in text(at)


def test_one_button_leads_through_the_story_and_the_note_is_near_the_top() -> None:
    at = open_home()
    for number, step in enumerate(STORY, start=1):
        button = at.button(key="story_next")
        assert button.label == ("Start the story" if number == 1 else "Next step")
        button.click().run()
        assert_sound(at)
        assert query(at) == View(step.scenario).to_query()
        noticed = [html.proto.body for html in at.get("html") if 'class="noticed"' in html.proto.body]
        assert len(noticed) == 1
        assert f"<b>{number}. {escaped(step.title)}</b>. {escaped(step.line())}" in noticed[0]
    at.select_slider(key="batch").set_value(64).run()
    assert "(changed since; 10 brings it back)" in text(at)
    assert at.button(key="story_next").label == "Start the story"


def test_first_words_are_explained() -> None:
    at = open_home()
    helps = " ".join(element.proto.help for kind in ("select_slider", "caption") for element in at.get(kind))
    for words in ("**KV cache:**", "**Reserve:**", "**Weights:**", "sets of keys and values"):
        assert words in helps
    assert "intermediate results" in open_more(at).slider(key="reserve").help


def test_the_line_of_a_step_stays_while_its_scenario_is_played_with() -> None:
    at = open_home()
    assert "each with one thing to notice" in text(at)
    assert not any(step.line() in text(at) for step in STORY)
    at = open_home(View(STORY[2].scenario).to_query())  # by its link as by its button
    assert f"**3. {STORY[2].title}**. {STORY[2].line()}" in text(at)
    at.select_slider(key="batch").set_value(128).run()
    assert f"**3. {STORY[2].title}** (changed since; 3 brings it back). {STORY[2].line()}" in text(at)
    at.button(key=f"preset_{STORY[2].slug}").click().run()
    assert query(at)["batch"] == "64"
    assert "changed since" not in text(at)


def test_ten_steps_in_their_order() -> None:
    labels = [
        button.label.replace("\\", "") for button in open_home().button if (button.key or "").startswith("preset_")
    ]
    assert labels == [f"{number} {step.title}" for number, step in enumerate(STORY, start=1)]


def test_a_session_from_before_an_update_goes_on_from_its_link() -> None:
    """Streamlit keeps sessions when it loads a changed module: what they hold is then of a class of the past."""
    at = open_app(Scenario(batch=7).to_query())
    at.session_state[shell._KEPT] = object()
    at.run()
    assert not at.exception
    assert query(at)["batch"] == "7"
    assert at.select_slider(key="batch").value == 7


def test_a_smaller_model_clamps_and_says_so() -> None:
    at = open_home()
    at.select_slider(key="kv_heads").set_value("32").run()
    at.selectbox(key="model").set_value("gpt2-small").run()
    assert_sound(at)
    assert query(at)["context"] == "1024"
    assert query(at)["kv_heads"] == "released"
    said = at.info[0].value
    assert "1,024" in said
    assert "KV heads" in said
    at.select_slider(key="batch").set_value(2).run()
    assert not at.info  # said once, not for ever


def test_a_link_is_exact_and_its_values_become_stops() -> None:
    asked = View(Scenario(model="llama-3.1-8b", batch=33, context=20_001, kv_heads=8, reserve=0.125, n_gpus=3), "GiB")
    at = open_home(asked.to_query())
    assert_sound(at)
    assert query(at) == asked.to_query()
    assert not at.info
    open_more(at).selectbox(key="cache_format").set_value("fp8").run()
    assert query(at) == asked.to_query() | {"cache": "fp8"}


def test_context_beyond_the_model_is_a_named_what_if() -> None:
    at = open_home(View(Scenario(context=50_000)).to_query())
    assert query(at)["context"] == "50000"
    assert "50,000 tokens is a what-if" in text(at)


HOSTILE = [
    {"batch": "0"},
    {"batch": "-1", "context": "99999999999999999999999999"},
    {"batch": "1e9"},
    {"batch": "NaN", "reserve": "inf"},
    {"reserve": "-5"},
    {"reserve": "95"},
    {"model": "<script>alert(1)</script>"},
    {"model": "../../etc/passwd"},
    {"gpu": "h100 $\\frac{1}{0}$"},
    {"kv_heads": "7"},
    {"kv_heads": "three"},
    {"model": "deepseek-v3", "kv_heads": "8"},
    {"weights": "int3", "cache": "", "split": "diagonal"},
    {"gpus": "1000000"},
    {"unit": "furlongs"},
    {"skip_embedding": "yes"},
    {"context": "٣"},
    {"batch": "x" * 5000},
    {"context": " 4096\x00"},
]


@pytest.mark.parametrize("bad", HOSTILE, ids="-".join)
def test_hostile_links_are_mended_and_said(bad: dict[str, str]) -> None:
    at = open_home(View(Scenario()).to_query() | bad)
    assert_sound(at)
    assert len(at.info) == 1
    said = at.info[0].value.replace("\\", "")
    for key, value in bad.items():
        assert key in said or value == "deepseek-v3"
    assert len(said) < 600
    # What is now in the URL is a sound link: opened again it is silent.
    assert not open_home(query(at)).info


def test_missing_values_are_said_and_foreign_ones_kept() -> None:
    at = open_home({"batch": "7", "embed": "true"})
    assert_sound(at)
    assert "Not in the link" in at.info[0].value
    assert query(at)["batch"] == "7"
