"""A walk through the app as a student and an instructor take it: by link, by keyboard, on their screens."""

import re
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from core import lessons, presets
from core.catalog import models
from core.lecture import PLAN
from core.predict import ask
from core.scenario import Scenario
from core.view import View
from tests.browser.conftest import Screenshot
from tests.browser.explorer import BACKGROUNDS, BAR, CEILING, PLOTS, SHORT, UNUSUAL, Explorer, bottom

pytestmark = pytest.mark.browser

SCREENS = ((1280, 720), (390, 844), (1920, 1080))


def test_a_link_fills_every_control(tab: Explorer) -> None:
    tab.open(UNUSUAL)
    expect(tab.slider("Users (batch)")).to_have_attribute("aria-valuetext", "33")
    expect(tab.slider("Context length (tokens)")).to_have_attribute("aria-valuetext", "20,001")
    expect(tab.slider("KV heads")).to_have_attribute("aria-valuetext", "16")
    assert "GiB" in tab.charts[BAR]
    tab.open_popover("More assumptions")
    for label, shown in {"Exact users": "33", "Exact context": "20001"}.items():
        expect(tab.page.get_by_role("spinbutton", name=label)).to_have_value(shown)
    expect(tab.slider("Reserve")).to_have_attribute("aria-valuetext", "12.5 %")
    expect(tab.page.get_by_role("switch")).to_be_checked()
    for label, shown in {"Weight": "FP8", "Cache": "INT4", "How several": "pipeline"}.items():
        expect(tab.page.get_by_role("combobox", name=label)).to_have_value(re.compile(shown))
    tab.page.keyboard.press("Escape")
    # A widget that had been filled with its default would send that along now.
    with tab.turning(batch="64"):
        tab.press(tab.slider("Users (batch)"), "ArrowRight")


def test_tab_reaches_the_controls_in_reading_order(tab: Explorer) -> None:
    tab.open(SHORT)
    wanted = ["Pages", "Model", "GPU", "GPUs", "More assumptions", "GB", "Users (batch)", "Context length (tokens)"]
    wanted += ["KV heads", *(f"{n} {step.title}" for n, step in enumerate(presets.STORY, start=1)), "Download as CSV"]
    reached: list[str] = []
    for _ in range(40):
        tab.page.keyboard.press("Tab")
        # Buttons by their last words: the icon's name is text too.
        name = tab.page.evaluate(
            """() => { const e = document.activeElement;
                       return e.getAttribute('aria-label') ?? e.querySelector('p')?.innerText ?? e.innerText; }"""
        )
        if name in wanted and name not in reached:
            reached.append(name)
    assert reached == wanted


def test_every_control_by_keyboard(tab: Explorer, screenshot: Screenshot) -> None:
    tab.open(SHORT)
    with tab.turning(batch="2"):
        tab.press(tab.slider("Users (batch)"), "ArrowRight")
    with tab.turning(context="512"):
        tab.press(tab.slider("Context length (tokens)"), "ArrowLeft")
    with tab.turning(kv_heads="16"):
        tab.press(tab.slider("KV heads"), "ArrowRight")
    with tab.turning(kv_heads="released"):
        tab.press(tab.slider("KV heads"), "ArrowLeft")
    with tab.turning(model="llama-3.1-70b"):
        tab.choose("Model", "Llama 3.1 70B")
    with tab.turning(gpu="mi300x"):
        tab.choose("GPU", "MI300X")
    gpus = tab.page.get_by_role("spinbutton", name="GPUs", exact=True)
    with tab.turning(gpus="2"):
        tab.press(gpus, "ArrowUp", "Enter")
    with tab.turning(gpus="4"):
        tab.enter_number("GPUs", 4)
    with tab.turning(frozenset({BAR}), unit="GiB"):
        tab.press(tab.page.get_by_role("radio", name="GB", exact=True), "ArrowRight", "Enter")

    tab.open_popover("More assumptions")
    with tab.turning(weights="fp8"):
        tab.choose("Weight format", "FP8")
    with tab.turning(cache="q8_0"):
        tab.choose("Cache format", "Q8_0")
    with tab.turning(frozenset({CEILING}), split="layer"):  # 4 GPUs, 8 KV heads: nothing is replicated either way
        tab.choose("How several GPUs split the model", "pipeline")
    with tab.turning(frozenset({BAR}), reserve="10.5"):  # so much memory that its end lies beyond the ceiling chart
        tab.press(tab.slider("Reserve"), "ArrowRight")
    with tab.turning(frozenset({CEILING}), skip_embedding="1"):
        tab.press(tab.page.get_by_role("switch", name="Skip the input-embedding lookup"), "Space")
    with tab.turning(batch="77"):
        tab.enter_number("Exact users", 77)
    with tab.turning(context="3001"):
        tab.enter_number("Exact context", 3001)
    screenshot(tab.page, "assumptions")
    tab.page.keyboard.press("Escape")
    expect(tab.slider("Users (batch)")).to_have_attribute("aria-valuetext", "77")
    expect(tab.slider("Context length (tokens)")).to_have_attribute("aria-valuetext", "3,001")

    url, charts = tab.page.url, tab.charts
    tab.page.reload()
    tab.settle()
    assert tab.page.url == url
    assert tab.charts == charts
    expect(tab.page.get_by_test_id("stAlert")).to_have_count(0)


