"""What an instructor hands out: the plan's ten links, opened cold, and what is printed."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from core.evaluate import evaluate
from core.lecture import PLAN, Step, links
from core.pool import pool
from core.presets import DRAFT_CROWD
from core.scenario import Scenario
from core.units import integer
from core.variants import kv_variants
from core.verdict import bits_summary, experts_summary, heads_summaries, phases_summary, pool_summary, verdict
from core.view import View
from core.worksheet import worksheet
from tests.browser.conftest import Screenshot
from tests.browser.explorer import UNUSUAL, Explorer

pytestmark = pytest.mark.browser

# The sentence that a page says of its view; home and the context page say the verdict itself.
SAID: dict[str, Callable[[View], str]] = {
    "home": lambda view: verdict(evaluate(view.scenario)).headline,
    "longer-context": lambda view: verdict(evaluate(view.scenario)).headline,
    "two-phases": lambda view: phases_summary(evaluate(view.scenario))[0],
    "more-users": lambda view: verdict(evaluate(view.scenario)).speed[0],
    "fewer-kv-heads": lambda view: heads_summaries(kv_variants(view.scenario), view.scenario)[0],
    "fewer-bits": lambda view: bits_summary(evaluate(view.scenario), "GB")[0],
    "experts": lambda view: experts_summary(evaluate(view.scenario), "GB")[0],
    "paged-cache": lambda view: pool_summary(found)[0] if (found := pool(view)) else "",
    "speculation": lambda view: f"With {view.draft_length} drafted tokens a pass yields",
}
ON_SCREEN = ("More assumptions", "Download", "Users (batch)", "Context length", "Lecture view", "Pages")


def assert_sliders(tab: Explorer, scenario: Scenario) -> None:
    shown = {"Users": scenario.batch, "Context length": scenario.context, "Prompt length": scenario.context}
    for label, number in shown.items():
        for slider in tab.slider(label).all():
            expect(slider).to_have_attribute("aria-valuetext", integer(number))
    for menu in tab.page.get_by_role("combobox", name="Model", exact=True).all():
        expect(menu).to_have_value(scenario.released_model.name)


@pytest.mark.parametrize("step", PLAN, ids=lambda step: step.page)
def test_every_link_of_the_plan_opens_cold(tab: Explorer, screenshot: Screenshot, step: Step) -> None:
    number = PLAN.index(step)
    tab.page.goto(links(tab.server)[number])
    tab.settle()
    screenshot(tab.page, f"plan-{number + 1}-{step.page}")
    assert tab.query == step.query()
    tab.assert_no_complaint()
    assert tab.page.locator("input[type=range]").count() >= 1 or step.page == "fewer-bits"
    assert_sliders(tab, step.view.scenario)
    assert SAID[step.page](step.view) in tab.text


def test_the_last_step_s_key_opens_the_crowd(tab: Explorer, screenshot: Screenshot) -> None:
    tab.page.goto(links(tab.server)[-1])
    tab.settle()
    (key,) = re.findall(r"press (\d)", PLAN[-1].show)
    tab.page.keyboard.press(key)
    tab.wait_for(batch=str(DRAFT_CROWD.scenario.batch), context=str(DRAFT_CROWD.scenario.context))
    tab.settle()
    screenshot(tab.page, "plan-10-crowd")
    assert "× 0.803" in tab.text
    assert "It does not pay" in tab.text


def test_the_instructor_s_page_has_these_links(tab: Explorer, screenshot: Screenshot) -> None:
    tab.open(UNUSUAL, "instructor")
    screenshot(tab.page, "instructor")
    there = [link.get_attribute("href") or "" for link in tab.page.locator("[data-testid=stPageLink] a").all()]
    asked = [(urlsplit(link).path.strip("/"), dict(parse_qsl(urlsplit(link).query))) for link in there]
    for step in PLAN:
        assert (step.path(), step.query(UNUSUAL.unit)) in asked
    tab.assert_no_complaint()
    tab.page.locator("summary").filter(has_text="addresses").click()
    code = tab.page.get_by_test_id("stCode").first
    expect(code).to_be_visible()
    assert "".join(code.inner_text().split()) == links(tab.server, UNUSUAL.unit)[0]
    tab.assert_no_sideways_scrolling()


# ---------------------------------------------------------------- paper


def printed(tab: Explorer) -> list[str]:
    """The text of each page that the browser would print on A4."""
    pdf = tab.page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm"))
    return [" ".join(page.extract_text().replace("\u2060", "").split()) for page in PdfReader(io.BytesIO(pdf)).pages]


def squeezed(words: str) -> str:
    return re.sub(r"\s", "", words)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sheet_prints_without_controls_and_answers(tab: Explorer, scheme: str) -> None:
    tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    view = View(Scenario(batch=32))
    sheet = worksheet(view.scenario)
    tab.open(view, "worksheet")
    pages = printed(tab)
    whole = " ".join(pages)
    assert 1 <= len(pages) <= 2
    assert all(pages)
    assert whole.startswith("Worksheet")
    assert sheet.title in whole
    for number, question in enumerate(sheet.questions, start=1):
        assert f"{number}. " in whole
        assert squeezed(question.text.replace("P_head", "Phead")) in squeezed(whole)
    for words in (*ON_SCREEN, "Answer key"):
        assert words not in whole
    for key in ("cache", "system", "per_user", "ttft_s", "every_head_cache"):
        assert sheet.blanks[key].text not in whole
    tab.page.emulate_media(media="print")
    colours = tab.page.locator(".sheet li p").first.evaluate(
        "e => [getComputedStyle(e).color, getComputedStyle(document.querySelector('.stApp')).backgroundColor]"
    )
    assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    blank = tab.page.locator(".sheet .blank").first
    assert blank.evaluate("e => e.getBoundingClientRect().width") > 80
    assert blank.evaluate("e => parseFloat(getComputedStyle(e).borderBottomWidth)") >= 1
    tab.page.emulate_media(media="screen", color_scheme="light")


@pytest.mark.parametrize(
    "view", [View(Scenario(batch=32), reveal=True), UNUSUAL.replace(reveal=True)], ids=["8B", "70B"]
)
def test_the_key_prints_on_pages_of_its_own(tab: Explorer, screenshot: Screenshot, view: View) -> None:
    sheet = worksheet(view.scenario, view.seed, view.unit)
    tab.open(view, "worksheet")
    screenshot(tab.page, "worksheet")
    tab.assert_no_sideways_scrolling()
    pages = printed(tab)
    assert 2 <= len(pages) <= 5
    first = next(number for number, page in enumerate(pages) if page.startswith("Answer key"))
    assert first >= 1
    key = squeezed(" ".join(pages[first:]))
    for blank in sheet.blanks.values():
        assert squeezed(blank.text) in key
        assert squeezed(blank.arithmetic) in key


def test_the_sheet_as_a_file(tab: Explorer) -> None:
    tab.open(View(Scenario(batch=32)), "worksheet")
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="Download as HTML").click()
    assert waiting.value.suggested_filename == "worksheet.html"
    content = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert content.startswith("<!doctype html>")
    assert worksheet(Scenario(batch=32)).title in content
    assert "Answer key" not in content


def test_the_plan_prints(tab: Explorer) -> None:
    tab.open(View(Scenario(batch=32)), "instructor")
    pages = printed(tab)
    whole = squeezed(" ".join(pages))
    assert 2 <= len(pages) <= 5
    for step in PLAN:
        assert squeezed(step.answer()) in whole
    for words in ("Lecture view", "Share S", "Pages", "copy into slides"):
        assert words not in " ".join(pages)
