"""Time of the compare page's whole grid, every model on every device, and of a thousand single evaluations.

    python -m benchmarks.grid [--short] [--json FILE]

Each round asks about a context that was not asked about before, so no cache of results can hide the work. What depends
on a model alone (its tensors, their bytes in a format) is worked out once and kept, as in the app: the first round,
which has it to do, is reported by itself.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.catalog import gpus, models
from core.evaluate import evaluate
from core.grid import grid
from core.scenario import Scenario

ROUNDS, SHORT_ROUNDS = 40, 8
EVALUATIONS = 1000
GOAL_MS, GROSS_MS = 500.0, 2000.0


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def spread(times: list[float]) -> dict[str, float]:
    high = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return {"median_ms": round(statistics.median(times), 2), "p95_ms": round(high, 2)}


def scenarios(n: int, *, seed: int = 7) -> list[Scenario]:
    """Random pairs of model and device, loads and numbers of GPUs; validated beforehand, since a page holds one."""
    choose = random.Random(seed)
    of, on = sorted(models()), sorted(gpus())
    return [
        Scenario(
            model=choose.choice(of),
            gpu=choose.choice(on),
            n_gpus=choose.choice((1, 2, 4, 8)),
            batch=choose.randint(1, 4096),
            context=choose.randint(1, 131_072),
        )
        for _ in range(n)
    ]


def measure(rounds: int) -> dict[str, Any]:
    """The first grid, later grids, and evaluations in rounds of a thousand."""
    of, on = list(models().values()), list(gpus().values())
    first = milliseconds(lambda: grid(Scenario(context=1000), of, on))
    later = [
        milliseconds(lambda c=context: grid(Scenario(context=c), of, on)) for context in range(2000, 2000 + rounds)
    ]
    asked = scenarios(EVALUATIONS)
    singles = [milliseconds(lambda: [evaluate(scenario) for scenario in asked]) for _ in range(max(3, rounds // 4))]
    return {
        "cells": len(of) * len(on),
        "rounds": rounds,
        "first_grid_ms": round(first, 1),
        "grid": spread(later),
        "microseconds_a_cell": round(statistics.median(later) * 1e3 / (len(of) * len(on)), 1),
        "evaluations": EVALUATIONS,
        "evaluate": spread(singles),
    }


def main() -> int:
    """Measure, print, and say whether it is a gross regression."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grid", description="Time of the whole grid.")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_ROUNDS} rounds instead of {ROUNDS}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()
    found = measure(SHORT_ROUNDS if given.short else ROUNDS)
    grids, singles = found["grid"], found["evaluate"]

    print(f"{'what':34} {'median ms':>10} {'p95':>8}")
    print(f"{'first grid, models worked out':34} {found['first_grid_ms']:10.1f}")
    print(f"{found['cells']:,} cells{'':23} {grids['median_ms']:10.1f} {grids['p95_ms']:8.1f}")
    print(f"{found['evaluations']:,} evaluations{'':17} {singles['median_ms']:10.1f} {singles['p95_ms']:8.1f}")
    print(
        f"{found['microseconds_a_cell']} µs a cell; goal {GOAL_MS:g} ms a grid; above {GROSS_MS:g} a gross regression"
    )
    if given.json:
        report = {"python": platform.python_version(), **found, "goal_ms": GOAL_MS}
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(grids["median_ms"] > GROSS_MS)


if __name__ == "__main__":
    sys.exit(main())
