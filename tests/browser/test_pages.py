"""Every page: opened cold it shows what its link asks for, and everybody can use it, in light, dark and large."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from core import lessons
from core.scenario import Scenario
from core.view import View
from tests.browser.conftest import Screenshot
from tests.browser.explorer import BACKGROUNDS, PROJECTED, UNUSUAL, Explorer

pytestmark = pytest.mark.browser

EXPERTS = View(Scenario(model="mixtral-8x7b", gpu="h100-sxm", n_gpus=2, batch=8))  # every page has most to say of it
# Rules broken by Streamlit's own frame, not by our content, with the reason; none at present.
STREAMLITS_OWN: dict[str, str] = {}
WIDTHS = (320, 640)  # CSS px: WCAG's narrowest screen, and the 1280 px screen at 200 % zoom


@pytest.mark.parametrize("slug", [page.slug for page in lessons.PAGES])
def test_every_page_opens_at_a_cold_link_and_is_accessible(tab: Explorer, screenshot: Screenshot, slug: str) -> None:
    tab.open(UNUSUAL, slug)
    screenshot(tab.page, f"page-{slug}")
    assert tab.page.url == tab.address(UNUSUAL, slug)
    tab.assert_no_complaint()
    tab.assert_no_sideways_scrolling()
    change_an_assumption(tab, screenshot, slug)

    tab.go(EXPERTS, slug)
    assert serious(tab.page) == [], "light"
    expect(tab.heading).to_have_count(1)
    assert tab.page.locator("[data-testid=stPlotlyChart] [role=figure]:not([aria-label])").count() == 0
    tab.page.emulate_media(color_scheme="dark")  # the theme follows at once; colours are all that it changes
    expect(tab.page.get_by_test_id("stApp")).to_have_css("background-color", BACKGROUNDS["dark"])
    assert serious(tab.page, runOnly=["color-contrast"]) == [], "dark"
    tab.page.emulate_media(color_scheme="light")
    assert sideways(tab) == {}
    if slug in (*PROJECTED, "live"):
        tab.page.get_by_role("button", name="Lecture view").click()
        expect(tab.page.get_by_role("button", name="Page view")).to_be_visible()
        tab.settle()
        assert serious(tab.page) == [], "lecture"


def change_an_assumption(tab: Explorer, screenshot: Screenshot, slug: str) -> None:
    """In the popover, where a page has it.

    The browser makes a popover's widgets when it is first opened. Then, some reruns after the link was read, they must
    show the scenario; a default that they made up would be sent with the next change.
    """
    if tab.popover("More assumptions").count() == 0:
        return
    unit = tab.page.get_by_role("radio", name="GiB")
    changed = {"unit": "GB"} if unit.count() else {}
    if changed:
        tab.press(unit, "ArrowLeft", "Enter")
        tab.wait_for(unit="GB")
    tab.open_popover("More assumptions")
    tab.press(tab.page.get_by_role("switch", name="Skip the input-embedding lookup"), "Space")
    tab.wait_for(skip_embedding="0")
    tab.settle()
    assert tab.query == UNUSUAL.to_query() | changed | {"skip_embedding": "0"}
    screenshot(tab.page, f"page-{slug}-assumptions")
    tab.close_popover()


def serious(page: Page, **only: object) -> list[str]:
    """Serious and critical violations that axe-core finds, each with its rule and its first place."""
    # The inside of a picture is one figure with a label to a reader of screens; its thousands of nodes only cost time.
    scope = {"exclude": [[".js-plotly-plot"]]}
    found = Axe().run(page, context=scope, options={"resultTypes": ["violations"], **only}).response["violations"]
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:200]}"
        for v in found
        if v["impact"] in ("serious", "critical") and v["id"] not in STREAMLITS_OWN
    ]


def sideways(tab: Explorer) -> dict[int, int]:
    """By how much a narrow page would have to scroll sideways, by width."""
    over: dict[int, int] = {}
    for width in WIDTHS:
        tab.page.set_viewport_size({"width": width, "height": 720})
        tab.page.wait_for_timeout(100)
        over[width] = tab.sideways()
    tab.page.set_viewport_size({"width": 1280, "height": 720})
    return {width: pixels for width, pixels in over.items() if pixels > 0}


def test_focus_is_visible_on_every_control_of_the_home_page(tab: Explorer) -> None:
    tab.open(View(Scenario(batch=32)))
    seen = 0
    for _ in range(25):
        tab.page.keyboard.press("Tab")
        marks = tab.page.evaluate(
            """() => { let e = document.activeElement;
            if (!e || e === document.body || e.tagName === 'MAIN') return null;
            if (['text', 'number'].includes(e.type)) return true;  // a caret, and Streamlit colours the border
            const all = [e, e.parentElement, e.parentElement?.parentElement, e.nextElementSibling,
                e.closest('label'), e.closest('[data-baseweb]'), ...e.querySelectorAll('*')].filter(Boolean);
            return all.some(x => { const s = getComputedStyle(x);
                return s.outlineStyle !== 'none' || s.boxShadow !== 'none' }) }"""
        )
        if marks is not None:
            seen += 1
            assert marks, tab.page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    assert seen >= 15


def test_targets_are_large_enough(tab: Explorer) -> None:
    """WCAG 2.2 AA asks for 24 CSS px."""
    tab.open(View(Scenario(batch=32)), "more-users")
    small = tab.page.locator("button:visible").evaluate_all(
        """all => all.map(e => [e.innerText || e.ariaLabel, e.getBoundingClientRect()])
        .filter(([, r]) => r.width && (r.width < 24 || r.height < 24)).map(([name, r]) => [name, r.width, r.height])"""
    )
    # The question marks beside labels are Streamlit's and keep their distance (2.5.8's spacing exception).
    assert [entry for entry in small if entry[0] and "Help" not in entry[0]] == []
