"""The words must say what the numbers say."""

import pytest
from hypothesis import given, settings

from core.evaluate import evaluate
from core.scenario import Scenario
from core.units import format_bytes
from core.verdict import ceiling_alt, memory_alt, verdict
from tests.strategies import scenarios


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
@settings(max_examples=150, deadline=None)
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
