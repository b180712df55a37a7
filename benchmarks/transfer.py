"""Bytes and requests to the first drawn chart of the home page, in Chromium.

    python -m benchmarks.transfer [--json FILE]

A real server and a headless browser with an empty cache; then, where nginx is installed, the same through the shipped
`deploy/nginx.conf`; and each once more with the cache that the first visit has left. Bytes are counted as they come in
over the wire: answers with their headers, packed where they are packed, and the frames of the websocket. The seconds
are those that the bytes alone take on a link of `LINK_MBIT_S`; they need no idle machine.
"""

from __future__ import annotations

import argparse
import base64
import json
import platform
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks.server import free_port, served
from deploy.replicas import running

CHART = ".js-plotly-plot .main-svg .point path"
REST = "[data-testid=stApp][data-test-script-state=notRunning]"
QUIET_MS = 1500
LINK_MBIT_S = 10
GOAL_MB, GROSS_MB = 3.0, 6.0
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@dataclass
class Count:
    """What has come in so far: answers from the server, bytes of answers and of websocket frames."""

    answers: int = 0
    cached: int = 0
    bytes: int = 0
    frames: int = 0
    frame_bytes: int = 0
    largest: dict[str, int] = field(default_factory=dict[str, int])

    def copy(self) -> Count:
        """The count as it is now."""
        return replace(self, largest=dict(self.largest))

    @property
    def total_bytes(self) -> int:
        """Answers and frames."""
        return self.bytes + self.frame_bytes


def _counting(count: Count) -> dict[str, Callable[[dict[str, Any]], None]]:
    """DevTools event -> what it adds to the count."""
    names: dict[str, str] = {}

    def sent(event: dict[str, Any]) -> None:
        names[event["requestId"]] = urlsplit(str(event["request"]["url"])).path

    def finished(event: dict[str, Any]) -> None:
        size = int(event["encodedDataLength"])
        if size:
            count.answers += 1
            count.bytes += size
            count.largest[names.get(event["requestId"], "?")] = size
        else:
            count.cached += 1

    def frame(event: dict[str, Any]) -> None:
        data = event["response"]["payloadData"]
        count.frames += 1
        count.frame_bytes += len(base64.b64decode(data)) if event["response"]["opcode"] == 2 else len(data)

    return {
        "Network.requestWillBeSent": sent,
        "Network.loadingFinished": finished,
        "Network.webSocketFrameReceived": frame,
    }


@dataclass(frozen=True)
class Visit:
    """One visit: what had come in when the chart was drawn, and when the page was at rest."""

    to_chart: Count
    to_rest: Count


def visit(context: BrowserContext, url: str) -> Visit:
    """Open the home page in a new tab."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    count = Count()
    for name, add in _counting(count).items():
        session.on(name, add)
    session.send("Network.enable")
    page.goto(url, wait_until="commit")
    page.wait_for_selector(CHART)
    to_chart = count.copy()
    page.wait_for_selector(REST)
    page.wait_for_timeout(QUIET_MS)
    page.close()
    return Visit(to_chart, count.copy())


def _row(name: str, found: Visit) -> dict[str, Any]:
    count = found.to_chart
    return {
        "visit": name,
        "answers": count.answers,
        "from_browser_cache": count.cached,
        "kb": round(count.bytes / 1e3, 1),
        "websocket_frames": count.frames,
        "websocket_kb": round(count.frame_bytes / 1e3, 1),
        "kb_at_rest": round(found.to_rest.total_bytes / 1e3, 1),
        "seconds_on_link": round(count.total_bytes * 8 / (LINK_MBIT_S * 1e6), 2),
        "largest": dict(sorted(count.largest.items(), key=lambda item: -item[1])[:5]),
    }


def rows_of(browser: Browser, name: str, url: str) -> list[dict[str, Any]]:
    """A first visit, and a second with the cache that the first has left."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    rows = [_row(f"{name}, {which} visit", visit(context, url)) for which in ("first", "second")]
    context.close()
    return rows


def measure() -> list[dict[str, Any]]:
    """Streamlit alone, then through nginx if there is one."""
    with ExitStack() as stack:
        url = stack.enter_context(served()).url
        tool = stack.enter_context(sync_playwright())
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=OPTIONS)
        stack.callback(browser.close)
        context = browser.new_context()
        visit(context, url)  # the server's first session imports the app
        context.close()
        rows = rows_of(browser, "Streamlit", url)
        if shutil.which("nginx"):
            proxy = stack.enter_context(running([urlsplit(url).netloc], port=free_port(), packer=free_port()))
            context = browser.new_context()
            visit(context, proxy)  # nginx packs each file once
            context.close()
            rows += rows_of(browser, "nginx", proxy)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        f"| visit | answers | from cache | kB | websocket kB | kB, page at rest | s at {LINK_MBIT_S} Mbit/s |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = ("answers", "from_browser_cache", "kb", "websocket_kb", "kb_at_rest", "seconds_on_link")
    for row in rows:
        cells = [f"{row[key]:,}" for key in keys]
        lines.append("| " + " | ".join([row["visit"], *cells]) + " |")
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and say whether it is a gross regression."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transfer", description="Bytes to the first chart.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()
    if shutil.which("chromium") is None:
        print("needs Chromium on the PATH")
        return 2
    rows = measure()
    print(table(rows))
    through = next((row for row in rows if row["visit"] == "nginx, first visit"), None)
    if through is None:
        print("nginx is not installed: only Streamlit itself was measured")
    else:
        print(f"{through['kb'] / 1e3:.1f} MB through nginx; goal {GOAL_MB:g}; above {GROSS_MB:g} a gross regression")
    if given.json:
        report = {"python": platform.python_version(), "streamlit": streamlit.__version__, "rows": rows}
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(through is not None and through["kb"] > 1e3 * GROSS_MB)


if __name__ == "__main__":
    sys.exit(main())
