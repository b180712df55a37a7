"""Frames of the live picture: each is `evaluate()` at its value, and together they are a drag."""

import csv
import itertools
import math

import pytest
from hypothesis import given, settings

from core.catalog import gpus, models
from core.evaluate import evaluate
from core.hf_config import read_hf_config
from core.live import (
    FIELDS,
    QUANTITIES,
    Quantity,
    Reel,
    edge_words,
    frames,
    live_alt,
    live_exact,
    live_rows,
    own_value,
    quantities,
    reel,
    refined,
    setting,
)
from core.scenario import BATCH_MAX, CONTEXT_MAX, Scenario
from core.units import integer
from core.verdict import verdict
from tests.strategies import scenarios
from ui.blocks import to_csv

MAMBA = read_hf_config(
    {
        "model_type": "mamba",
        "hidden_size": 2560,
        "intermediate_size": 5120,
        "num_hidden_layers": 64,
        "vocab_size": 50280,
        "state_size": 16,
        "conv_kernel": 4,
        "time_step_rank": 160,
    }
)
MLA = Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, split="layer", batch=32)
NEVER_FITS = Scenario(model="llama-3.1-405b", batch=4)
OPENING = Scenario(batch=32)


def reels(scenario: Scenario) -> list[Reel]:
    return [reel(scenario, quantity) for quantity in quantities(scenario)]


@given(scenarios())
@settings(max_examples=40, deadline=None)
def test_every_frame_is_what_evaluate_says(scenario: Scenario) -> None:
    for found in reels(scenario):
        for frame in found.frames:
            result = evaluate(scenario.replace(**{FIELDS[found.quantity]: frame.value}))
            assert frame.memory == result.memory
            assert frame.tokens_per_s == result.decode.tokens_per_s
            assert frame.tokens_per_s_per_user == result.decode.tokens_per_s_per_user
            assert frame.verdict == verdict(result).headline
            assert frame.memory.fits == result.memory.fits


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_a_reel_is_in_order_and_holds_what_matters(scenario: Scenario) -> None:
    for found in reels(scenario):
        values = [frame.value for frame in found.frames]
        assert len(set(values)) == len(values) == len({frame.label for frame in found.frames})
        totals = [frame.memory.total_bytes for frame in found.frames]
        assert totals == sorted(totals)
        fits = [frame.memory.fits for frame in found.frames]
        assert fits == sorted(fits, reverse=True)
        assert 1 <= len(values) <= 68
        assert all(math.isfinite(frame.tokens_per_s) and frame.tokens_per_s > 0 for frame in found.frames)
        if found.quantity != "story":
            assert values[found.opening] == own_value(scenario, found.quantity)
        if found.quantity != "kv_heads":
            assert values == sorted(values)
        most = {"users": BATCH_MAX, "context": CONTEXT_MAX}.get(found.quantity)
        if most and found.edge is not None and 1 <= found.edge <= most:
            assert found.edge in values
            assert found.frames[values.index(found.edge)].memory.fits
            assert evaluate(scenario.replace(**{FIELDS[found.quantity]: found.edge})).memory.fits


@pytest.mark.parametrize("slug", list(models()))
def test_a_drag_is_continuous_for_every_model(slug: str) -> None:
    for quantity in ("users", "context", "story"):
        found = frames(Scenario(model=slug, gpu="h200-sxm", n_gpus=16, batch=8), quantity)
        assert 30 <= len(found) <= 64, quantity


def test_both_sides_of_the_edge() -> None:
    by_value = {frame.value: frame for frame in frames(OPENING, "users")}
    assert by_value[56].memory.fits
    assert not by_value[57].memory.fits
    assert edge_words(reel(OPENING, "users")) == "memory ends at 56"
    assert edge_words(reel(OPENING.replace(batch=1, context=128), "kv_heads")) is None
    assert edge_words(reel(NEVER_FITS, "users")) == "nothing fits"


