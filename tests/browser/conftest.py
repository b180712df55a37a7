"""A real server and a real browser. Without Chromium these tests are skipped, on CI they fail."""

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.server import served
from tests.browser.explorer import PHONE, Explorer

ROOT = Path(__file__).resolve().parents[2]

Screenshot = Callable[[Page, str], None]
_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, quiet: no download, no sandbox (containers have none), no calls home.

    Where Debian's headless build of it is there, that: a page costs a fifth less time.
    """
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs Chromium on the PATH")
        pytest.skip("no Chromium on the PATH")
    return {
        **browser_type_launch_args,
        "executable_path": chromium,
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
        ],
    }


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The app's address, served as README says but on a free port."""
    with served() as running:
        yield running.url
        log = running.log.read_text()
    assert "Traceback" not in log, log


@pytest.fixture(scope="session")
def screenshot() -> Screenshot:
    """Saves what the page looks like now, for people to look at."""
    folder = Path(os.environ.get("SCREENSHOT_DIR") or ROOT / ".ci-output" / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)

    def save(page: Page, name: str) -> None:
        page.screenshot(path=folder / f"{name}.png")

    return save


@pytest.fixture(scope="session")
def shared_context(browser: Browser) -> Iterator[BrowserContext]:
    """One context for all tests: Streamlit's scripts are fetched and compiled once. Sessions live per tab anyway."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    yield context
    context.close()


@pytest.fixture
def page(shared_context: BrowserContext, request: pytest.FixtureRequest, screenshot: Screenshot) -> Iterator[Page]:
    """A new tab; what a failed test saw last is saved."""
    page = shared_context.new_page()
    yield page
    if request.node.stash.get(_FAILED, False):
        screenshot(page, f"failed-{request.node.name}")
    page.close()


@pytest.fixture
def tab(page: Page, server: str) -> Explorer:
    """A new tab for the app."""
    return Explorer(page, server)


@pytest.fixture
def phone(browser: Browser, server: str) -> Iterator[Explorer]:
    """The app on a phone, which says so."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, user_agent=PHONE)
    yield Explorer(context.new_page(), server)
    context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let fixtures know, as they are torn down, that their test failed."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[_FAILED] = True
    return report
