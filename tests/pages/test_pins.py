"""Pin and compare on the home page and every lesson: pin, change, read the sentence, share the link, unpin."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import lessons, presets
from core.changes import SAME, changes
from core.lessons import LESSONS
from core.pinned import pin_label
from core.pins import PINS_KEY, PINS_MAX, pins_query
from core.scenario import Scenario
from core.view import View
from tests.harness import assert_sound, open_app, query, text
from tests.pages.test_lessons import CHARTS, n_charts

FILES: dict[str, str | None] = {"home": None} | {lesson.page: lessons.page(lesson.page).file for lesson in LESSONS}
STARTS = {"experts": presets.MIXTRAL_CROWD.scenario, "speculation": presets.DRAFT_FOR_70B.scenario}
# Page -> a slider of the scenario that it shows, and a value to move it to.
MOVES: dict[str, tuple[str, str, Any]] = {
    "home": ("select_slider", "batch", 16),
    "fewer-kv-heads": ("select_slider", "kv_heads", "1"),
    "longer-context": ("select_slider", "context", 1024),
    "more-users": ("select_slider", "batch", 256),
    "two-phases": ("select_slider", "context", 128),
    "fewer-bits": ("selectbox", "weight_format", "int4"),
    "experts": ("select_slider", "batch", 2),
    "speculation": ("select_slider", "batch", 64),
    "cut-the-bytes": ("select_slider", "batch", 4),
}


def open_page(slug: str, view: View) -> AppTest:
    return open_app(view.to_query(), FILES[slug])


def there(at: AppTest) -> set[str]:
    """The pin's buttons on the page."""
    return {button.key for button in at.button} & {"pin", "unpin"}


def alts(at: AppTest) -> list[str]:
    return [chart.proto.alt for chart in at.get("plotly_chart")]


def said(before: Scenario, after: Scenario) -> str:
    change = changes(before, after)
    return f"<b>{change.what()}:</b> {change.figures()}"


def charts_on(slug: str, view: View) -> int:
    return 2 if slug == "home" else n_charts(slug, view)


@pytest.mark.parametrize("slug", FILES)
def test_pin_change_read_share_unpin(slug: str) -> None:
    start = STARTS.get(slug, presets.OPENING)
    at = open_page(slug, View(start))
    assert there(at) == {"pin"}
    assert PINS_KEY not in query(at)
    assert "Against the pin" not in text(at)

    at.button(key="pin").click().run()
    assert_sound(at, charts=charts_on(slug, View(start)))
    assert query(at)[PINS_KEY] == pins_query((start,))[PINS_KEY]
    assert there(at) == {"unpin"}
    assert SAME in text(at)
    assert not any("pinned" in alt for alt in alts(at))

    if slug in MOVES:
        kind, key, value = MOVES[slug]
        getattr(at, kind)(key=key).set_value(value).run()
        field = {"kv_heads": int}.get(key, lambda x: x)(value)
        after = start.replace(**{key: field})
    else:  # a page without a control of the scenario itself: by a preset
        at.button(key="preset_opt-13b").click().run()
        after = presets.OPT_13B.scenario
    assert_sound(at, charts=charts_on(slug, View(after)))
    assert there(at) == {"pin", "unpin"}
    assert said(start, after) in text(at)
    drawn = [chart.proto for chart in at.get("plotly_chart") if "pinned" in chart.proto.spec]
    assert drawn
    assert all("Against the pin" in chart.alt for chart in drawn)

    link = query(at)
    shared = open_app(link, FILES[slug])  # a before/after slide is linkable
    assert query(shared) == link == View(after, pins=(start,)).to_query()
    assert said(start, after) in text(shared)
    assert not shared.info
    for one, other in zip(at.get("plotly_chart"), shared.get("plotly_chart"), strict=True):
        assert one.proto.spec == other.proto.spec

    at.button(key="unpin").click().run()
    assert query(at) == View(after).to_query()
    assert there(at) == {"pin"}
    assert "Against the pin" not in text(at)
    assert not any("pinned" in chart.proto.spec for chart in at.get("plotly_chart"))
    assert_sound(at, charts=charts_on(slug, View(after)))


