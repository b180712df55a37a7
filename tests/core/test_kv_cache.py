"""KV cache against published tables and sizes that serving engines logged."""

import pytest

from core.kv_cache import (
    CacheCurve,
    CacheTerm,
    conv_state_values,
    delta_net_state_values,
    latent_values_per_token,
    softmax_values_per_token,
    tokens_kept,
)
from core.units import GIB, MIB


def curve(layers: int, n_kv: int, d_h: int, *, bits: float = 16, **term) -> CacheCurve:
    """Cache of equal softmax layers."""
    values = layers * softmax_values_per_token(n_kv=n_kv, d_k=d_h, d_v=d_h)
    return CacheCurve((CacheTerm(values, **term),), bits=bits)


@pytest.mark.parametrize(
    ("layers", "n_kv", "d_h", "published"),
    [
        (40, 40, 128, 800 * 1024),  # OPT-13B, "800 KB" (Kwon et al., arXiv:2309.06180, s.3)
        (64, 64, 128, 2_097_152),  # a 52B model, 4 x 64 x 8192 (kipply, Transformer Inference Arithmetic)
        (80, 8, 128, 327_680),  # Qwen2.5 72B, 327.680 KB (arXiv:2505.09343, Table 1)
        (126, 8, 128, 516_096),  # Llama 3.1 405B, 516.096 KB (the same table)
        (24, 1, 128, 12_288),  # a multi-query GPT-BigCode (lablup/mlxcel#927: 96 MiB at 8,192 tokens)
        (32, 32, 80, 327_680),  # phi-2: head dim 80
    ],
)
def test_bytes_per_token(layers, n_kv, d_h, published):
    assert curve(layers, n_kv, d_h).per_token_bytes() == published


@pytest.mark.parametrize(
    ("values", "published"),
    [
        (latent_values_per_token(kv_lora_rank=512, d_rope=64) * 60, 34.6e3),  # DeepSeek-V2 (arXiv:2405.04434), appendix
        (latent_values_per_token(kv_lora_rank=512, d_rope=64) * 27, 15.6e3),  # its small MoE
        (softmax_values_per_token(n_kv=16, d_k=128, d_v=128) * 27, 110.6e3),  # the same with multi-head attention
        (softmax_values_per_token(n_kv=56, d_k=128, d_v=128) * 60, 860.2e3),  # the large MoE, multi-head
    ],
)
def test_cached_values_per_token_deepseek_v2(values, published):
    assert values == pytest.approx(published, rel=0.005)


def test_deepseek_v2_abstract_93_percent_less():
    # V2 keeps its latents in 6 bits, DeepSeek 67B 8 KV heads of 128 in 95 layers in 16 bits (arXiv:2405.04434).
    latents = CacheCurve((CacheTerm(60 * latent_values_per_token(kv_lora_rank=512, d_rope=64)),), bits=6)
    assert 1 - latents.per_token_bytes() / curve(95, 8, 128).per_token_bytes() == pytest.approx(0.933, abs=0.0005)


@pytest.mark.parametrize(
    ("layers", "tokens", "bits", "mib"),
    [
        (40, 6_656, 16, 1040.0),
        (40, 6_656, 8.5, 552.5),
        (40, 6_656, 4.5, 292.5),
        (36, 2_560, 16, 360.0),
        (36, 2_560, 8.5, 191.25),
        (36, 2_560, 4.5, 101.25),
    ],
)
def test_quantized_cache_as_llama_cpp_logs_it(layers, tokens, bits, mib):
    # ggml-org/llama.cpp#21551, 8 KV heads of 128: flat 8 and 4 bits would be 520 and 260 MiB in the first table.
    assert curve(layers, 8, 128, bits=bits).bytes(tokens) == mib * MIB


@pytest.mark.parametrize(
    ("layers", "heads", "room_gib", "published"),
    [(40, 40, 12, 15_700), (64, 72, 21, 9_700), (96, 96, 264, 60_100)],
)
def test_slots_of_kwon_table_1(layers, heads, room_gib, published):
    # OPT-13B, 66B and 175B (arXiv:2309.06180, Table 1: "max. # KV cache slots"); 21 GB is itself rounded.
    assert curve(layers, heads, 128).longest_context(room_gib * GIB, 1) == pytest.approx(published, rel=0.02)


def test_pope_table_1_multihead():
    # 1320 and 330 tokens at batch 128 and 512 (arXiv:2211.05102): 48 heads padded to the 64 chips.
    room = round(0.3 * 64 * 32 * GIB)
    made = [curve(118, 64, 128).longest_context(room, batch) for batch in (128, 512)]
    assert made == pytest.approx([1320, 330], rel=0.015)


def test_paged_blocks_vllm_logged():
    # vllm-project/vllm#10517: 1,952 blocks of 16 tokens are 3.81 GiB, 1.56 sequences of 20,000 tokens.
    made = curve(32, 8, 128)
    assert made.bytes(1_952 * 16) / GIB == pytest.approx(3.81, abs=0.005)
    assert made.largest_batch(made.bytes(1_952 * 16), 20_000) == 1


