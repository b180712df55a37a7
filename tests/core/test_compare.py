"""The grid is `evaluate`, cell by cell; GPUs needed are the fewest; the front is the front; what is said is so."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.cache_columns import CacheColumns, knots_of
from core.catalog import gpus, models
from core.columns import four_digits
from core.compare import (
    ANNOUNCED,
    AT_MOST,
    CHART_ROWS,
    MIXTURE,
    OVERS,
    Choice,
    compare,
    gpu_facets,
    model_facets,
    options,
)
from core.compare_report import cautions, comparison_rows, summary
from core.curves import Curves, batches_to, curves, pareto
from core.custom import custom_gpu
from core.evaluate import evaluate
from core.formats import CACHE_FORMATS
from core.gpu import GpuSpec
from core.grid import Grid, grid, smallest_counts
from core.kv_cache import CacheCurve
from core.model import ModelSpec, SoftmaxAttention
from core.pinned import pinned_rows, refusal, side_by_side
from core.pins import PINS_MAX
from core.prices import Edit, Edits, terms
from core.rows import COUNTS, Row, counted, prices, rows
from core.scenario import BATCH_MAX, CACHE_NAMES, GPUS_MAX, SPLITS, Scenario
from tests.strategies import scenarios

MODELS, GPUS = st.sampled_from(sorted(models())), st.sampled_from(sorted(gpus()))
HUGE = Scenario(model="gpt-3-175b", context=2**24, batch=1)


def about(scenario: Scenario, model: str | ModelSpec, gpu: str | GpuSpec) -> Scenario:
    """The scenario with another model and device: KV heads that are a what-if stay with their own model."""
    released = Scenario(model=model).released_model
    heads = scenario.kv_heads if released == scenario.released_model else None
    return scenario.replace(model=model, gpu=gpu, batch=1, kv_heads=heads)


def only_row(scenario: Scenario, model: ModelSpec, gpu: GpuSpec) -> Row:
    (row,) = rows(grid(scenario, [model], [gpu]))
    return row


def cell(scenario: Scenario, model: str, gpu: str) -> tuple[Row, Scenario]:
    """One row, and the scenario it is about."""
    return only_row(scenario, models()[model], gpus()[gpu]), about(scenario, model, gpu)


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
    row = only_row(asked, asked.released_model, asked.gpu_spec)
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
    row = only_row(scenario, scenario.released_model, scenario.gpu_spec)
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
    first = next((n for n in range(low, high + 1) if values[n - 1] <= 0), 0)
    for kind in (np.int64, object):  # beside a cell that fits at once and one that never does
        of = np.array([values, [0] * high, [1] * high], dtype=kind)
        found = smallest_counts(
            of[:, low - 1], lambda n, at, of=of: of[at, n - 1], low=low, high=high, rounding=np.array([8, 0, 0])
        )
        assert found.tolist() == [first, low, 0]


def test_what_if_heads_stay_with_their_model() -> None:
    s = Scenario(kv_heads=32)
    mine, other = rows(grid(s, [models()["llama-3-8b"], models()["llama-3.1-8b"]], [gpus()["h100-sxm"]]))
    assert (mine.model_name, other.model_name) == ("Llama 3 8B (32 KV heads)", "Llama 3.1 8B")
    assert mine.max_batch is not None
    assert other.max_batch is not None
    assert mine.max_batch * 4 <= other.max_batch


# ---------------------------------------------------------------- many cells at once, and large numbers

ON = tuple(gpus().values())


def assert_cells_are_evaluate(found: Grid, asked: Scenario, cells: list[int]) -> None:
    for row in (rows(found)[cell] for cell in cells):
        model = asked.released_model if row.model.is_hypothetical else row.model
        assert_is_evaluate(row, about(asked, model, row.gpu))


@given(scenarios(), st.lists(st.integers(0, len(models()) * len(ON) - 1), min_size=12, max_size=12))
@settings(max_examples=25, deadline=None)
def test_cells_of_the_whole_grid_are_evaluate(scenario: Scenario, cells: list[int]) -> None:
    """Models of all kinds of cache and devices of all sizes in one grid, whatever the others need."""
    assert_cells_are_evaluate(grid(scenario, models().values(), ON), scenario, cells)


@given(scenarios(), st.integers(1, GPUS_MAX), st.sampled_from(sorted(models())))
@settings(max_examples=60, deadline=None)
def test_steps_at_any_batch_are_evaluate(scenario: Scenario, batch: int, model: str) -> None:
    found = grid(scenario, [models()[model]], ON)
    cells = np.flatnonzero(found.n_gpus)
    batches = np.full((cells.size, 2), [1, batch])
    steps, expected = found.steps_of(cells)(batches).tolist(), found.expected_step_s(cells, batches).tolist()
    for cell in range(0, cells.size, 9):
        row = rows(found)[int(cells[cell])]
        asked = about(scenario, model, row.gpu).replace(n_gpus=row.n_gpus)
        for place, users in enumerate((1, batch)):
            decode = evaluate(asked.replace(batch=users)).decode
            assert steps[cell][place] == decode.step_s
            usual = expected[cell][place]
            assert decode.expected.step_s == usual if decode.expected else math.isnan(usual)


@pytest.mark.parametrize("cache", CACHE_NAMES)
@pytest.mark.parametrize("split", SPLITS)
def test_cache_of_the_grid_is_the_models_own_on_every_number_of_gpus(split: str, cache: str) -> None:
    """The grid goes from knot to knot in a straight line: so does each model's own cache."""

    def all_of(column: NDArray[Any]) -> NDArray[Any]:
        return column

    of, bits = list(models().values()), CACHE_FORMATS[cache].bits
    counts = np.array([1, 2, 3, 7, 8, 9, 31, 32, 33, 95, 96, 97, 127, 128, 129, 1000, GPUS_MAX])
    for read in (False, True):

        def curve(model: ModelSpec, n_gpus: int, read: bool = read) -> CacheCurve:
            return model.cache_curve(bits=bits, n_copies=n_gpus if split == "tensor" else 1, read=read)

        knots = [knots_of(model, split) for model in of]
        ends = [[curve(m, n) for n in (*at, GPUS_MAX)] for m, at in zip(of, knots, strict=True)]
        columns = CacheColumns(knots, ends)
        for context in (1, 5_000, 2**24):
            lines = columns.at(context, is_safe=True)
            found = np.broadcast_to(lines.rounded_up(lines.scaled(counts, all_of), all_of), (len(of), counts.size))
            for model, needs in zip(of, found.tolist(), strict=True):
                assert needs == [curve(model, n).bytes(context) for n in counts.tolist()]


