"""Script time of one rerun of the home page, against the floor: what Streamlit itself costs for the same page.

    python -m benchmarks.rerun [--short] [--json FILE]

What is timed is the script's body alone, first line to last, by a clock inside the script thread. Streamlit's test
runner (AppTest) only starts the reruns, as a widget's change does; its own work, and that of server, network and
browser, lies outside the clock. Those are the same for page and floor, so leaving them out makes the ratio stricter.

Page and floor take turns, so a slow spell of the machine hits both. Each rerun shows a scenario that was never shown
before, so no cache of results can hide the work: page first, then (untimed) the recording that the floor replays, then
the floor. The floor's elements are compared with the page's at each step: it really draws the same.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import random
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit
from streamlit.testing.v1 import AppTest

from benchmarks.floor import STOPWATCH, Body, recorded
from core.catalog import gpus, models
from core.scenario import Scenario
from core.stops import batch_stops, context_stops

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "app.py"
TIMEOUT_S = 60
RERUNS, SHORT_RERUNS, WARM_UP = 400, 60, 10
GOAL, GROSS = 1.5, 3.0

# What a student does: mostly the sliders, now and then another model or device.
STEPS = ("batch", "context", "kv_heads", "batch", "context", "model", "batch", "context", "batch", "kv_heads", "gpu")
KINDS = {"batch": "select_slider", "context": "select_slider", "kv_heads": "select_slider"}


@dataclass(frozen=True, slots=True)
class Step:
    """One widget set to one value."""

    field: str
    value: Any

    def take(self, at: AppTest) -> None:
        getattr(at, KINDS.get(self.field, "selectbox"))(key=self.field).set_value(self.value)


def script_seconds(at: AppTest, step: Step | None, body: Body) -> float:
    """Take the step in this session and return how long the script's body ran."""
    if step:
        step.take(at)
    with STOPWATCH.running(SCRIPT, body):
        at.run()
    if at.exception:
        raise RuntimeError(f"{step}: {at.exception[0].value}")
    return STOPWATCH.seconds


def elements(at: AppTest) -> list[tuple[str, bytes]]:
    """Everything on the page, in order, as it would be sent."""
    found: list[tuple[str, bytes]] = []

    def walk(node: Any) -> None:
        if node.proto is not None:
            proto = node.proto
            if node.type == "download_button":  # its file is made when asked for, under a random name
                proto = type(proto).FromString(proto.SerializeToString())
                proto.ClearField("deferred_file_id")
            found.append((node.type, proto.SerializeToString(deterministic=True)))
        for child in getattr(node, "children", {}).values():
            walk(child)

    walk(at.main)
    return found


class Walk:
    """A random walk over the controls that never shows a scenario twice."""

    def __init__(self, seed: int) -> None:
        self._choice = random.Random(seed)
        self._fields = itertools.cycle(STEPS)
        self._seen: set[Scenario] = set()

    def step_from(self, scenario: Scenario) -> Step:
        """The next step to take."""
        self._seen.add(scenario)
        for field in self._fields:
            fresh = [value for value in options(scenario, field) if after(scenario, field, value) not in self._seen]
            if fresh:
                return Step(field, self._choice.choice(fresh))
        raise AssertionError("the cycle has no end")


def options(scenario: Scenario, field: str) -> list[Any]:
    """What a student can choose there, as the widget takes it."""
    model = scenario.released_model
    if field == "batch":
        return batch_stops(scenario.batch)
    if field == "context":
        return context_stops(model, scenario.context)
    if field == "kv_heads":  # the released number goes by that name
        numbers = [n for n in model.kv_head_options if (n,) != model.released_kv_heads]
        return [str(n) for n in numbers] if len(model.kv_head_options) > 1 else []
    return list(models() if field == "model" else gpus())


def after(scenario: Scenario, field: str, value: Any) -> Scenario:
    """The scenario that a step leads to."""
    if field == "model":
        context = min(scenario.context, models()[value].max_context)
        return scenario.replace(model=value, context=context, kv_heads=None)
    return scenario.replace(**{field: int(value) if field == "kv_heads" else value})


def measure(n_reruns: int, *, seed: int = 7) -> list[tuple[Step, float, float]]:
    """Steps with the seconds of page and floor."""
    code = compile(SCRIPT.read_text(encoding="utf-8"), str(SCRIPT), "exec")

    def page(scope: dict[str, Any]) -> None:
        exec(code, scope)

    page_at, recorded_at, floor_at = (AppTest.from_file(str(SCRIPT), default_timeout=TIMEOUT_S) for _ in range(3))
    walk = Walk(seed)
    step: Step | None = None
    found: list[tuple[Step, float, float]] = []
    for i in range(n_reruns + WARM_UP):
        page_s = script_seconds(page_at, step, page)
        with recorded() as recording:
            script_seconds(recorded_at, step, page)
        floor_s = script_seconds(floor_at, step, recording.replay)
        if elements(page_at) != elements(floor_at):
            raise RuntimeError(f"after {step} the floor does not draw what the page draws")
        if step and i >= WARM_UP:
            found.append((step, page_s, floor_s))
        query = {key: value if isinstance(value, str) else value[0] for key, value in page_at.query_params.items()}
        step = walk.step_from(Scenario.from_query(query)[0])
    return found


def summary(times: list[tuple[Step, float, float]]) -> dict[str, Any]:
    """Median and 95th percentile in milliseconds, and the ratio of the medians."""

    def spread(seconds: list[float]) -> dict[str, float]:
        high = statistics.quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]
        return {"median_ms": round(statistics.median(seconds) * 1e3, 2), "p95_ms": round(high * 1e3, 2)}

    pages, floors = [page for _, page, _ in times], [floor for _, _, floor in times]
    return {
        "reruns": len(times),
        "page": spread(pages),
        "floor": spread(floors),
        "ratio": round(statistics.median(pages) / statistics.median(floors), 3),
    }


def main() -> int:
    """Measure, print, and say whether it is a gross regression."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rerun", description="Script time of a rerun.")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_RERUNS} reruns instead of {RERUNS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()
    times = measure(SHORT_RERUNS if given.short else RERUNS)
    everything = summary(times)
    fields = sorted({step.field for step, _, _ in times})
    by_step = {field: summary([t for t in times if t[0].field == field]) for field in fields}

    print(f"{'step':10} {'reruns':>7} {'page ms':>9} {'p95':>7} {'floor ms':>9} {'p95':>7} {'ratio':>7}")
    for name, row in {**by_step, "all": everything}.items():
        print(
            f"{name:10} {row['reruns']:7} {row['page']['median_ms']:9.2f} {row['page']['p95_ms']:7.2f} "
            f"{row['floor']['median_ms']:9.2f} {row['floor']['p95_ms']:7.2f} {row['ratio']:7.2f}"
        )
    ratio = everything["ratio"]
    print(f"ratio of the medians {ratio:.2f}; goal {GOAL} or less; above {GROSS:g} is a gross regression")
    machine = {"python": platform.python_version(), "streamlit": streamlit.__version__}
    if given.json:
        report = {**machine, **everything, "by_step": by_step, "goal": GOAL}
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(ratio > GROSS)


if __name__ == "__main__":
    sys.exit(main())
