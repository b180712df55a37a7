"""The lecture hall: the projector's view, keys, the link and its QR code, an iframe on a course page."""

import io
import statistics

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from core import lessons
from core.evaluate import evaluate
from core.presets import STORY, StoryPreset
from core.scenario import Scenario
from core.units import integer
from core.verdict import headline, setting, verdict
from core.view import LOOKS, Look, View
from tests.browser.conftest import Screenshot
from tests.browser.explorer import PLOTS, PROJECTED, Explorer

pytestmark = pytest.mark.browser

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


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_scrolls_on_a_projector(
    tab: Explorer, screenshot: Screenshot, subtests: pytest.Subtests, name: str
) -> None:
    page, view = tab.page, VIEWS[name]
    tab.open(view)
    for slug in PROJECTED:
        with subtests.test(slug=slug):
            tab.go(view, slug)
            screenshot(page, f"lecture-{slug}-{view.scenario.batch}")
            tab.assert_no_scrolling()
            assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "24px"
            sizes = page.locator(".figures.strip b").evaluate_all(
                "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
            )
            assert all(size >= 32 for size in sizes)
            assert page.locator(PLOTS).count() >= 1 or slug in ("experts", "speculation", "paged-cache")


def test_home_shows_one_chart_and_three_controls(tab: Explorer) -> None:
    page = tab.page
    tab.open(OPENING)
    assert page.locator(".js-plotly-plot").count() == 1
    assert page.locator("input[type=range]").count() == 3
    assert page.get_by_role("combobox").count() == 0
    expect(page.locator(".verdict")).to_be_visible()
    assert page.locator(".figures.strip b").count() == 3


def test_a_phone_gets_the_whole_page_from_a_lecture_link(phone: Explorer) -> None:
    phone.page.goto(phone.address(OPENING))
    phone.settle(2)
    expect(phone.page.get_by_role("heading", name="The arithmetic")).to_be_attached()
    assert phone.query["view"] == "page"
    assert phone.page.evaluate("getComputedStyle(document.documentElement).fontSize") == "16px"


def test_on_a_phone_the_bar_is_one_line_of_words(phone: Explorer) -> None:
    """No letters of a keyboard there, nor a lecture view; a narrow window that has it keeps the way back."""
    phone.open(OPENING)
    bar = phone.page.locator(".st-key-bar")
    shown = bar.get_by_role("button").filter(visible=True)
    assert shown.count() >= 3
    expect(bar.locator("kbd").filter(visible=True)).to_have_count(0)
    expect(bar.get_by_role("button", name="Lecture view")).to_be_hidden()
    for width in (390, 360):
        phone.page.set_viewport_size({"width": width, "height": 844})
        tops = {round(box["y"]) for button in shown.all() if (box := button.bounding_box())}
        assert len(tops) == 1, f"{width}: {tops}"


def test_a_narrow_window_keeps_the_way_back_from_lecture_view(tab: Explorer) -> None:
    tab.page.set_viewport_size({"width": 600, "height": 800})
    tab.open(OPENING.replace(view="lecture"))
    tab.page.get_by_role("button", name="Page view").click()
    tab.wait_for(view="page")


def test_next_back_and_lecture_view_by_key(tab: Explorer) -> None:
    page = tab.page
    tab.open(OPENING, "more-users")
    page.keyboard.press("n")
    expect(tab.heading).to_have_text(lessons.page("two-phases").question)
    tab.settle()
    assert "view=lecture" in page.url
    page.keyboard.press("b")
    expect(tab.heading).to_have_text(lessons.page("more-users").question)
    tab.settle()
    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="The arithmetic")).to_be_attached()
    assert "view=page" in page.url


def test_letters_can_be_switched_off_and_ctrl_alt_works_beside_a_slider(tab: Explorer) -> None:
    page = tab.page
    tab.open(View(Scenario(batch=32)), "more-users")
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_text("next page", exact=True)).to_be_visible()
    page.get_by_role("radio", name="Ctrl+Alt").click()
    tab.settle()
    page.keyboard.press("Escape")
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("n")
    page.wait_for_timeout(500)
    expect(tab.heading).to_have_text(lessons.page("more-users").question)
    page.keyboard.press("Control+Alt+n")
    expect(tab.heading).to_have_text(lessons.page("two-phases").question)


@pytest.mark.parametrize("step", STORY, ids=lambda step: step.slug)
def test_every_step_of_the_story_opens_cold_large_and_as_a_page(
    tab: Explorer, screenshot: Screenshot, step: StoryPreset
) -> None:
    page, scenario = tab.page, step.scenario
    view = View(scenario, view="lecture")
    tab.open(view)
    screenshot(page, f"lecture-story-{step.slug}")
    assert tab.query == view.to_query()
    number = STORY.index(step) + 1
    expect(page.locator(".noticed")).to_have_text(f"{number}. {step.title}. {step.line()}")
    height = page.locator(".noticed").evaluate("e => e.getBoundingClientRect().height")
    assert height < 60, "more than two lines"
    tab.assert_no_scrolling()

    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="The arithmetic")).to_be_attached()
    tab.settle(2)
    assert tab.query == View(scenario).to_query()
    tab.assert_no_complaint()
    shown = {"Users": integer(scenario.batch), "Context length": integer(scenario.context)}
    if scenario.kv_heads:
        shown["KV heads"] = str(scenario.kv_heads)
    for label, words in shown.items():
        expect(tab.slider(label)).to_have_attribute("aria-valuetext", words)
    expect(page.get_by_role("combobox", name="Model", exact=True)).to_have_value(scenario.released_model.name)
    expect(page.get_by_role("combobox", name="GPU", exact=True)).to_have_value(scenario.gpu_spec.label)
    expect(page.get_by_role("spinbutton", name="GPUs", exact=True)).to_have_value(str(scenario.n_gpus))
    expect(page.locator(".verdict strong")).to_have_text(verdict(evaluate(scenario)).headline)
    assert step.line() in tab.text


