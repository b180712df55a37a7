"""Every catalog model's published config.json reads as the catalog's record, which holds official counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.catalog import models
from core.evaluate import evaluate
from core.hf_config import read_config, read_hf_config
from core.scenario import Scenario

CONFIGS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "hf_configs.json").read_text(encoding="utf-8"))
ABOUT = CONFIGS.pop("about")
CONTEXTS = (1_000, 5_000, 100_000)


def expand(value: Any) -> Any:
    """A config with its repeated lists written out."""
    if isinstance(value, dict):
        if value.keys() == {"$repeat"}:
            return [item for items, times in value["$repeat"] for item in items * times]
        return {key: expand(item) for key, item in value.items()}
    return value


def published(slug: str) -> dict[str, Any]:
    return expand(CONFIGS[slug])


def test_every_model_with_a_published_file_is_here():
    assert set(CONFIGS) == {slug for slug, model in models().items() if model.hf_id}
    assert "$repeat" in ABOUT


@pytest.mark.parametrize("slug", CONFIGS)
def test_parameters_and_cache_are_the_record_s(slug):
    spec, record = read_hf_config(published(slug)), models()[slug]
    assert spec.params_by_component == record.params_by_component
    assert (spec.n_params, spec.n_active_params) == (record.n_params, record.n_active_params)
    assert spec.tied_embeddings == record.tied_embeddings
    assert spec.native_format == record.native_format
    assert spec.kv_bytes_per_token() == record.kv_bytes_per_token()
    assert [spec.kv_bytes(tokens) for tokens in CONTEXTS] == [record.kv_bytes(tokens) for tokens in CONTEXTS]
    assert spec.state_bytes == record.state_bytes
    assert spec.max_context == record.max_context


@pytest.mark.parametrize("slug", CONFIGS)
def test_evaluation_is_the_record_s(slug):
    spec, record = read_hf_config(published(slug)), models()[slug]
    for fields in ({}, {"batch": 32, "context": 20_000, "n_gpus": 8, "weight_format": "int4", "cache_format": "q8_0"}):
        found, expected = (evaluate(Scenario(model=model, **fields)) for model in (spec, record))
        assert found.memory == expected.memory
        # sums of floats, and the layer groups may come in another order
        for name in ("bytes_read", "flops", "step_s"):
            assert getattr(found.decode, name) == pytest.approx(getattr(expected.decode, name), rel=1e-12)
        assert found.prefill.flops == pytest.approx(expected.prefill.flops, rel=1e-12)
        assert found.prefill.ttft_s == pytest.approx(expected.prefill.ttft_s, rel=1e-12)


@pytest.mark.parametrize("slug", CONFIGS)
def test_the_file_reads_the_same_as_text_and_as_bytes(slug):
    config = published(slug)
    content = json.dumps(config, indent=2)
    reading = read_config(content, name=models()[slug].name)
    assert reading.spec.name == models()[slug].name
    assert read_hf_config(content) == read_hf_config(content.encode()) == read_hf_config(config)
    assert reading.spec.groups == read_hf_config(config).groups
