"""The grid is `evaluate`, cell by cell; GPUs needed are the fewest; the front is the front; what is said is so."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog import gpus, models
from core.compare import (
    ANNOUNCED,
    AT_MOST,
    CHART_ROWS,
    COUNTS,
    MIXTURE,
    OVERS,
    Choice,
    Row,
    batches_to,
    compare,
    counted,
    curves,
    dominates,
    facets,
    grid,
    options,
    pareto,
    scenario_for,
    smallest_count,
)
from core.compare_report import cautions, comparison_rows, summary
from core.evaluate import evaluate
from core.pinned import pinned_rows, refusal, side_by_side
from core.pins import PINS_MAX
from core.prices import Edit, terms
from core.scenario import BATCH_MAX, GPUS_MAX, Scenario
from tests.strategies import scenarios

MODELS, GPUS = st.sampled_from(sorted(models())), st.sampled_from(sorted(gpus()))
HUGE = Scenario(model="gpt-3-175b", context=2**24, batch=1)


def cell(scenario: Scenario, model: str, gpu: str) -> tuple[Row, Scenario]:
    """One row, and the scenario it is about."""
    (row,) = grid(scenario, [models()[model]], [gpus()[gpu]])
    return row, scenario_for(scenario, models()[model], gpu=gpu, batch=1)


def fits(scenario: Scenario, n_gpus: int) -> bool:
    return evaluate(scenario.replace(n_gpus=n_gpus)).memory.fits


def assert_is_evaluate(row: Row, asked: Scenario) -> None:
    if row.n_gpus is None:
        assert (row.max_batch, row.ttft_s, row.one, row.full, row.dollars_low, row.joules) == (None,) * 6
        assert not row.fits_as_asked
        return
    assert row.one is not None
    assert row.full is not None
    alone = evaluate(asked.replace(n_gpus=row.n_gpus))
    crowd = evaluate(asked.replace(n_gpus=row.n_gpus, batch=row.full.batch))
    assert alone.memory.fits
    assert row.max_batch == alone.memory.max_batch
    assert row.full.batch == min(row.max_batch or 0, BATCH_MAX)
    assert row.ttft_s == alone.prefill.ttft_s
    for speed, decode in ((row.one, alone.decode), (row.full, crowd.decode)):
        assert speed.step_s == decode.step_s
        assert speed.tokens_per_s == decode.tokens_per_s
        assert speed.tokens_per_s_per_user == decode.tokens_per_s_per_user
        assert speed.expected_tokens_per_s == (decode.expected.tokens_per_s if decode.expected else None)
    assert row.fits_as_asked == evaluate(asked).memory.fits
    if row.n_gpus > asked.n_gpus:
        assert not fits(asked, asked.n_gpus)
        assert not fits(asked, row.n_gpus - 1)


@given(scenarios(), MODELS, GPUS)
@settings(max_examples=120, deadline=None)
def test_every_cell_is_evaluate(scenario: Scenario, model: str, gpu: str) -> None:
    row, asked = cell(scenario, model, gpu)
    assert (row.model.slug, row.gpu.slug) == (model, gpu)
    assert_is_evaluate(row, asked)


@given(scenarios(), GPUS)
@settings(max_examples=60, deadline=None)
def test_gpus_needed_are_the_fewest(scenario: Scenario, gpu: str) -> None:
    """Against looking at every count; the scenario's own model, what-if heads included."""
    asked = scenario.replace(gpu=gpu, batch=1)
    (row,) = grid(asked, [asked.released_model], [asked.gpu_spec])
    first = next((n for n in range(asked.n_gpus, GPUS_MAX + 1) if fits(asked, n)), None)
    assert row.n_gpus == first
    assert_is_evaluate(row, asked)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(model="falcon-7b", gpu="rtx-3060-12gb", context=100_000),  # one KV head: repeated on every GPU
        Scenario(model="llama-3-70b", gpu="rtx-3060-12gb", context=131_072),  # repeated from the ninth GPU on
        Scenario(model="llama-3-70b", gpu="rtx-3060-12gb", context=131_072, split="layer"),
        Scenario(model="deepseek-v3", gpu="h100-sxm", context=163_840),  # MLA's latent is on every GPU
        Scenario(model="gemma-3-27b", gpu="l4", context=131_072),  # windows
        Scenario(model="gemma-3-27b", gpu="l4", context=131_072, kv_heads=1),
        Scenario(model="qwen3-next-80b-a3b", gpu="l4", context=262_144),  # recurrent state
        Scenario(model="llama-3.1-405b", gpu="h100-sxm", n_gpus=8, weight_format="fp8"),
    ],
    ids=lambda s: f"{s.model}-{s.gpu}-{s.split}",
)
def test_kinds_of_cache(scenario: Scenario) -> None:
    (row,) = grid(scenario, [scenario.released_model], [scenario.gpu_spec])
    first = next((n for n in range(scenario.n_gpus, GPUS_MAX + 1) if fits(scenario, n)), None)
    assert row.n_gpus == first
    assert_is_evaluate(row, scenario)