def test_a_lesson_says_that_it_does_not_fit(tab: Explorer) -> None:
    tab.open(OPENING, "two-phases")
    for scenario in (Scenario(batch=32, kv_heads=32), Scenario(batch=32)):
        tab.go(View(scenario, view="lecture"), "two-phases")
        line = tab.page.get_by_text(setting(scenario))
        expect(line).to_be_visible()
        said = headline(evaluate(scenario).memory)
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
    tab: Explorer, screenshot: Screenshot, look: Look
) -> None:
    page = tab.page
    tab.open(View(Scenario(batch=32), view=look), "two-phases")
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


def test_the_menu_on_a_phone(phone: Explorer, screenshot: Screenshot) -> None:
    page = phone.page
    phone.open(View(Scenario(batch=32)))
    page.get_by_role("button", name="Pages").click()
    entries = page.get_by_test_id("stPageLink-NavLink").filter(visible=True)
    expect(entries).to_have_count(len(lessons.PAGES))
    assert min(entries.evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")) >= 40
    screenshot(page, "menu-phone")
    entries.last.click()
    expect(phone.heading).to_have_text(lessons.PAGES[-1].question)


def test_tables_on_a_phone_show_every_column_or_that_there_are_more(phone: Explorer, screenshot: Screenshot) -> None:
    page, small = phone.page, View(Scenario(batch=32))
    table = page.locator("[data-testid=stMarkdownContainer] table").first
    phone.open(small, "more-users")
    for slug in ("more-users", "longer-context"):
        phone.go(small, slug)
        assert table.evaluate("e => e.scrollWidth - e.clientWidth") <= 0, slug
    phone.go(View(Scenario(model="mixtral-8x7b", n_gpus=2, batch=8, context=4096)), "experts")
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


def shared(tab: Explorer) -> tuple[Locator, Locator]:
    """The open box for sharing, and the QR code in it, which says where the tab is."""
    box = tab.page.get_by_role("dialog")
    picture = box.get_by_role("img", name="QR code of this link")
    expect(picture).to_be_visible()
    tab.page.wait_for_timeout(400)
    (code,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
    assert code.text == tab.page.url
    return box, picture


def test_sharing_needs_no_scrolling_on_a_projector(tab: Explorer, screenshot: Screenshot) -> None:
    tab.open(OPENING, "live")  # it has the most to say of its link
    for view in VIEWS.values():
        tab.go(view, "live")
        for scheme in ("dark", "light"):
            tab.page.emulate_media(color_scheme=scheme)
            tab.page.keyboard.press("s")
            box, picture = shared(tab)
            screenshot(tab.page, f"share-lecture-{scheme}-{len(view.pins)}")
            expect(box.get_by_text("but not what is dragged")).to_be_visible()
            words = (box.get_by_test_id("stCode").first, box.get_by_text("Phones"), box.get_by_text("For a course"))
            for shown in (picture, *words):
                expect(shown).to_be_in_viewport(ratio=0.99)
            tab.page.keyboard.press("Escape")
            expect(box).to_be_hidden()
            tab.settle()


def test_sharing_on_a_phone(phone: Explorer, screenshot: Screenshot) -> None:
    phone.open(View(Scenario(batch=32)))
    phone.page.get_by_role("button", name="Share").click()
    _, picture = shared(phone)
    screenshot(phone.page, "share-phone")
    expect(picture).to_be_in_viewport(ratio=0.99)


def test_the_qr_code_is_the_page_s_own_address(tab: Explorer, screenshot: Screenshot) -> None:
    tab.open(View(Scenario(batch=33, context=5_000)), "longer-context")
    tab.page.keyboard.press("s")
    box, picture = shared(tab)
    screenshot(tab.page, "share")
    seen = picture.bounding_box()
    assert seen is not None
    assert seen["width"] == pytest.approx(seen["height"], abs=2)  # squares stay squares
    assert seen["width"] >= 300
    assert box.get_by_text(tab.page.url, exact=True).count() >= 1
    box.get_by_text("For a course page").click()
    expect(box.get_by_text("embed=true").first).to_be_visible()


def test_it_works_in_an_iframe_of_a_course_page(page: Page, server: str) -> None:
    source = Explorer(page, server).address(OPENING.to_query() | {"embed": "true"}, "more-users")
    page.goto(f"{server}/_stcore/health")
    page.set_content(f'<iframe src="{source}" width="1280" height="720" style="border:0"></iframe>')
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", level=1)).to_have_text(lessons.page("more-users").question)
    expect(frame.locator(".figures.strip b")).to_have_count(3)
    scrolls = frame.locator("[data-testid=stMain]").evaluate("e => e.scrollHeight - e.clientHeight")
    assert scrolls <= 0