HUGE_GPU = custom_gpu(memory_gb=1e6, bandwidth_gb_per_s=1e6, bf16_tflops=1e6)


def huge_model() -> ModelSpec:
    """A model whose cache on many GPUs is past 64 bits: one KV head of the greatest width, repeated on each."""
    model = models()["falcon-7b"]
    (group,) = model.groups
    wide = group.attention.model_copy(update={"d_k": 2**22, "d_v": 2**22, "n_q": 3, "n_kv": 3})
    return model.model_copy(update={"slug": "huge", "groups": (group.model_copy(update={"attention": wide}),)})


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("cache", ["bf16", "int4"])
@pytest.mark.parametrize("context", [1, 8191, 2**24])
@pytest.mark.parametrize("memory", [10**11, 10**15, 10**18])
def test_numbers_past_64_bits_stay_exact(split: str, cache: str, context: int, memory: int) -> None:
    """The greatest device that a reader can bring, a huge model, or both, among those of the catalog."""
    device = HUGE_GPU.model_copy(update={"driver_memory_bytes": memory, "marketed_memory": memory / 1e9})
    asked = Scenario(gpu=device, split=split, cache_format=cache, context=context, n_gpus=3, reserve=0.123456)
    small = [models()[slug] for slug in ("gpt2-small", "mixtral-8x7b", "deepseek-v3", "gemma-3-27b")]
    found = grid(asked, [*small, huge_model()], [device, *ON[:2]])
    assert_cells_are_evaluate(found, asked, list(range(len(found))))
    if split == "tensor" or memory == 10**18:
        assert found.most.dtype == object
    largest = max(found.most.tolist())
    assert largest == max(row.max_batch or 0 for row in rows(found))
    assert found.batch.max() <= BATCH_MAX


