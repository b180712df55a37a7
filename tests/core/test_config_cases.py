"""Config shapes and sizing reports from public trackers, each with the value that is right and where it was reported.

Every input is the excerpt that the report shows. `complete` adds the keys of the model's published file that the
excerpt leaves out, so that what was added can be told from what was reported.
"""

import json
import math
from typing import Any

import pytest

from core import paging
from core.catalog import models
from core.evaluate import costs, evaluate
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.hf_config import ConfigError, read_config, read_hf_config
from core.kv_cache import softmax_values_per_token
from core.model import MoeFfn, SoftmaxAttention
from core.scenario import Scenario
from core.units import GB, GIB, MIB, format_bytes, in_unit
from core.weights import ModelShape, Tensor, expected_experts, tensor_bytes
from tests.harness import assert_sound, open_app, query, text

Config = dict[str, Any]


def complete(excerpt: Config, **added: Any) -> Config:
    """The excerpt of a report and the keys it leaves out; never another value for a key that it has."""
    assert not excerpt.keys() & added.keys()
    return excerpt | added


def complete_text(excerpt: Config, **added: Any) -> Config:
    """The same inside `text_config`."""
    return excerpt | {"text_config": complete(excerpt["text_config"], **added)}


def every(n: int, layers: int, others: str, nth: str = "full_attention") -> list[str]:
    """Layer types: every nth of one kind, all others of another."""
    return [others if i % n else nth for i in range(1, layers + 1)]


def refusal(source: Config | str | bytes) -> str:
    """The message of a refusal: one line, short."""
    with pytest.raises(ConfigError) as caught:
        read_hf_config(source)
    message = str(caught.value)
    assert message.isprintable()
    assert 0 < len(message) <= 300
    return message


