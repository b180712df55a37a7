"""What changed against the pin: words for every field, factors worked by hand, and laws that hold for any two."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from core.catalog import gpus, models
from core.changes import (
    SAME,
    WORDS,
    Factor,
    baseline,
    changed,
    changes,
    differing,
    drafted,
    factor,
    key_lines,
    paired,
    pinned_view,
    told,
)
from core.evaluate import evaluate
from core.scenario import Scenario
from core.variants import kv_variants
from core.view import View
from tests.strategies import scenarios

# Llama 3 8B: 8,030,261,248 parameters of 2 bytes; K and V of 32 layers, 8 heads, 128 wide, 8,192 tokens, 2 bytes.
WEIGHTS = 16_060_522_496
CACHE = 2 * 32 * 8 * 128 * 8192 * 2
RESERVE = 8_552_080_998  # a tenth of the H100's 85,520,809,984 bytes


def texts(before: Scenario, after: Scenario) -> dict[str, str]:
    return {f.name: f.text.removeprefix(f.name).strip() for f in changes(before, after).factors}


def values(before: Scenario, after: Scenario) -> dict[str, Fraction | None]:
    return {f.name: f.value for f in changes(before, after).factors}


def test_twice_the_users_by_hand() -> None:
    """The issue's own example: cache twice, the same weights, tokens/s one and a half times."""
    found = changes(Scenario(batch=8), Scenario(batch=16))
    assert found.sentence == (
        "Against the pin, users 8 to 16: cache ×2.0, weights ×1, memory in all ×1.3, tokens/s together ×1.5, "
        "tokens/s each ×0.74, time to first token ×2.0."
    )
    by_name = values(Scenario(batch=8), Scenario(batch=16))
    assert by_name["cache"] == 2
    assert by_name["weights"] == 1
    assert by_name["memory in all"] == Fraction(WEIGHTS + 16 * CACHE + RESERVE, WEIGHTS + 8 * CACHE + RESERVE)
    step = (WEIGHTS + 16 * CACHE) / (WEIGHTS + 8 * CACHE)  # both are bound by memory
    assert float(by_name["tokens/s each"] or 0) == pytest.approx(1 / step)
    assert float(by_name["tokens/s together"] or 0) == pytest.approx(2 / step)


def test_four_bits_by_hand() -> None:
    """Linear layers at 4.15625 bits, embedding and head (2 x 128,256 x 4,096) and 65 norms in 16 bits."""
    wide = 2 * 128_256 * 4096 + 65 * 4096
    linear = WEIGHTS // 2 - wide
    stored = wide * 2 + linear * 4.15625 / 8
    by_name = values(Scenario(), Scenario(weight_format="int4"))
    assert float(by_name["weights"] or 0) == pytest.approx(stored / WEIGHTS, rel=1e-6)
    assert texts(Scenario(), Scenario(weight_format="int4"))["weights"] == "×0.36"
    assert by_name["cache"] == 1
    assert changes(Scenario(), Scenario(weight_format="int4")).differences == ("weights as released to INT4",)


def test_fewer_heads_by_hand() -> None:
    """K and V projections shrink from 8 x 128 to 1 x 128 columns in 32 layers of width 4,096."""
    saved = 2 * 32 * 4096 * 7 * 128 * 2
    by_name = values(Scenario(), Scenario(kv_heads=1))
    assert by_name["cache"] == Fraction(1, 8)
    assert by_name["weights"] == Fraction(WEIGHTS - saved, WEIGHTS)
    assert texts(Scenario(), Scenario(kv_heads=1))["cache"] == "×0.125"
    assert texts(Scenario(), Scenario(kv_heads=1))["weights"] == "×0.97"


def test_twice_the_gpus_by_hand() -> None:
    """Tensor parallel on two: the same cache (8 heads for 2 GPUs), twice the bandwidth."""
    found = texts(Scenario(batch=8), Scenario(batch=8, n_gpus=2))
    assert found["cache"] == found["weights"] == "×1"
    assert found["tokens/s together"] == found["tokens/s each"] == "×2.0"
    assert found["time to first token"] == "×0.50"