def test_more_gpus_stop_helping_where_each_holds_the_whole_cache() -> None:
    """One KV head is kept whole on each GPU: where it leaves too little there, no number of GPUs is enough."""
    tensor = Scenario(model="falcon-7b", gpu="rtx-3060-12gb", context=2**21)
    assert cell(tensor, "falcon-7b", "rtx-3060-12gb")[0].n_gpus is None
    assert cell(tensor.replace(split="layer"), "falcon-7b", "rtx-3060-12gb")[0].n_gpus is not None


@given(scenarios(), MODELS, GPUS)
@settings(max_examples=60, deadline=None)
def test_some_number_of_gpus_is_enough_exactly_if_the_most_is(scenario: Scenario, model: str, gpu: str) -> None:
    """Per GPU, weights and cache only shrink with more GPUs: what fits on some fits on more."""
    row, asked = cell(scenario, model, gpu)
    assert (row.n_gpus is not None) == fits(asked, GPUS_MAX)


@given(
    low=st.integers(1, 60),
    start=st.integers(0, 10**12),
    helps=st.lists(st.integers(-(10**11), 10**11), min_size=90, max_size=90),
    noise=st.lists(st.integers(-2, 2), min_size=91, max_size=91),
)
def test_smallest_count_is_a_search_through_all(low: int, start: int, helps: list[int], noise: list[int]) -> None:
    """Any convex shortfall (each next GPU helps no more than the one before), off by rounding."""
    values = [start]
    for each in sorted(helps, reverse=True):
        values.append(values[-1] - each)
    values = [value + off for value, off in zip(values, noise, strict=True)]
    high = len(values)
    found = smallest_count(lambda n: values[n - 1], low=low, high=high, rounding=8)
    assert found == next((n for n in range(low, high + 1) if values[n - 1] <= 0), None)


def test_what_if_heads_stay_with_their_model() -> None:
    s = Scenario(kv_heads=32)
    mine, other = grid(s, [models()["llama-3-8b"], models()["llama-3.1-8b"]], [gpus()["h100-sxm"]])
    assert (mine.model_name, other.model_name) == ("Llama 3 8B (32 KV heads)", "Llama 3.1 8B")
    assert mine.max_batch is not None
    assert other.max_batch is not None
    assert mine.max_batch * 4 <= other.max_batch


# ---------------------------------------------------------------- the front

places = st.builds(
    lambda step, rate: SimpleNamespace(step_s=step, throughput=rate),
    st.integers(1, 12).map(float) | st.floats(1e-4, 10),
    st.integers(1, 12).map(float) | st.floats(1, 1e6),
)


@given(st.lists(places, max_size=40))
def test_the_front_is_what_nothing_dominates(points: list[SimpleNamespace]) -> None:
    front = pareto(points)
    on = {id(p) for p in front}
    for point in points:
        assert any(dominates(other, point) for other in points) == (id(point) not in on)
    for point in points:
        if id(point) not in on:
            assert any(dominates(member, point) for member in front)
    assert front == sorted(front, key=lambda p: (p.step_s, p.throughput))
    assert [p.throughput for p in front] == sorted(p.throughput for p in front)


@given(places, places)
def test_domination_is_strict_and_one_way(a: SimpleNamespace, b: SimpleNamespace) -> None:
    assert not dominates(a, a)
    assert not (dominates(a, b) and dominates(b, a))


@given(st.integers(1, 10**15))
def test_batches_end_at_the_largest(most: int) -> None:
    found = batches_to(most)
    assert found[-1] == most
    assert found[0] == 1
    assert found == sorted(set(found))


