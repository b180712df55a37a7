"""The lecture hall: the projector's view, keys, the link and its QR code, an iframe on a course page."""

import io
import statistics
from typing import Literal
from urllib.parse import urlencode

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from core import lessons
from core.evaluate import evaluate
from core.presets import STORY, StoryPreset
from core.scenario import Scenario
from core.verdict import headline, setting
from core.view import LOOKS, Look, View
from tests.browser.conftest import Screenshot

pytestmark = pytest.mark.browser

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
PROJECTED = ("home", *(lesson.page for lesson in lessons.LESSONS))
OPENING = View(Scenario(batch=32), view="lecture")
# Long words everywhere: what does not fit, several GPUs, a what-if, eight digits.
EXTREME = View(
    Scenario(model="llama-4-maverick", gpu="h200-sxm", n_gpus=3, batch=4_096, context=131_072, kv_heads=40),
    view="lecture",
)
# A pin from which much differs: three lines of words more.
PINNED = View(
    Scenario(model="llama-3-70b", n_gpus=4, batch=64, kv_heads=64, reserve=0, weight_format="fp8", cache_format="fp8"),
    view="lecture",
    pins=(Scenario(batch=2), Scenario(batch=8, context=1024)),
)
VIEWS = {"opening": OPENING, "extreme": EXTREME, "pinned": PINNED}
PHONE = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"


def settle(page: Page) -> None:
    page.wait_for_selector(IDLE)
    page.wait_for_function(
        """() => !document.querySelector('[data-testid=stSkeleton]') &&
        [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.querySelector('.trace, .hm'))"""
    )


def open_page(page: Page, server: str, slug: str, view: View) -> None:
    file = lessons.page(slug).file
    path = "" if slug == "home" else file.removeprefix("pages/").removesuffix(".py")
    page.goto(f"{server}/{path}?{urlencode(view.to_query())}")
    settle(page)


# What opens says least: on two pages it stands for itself, on the others the longer ones stand for it.
@pytest.mark.parametrize(
    ("slug", "view"),
    [
        pytest.param(slug, view, id=f"{slug}-{name}")
        for place, slug in enumerate(PROJECTED)
        for name, view in VIEWS.items()
        if name != "opening" or place < 2
    ],
)
def test_nothing_scrolls_on_a_projector(page: Page, server: str, screenshot: Screenshot, slug: str, view: View) -> None:
    open_page(page, server, slug, view)
    screenshot(page, f"lecture-{slug}-{view.scenario.batch}")
    main = page.locator("[data-testid=stMain]")
    height, width = main.evaluate("e => [e.scrollHeight - e.clientHeight, e.scrollWidth - e.clientWidth]")
    assert height <= 0, f"{height} px too high"
    assert width <= 0
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "24px"
    sizes = page.locator(".figures.strip b").evaluate_all(
        "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert all(size >= 32 for size in sizes)
    expect(page.get_by_role("heading", level=1)).to_have_text(lessons.page(slug).question)
    assert page.locator(".js-plotly-plot").count() >= 1 or slug in ("experts", "speculation", "paged-cache")


def test_home_shows_one_chart_and_three_controls(page: Page, server: str) -> None:
    open_page(page, server, "home", OPENING)
    assert page.locator(".js-plotly-plot").count() == 1
    assert page.locator("input[type=range]").count() == 3
    assert page.get_by_role("combobox").count() == 0
    expect(page.locator(".verdict")).to_be_visible()
    assert page.locator(".figures.strip b").count() == 3


def test_a_phone_gets_the_whole_page_from_a_lecture_link(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, user_agent=PHONE)
    page = context.new_page()
    open_page(page, server, "home", OPENING)
    expect(page.get_by_role("heading", name="The arithmetic")).to_be_attached()
    assert "view=page" in page.url
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "16px"
    context.close()


def test_next_back_and_lecture_view_by_key(page: Page, server: str) -> None:
    open_page(page, server, "more-users", OPENING)
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text(lessons.page("two-phases").question)
    settle(page)
    assert "view=lecture" in page.url
    page.keyboard.press("b")
    expect(page.get_by_role("heading", level=1)).to_have_text(lessons.page("more-users").question)
    settle(page)
    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="The arithmetic")).to_be_attached()
    assert "view=page" in page.url


