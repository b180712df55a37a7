"""What the first visitor waits for, and what a server holds in memory: the app against a floor.

    python -m benchmarks.start [--short] [--no-browser] [--json FILE]

The floor is `benchmarks/press_floor_app.py`, one slider and one static picture: what Streamlit and Plotly cost anybody.
App and floor take turns, each time in a new process; the modules are compiled beforehand.

- Imports: what the home page imports, against Streamlit with Plotly. Processor time, which a busy machine hardly
  changes. The packages that only the page imports are listed, as Python's `-X importtime` counts them.
- Catalogs: every file of `data/` as validated records, against the bare parser on the same file.
- Cold start: from the start of `streamlit run` until the server answers, until the first picture has arrived over the
  websocket, and until Chromium has drawn it (nothing in its cache). The processor time of the server until then is
  less noisy than the clock.
- Memory of the server: before any session, after the first, and with many open ones that have each run the page once.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import streamlit
from playwright.sync_api import Browser, sync_playwright
from streamlit.proto.Element_pb2 import Element

from benchmarks.server import served
from benchmarks.session import Run, Session
from core.scenario import Scenario
from core.view import View

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = {"app": "app.py", "floor": "benchmarks/press_floor_app.py"}
# st.plotly_chart imports these itself when it draws the first picture.
FLOOR_IMPORTS = "import streamlit\nimport plotly.basedatatypes, plotly.io, plotly.tools"
CONTRIBUTORS = 5
PROCESSES, SHORT_PROCESSES = 5, 3
STARTS, SHORT_STARTS = 3, 2
SESSIONS, SHORT_SESSIONS = 200, 40
SETTLE_S, DRAWN_S = 1.0, 60
ANSWERS, ARRIVED, DRAWN = "the server answers", "the first picture has arrived", "the first picture is drawn"
CPU = "(the server's processor time until it has arrived)"
CHART = ".js-plotly-plot .main-svg .point path"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
IDLE_GOAL_MB, SESSIONS_GOAL_MB = 120, 400
# Times of the floor; above them it is a gross regression.
GROSS_IMPORTS, GROSS_CATALOGS, GROSS_START, GROSS_MEMORY = 4.0, 4.0, 4.0, 4.0

# Reader of each catalog -> its files. A reader's imports are not part of its time.
CATALOGS = {
    "core.catalog.models": ("models.toml",),
    "core.catalog.gpus": ("gpus.toml",),
    "core.measured.sources": ("measured.toml",),
    "core.papers.examples": ("worked_examples.toml",),
}


def timed(before: str, work: str) -> float:
    """Processor seconds of some statements in a new process, after others."""
    code = f"import time\n{before}\nstart = time.process_time()\n{work}\nprint(time.process_time() - start)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def in_turns(n: int, *works: Callable[[], float]) -> list[float]:
    """The median of each, measured n times in turns."""
    rounds = [[work() for work in works] for _ in range(n)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


# ---------------------------------------------------------------- imports


def page_imports() -> str:
    """The import statements of the home page, and what its first picture adds."""
    tree = ast.parse((ROOT / SCRIPTS["app"]).read_text(encoding="utf-8"))
    lines = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return "\n".join([*lines, FLOOR_IMPORTS])


def packages(imports: str) -> dict[str, float]:
    """Seconds that the modules of each package take for themselves; the standard library is left out."""
    command = [sys.executable, "-X", "importtime", "-c", imports]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stderr
    found: defaultdict[str, float] = defaultdict(float)
    for own_us, name in re.findall(r"import time: +(\d+) \| +\d+ \| +([\w.]+)", said):
        package = name.partition(".")[0]
        if package not in sys.stdlib_module_names:
            found[package] += int(own_us) / 1e6
    return found


def measure_imports(n: int) -> dict[str, Any]:
    """Both totals, their ratio, and of the packages that only the page imports those that take longest."""
    page = page_imports()
    app_s, floor_s = in_turns(n, lambda: timed("", page), lambda: timed("", FLOOR_IMPORTS))
    # By the clock, to which other programs only add: the least of several counts.
    rounds = [packages(page) for _ in range(n)]
    added = {name: min(found[name] for found in rounds) for name in rounds[0].keys() - packages(FLOOR_IMPORTS).keys()}
    most = sorted(added, key=lambda name: -added[name])[:CONTRIBUTORS]
    return {
        "app_ms": round(app_s * 1e3, 1),
        "floor_ms": round(floor_s * 1e3, 1),
        "ratio": round(app_s / floor_s, 2),
        "added_ms": {name: round(added[name] * 1e3, 1) for name in most},
    }


# ---------------------------------------------------------------- catalogs


def measure_catalogs(n: int) -> dict[str, Any]:
    """Each file's milliseconds as records and as bare TOML, and the ratio of the sums."""
    rows: dict[str, dict[str, float]] = {}
    for reader, files in CATALOGS.items():
        module, _, name = reader.rpartition(".")
        parse = "\n".join(f"tomllib.loads((DATA / {file!r}).read_text(encoding='utf-8'))" for file in files)
        # A scenario needs models and GPUs: they are loaded by the import of whatever is built on them.
        read_s, parse_s = in_turns(
            n,
            lambda m=module, r=name: timed(f"import {m}", f"{m}.{r}.cache_clear(); {m}.{r}()"),
            lambda p=parse: timed("import tomllib\nfrom core.catalog import DATA", p),
        )
        rows[" ".join(files)] = {"records_ms": round(read_s * 1e3, 1), "parser_ms": round(parse_s * 1e3, 1)}
    ratio = sum(row["records_ms"] for row in rows.values()) / sum(row["parser_ms"] for row in rows.values())
    return {"files": rows, "ratio": round(ratio, 2)}


