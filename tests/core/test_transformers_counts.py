"""The reader against another implementation: what transformers builds from a config, and published counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.hf_config import read_hf_config
from core.model import LinearAttention, Mamba2Mixer, MambaMixer, ModelSpec, ShortConv

DATA = Path(__file__).parent / "data" / "transformers_counts.json"
HEADER, *ENTRIES = json.loads(DATA.read_text(encoding="utf-8"))
CASES = {f"{entry['model_type']}-{entry['variant']}": entry for entry in ENTRIES}
every_entry = pytest.mark.parametrize("entry", CASES.values(), ids=CASES)


def test_the_file_says_where_it_is_from():
    assert "transformers 5.24" in HEADER["what"]
    assert len(CASES) == len(ENTRIES) >= 150


@every_entry
def test_parameters(entry):
    # A buffer that checkpoints store too (the router's correction) is one of our values.
    stored = entry["n_params"] + entry["n_buffers"]
    assert read_hf_config(entry["config"]).n_params in (entry["n_params"], stored)


def state(model: ModelSpec) -> tuple[int, int, int]:
    """Recurrent values, convolution tail as transformers keeps it (the whole kernel), and as it is needed."""
    recurrent = whole = tail = 0
    for group in model.groups:
        match group.attention:
            case MambaMixer(d_inner=channels, d_state=d_state, conv_kernel=kernel):
                values = channels * d_state
            case Mamba2Mixer(n_heads=heads, head_dim=width, n_groups=n, d_state=d_state, conv_kernel=kernel):
                values, channels = heads * width * d_state, heads * width + 2 * n * d_state
            case LinearAttention(n_k_heads=k, n_v_heads=v, d_k=d_k, d_v=d_v, conv_kernel=kernel):
                values, channels = v * d_k * d_v, 2 * k * d_k + v * d_v
            case ShortConv(channels=channels, conv_kernel=kernel):
                values = 0
            case _:
                continue
        recurrent += group.count * values
        whole += group.count * channels * kernel
        tail += group.count * channels * (kernel - 1)
    return recurrent, whole, tail


@every_entry
def test_cache_and_state(entry):
    model = read_hf_config(entry["config"])
    if entry["kv_values"] is not None:
        assert model.kv_bytes_per_token() / 2 == entry["kv_values"]
    recurrent, whole, tail = state(model)
    assert model.state_bytes == 4 * recurrent + 2 * tail
    if entry["state_values"] is not None:
        assert recurrent + whole == entry["state_values"] > 0
    elif entry["kv_values"] is not None:
        assert model.state_bytes == 0


# ---------------------------------------------------------------- published counts

# Parameters of state-spaces/mamba-*-hf as counted for "Revenge of the Fallen? Recurrent Models Match Transformers at
# Predicting Human Language Comprehension Metrics" (arXiv:2404.19178): `model_sizes` in the scripts of
# github.com/jmichaelov/recurrent-vs-transformer-modeling. Layers and widths: README of github.com/state-spaces/mamba;
# its 50,277 tokens are padded to a multiple of 8 there and of 16 in Mamba-2.
MAMBA = {
    "130m": (24, 768, 129_135_360),
    "370m": (48, 1024, 371_516_416),
    "790m": (48, 1536, 793_204_224),
    "1.4b": (48, 2048, 1_372_178_432),
    "2.8b": (64, 2560, 2_768_345_600),
}


@pytest.mark.parametrize("size", MAMBA)
def test_mamba(size):
    layers, width, published = MAMBA[size]
    config = {
        "model_type": "mamba", "num_hidden_layers": layers, "hidden_size": width, "vocab_size": 50_280,
        "state_size": 16, "conv_kernel": 4, "expand": 2, "time_step_rank": width // 16,
        "use_bias": False, "use_conv_bias": True,
    }  # fmt: skip
    model = read_hf_config(config)
    assert model.n_params == published
    assert model.kv_bytes_per_token() == 0
    assert model.state_bytes == layers * 2 * width * (16 * 4 + 3 * 2)


def test_mamba_2():
    # state-spaces/mamba2-130m at 3a5aea0c: its file has 258,059,314 bytes in 16 bits, which is 128,989,632 values and
    # a header; Mamba-2's defaults (state 128, heads of 64, one group) in mamba_ssm/modules/mamba2.py.
    config = {
        "model_type": "mamba2", "num_hidden_layers": 24, "hidden_size": 768, "vocab_size": 50_288, "state_size": 128,
        "head_dim": 64, "num_heads": 24, "n_groups": 1, "conv_kernel": 4, "expand": 2, "use_bias": False,
        "use_conv_bias": True, "tie_word_embeddings": True,
    }  # fmt: skip
    model = read_hf_config(config)
    assert model.n_params == 128_989_632
    assert 0 < 258_059_314 - 2 * model.n_params < 100_000


def test_jamba():
    # ai21labs/Jamba-v0.1: "total_size": 103140646656 bytes of bf16 in model.safetensors.index.json; 52B with 12B
    # active, one attention layer in eight, experts in every second layer (arXiv:2403.19887).
    config: dict[str, Any] = {
        "model_type": "jamba", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14_336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65_536, "max_position_embeddings": 262_144,
        "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1,
        "num_experts": 16, "num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
        "mamba_dt_rank": 256, "mamba_conv_bias": True, "mamba_proj_bias": False, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    model = read_hf_config(config)
    assert 2 * model.n_params == 103_140_646_656
    assert round(model.n_active_params / 1e9) == 12
    # The paper's Table 1: 4 GB of cache at 256K tokens in 16 bits.
    assert model.kv_bytes(262_144) == 4 * 2**30
