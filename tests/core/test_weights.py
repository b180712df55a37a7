"""Parameters and bytes against published parameter counts and the sizes of published files."""

import math
from itertools import combinations, product

import pytest

from core.catalog import models
from core.formats import WEIGHT_FORMATS, resolve_weight_format
from core.model import LayerGroup, ModelSpec
from core.units import GB, GIB
from core.weights import (
    ModelShape,
    Tensor,
    WeightBytes,
    expected_experts,
    ffn_tensors,
    is_more_bits_layer,
    matmul_params,
    moe_tensors,
    norm_values,
    softmax_attention_tensors,
    tensor_bytes,
    weight_bytes,
)


def stored(slug: str, fmt: str) -> WeightBytes:
    """A catalog model in a format."""
    model = models()[slug]
    return weight_bytes(model.tensors, resolve_weight_format(fmt, model.native_format), model.shape)


def with_one_more_layer(model: ModelSpec) -> ModelSpec:
    """The model with its last group one layer longer, as a multi-token-prediction module is."""
    fields = {name: getattr(model, name) for name in ModelSpec.model_fields}
    last = {name: getattr(model.groups[-1], name) for name in LayerGroup.model_fields}
    return ModelSpec(**fields | {"groups": (*model.groups[:-1], LayerGroup(**last | {"count": last["count"] + 1}))})


# Parameters


@pytest.mark.parametrize(
    ("tensors", "layers", "published"),
    [
        # LLaMA-2-13B: 8.5e9 in feed-forward blocks and 4.2e9 in attention (scaling-book, inference.md)
        (ffn_tensors(d_model=5120, d_ff=13_824, n_matrices=3), 40, 8.5e9),
        (softmax_attention_tensors(d_model=5120, n_q=40, n_kv=40, d_k=128, d_v=128), 40, 4.2e9),
        # Mixtral 8x7B: layer arithmetic of its published 46,702,792,704, attention excepted
        (moe_tensors(d_model=4096, n_experts=8, n_active=2, d_expert=14_336, n_matrices=3), 32, 45_098_205_184),
    ],
)
def test_component_counts(tensors, layers, published):
    assert sum(t.n_params for t in tensors) * layers == pytest.approx(published, rel=0.005)


def test_flops_per_token_of_a_52b_model():
    # kipply, Transformer Inference Arithmetic: 64 layers of width 8192, 24 d^2 FLOPs each; 2 x 2 d^2 for K and V.
    layer = softmax_attention_tensors(d_model=8192, n_q=64, n_kv=64, d_k=128, d_v=128)
    layer += ffn_tensors(d_model=8192, d_ff=4 * 8192, n_matrices=2)
    body, head = matmul_params(layer, tied=False)
    assert (2 * 64 * body, head) == (103_079_215_104, 0)
    keys_and_values = sum(t.n_params for t in layer if t.name in ("attn_k", "attn_v"))
    assert 2 * 64 * keys_and_values == 17_179_869_184


def test_biases_norms_and_gates_are_counted_but_never_multiplied():
    plain = {"d_model": 64, "n_q": 4, "n_kv": 2, "d_k": 16, "d_v": 16}
    base = softmax_attention_tensors(**plain)
    extra = softmax_attention_tensors(**plain, qkv_bias=True, o_bias=True, qk_norm="full_width", sinks=True)
    # biases 64 + 32 + 32 + 64, norms of 64 and 32 values, 4 sinks
    assert sum(t.n_params for t in extra) - sum(t.n_params for t in base) == 192 + 96 + 4
    assert matmul_params(extra, tied=False) == matmul_params(base, tied=False)


def test_v_from_k_saves_the_v_projection_and_a_gate_doubles_q():
    plain = {"d_model": 64, "n_q": 4, "n_kv": 2, "d_k": 16, "d_v": 16}
    base, saved, gated = (
        sum(t.n_params for t in softmax_attention_tensors(**plain, **more))
        for more in ({}, {"v_from_k": True}, {"output_gate": True})
    )
    assert (base - saved, gated - base) == (64 * 32, 64 * 64)


def test_a_tied_table_is_the_output_head_and_counts_once():
    tensors = [Tensor("token_embd", "embedding", "table", 1000, 64), Tensor("attn_q", "attention", "linear", 64, 64)]
    assert matmul_params(tensors, tied=True) == (4096, 64_000)
    assert matmul_params(tensors, tied=False) == (4096, 0)


@pytest.mark.parametrize(("kind", "values"), [("rmsnorm", 768), ("layernorm", 1536), ("layernorm_no_bias", 768)])
def test_norm_values(kind, values):
    assert norm_values(kind=kind, d_model=768) == values


# Bytes of published files


