"""ModelSpec: counts, cache and what-ifs against published figures and an independent recount."""

import pytest
from pydantic import ValidationError

from core.catalog import models
from core.model import (
    DenseFfn,
    Indexer,
    LatentAttention,
    LayerGroup,
    LinearAttention,
    ModelSpec,
    MoeFfn,
    SoftmaxAttention,
)
from core.units import GIB, MIB

SLUGS = [slug for slug, model in models().items() if model.official_params]


def small(**changes) -> ModelSpec:
    """A two-layer model."""
    attention = SoftmaxAttention(n_q=4, n_kv=2, d_k=16, d_v=16)
    group = LayerGroup(count=2, attention=attention, ffn=DenseFfn(d_ff=128))
    fields = {
        "slug": "small", "name": "Small", "family": "Test", "d_model": 64, "vocab": 100, "tied_embeddings": False,
        "groups": (group,), "max_context": 1024, "source": "this file",
    }  # fmt: skip
    return ModelSpec(**fields | changes)


# The catalog's models


@pytest.mark.parametrize("slug", SLUGS)
def test_parameters_equal_the_recount(slug, recount):
    model, row = models()[slug], recount[slug]
    assert model.n_params == int(row["computed_params"])
    assert model.n_active_params == int(row["computed_active_params"])


@pytest.mark.parametrize("slug", SLUGS)
def test_cache_bytes_equal_the_recount(slug, recount):
    model, row = models()[slug], recount[slug]
    beyond = model.cache_curve(bits=16, with_state=False).per_token_bytes(10**9)
    assert model.kv_bytes_per_token() == int(row["kv_bytes_per_token_2B"])
    assert beyond == int(row["kv_bytes_per_token_2B_beyond_window"])
    assert model.kv_bytes(int(row["max_context"])) == int(row["kv_bytes_full_context_2B"])
    assert model.state_bytes == int(row["linear_state_bytes_per_sequence"])


@pytest.mark.parametrize(
    ("slug", "published"),
    [
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("gpt2-small", 124_439_808),  # 163,037,184 when the tied table is counted twice (transformers#14960)
        ("qwen3-4b", 4_022_468_096),
        ("deepseek-v3", 671_026_419_200),
        ("minimax-m2.5", 228_689_764_864),
    ],
)
def test_published_parameter_counts(slug, published):
    assert models()[slug].n_params == published


@pytest.mark.parametrize(
    ("slug", "published"),
    [
        ("mixtral-8x7b", 12.9e9),  # mistral.ai
        ("gpt-oss-20b", 3.61e9),  # model card, the input table left out
        ("gpt-oss-120b", 5.13e9),
        ("qwen3-30b-a3b", 3.3e9),
        ("qwen3-235b-a22b", 22e9),
        ("kimi-k2", 32e9),
    ],
)
def test_published_active_parameters(slug, published):
    model = models()[slug]
    without_table = model.n_active_params - model.params_by_component["embedding"]
    counts = (without_table, model.n_active_params)
    assert min(abs(n / published - 1) for n in counts) < 0.02


@pytest.mark.parametrize(
    ("slug", "n_tokens", "mib"),
    [
        ("deepseek-v3", 32_768, 2_196.0),  # 244 of rope keys + 1,952 of latents (ggml-org/llama.cpp#11446)
        ("gemma-3-4b", 131_072, 2_560.0 + 116.0),  # 5 full and 29 window layers (ollama/ollama#17037)
        ("gemma-3-1b", 32_768, 139.0),
        ("qwen3.5-27b", 262_144, 16_384.0),  # 16 of 64 layers (lmstudio-bug-tracker#1862)
        ("qwen3.5-35b-a3b", 1_024, 20.0),  # ggml-org/Llama-macOS#63
        ("qwen3.5-397b-a17b", 1_024, 30.0),
        ("qwen2.5-7b", 3_072, 168.0),  # vllm-project/vllm#22291
        ("gpt2-small", 8_192, 288.0),  # lablup/mlxcel#927
        ("gemma-3-27b", 131_072, 11_173_625_856 / MIB),
    ],
)
def test_cache_as_engines_log_it(slug, n_tokens, mib):
    assert models()[slug].kv_bytes(n_tokens) == mib * MIB


@pytest.mark.parametrize(
    ("slug", "tokens", "gib"),
    [
        ("llama-3.1-8b", 1_024, 0.125),
        ("llama-3.1-70b", 1_024, 0.313),
        ("llama-3.1-8b", 16_000, 1.95),
        ("llama-3.1-70b", 16_000, 4.88),
        ("llama-3.1-8b", 128_000, 15.62),
        ("llama-3.1-70b", 128_000, 39.06),
    ],
)
def test_hugging_face_llama_3_1_table(slug, tokens, gib):
    # The blog's "GB" are GiB and its 128k is 128,000; its 405B row is twice too large and left out.
    assert models()[slug].kv_bytes(tokens) / GIB == pytest.approx(gib, abs=0.006)