def test_quick_key_presses_lose_nothing(tab: Explorer) -> None:
    tab.open(SHORT)
    with tab.turning(batch="256"):
        tab.press(tab.slider("Users (batch)"), *["ArrowRight"] * 8)
    expect(tab.slider("Users (batch)")).to_have_attribute("aria-valuetext", "256")


def test_back_is_undo(tab: Explorer) -> None:
    tab.open(SHORT)
    users = tab.slider("Users (batch)")
    seen = {"1": tab.charts}
    for batch in ("2", "4", "8"):
        with tab.turning(batch=batch):
            tab.press(users, "ArrowRight")
        seen[batch] = tab.charts
    for batch in ("4", "2", "1"):
        with tab.turning(batch=batch):
            tab.page.go_back(wait_until="commit")
        assert tab.charts == seen[batch]
        expect(users).to_have_attribute("aria-valuetext", batch)


def test_the_scenario_goes_along_to_another_page_and_back(tab: Explorer, screenshot: Screenshot) -> None:
    tab.open(UNUSUAL)
    query, charts = tab.query, tab.charts
    tab.follow(lessons.page("sources").question)
    expect(tab.page.get_by_role("heading", name=lessons.page("sources").question)).to_be_visible()
    tab.settle(0)
    screenshot(tab.page, "sources")
    assert urlsplit(tab.page.url).path == "/sources"
    assert tab.query == query

    tab.follow(lessons.page("home").question)
    tab.settle()
    assert urlsplit(tab.page.url).path == "/"
    assert tab.query == query
    assert tab.charts == charts

    with tab.turning(batch="64"):  # and the page is alive
        tab.press(tab.slider("Users (batch)"), "ArrowRight")


def test_a_preset_opens_its_scenario(tab: Explorer) -> None:
    tab.open(UNUSUAL)
    preset = presets.TINY_CALCULATION
    tab.press(tab.page.get_by_role("button", name=preset.title), "Enter")
    tab.wait_for(**preset.scenario.to_query())
    tab.settle()
    expect(tab.slider("Users (batch)")).to_have_attribute("aria-valuetext", "1")
    assert tab.query == View(preset.scenario, UNUSUAL.unit).to_query()


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: "{}x{}".format(*screen))
def test_it_fits_the_screen(tab: Explorer, screenshot: Screenshot, screen: tuple[int, int]) -> None:
    width, height = screen
    page = tab.page
    page.set_viewport_size({"width": width, "height": height})
    tab.open()
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", BACKGROUNDS[scheme])
        tab.settle(2)
        screenshot(page, f"home-{width}x{height}-{scheme}")
    tab.assert_no_sideways_scrolling()
    for plot in page.locator(PLOTS).all():
        box = plot.bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= width
        assert box["width"] > 0.5 * min(width, 800)
    if screen == SCREENS[0]:
        labels = ("Model", "GPU", "GPUs", "Users (batch)", "Context length (tokens)", "KV heads")
        controls = [page.get_by_label(label, exact=True) for label in labels]
        controls += [page.get_by_role("button", name="More assumptions"), page.get_by_role("radio", name="GiB")]
        shown = [page.locator("h1"), *controls, page.locator(PLOTS).nth(BAR), page.locator(".verdict")]
        for target in [*shown, page.locator(PLOTS).nth(CEILING)]:
            assert bottom(target) <= height, f"{target} is below the first screen"
    # Once more at full length, for people to look at.
    page.set_viewport_size({"width": width, "height": page.get_by_test_id("stMain").evaluate("e => e.scrollHeight")})
    tab.settle()
    screenshot(page, f"home-{width}x{height}-whole")