@pytest.mark.parametrize(
    ("slug", "fmt", "gib"),
    [
        ("llama-3-8b", "bf16", 14.96),  # GPU-Benchmarks-on-LLM-Inference, README: sizes of the files it ran
        ("llama-3-70b", "bf16", 131.42),
        ("llama-3-8b", "q4_k_m", 4.58),
        ("llama-3-70b", "q4_k_m", 39.59),
        ("llama-2-7b", "q4_0", 3.56),  # llama.cpp, tools/llama-bench/README.md
        ("qwen3-30b-a3b", "q8_0", 30.25),  # llama.cpp, benches/dgx-spark.md
        ("qwen2.5-7b", "q8_0", 7.54),
        ("mixtral-8x7b", "q4_k_m", 26.49),  # llama-bench on a conversion with merged experts
        ("mixtral-8x7b", "q8_0", 46.22),  # ggml-org/llama.cpp#4406
        ("mixtral-8x7b", "q4_0", 24.62),  # ggml-org/llama.cpp#6670; its router is fp16, now fp32: 0.002 more
    ],
)
def test_size_of_published_files(slug, fmt, gib):
    assert stored(slug, fmt).stored_bytes / GIB == pytest.approx(gib, abs=0.0071)


@pytest.mark.parametrize(
    ("slug", "published"),
    [
        ("gpt-oss-120b", 65_248_815_744),  # read from the file headers (alvarobartt/hf-mem#60)
        ("gpt-oss-20b", 13_761_264_768),
    ],
)
def test_mxfp4_checkpoints_to_the_byte(slug, published):
    assert stored(slug, "native").stored_bytes == published


def test_mxfp4_experts_of_gpt_oss_120b():
    # The same report: 114,661,785,600 values at 4.25 bits; expert biases stay in 16 bits.
    experts = [t for t in models()["gpt-oss-120b"].tensors if t.component == "experts" and t.kind == "linear"]
    fmt = resolve_weight_format("native", "mxfp4")
    shape = models()["gpt-oss-120b"].shape
    assert sum(t.n_params for t in experts) == 114_661_785_600
    assert sum(tensor_bytes(t, fmt, shape) for t in experts) == 60_914_073_600


def test_kimi_k2_checkpoint_to_3416_unexplained_values():
    # 1,029,173,256,720 bytes of FP8 file; its own header holds 3,416 = 61 x 56 bf16 values more than the dims give.
    assert 1_029_173_256_720 - stored("kimi-k2", "native").stored_bytes == 3_416 * 2


