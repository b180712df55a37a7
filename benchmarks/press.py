"""From a key press to the last change of the pictures, in Chromium: the app against a floor.

    python -m benchmarks.press [--short] [--json FILE]

ArrowRight on the slider of the users, on the home page and on a lesson; the floor is `benchmarks/press_floor_app.py`,
one slider and one picture for each of its stops. Servers and browser are real. The clock runs inside the page: from the
browser's own time stamp of the key to the last change within any picture, as a MutationObserver sees it. So it holds
all of it, the slider's own delay, the way to the server and back, the script, and drawing.

The pages take turns, press by press, and each sweep shows scenarios that were not shown before. Beside the clock stands
the processor time of one press, of the page's thread in the browser and of the server: a busy machine hardly changes
those, so it is their ratio to the floor's that can fail.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlencode

import streamlit
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from benchmarks.server import Server, served
from core import lessons
from core.scenario import Scenario
from core.stops import BATCH_STOPS
from core.view import View

FLOOR_SCRIPT = "benchmarks/press_floor_app.py"
LESSON, FLOOR = "more-users", "floor"
SWEEPS, SHORT_SWEEPS = 5, 1
CONTEXTS = (1000, 1500, 2500, 3000, 5000, 6000)  # between the stops: one for each sweep, the first to warm up
WARM_UP = 3
QUIET_MS, POLL_MS, ANSWER_MS = 400, 100, 30_000
GOAL_MS, GROSS = 250, 10.0
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SLIDER = "[class*=st-key-batch] input[type=range]"
REST = "[data-testid=stApp][data-test-script-state=notRunning]"

# A change counts when it is in a picture, or brings one or takes one away.
WATCH = """() => {
    const PICTURE = '.js-plotly-plot';
    const isPicture = node => node.nodeType === 1 && (node.matches(PICTURE) || node.querySelector(PICTURE));
    const inPicture = node => (node.nodeType === 1 ? node : node.parentElement)?.closest(PICTURE);
    window.press = {pressed: null, changed: null, count: 0};
    addEventListener('keydown', event => {
        window.press = {pressed: event.timeStamp, changed: null, count: 0};
    }, true);
    new MutationObserver(changes => {
        if (changes.some(c => inPicture(c.target) || [...c.addedNodes, ...c.removedNodes].some(isPicture))) {
            window.press.changed = performance.now();
            window.press.count += 1;
        }
    }).observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
}"""
SETTLED = """([rest, quiet]) => {
    const changed = window.press.changed;
    return changed !== null && document.querySelector(rest) !== null && performance.now() - changed > quiet;
}"""


class Tab:
    """A page to press a key on, its server, and what each press took in milliseconds."""

    def __init__(self, name: str, page: Page, url: str, server: Server) -> None:
        self.name = name
        self._page, self._url, self._server = page, url, server
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.forget()

    def open(self, context: int) -> None:
        """At the first stop."""
        query = View(Scenario(batch=BATCH_STOPS[0], context=context)).to_query()
        self._page.goto(f"{self._url}?{urlencode(query)}")
        self._page.wait_for_selector(".js-plotly-plot .main-svg")
        self._page.focus(SLIDER)
        self._page.keyboard.press("Home")
        self._page.wait_for_timeout(2 * QUIET_MS)
        self._page.wait_for_selector(REST)
        self._page.evaluate(WATCH)

    def press(self) -> None:
        """One stop further."""
        self._page.focus(SLIDER)
        browser_s, server_s = self._browser_s(), self._server.cpu_s
        self._page.keyboard.press("ArrowRight")
        self._page.wait_for_function(SETTLED, arg=[REST, QUIET_MS], timeout=ANSWER_MS, polling=POLL_MS)
        self.browser_ms.append(1e3 * (self._browser_s() - browser_s))
        self.server_ms.append(1e3 * (self._server.cpu_s - server_s))
        self.clock_ms.append(self._page.evaluate("() => window.press.changed - window.press.pressed"))

    def forget(self) -> None:
        """What was measured so far was for warming up."""
        self.clock_ms: list[float] = []
        self.browser_ms: list[float] = []  # processor time of the page's thread
        self.server_ms: list[float] = []  # processor time of the server

    @property
    def cpu_ms(self) -> float:
        """Processor time of one press; the server's is counted in hundredths of a second, so it is a mean."""
        return statistics.median(self.browser_ms) + statistics.mean(self.server_ms)

    def _browser_s(self) -> float:
        metrics = self._devtools.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


