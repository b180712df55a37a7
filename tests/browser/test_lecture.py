"""The lecture hall: the projector's view, keys, the link and its QR code, an iframe on a course page."""

import io
from urllib.parse import urlencode

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from core import lessons
from core.scenario import Scenario
from core.view import View
from tests.browser.conftest import Screenshot

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
PROJECTED = ("home", *(lesson.page for lesson in lessons.LESSONS))
OPENING = View(Scenario(batch=32), view="lecture")
# Long words everywhere: what does not fit, several GPUs, a what-if, eight digits.
EXTREME = View(
    Scenario(model="llama-4-maverick", gpu="h200-sxm", n_gpus=3, batch=4_096, context=131_072, kv_heads=40),
    view="lecture",
)
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


@pytest.mark.parametrize("view", [OPENING, EXTREME], ids=["opening", "extreme"])
@pytest.mark.parametrize("slug", PROJECTED)
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


def test_the_qr_code_is_the_page_s_own_address(page: Page, server: str, screenshot: Screenshot) -> None:
    open_page(page, server, "longer-context", View(Scenario(batch=33, context=5_000)))
    page.keyboard.press("s")
    picture = page.get_by_role("dialog").get_by_role("img", name="QR code of the link above")
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
    assert page.get_by_role("dialog").get_by_text("embed=true").count() >= 1


def test_it_works_in_an_iframe_of_a_course_page(page: Page, server: str) -> None:
    source = f"{server}/more_users?{urlencode(OPENING.to_query())}&embed=true"
    page.goto(f"{server}/_stcore/health")
    page.set_content(f'<iframe src="{source}" width="1280" height="720" style="border:0"></iframe>')
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", level=1)).to_have_text(lessons.page("more-users").question)
    expect(frame.locator(".figures.strip b")).to_have_count(3)
    scrolls = frame.locator("[data-testid=stMain]").evaluate("e => e.scrollHeight - e.clientHeight")
    assert scrolls <= 0