@given(scenarios(), st.lists(GPUS, min_size=1, max_size=4, unique=True), st.sampled_from(COUNTS))
@settings(max_examples=60, deadline=None)
def test_curves_are_evaluate_along_batches(scenario: Scenario, on: list[str], count: str) -> None:
    rows = grid(scenario, [scenario.released_model], [gpus()[gpu] for gpu in on])
    for curve in curves(scenario, rows, count):
        row = curve[-1].row
        assert curve[0].speed == row.one
        assert curve[-1].speed == row.full
        assert curve[-1].is_full
        batches = [point.speed.batch for point in curve]
        assert set(batches_to(batches[-1])) <= set(batches)
        for point in (curve[0], curve[len(curve) // 2], curve[-1]):
            asked = scenario.replace(gpu=row.gpu.slug, n_gpus=row.n_gpus, batch=point.speed.batch)
            decode = evaluate(asked).decode
            assert point.step_s == decode.step_s
            assert point.throughput == counted(row, decode.tokens_per_s, count)
        steps = [point.step_s for point in curve]
        assert steps == sorted(steps)  # a larger batch never makes a step shorter


@pytest.mark.parametrize(
    ("scenario", "choice"),
    [
        (Scenario(model="llama-3-70b", context=3_000), Choice(count="gpu")),
        (Scenario(model="mixtral-8x7b"), Choice(only=frozenset({"consumer"}))),
        (Scenario(model="llama-2-7b", context=3_000), Choice(count="joule")),
    ],
)
def test_nothing_leads_because_another_was_not_looked_at_there(scenario: Scenario, choice: Choice) -> None:
    """Here a row ends among the fastest, at a batch that the others would not be taken at otherwise."""
    found, count = compare(scenario, choice), choice.count
    for point in found.front:
        batch = point.speed.batch
        for row in (curve[0].row for curve in found.curves if curve[-1].speed.batch >= batch):
            decode = evaluate(scenario.replace(gpu=row.gpu.slug, n_gpus=row.n_gpus, batch=batch)).decode
            there = SimpleNamespace(step_s=decode.step_s, throughput=counted(row, decode.tokens_per_s, count))
            assert not dominates(there, point)


def test_equal_devices_tie_on_the_front() -> None:
    """Devices of one bandwidth are as fast at equal batch: looked at there, none hides another."""
    found = compare(Scenario(), Choice(only=frozenset({"AMD", "datacenter"})))
    on = {point.row.gpu.slug for point in found.front_rows}
    assert {"mi350x", "mi355x"} <= on


# ---------------------------------------------------------------- money


def test_cost_of_a_row() -> None:
    (row,) = grid(Scenario(), [models()["llama-3-8b"]], [gpus()["h100-sxm"]])
    assert row.full is not None
    hours = 1e6 / row.full.tokens_per_s / 3600
    assert row.dollars_low == pytest.approx(1.99 * hours)
    assert row.dollars_high == pytest.approx(5.00 * hours)
    assert row.joules == pytest.approx(700 * 3600 * hours)
    assert counted(row, row.full.tokens_per_s, "dollar") == pytest.approx(1e6 / (row.dollars_low or 1))
    assert counted(row, row.full.tokens_per_s, "joule") == pytest.approx(1e6 / (row.joules or 1))


def test_edits_replace_the_catalogs_figures_and_blank_stays_blank() -> None:
    t4 = gpus()["t4"]
    assert terms(t4).low is None
    edited = (("t4", Edit(price_per_gpu_hour=0.5, power_w=35)),)
    before, after = (grid(Scenario(weight_format="int4"), [models()["llama-3-8b"]], [t4], e)[0] for e in ((), edited))
    assert before.dollars_low is None
    assert after.dollars_low == after.dollars_high
    assert after.dollars_low is not None
    assert before.joules == pytest.approx(2 * (after.joules or 0))
    assert after.terms.dated == "yours"
    assert (before.one, before.full, before.n_gpus) == (after.one, after.full, after.n_gpus)
    free = terms(t4, Edit(price_per_gpu_hour=0.0, power_w=0.0))
    assert (free.low, free.high, free.power_w) == (0.0, 0.0, 0.0)


# ---------------------------------------------------------------- what is shown


def test_facets_never_share_a_word() -> None:
    of = [facets(row) for row in grid(Scenario(), models().values(), gpus().values())]
    words = {key: {found[key] for found in of} for key in of[0]}
    assert sum(map(len, words.values())) == len(set().union(*words.values()))
    assert ANNOUNCED not in set().union(*words.values())


@pytest.mark.parametrize("over", OVERS)
def test_every_option_shows_only_its_kind(over: str) -> None:
    short = Scenario(context=128)  # no model stops before it
    for word in options(short, over):
        found = compare(short, Choice(over=over, only=frozenset({word}), at_most=None))
        assert all(word in facets(row).values() or word == ANNOUNCED for row in found.rows)
        assert found.rows


def test_kinds_meet_across_facets_and_add_up_within_one() -> None:
    def shown(*words: str) -> set[str]:
        return {row.gpu.slug for row in compare(Scenario(), Choice(only=frozenset(words), at_most=None)).rows}

    assert shown("AMD", "NVIDIA") == shown("AMD") | shown("NVIDIA")
    assert shown("AMD", "consumer") == shown("AMD") & shown("consumer")
    assert shown(ANNOUNCED) - shown() == {slug for slug, gpu in gpus().items() if gpu.preview}


def test_at_most_and_everything() -> None:
    few = compare(HUGE, Choice(at_most=AT_MOST))
    every = compare(HUGE, Choice(at_most=None))
    assert all(row.n_gpus and row.n_gpus <= AT_MOST for row in few.rows)
    assert len(every.rows) + every.n_announced == every.n_cells == len(gpus())
    unfit = [row.n_gpus is None for row in every.rows]
    assert unfit == sorted(unfit)  # what fits nowhere comes last


def test_short_models_are_left_out_of_grids_of_many_but_ones_own_stays() -> None:
    s = Scenario(model="opt-13b", context=100_000)
    found = compare(s, Choice(over="models", at_most=None))
    assert all(row.model.max_context >= s.context or row.model == s.released_model for row in found.rows)
    assert any(found.is_own(row) for row in found.rows)
    assert found.n_short == len(models()) - len(found.rows)
    said = " ".join(cautions(found))
    assert f"{found.n_short} models that stop before 100,000 tokens are left out." in said
    assert "100,000 tokens is a what-if" in said


def test_own_specs_are_in_the_grid() -> None:
    model = models()["llama-3-8b"].model_copy(update={"slug": "mine", "name": "Mine"})
    gpu = gpus()["h100-sxm"].model_copy(update={"slug": "custom", "name": "My device", "vendor": "me"})
    s = Scenario(model=model, gpu=gpu)
    found = compare(s, Choice(over="gpus", at_most=None))
    (own,) = [row for row in found.rows if found.is_own(row)]
    (h100,) = [row for row in found.rows if row.gpu.slug == "h100-sxm"]
    assert own.full == h100.full
    assert own.group == "My device"
    assert "me" in options(s, "gpus")
    assert any(found.is_own(row) for row in compare(s, Choice(over="models", at_most=None)).rows)
    assert any(found.is_own(row) for row in compare(s, Choice(over="all", at_most=None)).rows)


def test_scenarios_that_differ_in_users_share_one_grid() -> None:
    first = compare(Scenario(batch=1), Choice(over="all"))
    again = compare(Scenario(batch=32), Choice(over="all"))
    assert first.rows[0] is again.rows[0]
    assert first.is_map
    assert not first.curves


def test_the_largest_picture_holds_a_column_of_the_grid() -> None:
    assert max(len(models()), len(gpus())) <= CHART_ROWS


# ---------------------------------------------------------------- what is said


def test_summary_says_the_figures_of_the_rows() -> None:
    found = compare(Scenario(model="llama-3-70b"))
    said = " ".join(summary(found))
    fit = [row for row in found.rows if row.n_gpus]
    one = [row for row in fit if row.n_gpus == 1]
    assert f"{len(fit)} of {len(gpus())} devices hold Llama 3 70B" in said
    assert f"for {len(one)} of them one will do" in said
    cheapest = min((row for row in fit if row.dollars_low is not None), key=lambda row: row.dollars_low or math.inf)
    assert f"Cheapest at best, of the 12 rows with a price: {cheapest.group}, $" in said
    most = found.front[-1]
    assert f"at most {most.throughput:,.0f} tokens/s with {most.speed.batch} users" in said


@pytest.mark.parametrize(
    ("scenario", "choice", "said"),
    [
        (
            HUGE,
            Choice(),
            "Nothing holds 16,777,216 tokens on at most 8 GPUs: allow more GPUs, use fewer bits or shorten "
            "the context.",
        ),
        (
            Scenario(),
            Choice(at_most=1, only=frozenset({"edge", "AMD"})),
            "Nothing of the chosen kinds holds 8,192 tokens on at most 1 GPU: allow more GPUs, choose more kinds or "
            "shorten the context.",
        ),
        (
            Scenario(model="gpt-3-175b", gpu="t4", context=2**24, reserve=0.9),
            Choice(over="models", only=frozenset({"GPT-3"}), at_most=None),
            "0 of 1 models",
        ),
    ],
)
def test_nothing_is_one_sentence(scenario: Scenario, choice: Choice, said: str) -> None:
    found = compare(scenario, choice)
    (only,) = summary(found)
    assert only.startswith(said) or "A shorter context or fewer bits would help." in only
    assert not found.front


@given(scenarios(), st.sampled_from(["gpus", "models"]), st.sampled_from([1, 8, 64, None]), st.sampled_from(COUNTS))
@settings(max_examples=60, deadline=None)
def test_everything_is_said_and_listed(scenario: Scenario, over: str, at_most: int | None, count: str) -> None:
    found = compare(scenario, Choice(over=over, at_most=at_most, count=count))
    said = " ".join((*summary(found), *cautions(found)))
    assert said
    assert not {"nan", "inf"} & set(said.lower().split())
    for exact in (False, True):
        header, rows = comparison_rows(found, exact=exact)
        assert len(header) == len(set(header))
        assert all(len(row) == len(header) for row in rows)
        assert all(not isinstance(value, float) or math.isfinite(value) for row in rows for value in row)


def test_exact_rows_carry_what_reproduces_them() -> None:
    found = compare(Scenario(model="mixtral-8x7b", context=1000, weight_format="int4"))
    header, rows = comparison_rows(found, exact=True)
    for values, row in zip(rows, found.rows, strict=True):
        line = dict(zip(header, values, strict=True))
        assert row.full is not None
        assert line["all users (tokens/s)"] == row.full.tokens_per_s
        assert line["all users at the experts expected (tokens/s)"] == row.full.expected_tokens_per_s
        assert (line["context"], line["weights"], line["model"]) == (1000, "int4", row.model_name)


def test_experts_are_cautioned_and_have_their_column_only_where_there_are_some() -> None:
    dense, mixed = compare(Scenario()), compare(Scenario(model="mixtral-8x7b"))
    assert "fewest experts" not in " ".join(cautions(dense))
    assert "fewest experts" in " ".join(cautions(mixed))
    assert "expected" not in " ".join(comparison_rows(dense)[0])
    assert "expected" in " ".join(comparison_rows(mixed)[0])
    assert MIXTURE in options(Scenario(), "models")


# ---------------------------------------------------------------- pins


def test_pinned_scenarios_stand_in_order() -> None:
    asked = [Scenario(), Scenario(model="llama-3-70b", n_gpus=2, batch=4), Scenario(weight_format="int4"), HUGE]
    found = side_by_side(asked)
    assert [v.result for v in found] == [evaluate(s) for s in asked]
    assert len({v.label for v in found}) == len(asked)
    header, rows = pinned_rows(found, "GB")
    assert all(len(row) == len(header) for row in rows)
    assert rows[-1][1:3] == ("$2.83", "$6.26")  # 1.99 $ an hour at 195.5 tokens/s; twice that at 176.6
    assert pinned_rows(found[:1], "GB", (("h100-sxm", Edit(0.0)),))[1][-1] == ("$ per Mtok, at best", "$0")
    fits_row = rows[5]
    assert fits_row[:2] == ("fits", "yes")
    assert str(fits_row[4]).startswith("no, ")


def test_refusals() -> None:
    held = [Scenario(batch=b) for b in range(1, PINS_MAX + 1)]
    assert refusal(Scenario(batch=9), held[:-1], PINS_MAX) is None
    assert refusal(Scenario(batch=9), held, PINS_MAX) == (
        "4 scenarios are pinned, which is all there is room for: take one away first."
    )
    assert (refusal(held[0], held, PINS_MAX) or "").startswith("Already pinned: Llama 3 8B")
