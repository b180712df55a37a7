"""The decode step's formulas against published step times."""

import pytest

from core import decode


@pytest.mark.parametrize(
    ("read", "bandwidth", "published_ms", "rel"),
    [
        (16e9, 3.35e12, 4.8, 0.006),  # the chapter: Llama 3 8B in 16 bits on an H100
        (12 * 2 * 64 * 8192**2, 1.5e12, 69, 0.01),  # a 52B model on an A100 (kipply, Transformer Inference Arithmetic)
        (12 * 2 * 40 * 5120**2, 1.5e12, 16.8, 0.005),  # 13B on one A100
        (12 * 2 * 40 * 5120**2, 2 * 1.5e12, 8.4, 0.005),  # and on two
        (2 * 260e9, 16 * 1.5e12, 22, 0.02),  # 260B on 16 A100
        (30e9 + 4 * 819e6, 16 * 8.1e11, 2.5, 0.03),  # 30B int8, batch 4, 16 TPU v5e (scaling-book, inference.md)
        (112e9, 8 * 8.1e11, 17, 0.02),  # Llama 3 70B int8, batch 32 (scaling-book, applied-inference.md)
        (16e9, 8.2e11, 19, 0.03),  # all memory of a TPU v5e read once
        (2 * 8192 * 28_672, 32 * 8.1e11, 0.018, 0.01),  # one matrix on 32 chips
    ],
)
def test_memory_time(read, bandwidth, published_ms, rel):
    made = decode.memory_time_s(bytes_read=read, bandwidth_bytes_per_s=bandwidth)
    assert made * 1e3 == pytest.approx(published_ms, rel=rel)


@pytest.mark.parametrize(
    ("flops", "peak", "published_ms"),
    [
        (512 * 2 * 260e9, 16 * 312e12, 53),  # kipply: 260B, batch 512, 16 A100
        (256 * 2 * 52e9, 4 * 312e12, 21),  # 52B, batch 256, 4 A100
        (512 * 4 * 5120**2 * 2, 312e12, 0.344),  # one 512-token MLP product
    ],
)
def test_compute_time(flops, peak, published_ms):
    made = decode.compute_time_s(flops=flops, peak_flops_per_s=peak)
    assert made * 1e3 == pytest.approx(published_ms, rel=0.02)


@pytest.mark.parametrize(
    ("cache_gb", "batch", "published_ms", "published_tokens_per_s"),
    [
        (6.7, 1, 4.98, 200.61),
        (6.7, 8, 12.13, 659.30),
        (6.7, 16, 20.30, 787.99),
        (6.7, 32, 36.65, 873.21),
        (6.7, 64, 69.33, 923.13),
        (6.7, 240, 249.09, 963.53),
        (1.34, 1, 4.17, 239.94),
        (1.34, 8, 5.60, 1429.19),
        (1.34, 16, 7.23, 2212.48),
        (1.34, 32, 10.50, 3047.62),
        (1.34, 64, 17.04, 3756.62),
        (1.34, 240, 52.99, 4529.34),
    ],
)
def test_scaling_book_llama_2_13b_table(cache_gb, batch, published_ms, published_tokens_per_s):
    # inference.md: 26 GB of weights on 8 TPU v5e of 0.82 TB/s, 8,192 tokens; then with a cache five times smaller.
    memory = decode.memory_time_s(bytes_read=26e9 + batch * cache_gb * 1e9, bandwidth_bytes_per_s=8 * 0.82e12)
    step = decode.step_time_s(memory_s=memory, compute_s=0)
    assert step * 1e3 == pytest.approx(published_ms, abs=0.006)
    assert decode.system_tokens_per_s(batch=batch, step_s=step) == pytest.approx(published_tokens_per_s, abs=0.006)


@pytest.mark.parametrize(("memory", "compute", "step"), [(2.0, 1.0, 2.0), (1.0, 3.0, 3.0), (1.0, 1.0, 1.0)])
def test_the_slower_part_sets_the_step(memory, compute, step):
    assert decode.step_time_s(memory_s=memory, compute_s=compute) == step