@pytest.mark.parametrize(
    ("slug", "n_gpus", "tokens", "all_ranks_gib"),
    [("qwen3-235b-a22b", 4, 367_404, 65.87), ("qwen3-235b-a22b", 8, 367_404, 2 * 65.87)],
)
def test_tensor_parallel_cache_sglang_logged(slug, n_gpus, tokens, all_ranks_gib):
    # vllm-project/vllm#21348: K 8.23 GiB a rank on 4 GPUs; past its 4 KV heads every GPU repeats one.
    curve = models()[slug].cache_curve(bits=16, n_copies=n_gpus)
    assert curve.bytes(tokens) / GIB == pytest.approx(all_ranks_gib, abs=0.01)


@pytest.mark.parametrize("n_gpus", [1, 2, 8, 64])
def test_mla_has_one_latent_and_every_gpu_holds_it(n_gpus):
    # vllm-project/vllm#51454: 70,272 bytes a token on each of 8 ranks
    curve = models()["deepseek-v3"].cache_curve(bits=16, n_copies=n_gpus)
    assert curve.per_token_bytes() == 70_272 * n_gpus


@pytest.mark.parametrize(("batch", "one_copy", "copy_on_each"), [(128, 43_000, 660), (512, 10_700, 165)])
def test_pope_table_1_multiquery(batch, one_copy, copy_on_each):
    # PaLM 540B on 64 TPU v4 of 32 GiB, 30 % of it for the cache (arXiv:2211.05102, Table 1): batch sharded over the
    # chips, against the baseline that repeats the one KV head on each of them.
    room, palm = round(0.3 * 64 * 32 * GIB), models()["palm-540b"]
    assert palm.cache_curve(bits=16).longest_context(room, batch) == pytest.approx(one_copy, rel=0.015)
    made = palm.cache_curve(bits=16, n_copies=64).longest_context(room, batch)
    assert made == pytest.approx(copy_on_each, rel=0.015)


def test_pope_three_terabytes_of_cache():
    # Section 2.1: a 500B+ multi-head model at batch 512 and 2,048 tokens, "3 TB", three times its parameters.
    model = models()["palm-540b-mha-pope"]
    assert 512 * model.kv_bytes(2_048) == pytest.approx(3.04e12, rel=0.001)
    assert round(512 * model.kv_bytes(2_048) / (2 * model.n_params)) == 3


def test_window_layers_need_their_window_only():
    # gpt-oss-20b, 32 sequences of 8,192 tokens: 6.09 GiB needed; all layers full would be 12.00 (alvarobartt/hf-mem#70)
    model = models()["gpt-oss-20b"]
    assert 32 * model.kv_bytes(8_192) / GIB == pytest.approx(6.09, abs=0.005)
    assert 32 * 8_192 * model.kv_bytes_per_token() / GIB == pytest.approx(12.0)


def test_llama_4_reads_chunks():
    model = models()["llama-4-scout"]
    assert model.kv_bytes_per_token() == 196_608
    assert model.kv_bytes(8_193) - model.kv_bytes(8_192) == 49_152  # 12 of 48 layers go on


def test_sparse_attention_stores_all_and_reads_top_k():
    # DeepSeek-V3.2: 576 latent and 128 indexer values a layer; attention reads 2,048 latents and every indexer key.
    model = models()["deepseek-v3.2"]
    read = model.cache_curve(bits=16, read=True)
    assert model.kv_bytes_per_token() == 61 * (576 + 128) * 2 == 85_888
    assert read.bytes(2_048) == model.kv_bytes(2_048)
    assert read.bytes(100_000) == 61 * 2 * (576 * 2_048 + 128 * 100_000)


def test_recurrent_state_stays_fp32_whatever_the_cache_format():
    # Qwen3-Next: 36 layers of 32 x 128 x 128 in fp32 and a tail of 8192 x 3 in 16 bits
    model = models()["qwen3-next-80b-a3b"]
    assert model.state_bytes == 36 * (32 * 128 * 128 * 4 + 8192 * 3 * 2)
    curves = [model.cache_curve(bits=bits) for bits in (16, 4.5)]
    assert [c.bytes(0) for c in curves] == [model.state_bytes] * 2
    assert curves[0].bytes(1000) - curves[0].bytes(0) > 3 * (curves[1].bytes(1000) - curves[1].bytes(0))
    assert model.kv_bytes(0) == 0


# The KV-head what-if


@pytest.mark.parametrize(
    ("slug", "options"),
    [
        ("llama-3-8b", (1, 2, 4, 8, 16, 32)),
        ("qwen2.5-7b", (1, 2, 4, 7, 14, 28)),
        ("falcon-7b", (1, 71)),  # 71 query heads: a prime
        ("gemma-4-31b", (1, 2, 4, 8, 16, 32)),
        ("deepseek-v3", ()),
    ],
)
def test_kv_head_options_are_the_divisors(slug, options):
    assert models()[slug].kv_head_options == options


def test_what_if_gqa_becomes_mha():
    # Llama 3 8B with 32 KV heads keeps 512 KiB a token, as Llama 2 7B does; K and V grow by 24 heads in 32 layers.
    released = models()["llama-3-8b"]
    mha = released.with_kv_heads(32)
    assert mha.kv_bytes_per_token() == models()["llama-2-7b"].kv_bytes_per_token() == 524_288
    assert mha.n_params - released.n_params == 32 * 2 * 24 * 128 * 4096
    assert (mha.is_hypothetical, released.is_hypothetical) == (True, False)
    assert mha.with_kv_heads(8).n_params == released.n_params