def fp8_scales(model: ModelSpec) -> int:
    """How many fp32 scales the FP8 checkpoint holds: what its bytes are beyond one per weight."""
    fp8, shape = resolve_weight_format("native", "fp8"), model.shape
    linears = [t for t in model.tensors if t.kind == "linear" and t.component != "lm_head"]
    extra = sum(tensor_bytes(t, fp8, shape) for t in linears) - sum(t.n_params for t in linears)
    assert extra % 4 == 0
    return int(extra // 4)


@pytest.mark.parametrize(
    ("slug", "has_mtp_layer", "published"),
    [
        # Scale tensors that the published totals contain beside the weights (weight_scale_inv in the headers)
        ("deepseek-v3", True, 41_540_496),
        ("deepseek-v3.2", True, 41_591_584),
        ("kimi-k2", False, 62_495_192),
        ("minimax-m2.5", False, 13_880_064),  # 228,703,644,928 - 228,689,764,864
    ],
)
def test_number_of_fp8_block_scales(slug, has_mtp_layer, published):
    model = models()[slug]
    assert fp8_scales(with_one_more_layer(model) if has_mtp_layer else model) == published


def test_deepseek_v3_checkpoint():
    # 688,586,727,753 bytes of files: the model, one more layer with a 2 d x d projection and three norms in 16 bits,
    # 16-bit copies of both tables, and the headers, some 130 bytes for each of about 92,000 tensors.
    model = with_one_more_layer(models()["deepseek-v3"])
    fp8 = resolve_weight_format("native", "fp8")
    weights = weight_bytes(model.tensors, fp8, model.shape).stored_bytes
    weights += 2 * (2 * 7168 * 7168 + 3 * 7168) + 2 * 2 * 129_280 * 7168
    assert 688_586_727_753 - weights == pytest.approx(92_000 * 130, rel=0.01)


def test_awq_layer_as_stored():
    # casper-hansen/AutoAWQ#566: int32 [11008, 512] + int32 [86, 512] + fp16 [86, 4096]
    down = Tensor("ffn_down", "dense_ffn", "linear", 4096, 11_008)
    assert tensor_bytes(down, WEIGHT_FORMATS["int4"], ModelShape(32, tied=False)) == 23_425_024


@pytest.mark.parametrize(
    ("slug", "gb", "flat_gb"),
    [("llama-3-8b", 5.7, 4.0), ("llama-2-7b", 3.89, 3.37)],  # not a quarter: embedding and head keep 16 bits
)
def test_int4_is_not_a_quarter(slug, gb, flat_gb):
    assert stored(slug, "int4").stored_bytes / GB == pytest.approx(gb, rel=0.006)
    assert models()[slug].n_params / 2 / GB == pytest.approx(flat_gb, rel=0.006)


@pytest.mark.parametrize("fmt", ["fp8", "int8", "int4", "mxfp4", "nvfp4"])
def test_linear_only_formats_keep_tables_norms_and_router_in_16_bits(fmt):
    sixteen, quantized = (dict(stored("mixtral-8x7b", f).by_component) for f in ("bf16", fmt))
    kept = {c for c in sixteen if sixteen[c] == quantized[c]}
    assert kept == {"embedding", "router", "norms", "lm_head"}


def test_q4_k_m_gives_half_of_32_layers_six_bits():
    # llama.cpp's use_more_bits for 32 layers: 0-3, then 6, 9, ... 27, then 28-31.
    more = [i for i in range(32) if is_more_bits_layer(i, 32)]
    assert more == [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]


@pytest.mark.parametrize("fmt", ["q4_k_m", "q4_0", "q8_0"])
def test_llama_cpp_falls_back_where_a_row_is_no_whole_block(fmt):
    # Rows of 80 values are no multiple of 32: kept in 16 bits; norms and the router are fp32.
    shape = ModelShape(32, tied=False)
    narrow = Tensor("attn_q", "attention", "linear", 80, 80)
    norm = Tensor("norm", "norms", "vector", 80, 1)
    assert tensor_bytes(narrow, WEIGHT_FORMATS[fmt], shape) == 80 * 80 * 2
    assert tensor_bytes(norm, WEIGHT_FORMATS[fmt], shape) == 80 * 4


# Read per step


@pytest.mark.parametrize(
    ("slug", "skipped"),
    [
        ("llama-3-8b", 16_060_522_496 - 15_009_849_344),  # the untied input table
        ("gemma-3-27b", 0),  # tied: the table is the output head
        ("gpt2-small", 2 * 1024 * 768),  # tied, but its learned positions are looked up
    ],
)
def test_what_the_embedding_switch_skips(slug, skipped):
    made = stored(slug, "bf16")
    assert made.read_bytes(skip_embedding=False) - made.read_bytes(skip_embedding=True) == skipped


def test_mixtral_holds_all_experts_and_reads_two():
    # 46,702,792,704 parameters held, 12,879,925,248 active (lablup and vllm-fit reports; mistral.ai: 12.9B).
    made = stored("mixtral-8x7b", "bf16")
    assert made.stored_bytes == 2 * 46_702_792_704
    assert made.read_bytes(skip_embedding=False) == 2 * 12_879_925_248
    assert made.read_bytes(skip_embedding=False, tokens=10**6) == pytest.approx(made.stored_bytes)


@pytest.mark.parametrize("slug", ["llama-3-8b", "gemma-3-27b", "gpt2-xl", "falcon-7b"])
def test_a_dense_model_reads_what_it_stores(slug):
    made = stored(slug, "bf16")
    assert made.read_bytes(skip_embedding=False) == made.read_bytes(skip_embedding=False, tokens=9) == made.stored_bytes


@pytest.mark.parametrize("slug", ["llama-3-8b", "deepseek-v3", "mixtral-8x7b"])
def test_components_add_up(slug):
    model = models()[slug]
    by_component = dict(stored(slug, "bf16").by_component)
    assert by_component == {c: 2 * n for c, n in model.params_by_component.items()}
    assert sum(by_component.values()) == 2 * model.n_params


# Experts


@pytest.mark.parametrize(
    ("n_experts", "n_active", "touched"),
    [
        (8, 2, {1: 2.0, 4: 5.469, 16: 7.92, 32: 8.0}),  # inference-sim/inference-sim#489
        (128, 8, {1: 8.0, 4: 29.123, 16: 82.423, 64: 125.942}),
    ],
)
def test_expected_experts(n_experts, n_active, touched):
    for tokens, count in touched.items():
        made = expected_experts(n_experts=n_experts, n_active=n_active, tokens=tokens)
        assert made == pytest.approx(count, abs=0.001)


@pytest.mark.parametrize(("n_experts", "n_active", "tokens"), [(4, 1, 3), (4, 2, 3), (5, 3, 2), (6, 2, 2), (3, 3, 2)])
def test_expected_experts_by_counting_every_routing(n_experts, n_active, tokens):
    choices = list(combinations(range(n_experts), n_active))
    sizes = [len(set().union(*routing)) for routing in product(choices, repeat=tokens)]
    made = expected_experts(n_experts=n_experts, n_active=n_active, tokens=tokens)
    assert made == pytest.approx(sum(sizes) / len(sizes))


@pytest.mark.parametrize("tokens", [1, 10**6, 10**15])
def test_expected_experts_stay_finite(tokens):
    made = expected_experts(n_experts=512, n_active=1, tokens=tokens)
    assert math.isfinite(made)
    assert made <= 512
