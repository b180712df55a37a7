"""Variants and architectures side by side."""

import pytest

from core.catalog import models
from core.evaluate import crossing_context
from core.published import SHAZEER_DECODER, SHAZEER_ENCODER
from core.scenario import Scenario
from core.variants import architectures, cache_parts, kv_variants, ridge_rows


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ({}, ["MHA, 32", "released, 8", "MQA, 1"]),
        ({"kv_heads": 8}, ["MHA, 32", "yours (released), 8", "MQA, 1"]),
        ({"model": "llama-2-7b"}, ["released (MHA), 32", "MQA, 1"]),
        ({"model": "falcon-7b", "kv_heads": 71}, ["yours (MHA), 71", "released (MQA), 1"]),
        ({"model": "deepseek-v3"}, ["released"]),
        ({"model": "gemma-4-31b", "kv_heads": 2}, ["MHA, 32", "released, 16 and 4", "yours, 2", "MQA, 1"]),
    ],
)
def test_labels(fields: dict[str, object], labels: list[str]) -> None:
    assert [v.label for v in kv_variants(Scenario(**fields))] == labels


def test_what_if_counts_the_projections_too() -> None:
    """K and V of Llama 3 8B: 2 x 4,096 x 128 values a head and layer; 32 layers, 24 heads more."""
    many, released, _ = (v.result.memory.weights_bytes for v in kv_variants(Scenario()))
    assert many - released == 2 * 4096 * 128 * 24 * 32 * 2


# DeepSeek-V3 report tables and the published configurations; bytes at 2,048 tokens and at the model's own limit.
PUBLISHED = {
    "llama-2-7b": (2 * 32 * 32 * 128 * 2 * 2048, 2 * 32 * 32 * 128 * 2 * 4096),
    "llama-3-8b": (131_072 * 2048, 131_072 * 8192),
    "falcon-7b": (8_192 * 2048, 8_192 * 2048),
    "deepseek-v3": (70_272 * 2048, 70_272 * 163_840),
    "gemma-3-27b": ((52 * 1024 + 10 * 2048) * 8192, 11_173_625_856),
    "qwen3-next-80b-a3b": (12 * 2048 * 2048 + 77_266_944, 12 * 2048 * 262_144 + 77_266_944),
}


def test_architectures_side_by_side() -> None:
    for short, full in zip(architectures(2048), architectures(None), strict=True):
        assert (short.total_bytes, full.total_bytes) == PUBLISHED[full.model.slug]


def test_parts_add_up_for_every_model() -> None:
    for model in models().values():
        parts = cache_parts(model, model.max_context)
        assert sum(p.n_bytes for p in parts) == model.kv_bytes(model.max_context) + model.state_bytes
        assert sum(p.n_layers for p in parts) == model.n_layers


def test_shazeer_factors() -> None:
    """Shazeer 2019, Table 2: 46 against 3.8 and 1.7 against 1.5 microseconds per token."""
    assert SHAZEER_DECODER.factor == pytest.approx(12.1, abs=0.05)
    assert SHAZEER_ENCODER.factor == pytest.approx(1.13, abs=0.01)


def test_ridges_by_format() -> None:
    rows = {(row[0], row[1]): row for row in ridge_rows()[1]}
    assert rows["NVIDIA H100 SXM5", "16 bits"][3] == "295.3 FLOP/byte"
    assert rows["NVIDIA H100 SXM5", "FP8"][3] == "590.7 FLOP/byte"
    assert ("NVIDIA B300 SXM (HGX/DGX)", "INT8") not in rows  # slower there than 16 bits
    assert rows["Apple M4 Max (40-core GPU)", "16 bits"][4] == "not from a data sheet"


def test_the_cache_passes_the_weights() -> None:
    assert crossing_context(Scenario(model="llama-3.1-8b")) == pytest.approx(122_500, rel=1e-3)
    assert crossing_context(Scenario(model="mistral-7b-v0.1")) is None