@st.composite
def own_scenarios(draw: st.DrawFn) -> Scenario:
    """A model of layers of two of the catalog's, with any KV heads and widths, on a device of any size."""
    heads = st.sampled_from([1, 2, 3, 5, 7, 12, 40, 100, 500, 1500])
    groups = []
    for group in (*models()[draw(MODELS)].groups, *models()[draw(MODELS)].groups):
        attention = group.attention
        if isinstance(attention, SoftmaxAttention):
            n_kv, width = draw(heads), draw(st.sampled_from([64, 80, 128, 2**12, 2**20]))
            attention = attention.model_copy(update={"n_kv": n_kv, "n_q": 2 * n_kv, "d_k": width})
        count = draw(st.sampled_from([1, 2, 61, 1000]))
        groups.append(group.model_copy(update={"attention": attention, "count": count}))
    model = models()[draw(MODELS)].model_copy(update={"slug": "mine", "groups": tuple(groups)})
    size = st.floats(-3, 6).map(lambda power: 10**power)
    device = custom_gpu(memory_gb=draw(size), bandwidth_gb_per_s=draw(size), bf16_tflops=draw(size))
    return draw(scenarios()).replace(model=model, gpu=device, kv_heads=None, batch=1)


@given(own_scenarios(), MODELS)
@settings(max_examples=80, deadline=None)
def test_own_models_and_devices_are_evaluate(asked: Scenario, other: str) -> None:
    """Beside those of the catalog, so that the largest numbers of one meet the finest parts of another."""
    found = grid(asked, [asked.released_model, models()[other]], [asked.gpu_spec, gpus()["t4"]])
    assert_cells_are_evaluate(found, asked, list(range(len(found))))


def test_models_without_a_cache_hold_any_number_of_users() -> None:
    model = models()["llama-3-8b"]
    groups = tuple(group.model_copy(update={"attention": None}) for group in model.groups)
    bare = model.model_copy(update={"slug": "bare", "groups": groups})
    found = grid(Scenario(), [bare, model], [gpus()["h100-sxm"]])
    row, other = rows(found)
    assert found.most.tolist() == [-1, 56]
    assert (row.n_gpus, row.max_batch, row.full, row.dollars_low) == (1, None, None, None)
    assert row.one is not None
    assert row.one.step_s == evaluate(Scenario(model=bare)).decode.step_s
    assert other.full is not None
    assert not np.isnan(found.one_s).any()


@pytest.mark.parametrize("context", [128, 8192, 1_000_000])
def test_rows_come_fewest_gpus_first_and_ties_as_they_were(context: int) -> None:
    found = grid(Scenario(context=context), models().values(), ON)
    needed, tokens = found.n_gpus.tolist(), found.tokens_per_s.tolist()
    keys = [(n or GPUS_MAX + 1, -rate if n else 0.0) for n, rate in zip(needed, tokens, strict=True)]
    assert found.order.tolist() == sorted(range(len(found)), key=keys.__getitem__)
    assert len(set(keys)) < len(keys)


def test_a_grid_is_read_only() -> None:
    found = compare(Scenario())
    for column in (found.grid.n_gpus, found.grid.full_s, found.grid.order, found.cells, found.curves.step_s):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


@given(st.lists(st.floats(1e-30, 1e30) | st.integers(1, 10**16).map(float) | st.just(0.0), min_size=1))
def test_four_digits_are_those_that_python_writes(values: list[float]) -> None:
    """Also at powers of ten, at ties and next to them."""
    near = [value * 10.0**power for value in (9999.5, 1000.5, 1.0) for power in range(-12, 12)]
    values = [*values, *near, *np.nextafter(near, 0).tolist(), *np.nextafter(near, np.inf).tolist()]
    assert four_digits(np.array(values)).tolist() == [float(f"{value:.4g}") for value in values]
    assert np.isnan(four_digits(np.array([np.nan, 1.0]))).tolist() == [True, False]


