"""What can be carried off, in a real browser: pictures, CSV, JSON, and the lines to copy."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from core.evaluate import evaluate
from core.takeaway import as_json, command_line, vllm_flags
from core.units import format_bytes
from tests.browser.conftest import Screenshot
from tests.browser.explorer import BAR, PLOTS, UNUSUAL, Explorer

pytestmark = pytest.mark.browser

BOX = "Take it with you"


def saved(tab: Explorer, act: Callable[[], object]) -> tuple[str, bytes]:
    """Name and content of the file that an action downloads."""
    with tab.page.expect_download() as waiting:
        act()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def camera(tab: Explorer, plot: int) -> tuple[str, bytes]:
    """Save a picture by its one button, which shows while the pointer is over the picture."""
    picture = tab.page.locator(PLOTS).nth(plot)
    picture.hover()
    button = picture.locator(".modebar-btn")
    expect(button).to_have_count(1)
    return saved(tab, button.click)


def open_box(tab: Explorer) -> None:
    tab.page.locator("summary").filter(has_text=BOX).click()
    expect(tab.page.get_by_role("button", name="Everything as JSON")).to_be_visible()
    tab.settle()


def test_the_camera_saves_the_bar_with_its_pattern_and_words(tab: Explorer, screenshot: Screenshot) -> None:
    tab.open(UNUSUAL)
    name, content = camera(tab, BAR)
    screenshot(tab.page, "camera")
    assert name == "memory-bar.svg"
    drawing = ElementTree.fromstring(content)
    space = {"svg": "http://www.w3.org/2000/svg"}
    patterns = {pattern.get("id") for pattern in drawing.iterfind(".//svg:pattern", space)}
    filled = [path.get("style", "") for path in drawing.iterfind(".//svg:path", space)]
    assert patterns
    assert any(f"#{pattern}" in style for pattern in patterns for style in filled)
    words = " ".join("".join(text.itertext()) for text in drawing.iterfind(".//svg:text", space))
    memory = evaluate(UNUSUAL.scenario).memory
    assert f"capacity {format_bytes(memory.capacity_bytes, UNUSUAL.unit)}" in words


def test_a_lesson_s_picture_keeps_its_title_and_its_pattern(tab: Explorer) -> None:
    tab.open(UNUSUAL, "fewer-kv-heads")
    name, content = camera(tab, 0)
    assert name == "variants-0.svg"
    text = content.decode("utf-8")
    assert "KV cache" in text
    assert "<pattern" in text


def test_json_lines_and_png(tab: Explorer, screenshot: Screenshot) -> None:
    tab.open(UNUSUAL)
    result = evaluate(UNUSUAL.scenario)
    open_box(tab)
    screenshot(tab.page, "take-away")
    name, content = saved(tab, tab.page.get_by_role("button", name="Everything as JSON").click)
    assert name == "how-big-is-the-cache.json"
    assert json.loads(content) == as_json(result, UNUSUAL.unit)
    shown = [" ".join(block.split()) for block in tab.page.get_by_test_id("stCode").all_inner_texts()]
    assert shown[0] == vllm_flags(result).command
    assert shown[1] == command_line(UNUSUAL.scenario, UNUSUAL.unit)
    tab.assert_no_sideways_scrolling()
    tab.page.get_by_role("radio", name="PNG", exact=True).click()
    tab.settle(2)
    name, content = camera(tab, BAR)
    assert name == "memory-bar.png"
    assert content[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("slug", ["home", "fewer-kv-heads", "paged-cache"])  # tests/pages has them all
def test_csv_arrives_and_parses(tab: Explorer, slug: str) -> None:
    tab.open(UNUSUAL, slug)
    buttons = tab.page.get_by_role("button", name="as CSV").all()
    assert buttons
    for button in buttons:
        name, content = saved(tab, button.click)
        assert name.endswith(".csv")
        header, *rows = csv.reader(io.StringIO(content.decode("utf-8")))
        assert rows
        assert all(len(row) == len(header) for row in rows)
        assert "nan" not in content.decode("utf-8").lower()