@contextmanager
def tabs(browser: Browser) -> Iterator[list[Tab]]:
    """The home page, a lesson and the floor."""
    path = PurePath(lessons.page(LESSON).file).stem
    with served() as app, served(FLOOR_SCRIPT) as floor:
        places = {"home": (app.url, app), LESSON: (f"{app.url}/{path}", app), FLOOR: (floor.url, floor)}
        size: ViewportSize = {"width": 1280, "height": 720}
        yield [Tab(name, browser.new_page(viewport=size), url, server) for name, (url, server) in places.items()]


def measure(sweeps: int) -> list[Tab]:
    """Press the key from stop to stop."""
    with ExitStack() as stack:
        tool = stack.enter_context(sync_playwright())
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        stack.callback(browser.close)
        found = stack.enter_context(tabs(browser))
        for sweep, context in enumerate(CONTEXTS[: sweeps + 1]):
            for tab in found:
                tab.open(context)
            for _ in range(len(BATCH_STOPS) - 1 if sweep else WARM_UP):
                for tab in found:
                    tab.press()
            if not sweep:
                for tab in found:
                    tab.forget()
        return found


def summary(found: list[Tab]) -> dict[str, dict[str, Any]]:
    """Milliseconds of one press, and the ratios to the floor: by the clock the median of the ratios press by press."""
    floor = next(tab for tab in found if tab.name == FLOOR)
    rows: dict[str, dict[str, Any]] = {}
    for tab in found:
        ratios = [ours / its for ours, its in zip(tab.clock_ms, floor.clock_ms, strict=True)]
        rows[tab.name] = {
            "presses": len(tab.clock_ms),
            "median_ms": round(statistics.median(tab.clock_ms), 1),
            "p95_ms": round(statistics.quantiles(tab.clock_ms, n=20)[-1], 1),
            "ratio_by_the_clock": round(statistics.median(ratios), 2),
            "browser_ms": round(statistics.median(tab.browser_ms), 1),
            "server_ms": round(statistics.mean(tab.server_ms), 1),
            "ratio": round(tab.cpu_ms / floor.cpu_ms, 2),
        }
    return rows


def main() -> int:
    """Measure, print, and say whether it is a gross regression."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.press", description="Key press to picture.")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_SWEEPS} sweep instead of {SWEEPS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()
    if shutil.which("chromium") is None:
        print("needs Chromium on the PATH")
        return 2
    rows = summary(measure(SHORT_SWEEPS if given.short else SWEEPS))
    print("| page | presses | median | 95th percentile | ratio | browser's processor time | server's | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, row in rows.items():
        clock = f"{row['presses']} | {row['median_ms']} ms | {row['p95_ms']} ms | {row['ratio_by_the_clock']:.2f}"
        print(f"| {name} | {clock} | {row['browser_ms']} ms | {row['server_ms']} ms | {row['ratio']:.2f} |")
    worst = max(row["ratio"] for row in rows.values())
    print(f"goal: {GOAL_MS} ms by the clock; processor time above {GROSS:g} times the floor's is a gross regression")
    if given.json:
        report = {
            "python": platform.python_version(),
            "streamlit": streamlit.__version__,
            "goal_ms": GOAL_MS,
            "pages": rows,
        }
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(worst > GROSS)


if __name__ == "__main__":
    sys.exit(main())