# ---------------------------------------------------------------- the front

Place = tuple[float, float]  # time per token, tokens
places = st.tuples(
    st.integers(1, 12).map(float) | st.floats(1e-4, 10),
    st.integers(1, 12).map(float) | st.floats(1, 1e6),
)


def dominates(a: Place, b: Place) -> bool:
    """Whether `a` is at least as good both ways (lower latency, higher throughput), and better one way."""
    at_least = a[0] <= b[0] and a[1] >= b[1]
    return at_least and (a[0] < b[0] or a[1] > b[1])


@given(st.lists(places, max_size=40))
def test_the_front_is_what_nothing_dominates(points: list[Place]) -> None:
    of = np.array(points, dtype=float).reshape(-1, 2)
    on = pareto(of[:, 0], of[:, 1]).tolist()
    front = [points[place] for place in on]
    assert len(set(on)) == len(on)
    for place, point in enumerate(points):
        assert any(dominates(other, point) for other in points) == (place not in on)
    for place, point in enumerate(points):
        if place not in on:
            assert any(dominates(member, point) for member in front)
    assert front == sorted(front)
    assert [y for _, y in front] == sorted(y for _, y in front)


@given(st.integers(1, 10**15))
def test_batches_end_at_the_largest(most: int) -> None:
    found = batches_to(most)
    assert found[-1] == most
    assert found[0] == 1
    assert found == sorted(set(found))


def counted_of(row: Row, tokens_per_s: float, count: str) -> float:
    rate = {"dollar": row.terms.low, "joule": row.terms.power_w}.get(count)
    return counted(tokens_per_s, n_gpus=row.n_gpus, rate=rate, count=count)


def curves_of(found: Grid, count: str) -> Curves:
    return curves(found, prices(found.gpus), np.arange(len(found)), count)


