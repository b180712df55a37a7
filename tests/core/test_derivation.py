"""Every derivation multiplies out: with the exact values, and as printed."""

import math
import re

import pytest
from hypothesis import given, settings

from core.derivation import (
    Derivation,
    intensity_derivations,
    memory_derivations,
    paging_derivations,
    prefill_derivations,
    speculation_derivations,
    speed_derivations,
    waterfall_derivations,
)
from core.drafting import draft_models, speculate
from core.evaluate import evaluate
from core.levers import waterfall
from core.pool import pool
from core.predict import view_plan
from core.scenario import Scenario
from core.view import View
from tests.strategies import scenarios

CASES = [
    Scenario(batch=32),
    Scenario(model="gemma-3-27b", context=131_072, cache_format="int4", weight_format="int4"),
    Scenario(model="deepseek-v3.2", n_gpus=16, batch=8, skip_embedding=True),
    Scenario(model="qwen3-next-80b-a3b", n_gpus=4, split="layer", batch=6, kv_heads=1),
    Scenario(model="llama-3-70b", n_gpus=16, batch=3, reserve=0.075, cache_format="q4_0"),
    Scenario(model="gpt-oss-120b", gpu="t4", batch=1, context=1),
]


def all_derivations(scenario: Scenario) -> list[Derivation]:
    result = evaluate(scenario)
    found = memory_derivations(result) + speed_derivations(result) + prefill_derivations(result)
    found += intensity_derivations(result)
    view = View(scenario)
    shared = pool(view)
    if shared is not None:
        found += paging_derivations(shared)
    drafts = draft_models(scenario.released_model)
    if drafts:
        found += speculation_derivations(speculate(scenario, drafts[0], draft_length=5, acceptance=0.8))
    return found + waterfall_derivations(waterfall(view_plan(view)))


@given(scenarios())
@settings(max_examples=80, deadline=None)
def test_exact_values_multiply_out(scenario: Scenario) -> None:
    for d in all_derivations(scenario):
        # Whole bytes are rounded up (components of a mixed format one by one): a handful of bytes at most.
        assert d.expression.value == pytest.approx(d.result.value, rel=1e-9, abs=16), d.key


SCALE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "µ": 1e-6, "n": 1e-9}


def calculator(text: str) -> float:
    """Reads a printed line as a student would type it into a calculator."""
    text = (
        text.removeprefix("× ")
        .replace("FLOP/byte", "")
        .replace(",", "")
        .replace("×", "*")
        .replace("−", "-")
        .replace(" %", "/100")
    )
    text = re.sub(r"whole part of \(", "math.floor(", text)
    scaled = re.sub(
        r"([\d.]+) ([kMGTPmµn])?(?:B/s|B|FLOP/s|FLOP|s|tokens/s|tokens|users|experts)(?![a-z/])",
        lambda m: f"({m.group(1)}*{SCALE.get(m.group(2) or '', 1)!r})",
        text,
    )
    return eval(scaled, {"math": math, "__builtins__": {}})


@pytest.mark.parametrize("scenario", CASES, ids=lambda s: s.released_model.slug)
def test_printed_numbers_multiply_out(scenario: Scenario) -> None:
    checked = 0
    for d in all_derivations(scenario):
        printed = d.expression.render("numbers")
        if "larger of" in printed:
            continue  # a comparison, nothing to multiply
        exact, _, rounded = d.result.text.partition(" = ")
        # Whole bytes must come out to the byte (each component rounds up); the rest to the digits shown.
        assert calculator(printed) == pytest.approx(
            calculator(exact), rel=1e-12 if rounded else 6e-4, abs=16 if rounded else 0
        ), d.numbers
        if rounded:
            assert calculator(rounded) == pytest.approx(calculator(exact), rel=6e-3)
        checked += 1
    assert checked > 12


def test_step_names_the_larger_time() -> None:
    step = next(d for d in all_derivations(Scenario(batch=32)) if d.key == "step_s")
    assert step.numbers == "larger of (15.05 ms, 624.4 µs) = 15.05 ms"


def test_the_issue_of_rounding_is_gone() -> None:
    """50.4 GB / 3.35 TB/s would be 15.0 ms, not 15.1: the line must carry enough digits."""
    lines = {d.key: d.numbers for d in all_derivations(Scenario(batch=32))}
    assert lines["memory_s"] == "50.420 GB / 3.35 TB/s = 15.05 ms"
    assert lines["kv_cache"] == "32 × 32 × 2 × 8 × 128 × 8,192 × 2 B = 34,359,738,368 B = 34.4 GB"


def test_nothing_is_solved_when_the_weights_do_not_fit() -> None:
    keys = {d.key for d in all_derivations(Scenario(model="llama-3.1-405b"))}
    assert "over" in keys
    assert "max_batch" not in keys
