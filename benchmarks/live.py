"""Updates a second of the live picture while its slider is dragged, in Chromium.

    python -m benchmarks.live [--short] [--json FILE]

A real server and a headless browser. The mouse events are made inside the page, one for every frame that the browser
draws, so neither the server nor the tool that drives the browser takes part: what is counted is how often the words
of the picture change while the grip sweeps from end to end and back. Beside it stands the processor time of the page's
thread for one update: a busy machine shows fewer updates, but hardly more time for each.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
import streamlit
from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.server import served
from core.live import LABELS, QUANTITIES, Quantity, reel
from core.presets import OPENING
from core.view import View
from ui.charts.live import live_figure

SWEEPS, SHORT_SWEEPS, SWEEP_S = 5, 2, 3
GOAL, GROSS = 20, 8

SWEEP = """async seconds => {
    const plot = document.querySelector('.js-plotly-plot');
    const rail = plot.querySelector('.slider-rail-touch-rect').getBoundingClientRect();
    const last = plot.layout.sliders[0].steps.length - 1;
    const words = () => [...plot.querySelectorAll('.textpoint text')].map(text => text.textContent).join('|');
    const move = (target, type, step) => target.dispatchEvent(new MouseEvent(type, {
        bubbles: true, cancelable: true, view: window, buttons: 1,
        clientX: rail.left + 10 + (rail.width - 20) * step / last, clientY: rail.top + 10,
    }));
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
    let step = 0, direction = 1, updates = 0, seen = words();
    move(plot.querySelector('.slider-grip-rect'), 'mousedown', step);
    await frame(); await frame();
    const start = performance.now();
    while (performance.now() - start < 1000 * seconds) {
        if (step + direction < 0 || step + direction > last) direction = -direction;
        step += direction;
        move(plot, 'mousemove', step);
        await frame();
        const now = words();
        if (now !== seen) { updates += 1; seen = now; }
    }
    const took = (performance.now() - start) / 1000;
    move(plot, 'mouseup', step);
    return [updates, took];
}"""


def open_picture(page: Page, url: str, quantity: Quantity) -> None:
    """The live page with one quantity to drag, at rest."""
    page.goto(f"{url}/live?{urlencode(View(OPENING).to_query())}")
    page.wait_for_selector(".js-plotly-plot .slider-grip-rect")
    page.get_by_role("radio", name=LABELS[quantity], exact=True).click()
    steps = len(reel(OPENING, quantity).frames)
    page.wait_for_function(
        "n => document.querySelector('.js-plotly-plot')?.layout?.sliders?.[0]?.steps.length === n", arg=steps
    )
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(1000)


def thread_seconds(session: CDPSession) -> float:
    """Processor time that the page's thread has worked."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def measure(sweeps: int) -> list[dict[str, Any]]:
    """One row a quantity."""
    rows: list[dict[str, Any]] = []
    with served() as server, sync_playwright() as tool:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        for quantity in QUANTITIES:
            open_picture(page, server.url, quantity)
            page.evaluate(SWEEP, 1)  # warm
            before = thread_seconds(session)
            counts = [page.evaluate(SWEEP, SWEEP_S) for _ in range(sweeps)]
            worked_s = thread_seconds(session) - before
            rates = [updates / took for updates, took in counts]
            found = reel(OPENING, quantity)
            rows.append(
                {
                    "quantity": quantity,
                    "frames": len(found.frames),
                    "figure_kb": round(len(orjson.dumps(live_figure(found))) / 1e3, 1),
                    "updates_per_s": round(statistics.median(rates), 1),
                    "lowest": round(min(rates), 1),
                    "cpu_ms": round(1e3 * worked_s / sum(updates for updates, _ in counts), 1),
                }
            )
        browser.close()
    return rows


def main() -> int:
    """Measure, print, and say whether it is a gross regression."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description="Updates a second while dragging.")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_SWEEPS} sweeps a quantity instead of {SWEEPS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()
    if shutil.which("chromium") is None:
        print("needs Chromium on the PATH")
        return 2
    rows = measure(SHORT_SWEEPS if given.short else SWEEPS)
    print("| dragged | frames | figure | updates/s, median | lowest sweep | processor time |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        size, cpu = f"{row['figure_kb']} kB", f"{row['cpu_ms']} ms"
        cells = (row["quantity"], row["frames"], size, row["updates_per_s"], row["lowest"], cpu)
        print("| " + " | ".join(map(str, cells)) + " |")
    worst = min(row["updates_per_s"] for row in rows)
    print(f"slowest {worst} updates/s; goal {GOAL} or more; below {GROSS} is a gross regression")
    report = {"python": platform.python_version(), "streamlit": streamlit.__version__, "goal": GOAL, "rows": rows}
    print(json.dumps(report))
    if given.json:
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(worst < GROSS)


if __name__ == "__main__":
    sys.exit(main())
