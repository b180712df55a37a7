"""axe-core over every page in light and dark, in lecture view where it is projected; reflow, headings, alternatives."""

from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from core import lessons
from core.scenario import Scenario
from core.view import View

pytestmark = pytest.mark.browser

PROJECTED = ("home", "live", *(lesson.page for lesson in lessons.LESSONS))
SLUGS = tuple(page.slug for page in lessons.PAGES)
# Rules broken by Streamlit's own frame, not by our content, with the reason; none at present.
STREAMLITS_OWN: dict[str, str] = {}
DARK = "rgb(14, 17, 23)"
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
READY = """() => !document.querySelector('[data-testid=stSkeleton], [data-stale=true]') &&
    [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.querySelector('.trace, .hm'))"""


def visit(page: Page, server: str, slug: str, view: View) -> None:
    path = "" if slug == "home" else lessons.page(slug).file.removeprefix("pages/").removesuffix(".py")
    page.goto(f"{server}/{path}?{urlencode(view.to_query())}")
    page.wait_for_selector(IDLE)
    page.wait_for_function(READY)


def serious(page: Page, **only: object) -> list[str]:
    """Serious and critical violations, each with its rule and its first place."""
    # The inside of a picture is one figure with a label to a reader of screens; its thousands of nodes only cost time.
    scope = {"exclude": [[".js-plotly-plot"]]}
    found = Axe().run(page, context=scope, options={"resultTypes": ["violations"], **only}).response["violations"]
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:200]}"
        for v in found
        if v["impact"] in ("serious", "critical") and v["id"] not in STREAMLITS_OWN
    ]


@pytest.mark.parametrize("slug", SLUGS)
def test_axe_finds_nothing_serious_and_narrow_screens_reflow(page: Page, server: str, slug: str) -> None:
    visit(page, server, slug, View(Scenario(model="mixtral-8x7b", gpu="h100-sxm", n_gpus=2, batch=8)))
    assert serious(page) == [], "light"
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.locator("[data-testid=stPlotlyChart] [role=figure]:not([aria-label])").count() == 0
    page.emulate_media(color_scheme="dark")  # the theme follows at once; colours are all that it changes
    expect(page.locator("[data-testid=stApp]")).to_have_css("background-color", DARK)
    assert serious(page, runOnly=["color-contrast"]) == [], "dark"
    page.emulate_media(color_scheme="light")
    assert sideways(page) == {}
    if slug not in PROJECTED:
        return
    page.get_by_role("button", name="Lecture view").click()
    expect(page.get_by_role("button", name="Page view")).to_be_visible()
    page.wait_for_selector(IDLE)
    page.wait_for_function(READY)
    assert serious(page) == [], "lecture"


WIDTHS = (320, 640)  # CSS px: WCAG's narrowest screen, and the 1280 px screen at 200 % zoom


def sideways(page: Page) -> dict[int, int]:
    """By how much a narrow page would have to scroll sideways, by width."""
    over: dict[int, int] = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 720})
        page.wait_for_timeout(100)
        over[width] = page.locator("[data-testid=stMain]").evaluate("e => e.scrollWidth - e.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 720})
    return {width: pixels for width, pixels in over.items() if pixels > 0}


def test_focus_is_visible_on_every_control_of_the_home_page(page: Page, server: str) -> None:
    visit(page, server, "home", View(Scenario(batch=32)))
    seen = 0
    for _ in range(25):
        page.keyboard.press("Tab")
        marks = page.evaluate(
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
            assert marks, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    assert seen >= 15


def test_targets_are_large_enough(page: Page, server: str) -> None:
    """WCAG 2.2 AA asks for 24 CSS px."""
    visit(page, server, "more-users", View(Scenario(batch=32)))
    small = page.locator("button:visible").evaluate_all(
        """all => all.map(e => [e.innerText || e.ariaLabel, e.getBoundingClientRect()])
        .filter(([, r]) => r.width && (r.width < 24 || r.height < 24)).map(([name, r]) => [name, r.width, r.height])"""
    )
    # The question marks beside labels are Streamlit's and keep their distance (2.5.8's spacing exception).
    assert [entry for entry in small if entry[0] and "Help" not in entry[0]] == []