def test_attention_equals_projections_at_twice_the_width():
    # scaling-book, transformers.md, question 5: with d 4096 attention costs as much as Q, K, V, O at 8,192 tokens.
    attention = decode.attention_flops_per_token(n_q=32, d_k=128, d_v=128, tokens=8192)
    assert attention == 2 * 4 * 4096**2


def test_absorbed_mla_costs_its_intensity_per_byte_read():
    # DeepSeek-V3 reads 1,152 bytes a token and layer; about 242 FLOPs a byte.
    made = decode.latent_attention_flops_per_token(n_q=128, kv_lora_rank=512, d_rope=64, tokens=1)
    assert made / 1152 == pytest.approx(242, abs=0.5)


def test_critical_batch_without_a_cache_is_the_ridge():
    # scaling-book: 16-bit weights on a TPU v5e turn compute-bound at a batch of 240.
    made = decode.compute_bound_batch(
        weights_read_bytes=2 * 13e9,
        cache_bytes_per_sequence=0,
        flops_per_sequence=2 * 13e9,
        bandwidth_bytes_per_s=8.2e11,
        peak_flops_per_s=1.97e14,
    )
    assert made == pytest.approx(240.2, abs=0.05)


@pytest.mark.parametrize(("cache", "exists"), [(10.14e6, True), (10.15e6, False)])
def test_a_large_cache_leaves_no_compute_bound_batch(cache, exists):
    # 3 GFLOP a sequence take 3.032 us at 989.4 TFLOP/s; 3.35 TB/s read 10.16 MB in that time, less 1.5e-3 / B.
    made = decode.compute_bound_batch(
        weights_read_bytes=1e6,
        cache_bytes_per_sequence=cache * 1.0016,
        flops_per_sequence=3e9,
        bandwidth_bytes_per_s=3.35e12,
        peak_flops_per_s=989.4e12,
    )
    assert (made is not None) == exists


def test_asymptote_and_crossover_of_llama_3_1_8b():
    # 131,072 bytes a token; 16,060,522,496 bytes of weights; H100 SXM
    for context, ceiling, batch in ((2_048, 12_480, 60), (8_192, 3_120, 15), (32_768, 780, 3.7), (131_072, 195, 0.9)):
        cache = context * 131_072
        made = decode.asymptote_tokens_per_s(bandwidth_bytes_per_s=3.35e12, cache_bytes_per_sequence=cache)
        assert made == pytest.approx(ceiling, abs=0.5)
        made = decode.crossover_batch(weights_read_bytes=16_060_522_496, cache_bytes_per_sequence=cache)
        assert made == pytest.approx(batch, rel=0.04)


def test_stages_of_a_pipeline_raise_the_asymptote():
    one, four = (
        decode.asymptote_tokens_per_s(bandwidth_bytes_per_s=1e12, cache_bytes_per_sequence=1e9, n_stages=n)
        for n in (1, 4)
    )
    assert (one, four) == (1000, 4000)


@pytest.mark.parametrize(
    ("batch", "n_gpus", "split", "tokens"),
    [
        (8, 1, "tensor", 8),
        (8, 4, "tensor", 8),
        (8, 1, "layer", 8),
        (8, 4, "layer", 2),
        (8, 8, "layer", 1),
        (1, 8, "layer", 1),  # one user still reads a whole cache in turn
        (3, 2, "layer", 1.5),
    ],
)
def test_tokens_on_one_gpu(batch, n_gpus, split, tokens):
    assert decode.tokens_on_one_gpu(batch=batch, n_gpus=n_gpus, split=split) == tokens


@pytest.mark.parametrize("edge", [1, 2, 393, 999, 1000])
def test_last_true_finds_any_edge(edge):
    assert decode.last_true(lambda n: n <= edge, low=1, high=1000) == edge


def test_last_true_without_an_edge():
    assert decode.last_true(lambda n: False, low=1, high=1000) is None