def test_what_if_takes_biases_and_full_width_norms_along():
    biased, normed = models()["qwen2.5-7b"], models()["olmo-2-7b"]
    # Qwen2.5 7B, 4 -> 1 heads of 128 in 28 layers: two projections of 3584 inputs and their biases
    assert biased.n_params - biased.with_kv_heads(1).n_params == 28 * 2 * 3 * 128 * (3584 + 1)
    # OLMo 2 7B, 32 -> 8 heads in 32 layers: two projections of 4096 inputs, and the K norm over the full width
    assert normed.n_params - normed.with_kv_heads(8).n_params == 32 * 24 * 128 * (2 * 4096 + 1)


def test_what_if_sets_both_widths_of_gemma_4():
    model = models()["gemma-4-31b"]
    assert model.released_kv_heads == (16, 4)
    assert model.with_kv_heads(4).released_kv_heads == (4,)
    assert model.with_kv_heads(4).is_hypothetical


def test_what_if_at_the_released_number_is_the_model_itself():
    model = models()["llama-3-8b"]
    assert model.with_kv_heads(8) is model


@pytest.mark.parametrize(
    ("slug", "n_kv", "allowed"),
    [("llama-3-8b", 3, "1, 2, 4, 8, 16, 32"), ("llama-3-8b", 64, "32"), ("deepseek-v3", 8, "none")],
)
def test_what_if_refuses_what_divides_nothing(slug, n_kv, allowed):
    with pytest.raises(ValueError, match=rf"kv_heads.*{allowed}.*got {n_kv}"):
        models()[slug].with_kv_heads(n_kv)


# Specs


def test_a_worked_problem_of_the_scaling_book():
    # inference.md, question 1: 64 layers, d 4096, 32 / 8 heads of 256, F 16384, V 32128, tied: 18.4e9 parameters.
    attention = SoftmaxAttention(n_q=32, n_kv=8, d_k=256, d_v=256)
    group = LayerGroup(count=64, attention=attention, ffn=DenseFfn(d_ff=16_384))
    model = small(d_model=4096, vocab=32_128, tied_embeddings=True, groups=(group,))
    assert model.n_params == pytest.approx(18.4e9, rel=0.001)
    assert model.n_layers == 64


@pytest.mark.parametrize(
    ("slug", "labels"),
    [
        ("llama-3-8b", ["GQA"]),
        ("llama-2-7b", ["MHA"]),
        ("falcon-7b", ["MQA"]),
        ("deepseek-v3", ["MLA", "MLA"]),
        ("gemma-3-27b", ["GQA, window 1,024", "GQA"]),
        ("llama-4-scout", ["GQA, chunks of 8,192", "GQA"]),
        ("qwen3-next-80b-a3b", ["linear (gated DeltaNet)", "GQA"]),
        ("deepseek-v3.2", ["MLA, sparse reads", "MLA, sparse reads"]),
    ],
)
def test_group_labels(slug, labels):
    assert [group.label for group in models()[slug].groups] == labels


def test_specs_are_frozen_and_hashable():
    model = models()["llama-3-8b"]
    with pytest.raises(ValidationError, match="frozen"):
        model.d_model = 1
    assert len({model, models()["llama-3.1-8b"], model.with_kv_heads(1)}) == 3


MLA = {"n_q": 4, "kv_lora_rank": 8, "d_nope": 8, "d_rope": 4, "d_v": 8}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SoftmaxAttention(n_q=32, n_kv=5, d_k=64, d_v=64), "n_kv must divide n_q, got n_kv=5 and n_q=32"),
        (lambda: SoftmaxAttention(n_q=4, n_kv=4, d_k=64, d_v=64, window=8, chunk=8), "window and chunk"),
        (lambda: SoftmaxAttention(n_q=4, n_kv=0, d_k=64, d_v=64), "n_kv"),
        (lambda: SoftmaxAttention(n_q=4, n_kv=4, d_k=-1, d_v=64), "d_k"),
        (lambda: MoeFfn(n_experts=8, n_active=9, d_expert=4), "n_active must be at most n_experts=8, got 9"),
        (lambda: LatentAttention(**MLA, indexer=Indexer(n_heads=1, head_dim=8, top_k=4)), "q_lora_rank"),
        (lambda: LinearAttention(n_k_heads=1, n_v_heads=1, d_k=8, d_v=8, conv_kernel=0), "conv_kernel"),
        (lambda: DenseFfn(d_ff=8, n_matrices=4), "n_matrices"),
        (lambda: small(groups=()), "groups"),
        (lambda: small(vocab=0), "vocab"),
        (lambda: small(d_model=2**30), "d_model"),
        (lambda: small(native_format="int3"), "native_format"),
        (lambda: small(colour="red"), "colour"),
    ],
)
def test_impossible_specs_are_refused_by_name(make, says):
    with pytest.raises(ValidationError, match=says):
        make()