def test_the_stops_stay_stops() -> None:
    users = {frame.value for frame in frames(Scenario(batch=33), "users")}
    assert users >= {33, *(2**i for i in range(13))}
    context = {frame.value for frame in frames(Scenario(batch=32, context=5000), "context")}
    assert context >= {128, 256, 512, 1024, 2048, 4096, 5000, 8192, 14_521}


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 2), (3, 5), (128, 2**24), (100, 8192), (1, BATCH_MAX)])
def test_refined_keeps_ends_and_powers(low: int, high: int) -> None:
    found = refined(low, high)
    assert found[0] == low
    assert found[-1] == high
    assert found == sorted(set(found))
    assert set(found) >= {2**i for i in range(51) if low <= 2**i <= high}
    assert len(found) <= 60


def test_kv_heads_are_the_options_and_the_released_mix() -> None:
    assert [f.value for f in frames(OPENING, "kv_heads")] == [1, 2, 4, 8, 16, 32]
    assert [f.words for f in frames(OPENING, "kv_heads")].count("As released.") == 1
    mixed = reel(Scenario(model="gemma-4-31b"), "kv_heads")
    assert mixed.frames[mixed.opening].value is None
    assert mixed.frames[mixed.opening].label == "released"
    assert {f.value for f in mixed.frames} == {None, *models()["gemma-4-31b"].kv_head_options}


def test_no_heads_no_choice() -> None:
    assert quantities(OPENING) == QUANTITIES
    for scenario in (MLA, Scenario(model=MAMBA)):
        assert "kv_heads" not in quantities(scenario)
        with pytest.raises(ValueError, match="quantity must be one of users, context, story for"):
            frames(scenario, "kv_heads")


# The story


def test_the_story_ends_where_memory_does() -> None:
    found = reel(OPENING, "story")
    first, last = found.frames[0], found.frames[-1]
    assert (first.value, last.value) == (128, 14_521)
    assert first.words == "The prompt is read; now token follows token."
    assert last.words == "Memory ends here, past the model's 8,192: a what-if."
    assert last.memory.fits
    assert not evaluate(OPENING.replace(context=14_522)).memory.fits
    assert found.opening == 0
    told = [frame.words.partition(": ")[2] for frame in found.frames[1:-1]]
    assert [words for words, _ in itertools.groupby(told)] == [
        "each one stays in the cache.",
        "the cache outweighs the weights.",
        "past the model's limit, a what-if.",
    ]
    assert evaluate(OPENING).scenario.released_model.max_context in [frame.value for frame in found.frames]


def test_memory_that_ends_before_the_model_does_is_no_what_if() -> None:
    last = frames(Scenario(batch=128), "story")[-1]
    assert last.value < 8192
    assert last.words == "Memory ends here: the next token does not fit."


def test_the_ceiling_falls_as_the_cache_grows() -> None:
    for before, after in itertools.pairwise(frames(OPENING, "story")):
        assert after.memory.kv_bytes > before.memory.kv_bytes
        assert after.tokens_per_s < before.tokens_per_s


def test_the_story_ends_with_the_model_where_memory_goes_far_beyond() -> None:
    last = frames(Scenario(batch=1), "story")[-1]
    assert last.value == 8192
    assert last.words == "The model stops here."


def test_a_state_or_a_window_stops_the_cache() -> None:
    state = frames(Scenario(model=MAMBA, batch=3), "story")
    assert {frame.memory.kv_bytes for frame in state} == {state[0].memory.kv_bytes}
    assert "the state keeps its size" in state[20].words
    windows = frames(Scenario(model="mistral-7b-v0.1", batch=4), "story")
    assert "the windows are full" in windows[-2].words
    assert windows[-1].words == "The model stops here."


def test_a_story_that_cannot_begin_is_one_frame() -> None:
    (only,) = frames(NEVER_FITS, "story")
    assert only.words == "Memory ends before the first token."
    assert not only.memory.fits