DENSE, EXPERTS = Scenario(batch=32), Scenario(model="mixtral-8x7b", n_gpus=2, batch=4, context=4096)
ACROSS = [
    (DENSE, Scenario(model="llama-3-70b", gpu="a100-80gb-sxm", n_gpus=4, split="layer", batch=8, weight_format="fp8")),
    (DENSE, EXPERTS),
    (EXPERTS, DENSE),
    (Scenario(kv_heads=1), Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8)),
    (Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8), Scenario(kv_heads=4)),
    (Scenario(batch=10**15, context=2**24), Scenario(model="gpt2-small", gpu="apple-m1", context=1, reserve=0.9)),
    (Scenario(model="gpt2-small", gpu="t4", context=1), Scenario(batch=10**15, context=2**24, n_gpus=1024)),
    (Scenario(model="phi-4"), Scenario(model="qwen3-32b", n_gpus=2, batch=4, skip_embedding=True, cache_format="q4_0")),
]


@pytest.mark.parametrize("slug", FILES)
@pytest.mark.parametrize(("pin", "now"), ACROSS, ids=[str(i) for i in range(len(ACROSS))])
def test_pinned_from_elsewhere(slug: str, pin: Scenario, now: Scenario) -> None:
    """Other model, GPU, experts or none, heads or none, and both ends of everything."""
    view = View(now, "GiB", pins=(pin,), reveal=True)
    at = open_page(slug, view)
    assert_sound(at, charts=charts_on(slug, view))
    assert query(at) == view.to_query()
    assert said(pin, now) in text(at)
    assert not at.info


@pytest.mark.parametrize("slug", FILES)
def test_the_last_of_four_is_shown_and_a_fifth_takes_its_place(slug: str) -> None:
    held = tuple(Scenario(batch=batch) for batch in (2, 3, 5, 7))
    now = Scenario(batch=11)
    at = open_page(slug, View(now, pins=held))
    assert said(held[-1], now) in text(at)
    at.button(key="pin").click().run()
    assert not at.exception
    assert query(at) == View(now, pins=(*held[: PINS_MAX - 1], now)).to_query()
    at.button(key="unpin").click().run()
    assert said(held[-2], now) in text(at)  # the one before it is the last now


def test_pinning_what_is_pinned_already_makes_it_the_last() -> None:
    one, two = Scenario(batch=2), Scenario(batch=3)
    at = open_page("home", View(one, pins=(one, two)))
    assert said(two, one) in text(at)
    at.button(key="pin").click().run()
    assert query(at) == View(one, pins=(two, one)).to_query()
    assert SAME in text(at)


def test_the_pin_travels_from_page_to_page_and_keeps_the_prediction() -> None:
    at = open_page("more-users", View(Scenario(batch=16)))
    answer = at.radio[0].options[0]
    at.radio[0].set_value(answer).run()
    at.button(key="pin").click().run()
    assert at.radio[0].value == answer  # pinning is no new question
    at.select_slider(key="batch").set_value(64).run()
    shown = query(at)
    at = open_app(shown, FILES["longer-context"])
    assert said(Scenario(batch=16), Scenario(batch=64)) in text(at)


def test_numbers_of_both_bars_stand_beneath_them() -> None:
    shown = text(open_page("home", View(Scenario(batch=16), pins=(Scenario(batch=8),))))
    assert "KV cache 17.2 GB" in shown
    assert "Pinned: weights 16.1 GB · KV cache 8.59 GB · reserve 8.55 GB · free 52.3 GB · capacity 85.5 GB." in shown


@pytest.mark.parametrize("slug", FILES)
def test_the_pin_is_named_and_several_lead_to_all_of_them(slug: str) -> None:
    one, two, now = Scenario(batch=8), Scenario(model="llama-3-70b", n_gpus=4), Scenario(batch=16)
    compare = lessons.page("compare").question

    def links(at: AppTest) -> list[str]:
        return [link.proto.label for link in at.get("page_link") if "side by side" in link.proto.label]

    at = open_page(slug, View(now, pins=(one, two)))
    assert f"Pinned: {pin_label(two)}." in text(at)
    assert links(at) == [f"The pictures show the last of 2 pins. All side by side: {compare}"]
    at.button(key="unpin").click().run()
    assert f"Pinned: {pin_label(one)}." in text(at)
    assert links(at) == []


def test_in_lecture_view_the_sentence_is_short_and_above_the_fold() -> None:
    view = View(Scenario(batch=16), view="lecture", pins=(Scenario(batch=8),))
    for slug in FILES:
        at = open_page(slug, view)
        assert not at.exception
        if slug not in ("experts", "speculation"):
            assert "<b>Against the pin, users 8 to 16:</b> cache ×2.0, weights ×1, tokens/s together ×1.5." in text(at)


def test_every_lesson_with_a_picture_is_covered() -> None:
    assert set(CHARTS) == set(FILES) - {"home"}
    assert set(MOVES) == set(FILES) - {"paged-cache"}