def test_what_fits_is_said_when_it_changed() -> None:
    crowd, few = Scenario(batch=64), Scenario(batch=56)
    assert changes(crowd, few).sentence.endswith("; it fits, before it did not.")
    assert changes(few, crowd).sentence.endswith("; it does not fit, before it did.")
    assert not changes(few, Scenario(batch=1)).fits
    assert not changes(crowd, Scenario(batch=65)).fits


# Field -> another value than the default and how both are said.
EACH: dict[str, tuple[Any, str]] = {
    "model": ("llama-3-70b", "Llama 3 8B to Llama 3 70B"),
    "gpu": ("h200-sxm", "NVIDIA H100 SXM5 to NVIDIA H200 SXM"),
    "n_gpus": (2, "GPUs 1 to 2"),
    "split": ("layer", "tensor parallel to pipeline"),
    "batch": (1000, "users 1 to 1,000"),
    "context": (131_072, "context 8,192 to 131,072 tokens"),
    "kv_heads": (1, "KV heads 8 (released) to 1"),
    "weight_format": ("q4_k_m", "weights as released to Q4_K_M"),
    "cache_format": ("fp8", "cache BF16 to FP8"),
    "reserve": (0.125, "reserve 10 to 12.5 %"),
    "skip_embedding": (True, "input embedding read to skipped"),
}


def test_every_field_is_known() -> None:
    assert set(WORDS) == set(EACH) == set(Scenario.model_fields)


@pytest.mark.parametrize("field", Scenario.model_fields)
def test_every_field_in_words(field: str) -> None:
    value, words = EACH[field]
    after = Scenario(**{field: value})
    assert differing(Scenario(), after) == (field,)
    assert changes(Scenario(), after).differences == (words,)


def test_all_fields_at_once() -> None:
    after = Scenario(**{field: value for field, (value, _) in EACH.items()})
    found = changes(Scenario(), after)
    assert len(found.differences) == len(Scenario.model_fields)
    assert found.what().startswith("Against the pin, Llama 3 8B to Llama 3 70B, NVIDIA H100 SXM5 to NVIDIA H200 SXM, ")


def test_models_of_ones_own_are_named_so() -> None:
    mine = models()["llama-3-8b"].model_copy(update={"slug": "mine", "name": "Mine"})
    other = mine.model_copy(update={"max_context": 4096})
    assert changes(Scenario(), Scenario(model=mine)).differences == ("Llama 3 8B to Mine (yours)",)
    assert changes(Scenario(model=mine), Scenario(model=other)).differences == ("another Mine (yours)",)


def test_heads_that_are_none_or_two() -> None:
    latent, one = Scenario(model="deepseek-v3"), Scenario(kv_heads=1)
    assert "KV heads none to 1" in changes(latent, one).differences
    two = Scenario(model="gemma-4-31b")
    assert changes(two, two.replace(kv_heads=8)).differences == ("KV heads 16 and 4 (released) to 8",)


@given(scenarios(), scenarios())
@settings(max_examples=80, deadline=None)
def test_back_and_forth_is_one(before: Scenario, after: Scenario) -> None:
    there, back = changes(before, after), changes(after, before)
    for one, other in zip(there.factors, back.factors, strict=True):
        if one.value and other.value:
            assert one.value * other.value == 1
        else:
            assert not one.before or not one.after
    assert there.sentence.startswith("Against the pin, ") or before == after
    for one in there.factors:
        reads_as_one = (
            "just" not in one.text and "×" in one.text and float(one.text.partition("×")[2].replace(",", "")) == 1
        )
        assert reads_as_one == (one.text == f"{one.name} ×1")
        assert not reads_as_one or float(one.value or 0) == pytest.approx(1, rel=1e-12)


