"""The words must say what the numbers say."""

import pytest
from hypothesis import given, settings

from core.derivation import memory_derivations
from core.evaluate import evaluate
from core.scenario import Scenario
from core.units import format_bytes
from core.variants import kv_variants
from core.verdict import (
    cache_against_weights,
    ceiling_alt,
    context_summary,
    experts_summary,
    heads_summaries,
    memory_alt,
    setting,
    verdict,
)
from tests.strategies import scenarios


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"batch": 32}, "The cache is 2.1 times the weights."),
        ({"batch": 1}, "The weights are 15 times the cache."),
        ({"batch": 32, "context": 3829}, "The cache is about as large as the weights."),
        ({"batch": 32, "context": 3700}, "The cache is about as large as the weights."),
        ({"batch": 32, "context": 4096}, "The cache is 1.1 times the weights."),
    ],
)
def test_the_cache_beside_the_weights(fields: dict[str, int], sentence: str) -> None:
    assert cache_against_weights(evaluate(Scenario(**fields)).memory) == sentence


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_nothing_is_one_times_something(scenario: Scenario) -> None:
    assert " 1.0 times" not in cache_against_weights(evaluate(scenario).memory)


@pytest.mark.parametrize("batch", [2, 32, 1000, 1024, 4096])
def test_the_crossing_has_the_digits_of_its_arithmetic(batch: int) -> None:
    result = evaluate(Scenario(batch=batch))
    (derivation,) = (d for d in memory_derivations(result) if d.key == "crossing")
    assert f"passes the weights at {derivation.result.text}" in context_summary(result)[0]


def test_one_user_touches_and_many_touch() -> None:
    scenario = Scenario(model="mixtral-8x7b", n_gpus=2, context=4096)
    one = experts_summary(evaluate(scenario), "GB")
    assert one[0] == "1 user touches 2 of 8 experts a layer."
    assert one[1].startswith("A step reads 25.8 GB of the 93.4 GB of weights in memory: at most ")
    result = evaluate(scenario.replace(batch=32))
    many = experts_summary(result, "GB")
    assert many[0] == "32 users touch at least 2 of 8 experts a layer; 8 are expected if all choose at random."
    bound, expected = result.decode.tokens_per_s, result.decode.expected.tokens_per_s
    assert f"{bound:,.0f} tokens/s together (the bound), {expected:,.0f} expected (the dot)" in many[1]
    shared_out = experts_summary(evaluate(scenario.replace(n_gpus=4, split="layer", batch=3)), "GB")
    assert shared_out[0] == "3 users touch 2 of 8 experts a layer, one at a time."


def test_the_setting_names_only_what_is_not_usual() -> None:
    assert setting(Scenario()) == "Llama 3 8B on NVIDIA H100 SXM5, 1 user of 8,192 tokens."
    assert setting(Scenario(reserve=0.125)).endswith("8,192 tokens, reserve 12.5 %.")
    assert setting(Scenario(split="layer")) == setting(Scenario()), "one GPU has nothing to split"
    unusual = Scenario(n_gpus=2, split="layer", weight_format="q4_k_m", cache_format="fp8", skip_embedding=True)
    assert setting(unusual).endswith("pipeline, weights in Q4_K_M, cache in FP8, input embedding not read.")
    assert setting(Scenario(batch=7), "much").endswith("SXM5, much.")


def test_heads_to_one_s_own_and_to_the_fewest() -> None:
    def summaries(**fields: object) -> tuple[str, ...]:
        scenario = Scenario(batch=32, **fields)
        return heads_summaries(kv_variants(scenario), scenario)

    released, fewest = summaries()
    assert released.startswith("From MHA, 32 to released, 8: the cache falls from 137 GB to 34.4 GB (4.0 times)")
    assert fewest.startswith("From MHA, 32 to MQA, 1:")
    assert summaries(kv_heads=4)[0].startswith("From MHA, 32 to yours, 4:")
    assert len(summaries(kv_heads=1)) == len(summaries(kv_heads=32)) == len(summaries(model="deepseek-v3")) == 1


def said(**fields: object) -> str:
    v = verdict(evaluate(Scenario(**fields)))
    return " ".join((v.headline, *v.memory, *v.speed, *v.cautions))


def test_the_opening_teaches() -> None:
    text = said(batch=32)
    assert "The cache is 2.1 times the weights." in text
    assert "Up to 56 users" in text
    assert "14,521 tokens (the model stops at 8,192)" in text
    assert "2,126 tokens/s together, 66.4 tokens/s for each user" in text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"model": "llama-3.1-405b"}, "Weights and reserve alone pass the memory of 1 GPU: not one user fits."),
        ({"model": "llama-3.1-8b", "gpu": "rtx-4090", "context": 131_072}, "Not even one user fits at this context."),
        ({"model": "mistral-7b-v0.1"}, "memory ends no context: Mistral 7B v0.1's cache stops growing"),
        ({"kv_heads": 32}, "Llama 3 8B with 32 KV heads is hypothetical: it was released with 8."),
        ({"model": "gemma-4-31b", "kv_heads": 1}, "released with 16 and 4"),
        ({"context": 100_000}, "100,000 tokens is a what-if: Llama 3 8B stops at 8,192."),
        ({"gpu": "apple-m4-max"}, "not all of it is usable"),
        ({"gpu": "mi250x"}, "as 2 devices"),
        ({"gpu": "vr200"}, "not from a shipped datasheet"),
        ({"model": "deepseek-v3", "n_gpus": 16}, "keeps MLA's latent on each of the 16 GPUs"),
        ({"model": "mixtral-8x7b", "n_gpus": 2, "batch": 4}, "with uniform routing 5.47 are expected"),
        ({"model": "llama-2-7b", "batch": 32, "context": 4096}, "the speed is a what-if"),
        ({"context": 1, "batch": 1024}, "Arithmetic sets the pace"),
        ({"batch": 1}, "At most 196 tokens/s; no system that makes one token a pass is faster."),
    ],
)
def test_sentences(fields: dict[str, object], sentence: str) -> None:
    assert sentence in said(**fields)


@given(scenarios())
@settings(max_examples=80, deadline=None)
def test_headline_agrees_with_the_result(scenario: Scenario) -> None:
    result = evaluate(scenario)
    v = verdict(result, "GiB")
    assert v.headline.startswith("Fits" if result.memory.fits else "Does not fit")
    size = result.memory.free_bytes if result.memory.fits else result.memory.over_by_bytes
    assert format_bytes(size, "GiB") in v.headline
    assert ("what-if" in " ".join(v.cautions)) or result.memory.fits
    for text in (
        *v.memory,
        *v.speed,
        *v.cautions,
        memory_alt(result, "GB"),
        ceiling_alt(result),
    ):
        assert text.strip()
        assert "nan" not in text.split()
        assert "inf" not in text.split()
