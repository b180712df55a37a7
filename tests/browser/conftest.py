"""A real server and a real browser. Without Chromium these tests are skipped, on CI they fail."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parents[2]
START_S = 60
STOP_S = 10

Screenshot = Callable[[Page, str], None]
_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, quiet: no download, no sandbox (containers have none), no calls home."""
    chromium = shutil.which("chromium")
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app's address, served as README says but on a free port."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("server") / "log.txt"
    options = [
        "--server.address=127.0.0.1",
        f"--server.port={port}",
        "--server.headless=true",
        "--logger.enableRich=false",
    ]
    # No watcher: a file saved during the tests must not change the app under them.
    options.append("--server.fileWatcherType=none")
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options], cwd=ROOT, stdout=out, stderr=out
        )
        try:
            end = time.monotonic() + START_S
            while not _healthy(url):
                if process.poll() is not None or time.monotonic() > end:
                    pytest.fail(f"the server did not start:\n{log.read_text()}")
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    assert "Traceback" not in log.read_text(), log.read_text()


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let fixtures know, as they are torn down, that their test failed."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[_FAILED] = True
    return report