def test_letters_can_be_switched_off_and_ctrl_alt_works_beside_a_slider(page: Page, server: str) -> None:
    open_page(page, server, "more-users", View(Scenario(batch=32)))
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_text("next page", exact=True)).to_be_visible()
    page.get_by_role("radio", name="Ctrl+Alt").click()
    settle(page)
    page.keyboard.press("Escape")
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("n")
    page.wait_for_timeout(500)
    expect(page.get_by_role("heading", level=1)).to_have_text(lessons.page("more-users").question)
    page.keyboard.press("Control+Alt+n")
    expect(page.get_by_role("heading", level=1)).to_have_text(lessons.page("two-phases").question)


@pytest.mark.parametrize("step", STORY, ids=lambda step: step.slug)
def test_every_step_of_the_story_says_what_to_notice_and_does_not_scroll(
    page: Page, server: str, screenshot: Screenshot, step: StoryPreset
) -> None:
    open_page(page, server, "home", View(step.scenario, view="lecture"))
    screenshot(page, f"lecture-story-{step.slug}")
    number = STORY.index(step) + 1
    expect(page.locator(".noticed")).to_have_text(f"{number}. {step.title}. {step.line()}")
    height = page.locator(".noticed").evaluate("e => e.getBoundingClientRect().height")
    assert height < 60, "more than two lines"
    assert page.locator("[data-testid=stMain]").evaluate("e => e.scrollHeight - e.clientHeight") <= 0


def test_a_lesson_says_that_it_does_not_fit(page: Page, server: str) -> None:
    for scenario in (Scenario(batch=32, kv_heads=32), Scenario(batch=32)):
        open_page(page, server, "two-phases", View(scenario, view="lecture"))
        line = page.get_by_text(setting(scenario))
        expect(line).to_be_visible()
        said = headline(evaluate(scenario))
        expect(line).to_have_text(f"{said} {setting(scenario)}" if "not" in said else setting(scenario))


def within(inner: Locator, outer: Locator) -> bool:
    """Whether all of one is drawn inside the other."""
    a, b = inner.bounding_box(), outer.bounding_box()
    assert a is not None
    assert b is not None
    across = b["x"] - 1 <= a["x"] and a["x"] + a["width"] <= b["x"] + b["width"] + 1
    return across and b["y"] - 1 <= a["y"] and a["y"] + a["height"] <= b["y"] + b["height"] + 1


@pytest.mark.parametrize("look", LOOKS)
def test_the_menu_shows_every_page_at_once_and_marks_the_open_one(
    page: Page, server: str, screenshot: Screenshot, look: Look
) -> None:
    open_page(page, server, "two-phases", View(Scenario(batch=32), view=look))
    page.get_by_role("button", name="Pages").click()
    box = page.get_by_test_id("stPopoverBody")
    entries = box.get_by_test_id("stPageLink-NavLink")
    expect(entries).to_have_text([p.question for p in lessons.PAGES])
    page.wait_for_timeout(300)
    screenshot(page, f"menu-{look}")
    assert all(within(entry, box) for entry in entries.all())
    assert box.evaluate("e => e.scrollHeight - e.clientHeight") <= 0
    for group in (group for column in lessons.MENU for group in column):
        expect(box.get_by_text(group, exact=True)).to_be_visible()
    weights = entries.evaluate_all("all => all.map(e => getComputedStyle(e.querySelector('p')).fontWeight)")
    here = [p.slug for p in lessons.PAGES].index("two-phases")
    assert weights.count(weights[here]) == 1