def test_recurrent_state_as_llama_cpp_logs_it():
    # 598.50 MiB for 4 slots of Qwen3.5-27B's 48 linear layers (lmstudio-bug-tracker#1862); llama.cpp keeps the
    # convolution tail in 32 bits too.
    values = delta_net_state_values(n_v_heads=48, d_k=128, d_v=128)
    values += conv_state_values(channels=2 * 16 * 128 + 48 * 128, kernel=4)
    assert 4 * 48 * values * 4 == 598.5 * MIB


@pytest.mark.parametrize(
    ("n_tokens", "span", "kept"),
    [(1, None, 1), (131_072, None, 131_072), (1_023, 1_024, 1_023), (1_024, 1_024, 1_024), (1_025, 1_024, 1_024)],
)
def test_tokens_kept(n_tokens, span, kept):
    assert tokens_kept(context=n_tokens, span=span) == kept


# The rest is the curve itself: a constant of 1,000 bytes, 3 bytes a token up to 10 tokens, 2 up to 20, 1 for ever.
BENT = CacheCurve((CacheTerm(1), CacheTerm(1, span=20), CacheTerm(1, span=10)), bits=8, state_bytes=1_000)


@pytest.mark.parametrize(
    ("n_tokens", "total", "slope"),
    [(0, 1_000, 3), (1, 1_003, 3), (9, 1_027, 3), (10, 1_030, 2), (20, 1_050, 1), (1_000, 2_030, 1)],
)
def test_curve_bends_where_a_window_is_full(n_tokens, total, slope):
    assert BENT.bytes(n_tokens) == BENT.exact_bytes(n_tokens) == total
    assert BENT.per_token_bytes(n_tokens) == slope


@pytest.mark.parametrize(
    ("room", "batch", "longest"),
    [
        (-1, 1, 0),
        (999, 1, 0),  # not even the state
        (1_000, 1, 0),
        (1_003, 1, 1),
        (1_030, 1, 10),
        (1_031, 1, 10),
        (1_032, 1, 11),
        (1_050, 1, 20),
        (1_051, 1, 21),
        (2_030, 1, 1_000),
        (4_061, 2, 1_000),
    ],
)
def test_longest_context_of_a_bent_curve(room, batch, longest):
    assert BENT.longest_context(room, batch) == longest


def test_windows_everywhere_never_end():
    windowed = curve(32, 8, 128, span=4_096)  # Mistral 7B v0.1: at most 512 MiB a sequence
    assert windowed.bytes(10**7) == 512 * MIB
    assert windowed.longest_context(512 * MIB, 1) is None
    assert windowed.longest_context(512 * MIB - 1, 1) == 4_095
    assert windowed.crossing(600 * MIB) is None
    assert windowed.crossing(256 * MIB) == 2_048


@pytest.mark.parametrize(("room", "batch"), [(-1, 0), (0, 0), (1_029, 0), (1_030, 1), (3_089, 2), (3_090, 3)])
def test_largest_batch(room, batch):
    assert BENT.largest_batch(room, 10) == batch


def test_no_cache_at_all_has_no_largest_batch():
    assert CacheCurve((), bits=16).largest_batch(10, 100) is None


@pytest.mark.parametrize(("target", "n_tokens"), [(1_000, 0), (1_015, 5), (1_040, 15), (1_060, 30), (999, None)])
def test_crossing(target, n_tokens):
    assert BENT.crossing(target) == n_tokens


def test_odd_bits_round_up_once_for_the_whole_batch():
    made = CacheCurve((CacheTerm(1),), bits=4.15625)  # 0.51953125 bytes a token
    assert [made.bytes(1), made.bytes(2), made.bytes(1, batch=2), made.bytes(256)] == [1, 2, 2, 133]


@pytest.mark.parametrize(
    ("layers", "n_kv", "d_h", "n_gpus", "per_rank"),
    [
        (15, 2, 256, 4, 15_360),  # Qwen3.5-397B's full layers at TP 4 (sgl-project/sglang#19086)
        (48, 4, 128, 8, 24_576),  # Qwen3-30B-A3B at TP 8: as much as at TP 4 (huggingface/transformers#48307)
        (94, 4, 128, 4, 48_128),  # Qwen3-235B-A22B at TP 4: one head each (vllm-project/vllm#21348)
    ],
)
def test_more_gpus_than_kv_heads_repeat_them(layers, n_kv, d_h, n_gpus, per_rank):
    shared = curve(layers, n_kv, d_h, copies=max(n_gpus, n_kv), out_of=n_kv)
    assert shared.per_token_bytes() == per_rank * n_gpus


def test_replication_of_unequal_heads_is_exact():
    # 7 GPUs, layers of 3 and of 5 heads: 7/3 and 7/5 copies of one byte a head.
    made = CacheCurve((CacheTerm(3, copies=7, out_of=3), CacheTerm(5, copies=7, out_of=5)), bits=8)
    assert made.bytes(1_000) == 14_000
