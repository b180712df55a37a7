"""Rows for CSV: every row has a cell for each column, columns name their unit, numbers are the results'."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from core import exact
from core.drafting import speculate
from core.evaluate import costs, evaluate, request
from core.levers import waterfall
from core.paging import blocks_needed
from core.pool import pool
from core.predict import view_plan
from core.report import Rowset
from core.scenario import Scenario
from core.speculation import ACCEPTANCES
from core.variants import architectures, kv_variants, unwindowed_cache
from core.view import View
from tests.strategies import scenarios


def every(scenario: Scenario) -> Iterator[Rowset]:
    yield exact.users_curve(scenario)
    yield exact.context_curve(scenario)
    yield exact.phases(evaluate(scenario), request(scenario, 100))
    yield exact.weight_formats(scenario)
    yield exact.cache_formats(scenario)
    yield exact.experts(scenario)
    yield exact.heads(kv_variants(scenario))
    yield exact.layer_kinds(architectures(2048), architectures(None))
    view = View(scenario)
    yield exact.levers(waterfall(view_plan(view)))
    shared = pool(view)
    if shared is not None:
        yield exact.pool_shares(shared)
        yield exact.pool_requests(shared)
    if view.draft_model is not None:
        yield exact.by_draft_length(scenario, view.draft_model, 0.7)
        yield exact.by_users(scenario, view.draft_model, 4, 0.7)


@given(scenarios())
@settings(max_examples=40, deadline=None)
def test_rows_are_whole_and_finite(scenario: Scenario) -> None:
    for header, rows in every(scenario):
        assert len(set(header)) == len(header)
        assert all(len(row) == len(header) for row in rows)
        assert all(math.isfinite(cell) for row in rows for cell in row if isinstance(cell, int | float))
        # Numbers as numbers, never as text beside its unit; labels stand first.
        assert not any(isinstance(cell, str) and cell[:1].isdigit() for row in rows for cell in row[1:])


def columns(rowset: Rowset, here: object) -> dict[str, object]:
    header, rows = rowset
    (row,) = (row for row in rows if row[0] == here)
    return dict(zip(header, row, strict=True))


def test_the_present_scenario_is_on_every_curve() -> None:
    scenario = Scenario(model="mixtral-8x7b", n_gpus=2, batch=48, context=5000, cache_format="fp8")
    result = evaluate(scenario)
    m, d = result.memory, result.decode
    users = columns(exact.users_curve(scenario), 48)
    assert users["together at most (tokens/s)"] == d.tokens_per_s
    assert users["step at least (s)"] == d.step_s
    assert users["together at the expected experts (tokens/s)"] == d.expected.tokens_per_s
    assert users["cache read a step (bytes)"] == d.kv_read_bytes
    context = columns(exact.context_curve(scenario), 5000)
    assert context["KV cache (bytes)"] == m.kv_bytes
    assert context["most users that fit"] == m.max_batch
    experts = columns(exact.experts(scenario), 48)
    assert experts["experts, expected"] == d.expected.experts_touched
    assert experts["experts, most"] == 8
    assert columns(exact.cache_formats(scenario), "fp8")["KV cache (bytes)"] == m.kv_bytes
    assert columns(exact.weight_formats(scenario), "native")["total (bytes)"] == m.weights_bytes


def test_components_add_up() -> None:
    header, rows = exact.weight_formats(Scenario(model="deepseek-v3", n_gpus=16))
    parts = [i for i, name in enumerate(header) if name.endswith("(bytes)") and not name.startswith("total")]
    total = header.index("total (bytes)")
    for row in rows:
        assert sum(row[i] for i in parts) == row[total]


def test_phases_hold_the_request() -> None:
    scenario = Scenario(batch=32)
    asked = request(scenario, 256)
    rows = dict(exact.phases(evaluate(scenario), asked)[1])
    assert rows["request at least (s)"] == asked.total_s
    assert rows["time to first token at least (s)"] == evaluate(scenario).prefill.ttft_s
    assert rows["attainable by prefill (FLOP/s)"] == rows["peak (FLOP/s)"]
    assert rows["attainable by attention in decode (FLOP/s)"] == pytest.approx(4 * rows["bandwidth (bytes/s)"])


def test_the_pool_s_slots_add_up() -> None:
    found = pool(View(Scenario(context=8192)))
    assert found is not None
    shares = {row[0]: row[1:] for row in exact.pool_shares(found)[1]}
    for way in (0, 1):
        names = ("slots with a token", "slots held without a token", "free slots")
        assert sum(shares[name][way] for name in names) == shares["slots of the pool"][way]
    _, rows = exact.pool_requests(found)
    assert sum(row[1] for row in rows if row[3] is not None) == shares["slots with a token"][1]
    assert all(row[3] == blocks_needed(tokens=row[1], block=16) * 16 for row in rows)
    assert len(rows) == shares["users served"][1]


def test_speculation_at_the_acceptances_drawn() -> None:
    view = View(Scenario(model="llama-3-70b", n_gpus=4, batch=8))
    assert view.draft_model is not None
    _, rows = exact.by_draft_length(view.scenario, view.draft_model, 0.7)
    assert rows[4][1] == rows[4][2 + ACCEPTANCES.index(0.7)]
    found = speculate(view.scenario, view.draft_model, draft_length=4, acceptance=0.7)
    assert rows[4][-1] == found.tokens_per_s
    assert columns(exact.by_users(view.scenario, view.draft_model, 4, 0.7), 8)["speed-up"] == found.speed_up


def test_levers_end_where_the_waterfall_ends() -> None:
    fall = waterfall(view_plan(View(Scenario(batch=32))))
    rows = exact.levers(fall)[1]
    assert rows[0][3] == float(fall.start_bytes)
    assert rows[-1][3] == float(fall.end_bytes)


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_windows_never_add_cache(scenario: Scenario) -> None:
    """Also with other KV heads and on several GPUs."""
    if scenario.model_spec.state_bytes:  # a state is not part of what grows
        return
    full = unwindowed_cache(scenario).bytes(scenario.context, scenario.batch)
    assert full >= costs(scenario).stored.bytes(scenario.context, scenario.batch)