@given(scenarios())
@settings(max_examples=40, deadline=None)
def test_every_story_ends_truly(scenario: Scenario) -> None:
    last = frames(scenario, "story")[-1]
    assert last.value is not None
    if last.words.startswith("Memory ends here"):
        assert last.memory.fits
        if last.value < CONTEXT_MAX:
            assert not evaluate(scenario.replace(context=last.value + 1)).memory.fits
    elif last.words.startswith("Memory ends before"):
        assert not evaluate(scenario.replace(context=1)).memory.fits
    else:
        assert last.words == "The model stops here."
        assert last.value == scenario.released_model.max_context
        assert last.memory.fits


# Words and rows


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_words_outside_the_picture_quote_nothing_that_a_drag_changes(quantity: Quantity) -> None:
    scenario = Scenario(batch=33, context=5003)
    found = reel(scenario, quantity)
    dragged = {"users": 33, "context": 5003, "kv_heads": 8, "story": 5003}[quantity]
    for text in (setting(found), live_alt(found)):
        assert f" {integer(dragged)} " not in f" {text} ".replace(",", ", ").replace(".", " .")
        assert found.frames[found.opening].verdict not in text
    moved = reel(scenario.replace(**{FIELDS[quantity]: 4}), quantity)
    assert setting(moved) == setting(found)


def test_setting_names_what_stays() -> None:
    assert setting(reel(OPENING, "context")) == "Llama 3 8B on NVIDIA H100 SXM5, 32 users"
    assert setting(reel(OPENING, "kv_heads")) == "Llama 3 8B on NVIDIA H100 SXM5, 32 users of 8,192 tokens"
    assert "with 16 KV heads on 2 × " in setting(reel(OPENING.replace(kv_heads=16, n_gpus=2), "users"))
    assert "KV heads" not in setting(reel(OPENING.replace(kv_heads=16), "kv_heads"))
    assert setting(reel(Scenario(), "story")).endswith("one conversation")
    assert setting(reel(OPENING, "story")).endswith("32 conversations that grow alike")


@pytest.mark.parametrize("unit", ["GB", "GiB"])
@pytest.mark.parametrize("scenario", [OPENING, NEVER_FITS, MLA, Scenario(model="gemma-4-31b")])
def test_rows_list_every_frame(scenario: Scenario, unit) -> None:
    for quantity in quantities(scenario):
        found = reel(scenario, quantity, unit)
        for header, rows in (live_rows(found), live_exact(found)):
            assert len(rows) == len(found.frames)
            assert all(len(row) == len(header) for row in rows)
            assert len(set(header)) == len(header)
        header, rows = live_exact(found)
        read = list(csv.DictReader(to_csv(header, rows).splitlines()))
        for row, frame in zip(read, found.frames, strict=True):
            assert int(row["KV cache (bytes)"]) == frame.memory.kv_bytes
            assert float(row["together at most (tokens/s)"]) == frame.tokens_per_s
            assert float(row["each user at most (tokens/s)"]) == frame.tokens_per_s_per_user
            assert row["fits"] == ("yes" if frame.memory.fits else "no")


def test_units_change_words_and_no_number() -> None:
    for one, other in zip(frames(OPENING, "users", "GB"), frames(OPENING, "users", "GiB"), strict=True):
        assert one.memory == other.memory
    assert "GiB" in frames(OPENING, "users", "GiB")[0].verdict


def test_the_smallest_device_and_the_largest_load() -> None:
    for scenario in (
        Scenario(model="falcon-7b", gpu="apple-m1", batch=BATCH_MAX, context=CONTEXT_MAX),
        Scenario(model="gpt2-small", gpu=next(reversed(gpus())), n_gpus=1024, batch=1, context=1),
        Scenario(model="phi-3-mini", gpu="t4", reserve=0.9),
    ):
        for found in reels(scenario):
            assert found.frames
