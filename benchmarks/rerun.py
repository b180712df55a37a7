"""Script time of one rerun of every page, against its floor: what Streamlit itself costs for the same page.

    python -m benchmarks.rerun [--short] [--page SLUG] [--json FILE]

What is timed is the script's body alone, first line to last, inside the script thread. Streamlit's test runner
(AppTest) only starts the reruns, as a widget's change does; its own work, and that of server, network and browser, lies
outside. Those are the same for page and floor, so leaving them out makes the ratio stricter.

The time is the thread's processor time, which other programs on the machine hardly change. Beside it stands the time by
the clock: on an idle machine the two agree, unless a page waits for something.

Page and floor take turns. What counts is a rerun whose page was never shown before, so no cache of results can hide the
work: page first, then (untimed) the recording that the floor replays, then the floor. The floor's elements are compared
with the page's at each step: it really draws the same.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import streamlit
from streamlit import logger
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from benchmarks.floor import BOXES, STOPWATCH, Body, Offer, Took, recorded
from core import lessons
from core.catalog import gpus, models
from core.lessons import Page
from core.scenario import Scenario
from core.stops import BATCH_STOPS, context_stops

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "app.py"
TIMEOUT_S = 60
RERUNS, SHORT_RERUNS, ONE_PAGE_RERUNS = 40, 7, 400
WARM_UP, SHORT_WARM_UP = 5, 2
GOAL, GROSS = 1.5, 3.0
PICKED_MAX = 3

# What a student does on a page, over and over, as patterns of widget keys: mostly the sliders, now and then a claim,
# another model or device. A key that is not drawn at the moment is passed over.
LINK = "link"  # opens another scenario by its address, as Back and the links of a lecture do
CROWD = ("batch", "context", "batch", "model", "context", "predict_*", "batch", "context", "gpu")
STEPS: dict[str, tuple[str, ...]] = {
    "home": ("batch", "context", "kv_heads", "batch", "model", "context", "preset_*", "batch", "kv_heads", "gpu"),
    "live": ("live", "model", "live", "gpu", "unit"),
    "fewer-kv-heads": ("kv_heads", "batch", "kv_heads", "model", "batch", "predict_*"),
    "longer-context": CROWD,
    "more-users": CROWD,
    "two-phases": ("batch", "context", "output", "predict_*"),
    "fewer-bits": ("weight_format", "cache_format", "model", "weight_format", "predict_*"),
    "experts": CROWD,
    "paged-cache": ("block", "mean", "spread", "predict_*"),
    "speculation": ("draft_length", "acceptance", "batch", "predict_*"),
    "cut-the-bytes": CROWD,
    "bring-your-own": ("batch", "context", "kv_heads", "own_gpu_*_gb*", "batch", "gpu"),
    "compare": ("context", "compare_only_*", "model", "compare_at_most", "compare_count", "price_*", "compare_over"),
    "reality": ("reality_by", "reality_Device_*", "reality_kind", "reality_Engine_*", "reality_one", "model"),
    "worksheet": ("seed", "batch", "context", "reveal", "model"),
    "instructor": (LINK,),
    "naive": ("batch", "context", "preset_*", "model", "context"),
    "papers": ("papers_paper", "papers_box_*", "papers_status", "papers_box_*"),
    "sources": ("formulas_*", LINK),
}
# The page about one's own model is for whoever has brought one.
OWN_MODEL = {
    "model_type": "llama",
    "hidden_size": 3072,
    "intermediate_size": 9216,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 100_000,
    "max_position_embeddings": 65_536,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def prepare() -> None:
    """What makes a new AppTest slow or loud: it scans all installed packages, and warns that it is not in a script."""
    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
    logger.get_logger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True


@dataclass(frozen=True, slots=True)
class Step:
    """One widget set to one value, or another scenario opened by its address."""

    name: str  # its pattern in STEPS
    key: str
    command: str
    value: Any

    def take(self, at: AppTest) -> None:
        if self.command == LINK:
            for key, value in self.value.items():
                at.query_params[key] = value
        elif self.command in BOXES:
            at.session_state[self.key] = self.value
        elif self.command == "button":
            at.button(key=self.key).click()
        else:
            getattr(at, self.command)(key=self.key).set_value(self.value)


@dataclass(frozen=True, slots=True)
class Timed:
    """One rerun of the page and of its floor."""

    step: Step
    page: Took
    floor: Took


class Session:
    """One session of the test runner on a page."""

    def __init__(self, page: Page) -> None:
        self._script = ROOT / page.file
        self.at = AppTest.from_file(str(HOME), default_timeout=TIMEOUT_S)
        self.at.switch_page(page.file)

    def run(self, step: Step | None, body: Body) -> Took:
        """Take the step and return how long the script's body ran."""
        if step:
            step.take(self.at)
        with STOPWATCH.running(self._script, body):
            self.at.run()
        if self.at.exception:
            raise RuntimeError(f"{step}: {self.at.exception[0].value}")
        return STOPWATCH.took


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
    """A random walk over the widgets that a page offers."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        self._choice = random.Random(seed)
        self._names = names
        self._cycle = itertools.cycle(names)
        self._seen: set[str] = set()

    def is_new(self, at: AppTest, offers: dict[str, Offer]) -> bool:
        """Whether what is shown now is shown for the first time."""
        held = [(key, at.session_state[key]) for key in offers if key in at.session_state]
        shown = repr((sorted(at.query_params.items()), held))
        is_new = shown not in self._seen
        self._seen.add(shown)
        return is_new

    def step(self, at: AppTest, offers: dict[str, Offer]) -> Step:
        """The next step to take."""
        for name in itertools.islice(self._cycle, len(self._names)):
            if name == LINK:
                return Step(name, name, LINK, self._scenario().to_query())
            drawn = [key for key in offers if fnmatchcase(key, name)]
            if drawn:
                key = self._choice.choice(drawn)
                now = at.session_state.get(key)
                values = self._values(offers[key], now)
                if values:
                    return Step(name, key, offers[key].command, self._choice.choice(values))
        raise RuntimeError(f"the page offers none of {self._names}")

    def _values(self, offer: Offer, now: Any) -> list[Any]:
        """What to set a widget to, other than what it shows."""
        if offer.command == "button":
            return [True]
        if offer.command == "multiselect":
            size = self._choice.randint(1, min(PICKED_MAX, len(offer.values)))
            return [sorted(self._choice.sample(offer.values, size), key=offer.values.index)]
        return [value for value in offer.values if value != now]

    def _scenario(self) -> Scenario:
        model = self._choice.choice(list(models().values()))
        context = self._choice.choice(context_stops(model, model.max_context))
        gpu = self._choice.choice(list(gpus()))
        return Scenario(model=model.slug, gpu=gpu, batch=self._choice.choice(BATCH_STOPS), context=context)


def opening(page: Page) -> Iterator[Step | None]:
    """How a session on a page begins: it is opened, and where a page is about one's own model, that is pasted."""
    yield None
    if page.slug == "bring-your-own":
        yield Step("paste", "own_text", "text_area", json.dumps(OWN_MODEL))
        yield Step("paste", "own_paste", "button", True)


