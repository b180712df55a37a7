"""Every lesson page with every preset and both ends of its controls; predictions and cards."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import lessons, presets
from core.evaluate import evaluate
from core.lessons import LESSONS, Lesson
from core.misconceptions import MISCONCEPTIONS
from core.pool import pool
from core.predict import ask
from core.presets import Preset
from core.scenario import CACHE_NAMES, WEIGHT_NAMES, Scenario
from core.verdict import headline, setting
from core.view import View
from tests.harness import assert_sound, open_app, query, text

CHARTS = {
    "fewer-kv-heads": 4,
    "longer-context": 1,
    "more-users": 2,
    "two-phases": 3,
    "fewer-bits": 2,
    "experts": 2,
    "paged-cache": 3,
    "speculation": 3,
    "cut-the-bytes": 2,
}


def n_charts(slug: str, view: View) -> int:
    """Pictures on a page: none where the view leaves nothing to draw."""
    s = view.scenario
    empty = (
        (slug == "experts" and s.released_model.moe is None)
        or (slug == "paged-cache" and pool(view) is None)
        or (slug == "speculation" and view.draft_model is None)
    )
    return 0 if empty else CHARTS[slug]


FILES = {lesson.page: lessons.page(lesson.page).file for lesson in LESSONS}


def open_lesson(slug: str, view: View | None = None) -> AppTest:
    return open_app(view.to_query() if view else None, FILES[slug])


@pytest.mark.parametrize(
    ("lesson", "preset"),
    [(lesson, preset) for lesson in LESSONS for preset in lesson.presets],
    ids=lambda x: x.page if isinstance(x, Lesson) else x.slug,
)
def test_every_preset_of_every_page(lesson: Lesson, preset: Preset) -> None:
    at = open_lesson(lesson.page)
    at.button(key=f"preset_{preset.slug}").click().run()
    assert_sound(at, charts=n_charts(lesson.page, View(preset.scenario)))
    assert query(at) == View(preset.scenario).to_query()
    assert not at.info


def ends_of(at: AppTest, kind: str, key: str) -> list[Any]:
    """Both ends of a control as it is drawn now; nothing where the model leaves no choice."""
    found = [widget for widget in at.get(kind) if widget.key == key]
    if not found:
        return []
    widget = found[0]
    if kind == "slider":
        return [int(widget.min), int(widget.max)]
    labels = [widget.options[0], widget.options[-1]]
    if key == "kv_heads":
        return ["released" if "released" in label else label for label in labels]
    return [int(label.replace(",", "")) for label in labels] if kind == "select_slider" else []


@pytest.mark.parametrize(
    ("lesson", "preset"),
    [(lesson, preset) for lesson in LESSONS for preset in (lesson.presets[0], lesson.presets[-1])],
    ids=lambda x: x.page if isinstance(x, Lesson) else x.slug,
)
def test_presets_at_both_ends_of_the_page_s_controls(lesson: Lesson, preset: Preset) -> None:
    at = open_lesson(lesson.page, View(preset.scenario))
    for kind, key, _ in ENDS[lesson.page]:
        for value in ends_of(at, kind, key):
            getattr(at, kind)(key=key).set_value(value).run()
            assert not at.exception
            assert query(at)[PARAMETERS.get(key, key)] == str(value)
            assert "nan" not in text(at).lower().split()


ENDS: dict[str, list[tuple[str, str, tuple[Any, ...]]]] = {
    "fewer-kv-heads": [("select_slider", "batch", (1, 4096)), ("select_slider", "kv_heads", ("1", "32"))],
    "longer-context": [("select_slider", "batch", (1, 4096)), ("select_slider", "context", (128, 8192))],
    "more-users": [("select_slider", "batch", (1, 4096)), ("select_slider", "context", (128, 8192))],
    "two-phases": [
        ("select_slider", "batch", (1, 4096)),
        ("select_slider", "context", (128, 8192)),
        ("select_slider", "output", (1, 16_384)),
    ],
    "fewer-bits": [
        ("selectbox", "weight_format", WEIGHT_NAMES),
        ("selectbox", "cache_format", CACHE_NAMES),
    ],
    "experts": [("select_slider", "batch", (1, 4096)), ("select_slider", "context", (128, 32_768))],
    "paged-cache": [("select_slider", "block", (1, 256)), ("slider", "mean", (1, 100)), ("slider", "spread", (0, 150))],
    "speculation": [
        ("slider", "draft_length", (0, 16)),
        ("slider", "acceptance", (0, 100)),
        ("select_slider", "batch", (1, 4096)),
    ],
    "cut-the-bytes": [("select_slider", "batch", (1, 4096)), ("select_slider", "context", (128, 8192))],
}
STARTS = {"experts": presets.MIXTRAL_CROWD.scenario}
PARAMETERS = {"weight_format": "weights", "cache_format": "cache"}


@pytest.mark.parametrize(
    ("slug", "kind", "key", "value"),
    [(slug, kind, key, value) for slug, ends in ENDS.items() for kind, key, values in ends for value in values],
)
def test_both_ends(slug: str, kind: str, key: str, value: Any) -> None:
    at = open_lesson(slug, View(STARTS.get(slug, presets.OPENING)))
    getattr(at, kind)(key=key).set_value(value).run()
    assert_sound(at, charts=CHARTS[slug])
    assert query(at)[PARAMETERS.get(key, key)] == str(value)


UNUSUAL = [
    Scenario(model="deepseek-v3", n_gpus=16, split="layer", batch=3),
    Scenario(model="gemma-4-31b", batch=64, context=100_000),
    Scenario(model="qwen3.5-397b-a17b", gpu="b200", n_gpus=8, batch=1000, context=1),
    Scenario(model="falcon-7b", gpu="apple-m1", batch=10**15, context=2**24),
    Scenario(model="phi-3-mini", gpu="t4", kv_heads=32, reserve=0.9),
    Scenario(model="gpt2-small", weight_format="int4", cache_format="q4_0", batch=5, context=1),
    Scenario(model="deepseek-v3.2", gpu="gb300", n_gpus=1024, batch=7, context=200_000),
]


@pytest.mark.parametrize("slug", FILES)
@pytest.mark.parametrize("scenario", UNUSUAL, ids=lambda s: s.released_model.slug)
def test_unusual_scenarios(slug: str, scenario: Scenario) -> None:
    view = View(scenario, "GiB", reveal=True, output=77, draft_length=9, acceptance=100, block=3, spread=150, seed=999)
    at = open_lesson(slug, view)
    assert_sound(at, charts=n_charts(slug, view))
    assert query(at) == view.to_query()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_predict_then_reveal(lesson: Lesson) -> None:
    view = View(STARTS.get(lesson.page, presets.OPENING))
    at = open_lesson(lesson.page, view)
    asked = ask(lesson.prediction, view)
    assert asked is not None
    right = asked.claims[asked.right]
    assert "The formulas say:" not in text(at)
    wrong = next(claim for claim in asked.claims if claim != right)
    at.radio[0].set_value(wrong).run()
    assert f"Not quite: **{right}**" in text(at)
    at.radio[0].set_value(right).run()
    assert f"As you predicted: **{right}**" in text(at)
    assert " | ".join(asked.header[1:]) in text(at)
    before = query(at)
    other = next(preset for preset in lesson.presets if preset.scenario != view.scenario)
    at.button(key=f"preset_{other.slug}").click().run()  # a new question: the old answer is gone
    assert at.radio[0].value is None
    assert before["reveal"] == "0"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_reveal_in_the_link_shows_answers_at_once(lesson: Lesson) -> None:
    at = open_lesson(lesson.page, View(STARTS.get(lesson.page, presets.OPENING), reveal=True))
    assert "The formulas say:" in text(at)
    for slug in lesson.misconceptions:
        assert MISCONCEPTIONS[slug].explain("GB") in text(at)
    at.toggle(key="reveal").set_value(False).run()
    assert "The formulas say:" not in text(at)
    assert query(at)["reveal"] == "0"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
@pytest.mark.parametrize("batch", [1, 4096])
def test_projected_a_lesson_says_what_is_looked_at_and_that_it_does_not_fit(lesson: Lesson, batch: int) -> None:
    scenario = Scenario(model="mixtral-8x7b", n_gpus=2, batch=batch, context=4096, reserve=0.2, cache_format="fp8")
    at = open_lesson(lesson.page, View(scenario, "GiB", view="lecture"))
    assert not at.exception
    shown = text(at)
    assert "Mixtral 8x7B on 2 × NVIDIA H100 SXM5, " in shown
    assert ", cache in FP8, reserve 20 %." in shown
    said = headline(evaluate(scenario).memory, "GiB")
    if lesson.page == "paged-cache":  # its users are those that fit
        assert "requests of up to 4,096 tokens" in shown
        assert said not in shown
    else:
        assert setting(scenario) in shown
        assert (said in shown) is (batch == 4096 or lesson.page == "longer-context")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_cards_test_their_claim(lesson: Lesson) -> None:
    for slug in lesson.misconceptions:
        at = open_lesson(lesson.page)
        card = MISCONCEPTIONS[slug]
        at.radio(key=f"card_{slug}").set_value("true").run()
        assert f"**False.** {card.explain('GB')}" in text(at)
        at.button(key=f"test_{slug}").click().run()
        assert query(at) == View(card.preset.scenario).to_query()
        assert_sound(at, charts=n_charts(lesson.page, View(card.preset.scenario)))


def test_the_issue_s_sentences() -> None:
    users = text(open_lesson("more-users", View(Scenario())))
    assert "Beyond 393 tokens of context no batch is compute-bound" in users
    assert "never passes 3,120 tokens/s: the caches alone" in users
    context = text(open_lesson("longer-context", View(Scenario(model="llama-3.1-8b", context=131_072))))
    assert "passes the weights at 122,532 tokens" in context
    phases = text(open_lesson("two-phases", View(Scenario())))
    assert "needs 295 FLOPs a byte" in phases
    assert "Attention in decode does 4.00, whatever the batch: too few." in phases
    assert "989.4 TFLOP/s / 3.35 TB/s | 295.3 FLOP/byte" in phases