@given(scenarios())
@settings(max_examples=40, deadline=None)
def test_no_change_says_that_the_pin_is_the_same(scenario: Scenario) -> None:
    found = changes(scenario, scenario)
    assert found.sentence == SAME
    assert all(f.value == 1 for f in found.factors if f.before)
    assert baseline(View(scenario, pins=(scenario,))) is None
    assert changed(View(scenario, pins=(scenario,))) is None
    assert pinned_view(View(scenario, pins=(scenario,))) is None


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (1, 1, "x ×1"),
        (1, 2, "x ×2.0"),
        (2, 3, "x ×1.5"),
        (4, 5, "x ×1.25"),
        (3, 4, "x ×1.3"),
        (100, 106, "x ×1.06"),
        (1000, 1001, "x ×1.001"),
        (1000, 999, "x ×0.999"),
        (1000, 996, "x ×0.996"),
        (10**9, 10**9 + 1, "x just over ×1"),
        (10**9 + 1, 10**9, "x just under ×1"),
        (1.0, 1.0 + 2**-52, "x ×1"),  # the rounding of one operation, no change
        (1, 4096, "x ×4,096"),
        (3, 12_345, "x ×4,115"),
        (32, 1, "x ×0.03125"),
        (4096, 1, "x ×0.00024"),
        (0, 5, "x from nothing"),
        (5, 0, "x to nothing"),
        (0, 0, "no x before or after"),
    ],
)
def test_a_factor_in_words(before: float, after: float, text: str) -> None:
    assert Factor("x", before, after).text == text


def test_a_factor_from_nothing_is_none() -> None:
    assert factor(0, 3) is None
    assert factor(3, 0) == 0


def test_the_baseline_is_the_last_pin() -> None:
    first, last = Scenario(batch=2), Scenario(batch=4)
    assert baseline(View(Scenario())) is None
    assert baseline(View(Scenario(), pins=(first, last))) == last
    assert baseline(View(last, pins=(first, last))) is None
    assert baseline(View(first, pins=(first, last))) == last
    spelled_out = Scenario(model=models()["llama-3-8b"], gpu=gpus()["h100-sxm"])
    assert baseline(View(Scenario(), pins=(spelled_out,))) is None


def test_alt_texts_say_what_the_pin_is() -> None:
    change = changed(View(Scenario(batch=16), pins=(Scenario(batch=8),)))
    assert change
    assert "8 users of 8,192 tokens" in told("A bar.", change)
    assert change.sentence in told("A bar.", change)
    assert key_lines(change.after, change.before, "GB")[1].startswith("Pinned: weights 16.1 GB · KV cache 8.59 GB")


def test_rows_of_heads_pair_up() -> None:
    now, pin = Scenario(batch=16), Scenario(batch=8)
    found = paired(kv_variants(now), now, pin)
    assert [p.label for p in found] == ["MHA, 32", "released, 8", "MQA, 1"]
    assert [p.is_pin for p in found] == [False, True, False]
    for pair in found:
        assert pair.now
        assert pair.pinned
        assert pair.now.memory.kv_bytes == 2 * pair.pinned.memory.kv_bytes


@given(scenarios(), scenarios())
@settings(max_examples=60, deadline=None)
def test_the_pin_itself_is_one_of_the_rows(now: Scenario, pin: Scenario) -> None:
    found = paired(kv_variants(now), now, pin)
    own = [p for p in found if p.is_pin]
    assert len(own) == 1
    assert own[0].pinned
    assert own[0].pinned.memory == evaluate(pin).memory
    assert len({p.label for p in found}) == len(found)


def test_heads_that_one_model_cannot_have() -> None:
    latent, one = Scenario(model="deepseek-v3"), Scenario(kv_heads=1)
    rows = paired(kv_variants(latent), latent, one)
    assert [(p.label, p.now is None, p.pinned is None) for p in rows] == [
        ("released", False, False),
        ("pinned, 1", True, False),
    ]
    rows = paired(kv_variants(one), one, latent)
    assert [p.pinned is None for p in rows] == [True, False, True]


def test_no_draft_no_speculation() -> None:
    assert drafted(None) is None
    assert drafted(View(Scenario(model="phi-4"))) is None
    found = drafted(View(Scenario(model="llama-3-70b", n_gpus=4)))
    assert found
    assert found.draft.slug == "llama-3.2-1b"