@given(scenarios(), st.lists(GPUS, min_size=1, max_size=4, unique=True), st.sampled_from(COUNTS))
@settings(max_examples=60, deadline=None)
def test_curves_are_evaluate_along_batches(scenario: Scenario, on: list[str], count: str) -> None:
    found = grid(scenario, [scenario.released_model], [gpus()[gpu] for gpu in on])
    for curve in curves_of(found, count):
        row = curve[-1].row
        assert row.one is not None
        assert row.full is not None
        assert (curve[0].batch, curve[0].step_s) == (row.one.batch, row.one.step_s)
        assert (curve[-1].batch, curve[-1].step_s) == (row.full.batch, row.full.step_s)
        batches = [point.batch for point in curve]
        assert set(batches_to(batches[-1])) <= set(batches)
        for point in (curve[0], curve[len(curve) // 2], curve[-1]):
            asked = scenario.replace(gpu=row.gpu.slug, n_gpus=row.n_gpus, batch=point.batch)
            decode = evaluate(asked).decode
            assert point.step_s == decode.step_s
            assert point.tokens_per_s == decode.tokens_per_s
            assert point.throughput == counted_of(row, decode.tokens_per_s, count)
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
        for row in (curve[0].row for curve in found.curves if curve[-1].batch >= point.batch):
            decode = evaluate(scenario.replace(gpu=row.gpu.slug, n_gpus=row.n_gpus, batch=point.batch)).decode
            there = decode.step_s, counted_of(row, decode.tokens_per_s, count)
            assert not dominates(there, (point.step_s, point.throughput))


def test_equal_devices_tie_on_the_front() -> None:
    """Devices of one bandwidth are as fast at equal batch: looked at there, none hides another."""
    found = compare(Scenario(), Choice(only=frozenset({"AMD", "datacenter"})))
    on = {point.row.gpu.slug for point in found.front_rows}
    assert {"mi350x", "mi355x"} <= on


# ---------------------------------------------------------------- money


def test_cost_of_a_row() -> None:
    row = only_row(Scenario(), models()["llama-3-8b"], gpus()["h100-sxm"])
    assert row.full is not None
    hours = 1e6 / row.full.tokens_per_s / 3600
    assert row.dollars_low == pytest.approx(1.99 * hours)
    assert row.dollars_high == pytest.approx(5.00 * hours)
    assert row.joules == pytest.approx(700 * 3600 * hours)
    assert counted_of(row, row.full.tokens_per_s, "dollar") == pytest.approx(1e6 / (row.dollars_low or 1))
    assert counted_of(row, row.full.tokens_per_s, "joule") == pytest.approx(1e6 / (row.joules or 1))


def test_edits_replace_the_catalogs_figures_and_blank_stays_blank() -> None:
    t4 = gpus()["t4"]
    assert terms(t4).low is None
    edited = (("t4", Edit(price_per_gpu_hour=0.5, power_w=35)),)
    found = grid(Scenario(weight_format="int4"), [models()["llama-3-8b"]], [t4])
    before, after = (rows(found, edits)[0] for edits in ((), edited))
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
    of = [model_facets(model) | gpu_facets(gpu) for model in models().values() for gpu in gpus().values()]
    words = {key: {found[key] for found in of} for key in of[0]}
    assert sum(map(len, words.values())) == len(set().union(*words.values()))
    assert ANNOUNCED not in set().union(*words.values())


@pytest.mark.parametrize("over", OVERS)
def test_every_option_shows_only_its_kind(over: str) -> None:
    short = Scenario(context=128)  # no model stops before it
    for word in options(short, over):
        found = compare(short, Choice(over=over, only=frozenset({word}), at_most=None))
        assert all(
            word in (model_facets(row.model) | gpu_facets(row.gpu)).values() or word == ANNOUNCED for row in found.rows
        )
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
    assert first.grid is again.grid
    assert first.is_map
    assert not first.curves


def test_the_largest_picture_holds_a_column_of_the_grid() -> None:
    assert max(len(models()), len(gpus())) <= CHART_ROWS


EDITED: Edits = (("h100-sxm", Edit(0.5, 35.0)), ("t4", Edit(0.0, None)))


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
    assert f"at most {most.throughput:,.0f} tokens/s with {most.batch} users" in said


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


@given(scenarios(), st.sampled_from(OVERS), st.sampled_from([1, 8, None]), st.sampled_from([(), EDITED]))
@settings(max_examples=20, deadline=None)
def test_the_table_holds_what_the_rows_say(scenario: Scenario, over: str, at_most: int | None, edits: Edits) -> None:
    """Columns and rows are read from the grid in two ways; the table's figures are the exact ones with four digits."""
    found = compare(scenario, Choice(over=over, at_most=at_most), edits)
    header, exact = comparison_rows(found, exact=True)
    shown_header, shown = comparison_rows(found)
    for number in range(0, len(found.rows), 1 + len(found.rows) // 40):
        row = found.rows[number]
        line = dict(zip(header, exact[number], strict=True))
        one, full, costs = row.one, row.full, row.terms
        assert line == {
            "model": row.model_name,
            "GPU": row.gpu_name,
            "fits as asked": "yes" if row.fits_as_asked else "no",
            "GPUs needed": row.n_gpus,
            "most users": row.max_batch,
            "one user (tokens/s)": one.tokens_per_s if one else None,
            "all users (tokens/s)": full.tokens_per_s if full else None,
            "each of them (tokens/s)": full.tokens_per_s_per_user if full else None,
            "first token (s)": row.ttft_s,
            "$ per Mtok, at best": row.dollars_low,
            "$ per Mtok, high price": row.dollars_high,
            "J per Mtok": row.joules,
            "$ per GPU-hour, low": costs.low,
            "$ per GPU-hour, high": costs.high,
            "price dated": costs.dated,
            "W per GPU": costs.power_w,
            "all users at the experts expected (tokens/s)": full.expected_tokens_per_s if full else None,
            "price source": costs.source,
            "context": scenario.context,
            "split": scenario.split,
            "weights": scenario.weight_format,
            "cache": scenario.cache_format,
            "reserve": scenario.reserve,
        }
        for name, value in zip(shown_header, shown[number], strict=True):
            is_rounded = isinstance(line[name], float) and name != "W per GPU"
            assert value == (float(f"{line[name]:.4g}") if is_rounded else line[name])
            assert type(value) is type(line[name])


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