def measure(page: Page, n_reruns: int, warm_up: int, *, seed: int) -> list[Timed]:
    """`n_reruns` reruns of page and floor; fewer where the page has no more to show."""
    script = ROOT / page.file
    code = compile(script.read_text(encoding="utf-8"), str(script), "exec")

    def body(scope: dict[str, Any]) -> None:
        exec(code, scope)

    shown, noted, floor = Session(page), Session(page), Session(page)
    walk, offers = Walk(STEPS[page.slug], seed), dict[str, Offer]()
    steps = itertools.chain(opening(page), iter(lambda: walk.step(shown.at, offers), None))
    found: list[Timed] = []
    for taken, step in enumerate(itertools.islice(steps, 2 * (n_reruns + warm_up))):
        page_took = shown.run(step, body)
        with recorded() as recording:
            noted.run(step, body)
        floor_took = floor.run(step, recording.replay)
        if elements(shown.at) != elements(floor.at):
            raise RuntimeError(f"{page.slug}: after {step} the floor does not draw what the page draws")
        offers = recording.offers
        is_new = walk.is_new(shown.at, offers)
        if step and is_new and taken >= warm_up:
            found.append(Timed(step, page_took, floor_took))
        if len(found) == n_reruns:
            break
    return found


def summary(times: Sequence[Timed]) -> dict[str, Any]:
    """Median and 95th percentile in milliseconds, and the median of the ratios, each of one step's page and floor."""

    def spread(read: Callable[[Timed], float]) -> dict[str, float]:
        seconds = [read(t) for t in times]
        high = statistics.quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]
        return {"median_ms": round(statistics.median(seconds) * 1e3, 2), "p95_ms": round(high * 1e3, 2)}

    return {
        "reruns": len(times),
        "page": spread(lambda t: t.page.cpu_s),
        "floor": spread(lambda t: t.floor.cpu_s),
        "ratio": round(statistics.median(t.page.cpu_s / t.floor.cpu_s for t in times), 3),
        "page_by_the_clock": spread(lambda t: t.page.wall_s),
        "floor_by_the_clock": spread(lambda t: t.floor.wall_s),
        "ratio_by_the_clock": round(statistics.median(t.page.wall_s / t.floor.wall_s for t in times), 3),
    }