# ---------------------------------------------------------------- cold start


class FirstPicture(Session):
    """A session that notes when its first picture arrives."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.arrived: float | None = None

    def _take(self, element: Element, run: Run) -> None:
        super()._take(element, run)
        if run.n_charts and self.arrived is None:
            self.arrived = time.perf_counter()


async def first_picture(url: str) -> float:
    """When the first picture of a new session has come over the websocket."""
    session = FirstPicture(url)
    async with session:
        await session.open("", {})
    assert session.arrived is not None
    return session.arrived


def by_websocket(url: str) -> float:
    """When the first picture has arrived."""
    return asyncio.run(first_picture(url))


def in_browser(browser: Browser, url: str) -> float:
    """When a browser with an empty cache has drawn it."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(url, wait_until="commit")
    page.wait_for_selector(CHART, timeout=DRAWN_S * 1000)
    now = time.perf_counter()
    page.close()
    return now


def measure_starts(n: int, picture: str, visit: Callable[[str], float]) -> dict[str, Any]:
    """Medians in seconds from the start of the command, app and floor in turns, and their ratios."""
    seen: dict[tuple[str, str], list[float]] = {}
    for _ in range(n):
        for kind, script in SCRIPTS.items():
            start = time.perf_counter()
            with served(script) as server:
                seen.setdefault((ANSWERS, kind), []).append(time.perf_counter() - start)
                seen.setdefault((picture, kind), []).append(visit(server.url) - start)
                seen.setdefault((CPU, kind), []).append(server.cpu_s)
    rows: dict[str, Any] = {}
    for what in (ANSWERS, picture, CPU):
        app_s, floor_s = (statistics.median(seen[what, kind]) for kind in SCRIPTS)
        rows[what] = {"app_s": round(app_s, 2), "floor_s": round(floor_s, 2), "ratio": round(app_s / floor_s, 2)}
    return rows


# ---------------------------------------------------------------- memory


async def memory_mb(script: str, n_sessions: int) -> dict[str, float]:
    """Megabytes of a new server: idle, after one session, with all of them open."""
    with served(script) as server:

        async def settled() -> float:
            await asyncio.sleep(SETTLE_S)
            return round(server.memory_bytes / 1e6, 1)

        found = {"idle": await settled()}
        async with AsyncExitStack() as open_sessions:
            for number in range(n_sessions):
                session = await open_sessions.enter_async_context(Session(server.url))
                run = await session.open("", View(Scenario(batch=1 + number)).to_query())
                if run.errors or not run.n_charts:
                    raise RuntimeError(f"session {number} of {script}: {run.errors or 'no picture'}")
                if not number:
                    found["one_session"] = await settled()
            found["all_sessions"] = await settled()
    return found