LLAMA_3_8B = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}  # fmt: skip
LLAMA_3_70B = {
    "model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64,
    "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}  # fmt: skip
LLAMA_31_405B = complete(
    {"num_hidden_layers": 126, "num_key_value_heads": 8, "head_dim": 128},
    model_type="llama", hidden_size=16384, num_attention_heads=128, intermediate_size=53248, vocab_size=128256,
    max_position_embeddings=131072, torch_dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
QWEN3_235B = complete(
    {
        "model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 128,
    },
    intermediate_size=12288, moe_intermediate_size=1536, num_experts=128, num_experts_per_tok=8,
    decoder_sparse_step=1, mlp_only_layers=[], vocab_size=151936, max_position_embeddings=40960,
    torch_dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
QWEN3_30B = complete(
    {"num_hidden_layers": 48, "num_key_value_heads": 4, "head_dim": 128},
    model_type="qwen3_moe", hidden_size=2048, num_attention_heads=32, intermediate_size=6144,
    moe_intermediate_size=768, num_experts=128, num_experts_per_tok=8, decoder_sparse_step=1, mlp_only_layers=[],
    vocab_size=151936, max_position_embeddings=40960, torch_dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
QWEN3_32B = complete(
    {
        "model_type": "qwen3", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128,
    },
    intermediate_size=25600, vocab_size=151936, max_position_embeddings=40960, torch_dtype="bfloat16",
    tie_word_embeddings=False,
)  # fmt: skip
QWEN3_8B = complete(
    {"num_hidden_layers": 36, "num_key_value_heads": 8, "head_dim": 128},
    model_type="qwen3", hidden_size=4096, num_attention_heads=32, intermediate_size=12288, vocab_size=151936,
    max_position_embeddings=40960, torch_dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
QWEN3_4B = complete(
    {
        "model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 2560, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728, "vocab_size": 151936,
        "tie_word_embeddings": True,
    },
    max_position_embeddings=40960, torch_dtype="bfloat16",
)  # fmt: skip
LLAMA2_C = complete(
    {"hidden_size": 288, "vocab_size": 32000},
    model_type="llama", num_hidden_layers=6, num_attention_heads=6, intermediate_size=768,
    max_position_embeddings=256, tie_word_embeddings=True,
)  # fmt: skip
QWEN2_7B_REPORT = complete(
    {
        "model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
        "num_key_value_heads": 4,
    },
    intermediate_size=18944, vocab_size=152064, max_position_embeddings=32768, torch_dtype="bfloat16",
    tie_word_embeddings=False,
)  # fmt: skip
QWEN2_7B_PRESET = complete(
    {
        "model_type": "qwen2", "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
        "hidden_size": 3584, "intermediate_size": 18944, "sliding_window": 131072, "use_sliding_window": False,
        "max_window_layers": 28, "vocab_size": 152064, "tie_word_embeddings": False,
    },
    max_position_embeddings=131072, torch_dtype="bfloat16",
)  # fmt: skip
DEEPSEEK_V3 = complete(
    {
        "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
        "num_key_value_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
        "v_head_dim": 128,
    },
    q_lora_rank=1536, intermediate_size=18432, moe_intermediate_size=2048, n_routed_experts=256, n_shared_experts=1,
    num_experts_per_tok=8, first_k_dense_replace=3, moe_layer_freq=1, topk_method="noaux_tc", vocab_size=129280,
    max_position_embeddings=163840, torch_dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
GPT_OSS_120B = complete(
    {
        "model_type": "gpt_oss", "num_hidden_layers": 36, "hidden_size": 2880, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128,
        "layer_types": every(2, 36, "sliding_attention"),
        # from the weights' part of the same report
        "intermediate_size": 2880, "num_local_experts": 128, "vocab_size": 201088, "tie_word_embeddings": False,
        "quantization_config": {"quant_method": "mxfp4"},
    },
    num_experts_per_tok=4, attention_bias=True, max_position_embeddings=131072,
)  # fmt: skip
GPT_OSS_20B = complete(
    {
        "num_hidden_layers": 24, "num_key_value_heads": 8, "head_dim": 64, "hidden_size": 2880,
        "num_attention_heads": 64, "sliding_window": 128, "layer_types": every(2, 24, "sliding_attention"),
    },
    model_type="gpt_oss", intermediate_size=2880, num_local_experts=32, num_experts_per_tok=4, attention_bias=True,
    vocab_size=201088, max_position_embeddings=131072, tie_word_embeddings=False,
    quantization_config={"quant_method": "mxfp4"},
)  # fmt: skip
GEMMA_3_4B = complete(
    {
        "model_type": "gemma3_text", "num_hidden_layers": 34, "num_key_value_heads": 4, "head_dim": 256,
        "sliding_window": 1024, "sliding_window_pattern": 6,
    },
    hidden_size=2560, num_attention_heads=8, intermediate_size=10240, vocab_size=262208,
    max_position_embeddings=131072, torch_dtype="bfloat16",
)  # fmt: skip
GEMMA_3_1B = complete(
    {
        "num_hidden_layers": 26, "num_key_value_heads": 1, "head_dim": 256, "sliding_window": 512,
        "sliding_window_pattern": 6,
    },
    model_type="gemma3_text", hidden_size=1152, num_attention_heads=4, intermediate_size=6912, vocab_size=262144,
    max_position_embeddings=32768, torch_dtype="bfloat16",
)  # fmt: skip
GEMMA_3_27B = complete(
    {
        "num_hidden_layers": 62, "num_key_value_heads": 16, "head_dim": 128, "num_attention_heads": 32,
        "hidden_size": 5376, "sliding_window": 1024, "sliding_window_pattern": 6,
    },
    model_type="gemma3_text", intermediate_size=21504, vocab_size=262208, max_position_embeddings=131072,
    torch_dtype="bfloat16",
)  # fmt: skip
LINEAR = {
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
}  # fmt: skip
QWEN35_27B = complete_text(
    {
        "model_type": "qwen3_5",
        "text_config": {
            "num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256,
            "hidden_size": 5120, "intermediate_size": 17408, "full_attention_interval": 4,
            "layer_types": every(4, 64, "linear_attention"), "vocab_size": 248320,
        },
        "tie_word_embeddings": False,
    },
    model_type="qwen3_5_text", linear_num_value_heads=48, dtype="bfloat16", max_position_embeddings=262144, **LINEAR,
)  # fmt: skip


def qwen35_moe(*, layers: int, hidden: int, heads: int, expert: int, experts: tuple[int, int], values: int) -> Config:
    """The mixture-of-experts Qwen3.5: layers and KV heads as reported, the rest from the published files."""
    return complete_text(
        {"text_config": {"num_hidden_layers": layers, "num_key_value_heads": 2, "head_dim": 256}},
        model_type="qwen3_5_moe_text", hidden_size=hidden, num_attention_heads=heads, full_attention_interval=4,
        moe_intermediate_size=expert, shared_expert_intermediate_size=expert, num_experts=experts[0],
        num_experts_per_tok=experts[1], linear_num_value_heads=values, vocab_size=248320, dtype="bfloat16",
        max_position_embeddings=262144, tie_word_embeddings=False, **LINEAR,
    ) | {"model_type": "qwen3_5_moe"}  # fmt: skip


QWEN35_35B = qwen35_moe(layers=40, hidden=2048, heads=16, expert=512, experts=(256, 8), values=32)
QWEN35_122B = qwen35_moe(layers=48, hidden=3072, heads=32, expert=1024, experts=(256, 8), values=64)
QWEN35_397B = qwen35_moe(layers=60, hidden=4096, heads=32, expert=1024, experts=(512, 10), values=64)

MISTRAL_SMALL = complete(
    {
        "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128,
    },
    model_type="mistral", intermediate_size=32768, vocab_size=131072, sliding_window=None,
    max_position_embeddings=32768, torch_dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
MISTRAL3 = complete_text(
    {
        "model_type": "mistral3",
        "text_config": {
            "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 32, "num_key_value_heads": 8,
            "head_dim": 128,
        },
        "vision_config": {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16, "head_dim": 64},
    },
    model_type="mistral", intermediate_size=32768, vocab_size=131072, sliding_window=None,
    max_position_embeddings=131072,
)  # fmt: skip
GLM_45 = complete(
    {
        "num_hidden_layers": 92, "hidden_size": 5120, "num_attention_heads": 96, "num_key_value_heads": 8,
        "head_dim": 128,
    },
    model_type="glm4_moe", attention_bias=True, use_qk_norm=True, intermediate_size=12288,
    moe_intermediate_size=1536, n_routed_experts=160, n_shared_experts=1, num_experts_per_tok=8,
    first_k_dense_replace=3, vocab_size=151552, max_position_embeddings=131072, torch_dtype="bfloat16",
    tie_word_embeddings=False,
)  # fmt: skip
GPT2 = {
    "model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024, "n_ctx": 1024,
    "vocab_size": 50257,
}  # fmt: skip
GPT_BIGCODE = complete(
    {
        "model_type": "gpt_bigcode", "n_layer": 24, "n_head": 16, "n_embd": 2048, "n_inner": 8192,
        "multi_query": True, "vocab_size": 49280,
    },
    n_positions=2048,
)  # fmt: skip
PHI_2 = {
    "model_type": "phi-msft", "n_layer": 32, "n_head": 32, "n_embd": 2560, "n_head_kv": None, "n_inner": None,
    "n_positions": 2048, "vocab_size": 51200, "tie_word_embeddings": False,
}  # fmt: skip
KIMI_K25 = complete_text(
    {
        "model_type": "kimi_k25",
        "text_config": {
            "model_type": "kimi_k2", "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64,
            "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
            "hidden_size": 7168,
        },
        "vision_config": {"num_hidden_layers": 27, "hidden_size": 1152, "num_attention_heads": 16},
    },
    q_lora_rank=1536, intermediate_size=18432, moe_intermediate_size=2048, n_routed_experts=384, n_shared_experts=1,
    num_experts_per_tok=8, first_k_dense_replace=1, topk_method="noaux_tc", vocab_size=163840,
    max_position_embeddings=262144, dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
GLM_5 = complete(
    {
        "model_type": "glm_moe_dsa", "num_hidden_layers": 78, "num_attention_heads": 64, "num_key_value_heads": 64,
        "head_dim": 64, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_nextn_predict_layers": 1,
        "index_head_dim": 128, "hidden_size": 6144,
    },
    index_n_heads=32, index_topk=2048, q_lora_rank=2048, qk_nope_head_dim=192, v_head_dim=256,
    intermediate_size=12288, moe_intermediate_size=2048, n_routed_experts=256, n_shared_experts=1,
    num_experts_per_tok=8, first_k_dense_replace=3, vocab_size=154880, max_position_embeddings=202752,
    dtype="bfloat16", tie_word_embeddings=False,
)  # fmt: skip
GEMMA_4_31B = complete_text(
    {
        "model_type": "gemma4",
        "text_config": {
            "num_hidden_layers": 60, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256,
            "num_global_key_value_heads": 4, "global_head_dim": 512, "hidden_size": 5376, "sliding_window": 1024,
            "layer_types": every(6, 60, "sliding_attention"), "attention_k_eq_v": True, "num_kv_shared_layers": 0,
            "num_experts": None, "vocab_size": 262144,
        },
    },
    model_type="gemma4_text", intermediate_size=21504, hidden_size_per_layer_input=0, enable_moe_block=False,
    max_position_embeddings=262144, dtype="bfloat16",
)  # fmt: skip
SCOUT = complete_text(
    {
        "model_type": "llama4",
        "text_config": {
            "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
            "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 16,
            "num_experts_per_tok": 1, "interleave_moe_layer_step": 1, "attention_chunk_size": 8192,
            "max_position_embeddings": 10485760, "vocab_size": 202048,
        },
    },
    model_type="llama4_text", torch_dtype="bfloat16",
)  # fmt: skip
MIXTRAL_8X7B = complete(
    {
        "model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2,
        "vocab_size": 32000, "tie_word_embeddings": False,
    },
    max_position_embeddings=32768, sliding_window=None, torch_dtype="bfloat16",
)  # fmt: skip
MIXTRAL_8X22B = complete(
    {
        "model_type": "mixtral", "num_hidden_layers": 56, "num_attention_heads": 48, "num_key_value_heads": 8,
        "head_dim": None, "hidden_size": 6144, "intermediate_size": 16384, "num_local_experts": 8,
        "num_experts_per_tok": 2, "vocab_size": 32000,
    },
    max_position_embeddings=65536, torch_dtype="bfloat16",
)  # fmt: skip


def case(name: str, source: str, *values: Any) -> Any:
    """One row of a table, its case and source readable in the report."""
    return pytest.param(*values, id=f"{name} {source}")


# ---------------------------------------------------------------- bytes of cache


@pytest.mark.parametrize(
    ("config", "bytes_per_token"),
    [
        case("C01", "vllm-project/vllm#10517", LLAMA_3_8B, 131_072),
        case("C02", "vllm-project/vllm#21348, all four ranks", QWEN3_235B, 4 * 48_128),
        # not 124,928 (twice the latent, no rope key: LMCache#694), nor anything with the 128 "KV heads" of the file
        case("C03", "ggml-org/llama.cpp#11446", DEEPSEEK_V3, 70_272),
        case("C07a", "alvarobartt/hf-mem#60", GPT_OSS_120B, 73_728),
        case("C10", "lmstudio-ai/lmstudio-bug-tracker#1862", QWEN35_27B, 65_536),
        # the reporter's own 1,605,632 has all heads and 8 bits as 8 bytes
        case("C16", "vllm-project/vllm#22291", QWEN2_7B_REPORT, 57_344),
        # hidden / heads would say 163,840; 204,800; no whole number; 34,560
        case("C18", "QingyaFan/blog#190", QWEN3_32B, 262_144),
        case("C18", "NVIDIA/Model-Optimizer#2482", MISTRAL_SMALL, 163_840),
        case("C18", "LMCache/LMCache#2248", GLM_45, 376_832),
        case("C18", "LMCache/LMCache#688", GPT_OSS_20B, 49_152),
        case("C20a", "alvarobartt/hf-mem#26", KIMI_K25, 70_272),
        # the vision tower's numbers would say 98,304
        case("C20b", "llm-d/llm-d-benchmark#367", MISTRAL3, 163_840),
        case("S01", "mlc-ai/mlc-llm model_preset.py gpt2", GPT2, 36_864),
        case("S02", "mlc-ai/mlc-llm model_preset.py gpt_bigcode", GPT_BIGCODE, 12_288),
        case("S05", "mlc-ai/mlc-llm model_preset.py phi-2", PHI_2, 327_680),
        case("S08", "mlc-ai/mlc-llm model_preset.py qwen2_7b; vllm-project/vllm#3373", QWEN2_7B_PRESET, 57_344),
        case("S09", "ai-dynamo/aiconfigurator Gemma-4-31B-IT-NVFP4_config.json", GEMMA_4_31B, 901_120),
        case("S10", "ai-dynamo/aiconfigurator Llama-4-Scout-17B-16E-Instruct_config.json", SCOUT, 196_608),
        case("S13", "ai-dynamo/aiconfigurator Kimi-K2.5_config.json", KIMI_K25, 70_272),
        # 89,856 of latents and rope keys, 19,968 of the indexer's keys; no 79th layer for the prediction module
        case("S13", "ai-dynamo/aiconfigurator GLM-5_config.json", GLM_5, 109_824),
        case("S14", "ai-dynamo/aiconfigurator Qwen3.5-27B_config.json", QWEN35_27B, 65_536),
        case("X06", "ai-dynamo/aiconfigurator Mixtral-8x22B-v0.1_config.json; vllm#18573", MIXTRAL_8X22B, 229_376),
    ],
)
def test_cache_bytes_per_token(config, bytes_per_token):
    assert read_hf_config(config).kv_bytes_per_token() == bytes_per_token


@pytest.mark.parametrize(
    ("config", "tokens", "cache_bytes"),
    [
        case("C03", "ggml-org/llama.cpp#11446: 244.00 + 1952.00 MiB", DEEPSEEK_V3, 32_768, (244 + 1952) * MIB),
        case("C08", "ollama/ollama#17037: 5 full and 29 window layers", GEMMA_3_4B, 131_072, (2560 + 116) * MIB),
        case("C08", "lablup/mlxcel#172", GEMMA_3_1B, 32_768, (128 + 11) * MIB),
        case("C08", "unslothai/unsloth#4757: 10.41 GiB", GEMMA_3_27B, 131_072, 11_173_625_856),
        case("C10", "lmstudio-ai/lmstudio-bug-tracker#1862", QWEN35_27B, 262_144, 16_384 * MIB),
        case("C10", "jundot/omlx#2725: a block of 64", QWEN35_27B, 64, 4 * MIB),
        case("C10", "ggml-org/Llama-macOS#63: 35B-A3B", QWEN35_35B, 1_024, 20 * MIB),
        case("C10", "ggml-org/Llama-macOS#63: 122B-A10B", QWEN35_122B, 1_024, 24 * MIB),
        case("C10", "ggml-org/Llama-macOS#63: 397B-A17B", QWEN35_397B, 1_024, 30 * MIB),
        case("C14", "ggml-org/llama.cpp#21551, first row", MISTRAL_SMALL, 6_656, 1_040 * MIB),
        case("C14", "ggml-org/llama.cpp#21551, second row", QWEN3_8B, 2_560, 360 * MIB),
        case("C16", "vllm-project/vllm#22291: 0.1762 GB", QWEN2_7B_REPORT, 3_072, 168 * MIB),
        # beyond gpt2's own 1,024 tokens: a what-if, computed all the same
        case("C19a", "lablup/mlxcel#927", GPT2, 8_192, 301_989_888),
        case("C19b", "lablup/mlxcel#927", GPT_BIGCODE, 8_192, 100_663_296),
        case("C19b", "lablup/mlxcel#927, flag off", GPT_BIGCODE | {"multi_query": False}, 8_192, 1.5 * GIB),
        case("X03", "huggingface/blog#2345: 15.62", LLAMA_3_8B, 128_000, 15.625 * GIB),
        case("X03", "huggingface/blog#2345: 39.06", LLAMA_3_70B, 128_000, 39.0625 * GIB),
        case("X03", "huggingface/blog#2345: 61.52", LLAMA_31_405B, 128_000, 516_096 * 128_000),
        # the table's 123.05, twice as much, is the first files' 16 KV heads
        case("X03", "vllm-project/vllm#7745", LLAMA_31_405B | {"num_key_value_heads": 16}, 128_000, 132_120_576_000),
    ],
)  # fmt: skip
def test_cache_bytes_of_a_sequence(config, tokens, cache_bytes):
    assert read_hf_config(config).kv_bytes(tokens) == cache_bytes


def test_c01_paged_blocks_round_up():
    # vllm-project/vllm#10517 (also #13596, #2418): 20,000 tokens start on one RTX 3090, 29,000 do not
    per_token = read_hf_config(LLAMA_3_8B).kv_bytes_per_token()
    first, second = 1_952 * 16, 1_478 * 16
    assert (first, second) == (31_232, 23_648)
    assert in_unit(first * per_token, "GiB") == 3.8125
    assert first / 20_000 == pytest.approx(1.5616)
    assert in_unit(second * per_token, "GiB") == pytest.approx(2.8867, abs=5e-5)
    assert paging.blocks_needed(tokens=29_000, block=16) == 1_813
    assert in_unit(1_813 * 16 * per_token, "GiB") == pytest.approx(3.541, abs=5e-4)
    assert paging.serve_paged([20_000], pool_tokens=first, block=16).n_served == 1
    assert paging.serve_paged([29_000], pool_tokens=second, block=16).n_served == 0
    assert abs(127_626 * 16 / 2_048 - 997.08) < 0.005
    assert paging.serve_paged([4_096], pool_tokens=229 * 16, block=16).n_served == 0
    assert paging.blocks_needed(tokens=4_096, block=16) == 256


def test_c02_a_gb_that_is_a_gib():
    # vllm-project/vllm#21348: SGLang logs "K size 8.23 GB" on each of 4 GPUs
    spec = read_hf_config(QWEN3_235B)
    every_rank = evaluate(Scenario(model=spec, n_gpus=4, context=367_404)).memory.kv_bytes
    assert in_unit(every_rank, "GiB") == pytest.approx(65.87, abs=0.005)
    assert in_unit(every_rank / 4, "GiB") == pytest.approx(16.468, abs=5e-4)
    k_of_a_rank = every_rank // 4 // 2
    assert k_of_a_rank == 8_841_209_856
    assert format_bytes(k_of_a_rank, "GiB", digits=4) == "8.234 GiB"
    assert format_bytes(k_of_a_rank, "GB", digits=4) == "8.841 GB"


def test_c02_fp8_weights_say_nothing_of_the_cache():
    quantized = complete(QWEN3_235B, quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]})
    spec = read_hf_config(quantized)
    assert spec.native_format == "fp8"
    assert spec.kv_bytes_per_token() == 4 * 48_128


def test_c03_parts_and_the_expanded_form():
    # ggml-org/llama.cpp#11446: 244.00 MiB of rope keys, 1,952.00 of latents; without MLA 4.77 MiB a token
    # (ikawrakow/ik_llama.cpp#235 says 610 kB: an eighth of the log)
    group = read_hf_config(DEEPSEEK_V3).groups[0]
    assert (61 * group.attention.d_rope * 2 * 32_768, 61 * group.attention.kv_lora_rank * 2 * 32_768) == (
        244 * MIB,
        1_952 * MIB,
    )
    assert 61 * 2 * softmax_values_per_token(n_kv=128, d_k=128 + 64, d_v=128) == 4_997_120


def test_c07_window_layers_need_their_window_only():
    # alvarobartt/hf-mem#60 and #70; leaving the window layers out altogether (36,864) is wrong, too
    large, small = read_hf_config(GPT_OSS_120B), read_hf_config(GPT_OSS_20B)
    assert large.kv_bytes(129) - large.kv_bytes(128) == 36_864
    assert 5.38 * GIB / large.kv_bytes_per_token() == pytest.approx(78_384, rel=0.001)
    assert 32 * small.kv_bytes(8_192) / GIB == pytest.approx(6.094, abs=5e-4)
    assert 32 * 8_192 * small.kv_bytes_per_token() / GIB == 12.0


def test_c08_window_layers():
    # ollama/ollama#17037; llama.cpp allots 1,024 + 512 cells to a window layer: 174 MiB, 2,734 in all
    spec = read_hf_config(GEMMA_3_4B)
    windows = sum(g.count for g in spec.groups if g.attention.window == 1_024)
    assert (spec.n_layers - windows, windows) == (5, 29)
    assert read_hf_config(GEMMA_3_4B | {"sliding_window": 1_536}).kv_bytes(131_072) == 2_734 * MIB
    assert 131_072 * spec.kv_bytes_per_token() == 17_408 * MIB  # all layers full
    assert read_hf_config(GEMMA_3_1B).kv_bytes_per_token() * 32_768 == 832 * MIB


def test_c10_recurrent_state_does_not_grow():
    # lmstudio-ai/lmstudio-bug-tracker#1862 logs 598.50 MiB for 4 slots: llama.cpp keeps the convolution tail of
    # 3 x 10,240 values in fp32 as well, here it is in 16 bits
    spec = read_hf_config(QWEN35_27B)
    assert 4 * (spec.state_bytes + 48 * 3 * 10_240 * 2) == 598.5 * MIB
    assert evaluate(Scenario(model=spec, context=1)).memory.kv_bytes == spec.state_bytes + 65_536


@pytest.mark.parametrize(("config", "tokens", "mib"), [(MISTRAL_SMALL, 6_656, 1_040), (QWEN3_8B, 2_560, 360)])
@pytest.mark.parametrize(("cache_format", "bits"), [("bf16", 16), ("q8_0", 8.5), ("q4_0", 4.5)])
def test_c14_cache_formats(config, tokens, mib, cache_format, bits):
    # ggml-org/llama.cpp#21551: 1040.00 / 552.50 / 292.50 and 360.00 / 191.25 / 101.25 MiB
    assert CACHE_FORMATS[cache_format].bits == bits
    assert read_hf_config(config).kv_bytes(tokens, bits) == mib * bits / 16 * MIB


def test_c16_gptq_weights_say_nothing_of_the_cache():
    # vllm-project/vllm#22291: the reporter's fit from three runs is about 0.16 GB per request
    quantized = complete(QWEN2_7B_REPORT, quantization_config={"quant_method": "gptq", "bits": 8, "group_size": 128})
    spec = read_hf_config(quantized)
    assert spec.kv_bytes(3_072) / GB == pytest.approx(0.1762, abs=5e-5)
    assert spec.native_format not in ("bf16", "fp16")


def test_c19_gpt2_limit_is_kept():
    assert read_hf_config(GPT2).max_context == 1_024


def test_c33_kv_heads_repeat_on_more_gpus_than_heads():
    # sgl-project/sglang#19086, huggingface/transformers#48307, vllm-project/vllm#51454, tenstorrent/vllm#50
    def bytes_per_token_per_rank(config: Config, n_gpus: int) -> float:
        sizes = [
            evaluate(Scenario(model=read_hf_config(config), n_gpus=n_gpus, context=tokens)).memory.kv_bytes
            for tokens in (1_000, 2_000)
        ]
        return (sizes[1] - sizes[0]) / 1_000 / n_gpus

    assert bytes_per_token_per_rank(QWEN35_397B, 4) == 15_360  # 2 KV heads in 15 layers; not 7,680
    assert bytes_per_token_per_rank(QWEN3_30B, 8) == 24_576  # 4 KV heads; not 12,288
    assert bytes_per_token_per_rank(QWEN3_30B, 4) == 24_576
    assert bytes_per_token_per_rank(DEEPSEEK_V3, 8) == 70_272  # every rank holds the latent
    assert bytes_per_token_per_rank(LLAMA_3_8B, 32) == 131_072 / 8


# ---------------------------------------------------------------- parameters and bytes of weights


@pytest.mark.parametrize(
    ("config", "n_params"),
    [
        case("C22", "huggingface/accelerate#3379", LLAMA_3_70B, 70_553_706_496),
        # 163,037,184 with the tied table counted twice
        case("C24a", "huggingface/transformers#14960", GPT2, 124_439_808),
        case("C24b", "Abdullah-Taha9/ui-training#29", QWEN3_4B, 4_022_468_096),
        # 24,407,712 with the tied table counted twice
        case("C24", "karpathy/llama2.c#378", LLAMA2_C, 15_191_712),
        case("C25", "jranaraki/vllm-fit#27", MIXTRAL_8X7B, 46_702_792_704),
        case("C31", "alvarobartt/hf-mem#60", GPT_OSS_120B, 116_829_156_672),
        case("S08", "Qwen2.5-7B: Q, K and V have biases", QWEN2_7B_PRESET, 7_615_616_512),
        case("S10", "Llama 4 Scout: a shared expert that the file does not name", SCOUT, 107_769_861_120),
        case("C03", "DeepSeek-V3 without its prediction module", DEEPSEEK_V3, 671_026_419_200),
        case("S09", "Gemma 4 31B: no V projection in the full layers", GEMMA_4_31B, 30_697_345_280),
        case("S13", "GLM-5 without its prediction module", GLM_5, 743_911_218_432),
        case("S14", "Qwen3.5 27B", QWEN35_27B, 26_895_998_464),
        case("X06", "Mixtral 8x22B, base file", MIXTRAL_8X22B, 140_620_634_112),
    ],
)
def test_parameters(config, n_params):
    assert read_hf_config(config).n_params == n_params


@pytest.mark.parametrize(("config", "tied"), [(GPT2, True), (GEMMA_3_1B, True), (SCOUT, False), (MIXTRAL_8X22B, False)])
def test_c24_an_absent_tie_key_means_what_the_model_type_means(config, tied):
    # huggingface/transformers#14960
    stated = config.get("text_config", config)
    assert "tie_word_embeddings" not in stated
    assert "tie_word_embeddings" not in config
    assert read_hf_config(config).tied_embeddings is tied


def test_c22_weight_bytes():
    # huggingface/accelerate#3379 reported 64.73: halved twice, the output head left out, GiB called GB
    spec = read_hf_config(LLAMA_3_70B)
    assert spec.params_by_component["lm_head"] == 1_050_673_152
    for config in (LLAMA_3_70B, LLAMA_3_70B | {"torch_dtype": "float16"}):
        weights = evaluate(Scenario(model=read_hf_config(config))).memory.weights_bytes
        assert weights == 141_107_412_992
        assert in_unit(weights, "GiB") == pytest.approx(131.417, abs=5e-4)
        assert in_unit(weights, "GB") == pytest.approx(141.107, abs=5e-4)


def test_c24_weight_bytes_of_a_tied_model():
    # huggingface/transformers#14960
    weights = evaluate(Scenario(model=read_hf_config(QWEN3_4B))).memory.weights_bytes
    assert in_unit(weights, "GiB") == pytest.approx(7.4924, abs=5e-5)


def test_c25_memory_holds_every_expert():
    # jranaraki/vllm-fit#27, AlexsJones/llmfit#230: read as ~13B; as one dense feed-forward block it is Mistral 7B
    spec = read_hf_config(MIXTRAL_8X7B)
    assert spec.n_active_params == 12_879_925_248
    weights = evaluate(Scenario(model=spec)).memory.weights_bytes
    assert in_unit(weights, "GB") == pytest.approx(93.41, abs=0.005)
    assert in_unit(weights, "GiB") == pytest.approx(86.99, abs=0.005)
    dense = {key: value for key, value in MIXTRAL_8X7B.items() if "experts" not in key} | {"model_type": "mistral"}
    assert read_hf_config(dense).n_params == 7_241_732_096


@pytest.mark.parametrize(
    ("n_experts", "n_active", "tokens", "touched"),
    [
        (8, 2, 1, 2.0), (8, 2, 4, 5.469), (8, 2, 16, 7.92),
        (128, 8, 1, 8.0), (128, 8, 4, 29.123), (128, 8, 16, 82.423), (128, 8, 64, 125.942),
    ],
)  # fmt: skip
def test_c27_expected_experts(n_experts, n_active, tokens, touched):
    # inference-sim/inference-sim#489
    assert expected_experts(n_experts=n_experts, n_active=n_active, tokens=tokens) == pytest.approx(touched, abs=5e-4)


def test_c29_an_awq_layer():
    # casper-hansen/AutoAWQ#566: 11008 x 512 and 86 x 512 int32, 86 x 4096 fp16
    layer = Tensor("ffn_down", "dense_ffn", "linear", 4_096, 11_008)
    size = tensor_bytes(layer, WEIGHT_FORMATS["int4"], ModelShape(32, tied=False))
    assert size == (11_008 * 512 * 32 + 86 * 512 * 32 + 86 * 4_096 * 16) / 8 == 23_425_024
    assert size * 8 / layer.n_params == WEIGHT_FORMATS["int4"].linear_bits == 4.15625
    assert size > layer.n_params / 2 == 22_544_384


LLAMA_2_7B = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16",
}  # fmt: skip


@pytest.mark.parametrize(
    ("quantization", "weight_format"),
    [
        (None, "int4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}, "native"),
    ],
)
def test_c29_a_whole_awq_model(quantization, weight_format):
    # casper-hansen/AutoAWQ#566: table and output head stay in 16 bits, so 3.89 GB and not 3.37
    spec = read_hf_config(complete(LLAMA_2_7B, quantization_config=quantization))
    size = evaluate(Scenario(model=spec, weight_format=weight_format)).memory.weights_bytes
    assert size == math.ceil(6_476_005_376 * 4.15625 / 8) + 262_144_000 * 2 + 65 * 4_096 * 2
    assert in_unit(size, "GB") == pytest.approx(3.89, abs=0.005)
    assert in_unit(size, "GiB") == pytest.approx(3.62, abs=0.005)


def test_c31_gpt_oss_to_the_byte():
    # alvarobartt/hf-mem#60 read the same from the file headers
    spec = read_hf_config(GPT_OSS_120B)
    scenario = Scenario(model=spec)
    assert evaluate(scenario).memory.weights_bytes == 65_248_815_744
    expert_biases = 36 * 128 * (5_760 + 2_880)
    experts = dict(costs(scenario).weights.by_component)["experts"]
    assert experts - expert_biases * 2 == 60_914_073_600
    assert 65_248_815_744 * 8 / spec.n_params == pytest.approx(4.468, abs=5e-4)
    assert evaluate(scenario.replace(weight_format="bf16")).memory.weights_bytes == 233_658_313_344


def test_c31_nvfp4_is_four_and_a_half_bits():
    # ai-dynamo/aiconfigurator#391, Andyyyy64/whichllm#99
    assert (WEIGHT_FORMATS["mxfp4"].linear_bits, WEIGHT_FORMATS["nvfp4"].linear_bits) == (4.25, 4.5)


def test_c31_an_unknown_quantization_is_never_sixteen_bits_in_silence():
    config = complete(LLAMA_3_8B, quantization_config={"quant_method": "zipnn7", "bits": 3})
    assert "quant_method" in refusal(config)


# ---------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    ("config", "layers", "heads", "kv_heads", "head_dim"),
    [
        case("S01", "mlc-ai/mlc-llm model_preset.py gpt2", GPT2, 12, 12, 12, 64),
        case("S02", "mlc-ai/mlc-llm model_preset.py gpt_bigcode", GPT_BIGCODE, 24, 16, 1, 128),
        case("S05", "mlc-ai/mlc-llm model_preset.py phi-2", PHI_2, 32, 32, 32, 80),
        case("S08", "mlc-ai/mlc-llm model_preset.py qwen2_7b", QWEN2_7B_PRESET, 28, 28, 4, 128),
        case("X06", "ai-dynamo/aiconfigurator Mixtral-8x22B-v0.1_config.json", MIXTRAL_8X22B, 56, 48, 8, 128),
    ],
)
def test_shapes(config, layers, heads, kv_heads, head_dim):
    (group,) = read_hf_config(config).groups
    a = group.attention
    assert isinstance(a, SoftmaxAttention)
    assert (group.count, a.n_q, a.n_kv, a.d_k, a.d_v) == (layers, heads, kv_heads, head_dim, head_dim)
    assert a.span is None  # S08: the window is switched off (vllm-project/vllm#3373, predibase/lorax#532)


def test_s01_gpt2_is_tied_with_learned_positions_and_four_times_the_width():
    spec = read_hf_config(GPT2)
    assert (spec.tied_embeddings, spec.learned_positions, spec.groups[0].ffn.d_ff) == (True, 1_024, 3_072)


def test_s08_a_window_beyond_the_limit_has_no_effect_and_a_null_one_is_none():
    # Phi-3.5 carries 262,144 above its 131,072; Mistral 7B v0.3 carries null
    phi = complete(
        {"model_type": "phi3", "sliding_window": 262144, "max_position_embeddings": 131072},
        num_hidden_layers=32, hidden_size=3072, num_attention_heads=32, num_key_value_heads=32,
        intermediate_size=8192, vocab_size=32064, tie_word_embeddings=False, torch_dtype="bfloat16",
    )  # fmt: skip
    assert read_hf_config(phi).kv_bytes(131_072) == 131_072 * 393_216
    assert read_hf_config(MISTRAL_SMALL).kv_bytes(100_000) == 100_000 * 163_840


def test_s09_two_kinds_of_layers():
    # ai-dynamo/aiconfigurator Gemma-4-31B-IT-NVFP4_config.json: the window layers' 819,200 for 1,024 tokens only;
    # K and V share a projection in the full layers, and both are kept
    spec = read_hf_config(GEMMA_4_31B)
    found = {(g.count, g.attention.n_kv, g.attention.d_k, g.attention.window) for g in spec.groups}
    assert found == {(50, 16, 256, 1_024), (10, 4, 512, None)}
    assert spec.kv_bytes(1_025) - spec.kv_bytes(1_024) == 81_920


def test_s10_chunked_layers_and_a_limit_of_ten_million():
    # ai-dynamo/aiconfigurator Llama-4-Scout-17B-16E-Instruct_config.json: 1,920 GiB were all layers full
    spec = read_hf_config(SCOUT)
    assert spec.max_context == 10_485_760
    assert in_unit(10_485_760 * spec.kv_bytes_per_token(), "GiB") == 1_920
    assert spec.kv_bytes(8_193) - spec.kv_bytes(8_192) == 196_608 / 4


def test_s10_maverick_has_experts_in_every_second_layer():
    # ai-dynamo/aiconfigurator Llama-4-Maverick-17B-128E-Instruct_config.json
    changes = {"num_local_experts": 128, "interleave_moe_layer_step": 2, "max_position_embeddings": 1_048_576}
    spec = read_hf_config(SCOUT | {"text_config": SCOUT["text_config"] | changes})
    experts = [g for g in spec.groups if isinstance(g.ffn, MoeFfn)]
    assert sum(g.count for g in experts) == 24
    assert {g.ffn.d_ff for g in spec.groups if g not in experts} == {16_384}
    assert spec.n_params == 400_711_848_960


def test_s14_either_way_of_saying_which_layers_are_full():
    # ai-dynamo/aiconfigurator Qwen3.5-27B_config.json: some files give the interval only, some the list only
    both = read_hf_config(QWEN35_27B)
    for left_out in ("layer_types", "full_attention_interval"):
        text_config = {key: value for key, value in QWEN35_27B["text_config"].items() if key != left_out}
        assert read_hf_config(QWEN35_27B | {"text_config": text_config}).groups == both.groups
    assert sum(g.count for g in both.groups if isinstance(g.attention, SoftmaxAttention)) == 16


# ---------------------------------------------------------------- refusals


def test_c20_a_missing_text_config_is_one_line():
    # llm-d/llm-d-benchmark#367: a trace on the page
    for broken in ({}, {"text_config": None}, {"text_config": []}, {"text_config": {}}):
        config = {key: value for key, value in MISTRAL3.items() if key != "text_config"} | broken
        assert refusal(config)


def test_c21_an_unknown_architecture_is_never_guessed():
    # jranaraki/vllm-fit#33: 4096/32/32/32000 were drawn for a model that was never read
    config = {
        "architectures": ["SomeForConditionalGeneration"],
        "model_type": "unknown_vlm",
        "thinker_config": {
            "text_config": {
                "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8,
            },
        },
    }  # fmt: skip
    said = refusal(config)
    assert "model_type" in said
    assert "unknown_vlm" in said


def test_c21_what_is_assumed_is_said():
    reading = read_config(GPT2, name="gpt2")
    assert reading.spec == read_hf_config(GPT2).model_copy(update={"name": "gpt2", "slug": reading.spec.slug})
    assert {"n_layer", "n_head", "n_embd", "vocab_size"} <= {entry.key for entry in reading.read}
    assert all(entry.field and entry.value for entry in reading.read)
    assert reading.assumed  # the tied table and the width of the feed-forward block are not in the file
    assert all(entry.field and entry.value and entry.why for entry in reading.assumed)


AS_TEXT = json.dumps(LLAMA_3_8B)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        case(
            "C39", "ai-dynamo/dynamo#3043, LFS pointer",
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 654\n", ["LFS pointer"],
        ),
        case("C39", "Zejun-Yang/AniPortrait#120, web page", "<!doctype html><html></html>", ["web page"]),
        case("C39", "huggingface/transformers#18965, trailing comma", '{"a":1,}', ["JSON", "line 1"]),
        case(
            "C39", "LMCache kv_cache_calculator/modelconfig.json, merge marker",
            '{\n  "a": 1,\n<<<<<<< HEAD\n  "b": 2\n}\n', ["JSON", "line 3"],
        ),
        case("C39", "LC1332/Luotuo-Chinese-LLM#19, empty", "", ["empty"]),
        case("C39", "LC1332/Luotuo-Chinese-LLM#19, blank", " \n\t ", ["empty"]),
        case("C39", "nicolaus-huang/ProcessPainter#4, list", "[1,2]", ["list"]),
        case(
            "C39", "LC1332/Luotuo-Chinese-LLM#19, adapter",
            '{"peft_type":"LORA","r":8,"base_model_name_or_path":"x"}', ["LoRA", "adapter", "base model"],
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_bytes", [False, True], ids=["text", "bytes"])
def test_c39_what_is_no_config_is_named(content, words, as_bytes):
    said = refusal(content.encode() if as_bytes else content)
    for word in words:
        assert word in said


def test_c39_a_byte_order_mark_is_accepted():
    # cityjson/cjio#21
    expected = read_hf_config(LLAMA_3_8B)
    assert read_hf_config(b"\xef\xbb\xbf" + AS_TEXT.encode()) == expected
    assert read_hf_config("\ufeff" + AS_TEXT) == expected


def test_c39_infinity_is_accepted_and_never_computed_with():
    # ai-dynamo/dynamo#3043: Mamba files hold {"time_step_limit": [0.0, Infinity]}
    with_limit = AS_TEXT.replace("{", '{"time_step_limit": [0.0, Infinity], ', 1)
    assert read_hf_config(with_limit) == read_hf_config(LLAMA_3_8B)
    assert "JSON" not in refusal('{"time_step_limit":[0.0,Infinity],"num_hidden_layers":2}')
    for key in ("num_hidden_layers", "hidden_size", "num_key_value_heads", "vocab_size"):
        for value in ("Infinity", "-Infinity", "NaN", "1e999"):
            content = json.dumps(LLAMA_3_8B | {key: 0}).replace(f'"{key}": 0', f'"{key}": {value}')
            assert key in refusal(content)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        # would draw 36,864 bytes a token
        case(
            "C40a", "mlc-ai/mlc-llm model_preset.py snowflake-arctic-embed-m",
            {
                "architectures": ["BertModel"], "model_type": "bert", "num_hidden_layers": 12, "hidden_size": 768,
                "num_attention_heads": 12, "vocab_size": 30522,
            },
            "encoder",
        ),
        case(
            "C40b", "hahnyuan/LLM-Viewer configs/DiT.py",
            {
                "_class_name": "DiTTransformer2DModel", "num_layers": 28, "num_attention_heads": 16,
                "attention_head_dim": 72,
            },
            "diffusion",
        ),
        case(
            "C40c", "NVIDIA/TensorRT-LLM#19514, huggingface/optimum-executorch#187",
            {
                "model_type": "whisper", "decoder_layers": 4, "d_model": 1280, "decoder_attention_heads": 20,
                "max_source_positions": 1500, "max_target_positions": 448,
            },
            "encoder-decoder",
        ),
    ],
)  # fmt: skip
def test_c40_what_is_no_decoder_is_refused(config, words):
    assert words in refusal(config)


# ---------------------------------------------------------------- the page


def test_c36_the_same_bytes_read_twice_and_an_exhausted_stream():
    # streamlit/streamlit#2213: the second read of an upload gives empty bytes, 'Expecting value: line 1 column 1'
    content = AS_TEXT.encode()
    assert read_hf_config(content) == read_hf_config(content)
    assert "empty" in refusal(b"")
    # On the page: tests/pages/test_bring_your_own.py, test_c36_an_upload_survives_a_rerun.


def cache_shown(at: Any) -> bool:
    """Whether the page's arithmetic has the cache of exactly the scenario in its URL."""
    scenario, notes = Scenario.from_query(query(at))
    assert not notes
    return f"{evaluate(scenario).memory.kv_bytes:,} B" in text(at)


def test_c37_a_smaller_limit_clamps_says_so_and_computes_with_what_it_shows():
    # streamlit/streamlit#9342, #5099, #8342, #16675, #3481: 65,536 stays when the new maximum is 1,024
    at = open_app(Scenario(model="llama-3.1-8b").to_query())
    at.select_slider(key="context").set_value(65_536).run()
    assert_sound(at, charts=2)
    assert cache_shown(at)

    at.selectbox(key="model").set_value("gpt2-small").run()
    assert_sound(at, charts=2)
    assert query(at)["context"] == "1024"
    assert at.select_slider(key="context").value == 1_024
    assert "1,024" in at.info[0].value
    assert cache_shown(at)

    at.selectbox(key="model").set_value("llama-3.1-8b").run()
    assert_sound(at, charts=2)
    assert at.select_slider(key="context").value == int(query(at)["context"])
    assert cache_shown(at)


def test_c37_a_model_whose_limit_is_the_first_stop():
    # streamlit/streamlit#5099: a slider with min >= max raises
    from core.stops import FIRST_CONTEXT_STOP, context_stops

    model = models()["gpt2-small"].model_copy(update={"max_context": FIRST_CONTEXT_STOP})
    assert context_stops(model, FIRST_CONTEXT_STOP) == [FIRST_CONTEXT_STOP]