def by_step(times: Sequence[Timed]) -> dict[str, dict[str, Any]]:
    """A summary for each kind of step."""
    names = dict.fromkeys(t.step.name for t in times)
    return {name: summary([t for t in times if t.step.name == name]) for name in names}


def print_table(first: str, rows: dict[str, dict[str, Any]]) -> None:
    """One row a page or step; above the goal it is marked."""
    width = max(map(len, (first, *rows)))
    head = f"{first:{width}} {'reruns':>7} {'page ms':>8} {'p95':>7} {'floor ms':>9} {'p95':>7} {'ratio':>7}"
    print(f"{head} {'by the clock':>13}")
    for name, row in rows.items():
        mark = f"  above {GOAL}" if row["ratio"] > GOAL else ""
        print(
            f"{name:{width}} {row['reruns']:7} {row['page']['median_ms']:8.2f} {row['page']['p95_ms']:7.2f} "
            f"{row['floor']['median_ms']:9.2f} {row['floor']['p95_ms']:7.2f} {row['ratio']:7.2f} "
            f"{row['ratio_by_the_clock']:13.2f}{mark}"
        )


def main() -> int:
    """Measure, print, and say whether it is a gross regression."""
    slugs = [page.slug for page in lessons.PAGES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rerun", description="Script time of a rerun.")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_RERUNS} reruns a page instead of {RERUNS}")
    parser.add_argument("--page", choices=slugs, metavar="SLUG", help=f"one page, {ONE_PAGE_RERUNS} reruns, by step")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args()
    prepare()
    n_reruns = SHORT_RERUNS if given.short else ONE_PAGE_RERUNS if given.page else RERUNS
    warm_up = SHORT_WARM_UP if given.short else WARM_UP
    rows: dict[str, dict[str, Any]] = {}
    for seed, page in enumerate(lessons.PAGES):  # a seed each: a scenario that another page has shown is no new one
        if given.page in (None, page.slug):
            times = measure(page, n_reruns, warm_up, seed=seed)
            rows[page.slug] = summary(times) | {"by_step": by_step(times)}
    if given.page:
        print_table("step", {**rows[given.page]["by_step"], "all": rows[given.page]})
    else:
        print_table("page", rows)
    worst = max(rows, key=lambda slug: rows[slug]["ratio"])
    ratio = rows[worst]["ratio"]
    print(f"highest ratio {ratio:.2f} ({worst}); goal {GOAL} or less; above {GROSS:g} is a gross regression")
    if given.json:
        machine = {"python": platform.python_version(), "streamlit": streamlit.__version__, "goal": GOAL}
        given.json.write_text(json.dumps({**machine, "pages": rows}, indent=2) + "\n", encoding="utf-8")
    return int(ratio > GROSS)


if __name__ == "__main__":
    sys.exit(main())