def measure_memory(n_sessions: int) -> dict[str, Any]:
    """Both servers, and their ratio with all sessions open."""
    app, floor = (asyncio.run(memory_mb(SCRIPTS[kind], n_sessions)) for kind in ("app", "floor"))
    ratio = app["all_sessions"] / floor["all_sessions"]
    return {"sessions": n_sessions, "app_mb": app, "floor_mb": floor, "ratio": round(ratio, 2)}


# ---------------------------------------------------------------- report


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""])


def tables(report: dict[str, Any]) -> str:
    """Everything that was measured."""
    imports, catalogs, starts, memory = (report[key] for key in ("imports", "catalogs", "starts", "memory"))
    added = ", ".join(f"{name} {ms}" for name, ms in imports["added_ms"].items())
    n = memory["sessions"]
    moments = {"idle": "no session", "one_session": "1 session", "all_sessions": f"{n} sessions"}
    return "\n".join(
        [
            table(
                ("imports, app", "floor", "ratio", "longest of what only the app imports, ms"),
                [(f"{imports['app_ms']} ms", f"{imports['floor_ms']} ms", imports["ratio"], added)],
            ),
            table(
                ("catalog", "validated records", "bare parser"),
                [(name, f"{r['records_ms']} ms", f"{r['parser_ms']} ms") for name, r in catalogs["files"].items()],
            ),
            table(
                ("cold start until", "app", "floor", "ratio"),
                [(what, f"{r['app_s']} s", f"{r['floor_s']} s", r["ratio"]) for what, r in starts.items()],
            ),
            table(
                ("memory of the server", "app", "floor"),
                [(said, f"{memory['app_mb'][m]} MB", f"{memory['floor_mb'][m]} MB") for m, said in moments.items()],
            ),
        ]
    )


def above_limits(report: dict[str, Any]) -> list[str]:
    """The gross regressions, in words."""
    ratios = {
        "imports": (report["imports"]["ratio"], GROSS_IMPORTS),
        "catalogs": (report["catalogs"]["ratio"], GROSS_CATALOGS),
        "first picture": (report["starts"][CPU]["ratio"], GROSS_START),
        "memory": (report["memory"]["ratio"], GROSS_MEMORY),
    }
    return [
        f"{what}: {ratio:g} times the floor, above {most:g}" for what, (ratio, most) in ratios.items() if ratio > most
    ]


@contextmanager
def compiled() -> Iterator[None]:
    """Inside, new processes find every module compiled, as they do on any machine from the second start on."""
    with tempfile.TemporaryDirectory() as folder:
        changes = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        before = {name: os.environ.get(name) for name in changes}
        os.environ.update(changes)
        try:
            for script in SCRIPTS.values():
                with served(script) as server:
                    by_websocket(server.url)
            for reader in CATALOGS:
                timed("", f"import {reader.rpartition('.')[0]}")
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def measure(*, short: bool, with_browser: bool) -> dict[str, Any]:
    """All of it."""
    n_processes, n_starts = (SHORT_PROCESSES, SHORT_STARTS) if short else (PROCESSES, STARTS)
    report: dict[str, Any] = {"python": platform.python_version(), "streamlit": streamlit.__version__}
    report["imports"] = measure_imports(n_processes)
    report["catalogs"] = measure_catalogs(n_processes)
    report["starts"] = measure_starts(n_starts, ARRIVED, by_websocket)
    if with_browser:
        with sync_playwright() as tool:
            browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
            drawn = measure_starts(n_starts, DRAWN, partial(in_browser, browser))
            report["starts"][DRAWN] = drawn[DRAWN]
            browser.close()
    report["memory"] = measure_memory(SHORT_SESSIONS if short else SESSIONS)
    return report


def main() -> int:
    """Measure, print, and say whether it is a gross regression."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description="Start and memory of the server.")
    parser.add_argument("--short", action="store_true", help=f"fewer rounds, {SHORT_SESSIONS} sessions")
    parser.add_argument("--no-browser", action="store_true", help="without Chromium")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()
    with_browser = not given.no_browser and shutil.which("chromium") is not None
    with compiled():
        report = measure(short=given.short, with_browser=with_browser)
    print(tables(report))
    if not with_browser:
        print("without Chromium: no time until the first picture is drawn")
    print(f"goals: idle below {IDLE_GOAL_MB} MB, {SESSIONS} sessions below {SESSIONS_GOAL_MB} MB")
    failures = above_limits(report)
    for failure in failures:
        print(f"gross regression: {failure}")
    if given.json:
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