def test_the_menu_on_a_phone(browser: Browser, server: str, screenshot: Screenshot) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, user_agent=PHONE)
    page = context.new_page()
    open_page(page, server, "home", View(Scenario(batch=32)))
    page.get_by_role("button", name="Pages").click()
    entries = page.get_by_test_id("stPageLink-NavLink").filter(visible=True)
    expect(entries).to_have_count(len(lessons.PAGES))
    assert min(entries.evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")) >= 40
    screenshot(page, "menu-phone")
    entries.last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(lessons.PAGES[-1].question)
    context.close()


def test_tables_on_a_phone_show_every_column_or_that_there_are_more(
    browser: Browser, server: str, screenshot: Screenshot
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, user_agent=PHONE)
    page = context.new_page()
    for slug in ("more-users", "longer-context"):
        open_page(page, server, slug, View(Scenario(batch=32)))
        table = page.locator("[data-testid=stMarkdownContainer] table").first
        assert table.evaluate("e => e.scrollWidth - e.clientWidth") <= 0, slug
    open_page(page, server, "experts", View(Scenario(model="mixtral-8x7b", n_gpus=2, batch=8, context=4096)))
    table = page.locator("[data-testid=stMarkdownContainer] table").first
    table.scroll_into_view_if_needed()
    assert table.evaluate("e => e.scrollWidth - e.clientWidth") > 0

    def edge() -> float:
        """How much darker than the page the table's right edge is, at half its height."""
        picture = Image.open(io.BytesIO(table.screenshot())).convert("L")
        column = [picture.getpixel((picture.width - 3, y)) for y in range(picture.height)]
        return 255 - statistics.median(column)

    screenshot(page, "table-phone")
    assert edge() > 30, "no shadow where there is more"
    table.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
    page.wait_for_timeout(200)
    assert edge() < 5, "a shadow at the end of the way"
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_sharing_needs_no_scrolling_on_a_projector(
    page: Page, server: str, screenshot: Screenshot, view: View, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(page, server, "live", view)  # it has the most to say of its link
    page.keyboard.press("s")
    box = page.get_by_role("dialog")
    picture = box.get_by_role("img", name="QR code of this link")
    expect(picture).to_be_visible()
    expect(box.get_by_text("but not what is dragged")).to_be_visible()
    page.wait_for_timeout(400)
    screenshot(page, f"share-lecture-{scheme}-{len(view.pins)}")
    words = (box.get_by_test_id("stCode").first, box.get_by_text("Phones"), box.get_by_text("For a course page"))
    for shown in (picture, *words):
        expect(shown).to_be_in_viewport(ratio=0.99)
    (code,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
    assert code.text == page.url


def test_sharing_on_a_phone(browser: Browser, server: str, screenshot: Screenshot) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, user_agent=PHONE)
    page = context.new_page()
    open_page(page, server, "home", View(Scenario(batch=32)))
    page.get_by_role("button", name="Share").click()
    picture = page.get_by_role("dialog").get_by_role("img", name="QR code of this link")
    expect(picture).to_be_visible()
    page.wait_for_timeout(400)
    screenshot(page, "share-phone")
    expect(picture).to_be_in_viewport(ratio=0.99)
    context.close()


def test_the_qr_code_is_the_page_s_own_address(page: Page, server: str, screenshot: Screenshot) -> None:
    open_page(page, server, "longer-context", View(Scenario(batch=33, context=5_000)))
    page.keyboard.press("s")
    picture = page.get_by_role("dialog").get_by_role("img", name="QR code of this link")
    expect(picture).to_be_visible()
    page.wait_for_timeout(400)
    screenshot(page, "share")
    seen = picture.bounding_box()
    assert seen is not None
    assert seen["width"] == pytest.approx(seen["height"], abs=2)  # squares stay squares
    assert seen["width"] >= 300
    (code,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
    assert code.text == page.url
    assert page.get_by_role("dialog").get_by_text(page.url, exact=True).count() >= 1
    page.get_by_role("dialog").get_by_text("For a course page").click()
    expect(page.get_by_role("dialog").get_by_text("embed=true").first).to_be_visible()


def test_it_works_in_an_iframe_of_a_course_page(page: Page, server: str) -> None:
    source = f"{server}/more_users?{urlencode(OPENING.to_query())}&embed=true"
    page.goto(f"{server}/_stcore/health")
    page.set_content(f'<iframe src="{source}" width="1280" height="720" style="border:0"></iframe>')
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", level=1)).to_have_text(lessons.page("more-users").question)
    expect(frame.locator(".figures.strip b")).to_have_count(3)
    scrolls = frame.locator("[data-testid=stMain]").evaluate("e => e.scrollHeight - e.clientHeight")
    assert scrolls <= 0