def test_the_lessons_lead_from_one_to_the_next(tab: Explorer, screenshot: Screenshot) -> None:
    """By their "Next" links, from the first lesson back home: the scenario goes along, every picture is drawn."""
    first = lessons.LESSONS[0].page
    tab.open(UNUSUAL, first)
    asked = tab.query
    slug = first
    while slug != "home":
        screenshot(tab.page, f"next-{slug}")
        following = lessons.page(lessons.lesson(slug).next_page)
        tab.page.get_by_role("link", name=f"Next: {following.question}").click()
        expect(tab.heading).to_have_text(following.question)
        tab.settle()
        assert tab.query == asked
        # Not only the URL: what the widgets show must have come along too.
        for label, shown in (("Users", "33"), ("Context length", "20,001"), ("Prompt length", "20,001")):
            for slider in tab.slider(label).all():
                expect(slider).to_have_attribute("aria-valuetext", shown)
        for model in tab.page.get_by_role("combobox", name="Model", exact=True).all():
            expect(model).to_have_value("Llama 3.1 70B")
        expect(tab.page.get_by_role("radio", name="GiB", exact=True)).to_be_checked()
        slug = following.slug


def test_predict_then_reveal_by_keyboard(tab: Explorer) -> None:
    tab.open(SHORT, "longer-context")
    asked = ask(lessons.lesson("longer-context").prediction, SHORT)
    assert asked is not None
    expect(tab.page.get_by_text("Choose first, then see.")).to_be_visible()
    tab.press(tab.page.get_by_role("radio", name=asked.claims[asked.right]), "Space")
    expect(tab.page.get_by_text("As you predicted:")).to_be_visible()
    tab.press(tab.page.get_by_role("radio", name=asked.claims[asked.right - 1]), "Space")
    expect(tab.page.get_by_text("Not quite:")).to_be_visible()


def test_a_released_number_stays_released_from_model_to_model(tab: Explorer) -> None:
    """The browser knows an option by its label, and "8 (released)" becomes "32 (released)"."""
    tab.open(SHORT)
    heads = tab.slider("KV heads")
    for slug in ("llama-2-7b", "qwen2.5-7b", "gpt2-xl", "palm-540b-mha-pope", "llama-3-8b"):
        model = models()[slug]
        with tab.turning(model=slug):
            tab.choose("Model", model.label)
        expect(heads).to_have_attribute("aria-valuetext", f"{model.released_kv_heads[0]} (released)")
    with tab.turning(batch="2"):
        tab.press(tab.slider("Users"), "ArrowRight")
    expect(heads).to_have_attribute("aria-valuetext", "8 (released)")


def test_the_released_format_stays_chosen_from_model_to_model(tab: Explorer) -> None:
    tab.open(SHORT, "fewer-bits")
    chosen = tab.page.get_by_role("combobox", name="Weight format")
    for slug in ("gpt2-xl", "deepseek-v3", "llama-2-7b"):
        with tab.turning(model=slug):
            tab.choose("Model", models()[slug].label)
        native = Scenario(model=slug).weight_format_spec.label
        expect(chosen).to_have_value(f"as released: {native}")


def test_a_link_opened_after_back_sets_the_sliders_too(tab: Explorer) -> None:
    """The plan's links are followed and left by the browser's Back; the session, with all it remembers, is the same."""
    plan = lessons.page("instructor").question
    first, second = PLAN[0].view, PLAN[1].view
    tab.open(first.replace(scenario=second.scenario, view="page"))  # the page after Back asks for what link 2 asks
    tab.page.get_by_role("button", name="Pages").click()
    tab.page.get_by_role("link", name=plan).click()
    for view in (first, second):
        expect(tab.heading).to_have_text(plan)
        tab.settle()
        tab.page.locator(f"a[href*='{urlencode({'batch': view.scenario.batch})}&']").first.click()
        expect(tab.heading).not_to_have_text(plan)
        tab.settle()
        expect(tab.slider("Users")).to_have_attribute("aria-valuetext", f"{view.scenario.batch:,}")
        tab.page.go_back()


def test_a_control_that_went_away_comes_back_with_its_value(tab: Explorer) -> None:
    tab.open(SHORT)
    heads = tab.slider("KV heads")
    expect(heads).to_have_attribute("aria-valuetext", "8 (released)")
    with tab.turning(model="deepseek-v3"):
        tab.choose("Model", "DeepSeek-V3 / R1")
    expect(heads).to_have_count(0)
    with tab.turning(model="llama-3-8b"):
        tab.choose("Model", "Llama 3 8B")
    expect(heads).to_have_attribute("aria-valuetext", "8 (released)")
    with tab.turning(kv_heads="16"):
        tab.press(heads, "ArrowRight")
