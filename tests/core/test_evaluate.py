"""Whole scenarios: the worked table, limits, intensities, several GPUs, and measured speeds under their ceilings."""

import pytest

from core.catalog import gpus, models
from core.evaluate import evaluate, intensities, limits, sweep
from core.gpu import GpuSpec
from core.scenario import Scenario
from core.units import GB


def bf16(**fields) -> Scenario:
    """Every parameter in 16 bits."""
    return Scenario(weight_format="bf16", **fields)


@pytest.mark.parametrize(
    ("fields", "stored", "read", "speeds", "fits"),  # stored: weights, cache; speeds: step in ms, system, user
    [
        ({"model": "llama-3-8b", "batch": 1, "context": 128},
         (16_060_522_496, 16_777_216), 16_060_522_496, (4.799, 208.4, 208.4), True),
        ({"model": "llama-3-8b", "batch": 1, "context": 128, "skip_embedding": True},
         (16_060_522_496, 16_777_216), 15_009_849_344, (4.486, 222.9, 222.9), True),
        ({"model": "llama-3-8b", "batch": 32, "context": 8192},
         (16_060_522_496, 34_359_738_368), 16_060_522_496, (15.051, 2126.1, 66.4), True),
        ({"model": "llama-3-70b", "n_gpus": 2, "batch": 16, "context": 4096},
         (141_107_412_992, 21_474_836_480), 141_107_412_992, (24.266, 659.4, 41.2), False),
        ({"model": "llama-2-7b", "batch": 32, "context": 4096},
         (13_476_831_232, 68_719_476_736), 13_476_831_232, (24.536, 1304.2, 40.8), False),
        ({"model": "llama-3.1-8b", "batch": 1, "context": 131_072},
         (16_060_522_496, 17_179_869_184), 16_060_522_496, (9.923, 100.8, 100.8), True),
    ],
)  # fmt: skip
def test_the_worked_table(fields, stored, read, speeds, fits):
    # On H100 SXM: 3.35e12 B/s, 85,520,809,984 bytes, 10 % of it reserved.
    made = evaluate(bf16(**fields))
    step = made.decode
    assert (made.memory.weights_bytes, made.memory.kv_bytes) == stored
    assert made.memory.fits == fits
    assert (step.weights_read_bytes, step.kv_read_bytes, step.bytes_read) == (read, stored[1], read + stored[1])
    assert (step.step_s * 1e3, step.tokens_per_s, step.tokens_per_s_per_user) == pytest.approx(speeds, abs=0.06)
    assert step.step_s * 1e3 == pytest.approx(speeds[0], abs=0.0006)
    assert step.bound_by == "memory"


@pytest.mark.parametrize(
    ("model", "n_tokens", "per_token", "kv"),
    [
        ("deepseek-v3", 1, 70_272, 70_272),  # arXiv:2505.09343, Table 1
        ("qwen3-32b", 1, 262_144, 262_144),  # QingyaFan/blog#190: 256 KiB, not hidden / heads
        ("gemma-3-27b", 131_072, 507_904, 11_173_625_856),  # 10.41 GiB; 81.38 when every layer is full
    ],
)
def test_cache_of_one_sequence(model, n_tokens, per_token, kv):
    assert models()[model].kv_bytes_per_token() == per_token
    assert evaluate(Scenario(model=model, context=n_tokens)).memory.kv_bytes == kv


def test_memory_adds_up_against_the_capacity():
    memory = evaluate(Scenario(batch=32)).memory
    assert memory.capacity_bytes == 85_520_809_984
    assert memory.reserve_bytes == 8_552_080_998
    assert memory.total_bytes == 16_060_522_496 + 34_359_738_368 + 8_552_080_998
    assert (memory.over_by_bytes, memory.free_bytes) == (0, 85_520_809_984 - memory.total_bytes)
    assert memory.max_batch == 56


def test_what_does_not_fit_says_by_how_much():
    memory = evaluate(Scenario(model="llama-3-70b")).memory
    assert not memory.fits
    # 141,107,412,992 + 2,684,354,560 + 8,552,080,998 - 85,520,809,984
    assert (memory.over_by_bytes, memory.free_bytes) == (66_823_038_566, 0)
    assert (memory.max_batch, memory.max_context) == (0, 0)


def test_without_a_reserve_the_last_byte_can_be_used():
    # Room for the weights of Llama 3 8B and exactly 1,000 tokens: one byte less and it is 999.
    fields = gpus()["h100-sxm"].model_dump() | {"driver_memory_bytes": 16_060_522_496 + 131_072_000}
    exact = GpuSpec(**fields)
    short = GpuSpec(**fields | {"driver_memory_bytes": exact.memory_bytes - 1})
    results = [evaluate(Scenario(gpu=gpu, context=1000, reserve=0)) for gpu in (exact, short)]
    assert [(r.memory.fits, r.memory.over_by_bytes, r.memory.max_context) for r in results] == [
        (True, 0, 1000),
        (False, 1, 999),
    ]


def test_memory_never_ends_a_context_of_windows_only():
    assert evaluate(Scenario(model="mistral-7b-v0.1")).memory.max_context is None


@pytest.mark.parametrize(
    ("n_tokens", "largest", "asymptote", "crossover"),
    [(2_048, 258, 12_480, 60), (8_192, 64, 3_120, 15), (32_768, 16, 780, 3.7), (131_072, 4, 195, 0.9)],
)
def test_limits_of_llama_3_1_8b_on_one_h100(n_tokens, largest, asymptote, crossover):
    scenario = bf16(model="llama-3.1-8b", context=n_tokens, reserve=0)
    found = limits(scenario)
    assert evaluate(scenario).memory.max_batch == largest
    assert found.asymptote_tokens_per_s == pytest.approx(asymptote, abs=0.5)
    assert found.crossover_batch == pytest.approx(crossover, rel=0.04)
    assert found.crossover_context == pytest.approx(122_500, rel=0.001)
    assert found.compute_bound_batch is None
    assert found.compute_bound_context == 393


def test_a_short_context_has_a_compute_bound_batch():
    # Below 393 tokens Llama 3 8B turns compute-bound somewhere; with almost no cache near the ridge, times the
    # weights read over those multiplied: 295.3 x 8,030 / 7,505.
    found = limits(bf16(context=1)).compute_bound_batch
    assert found == pytest.approx(295.3 * 8030.26 / 7504.66, rel=0.005)


@pytest.mark.parametrize("batch", [1, 32, 295])
@pytest.mark.parametrize("model", ["llama-3-8b", "gemma-3-27b", "mixtral-8x7b", "deepseek-v3", "gpt2-xl"])
def test_16_bit_weight_intensity_is_the_batch(model, batch):
    scenario = bf16(model=model, batch=batch)
    assert intensities(scenario, evaluate(scenario)).decode_weights == pytest.approx(batch, rel=1e-6)


@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize("n_tokens", [1, 8192, 131_072])
@pytest.mark.parametrize(
    ("model", "intensity"),
    [("llama-2-7b", 1), ("llama-3-8b", 4), ("llama-3-70b", 8), ("falcon-7b", 71), ("deepseek-v3", 241.8)],
)
def test_attention_intensity_whatever_the_load(model, intensity, n_tokens, batch):
    scenario = bf16(model=model, batch=batch, context=n_tokens)
    made = intensities(scenario, evaluate(scenario))
    assert made.decode_attention == pytest.approx(intensity, abs=0.05)
    assert made.ridge == pytest.approx(295.3, abs=0.05)


def test_prefill_is_above_the_ridge_and_decode_below():
    scenario = bf16(batch=1)
    made = intensities(scenario, evaluate(scenario))
    assert made.decode_step < 2 < made.ridge < made.prefill


@pytest.mark.parametrize(("batch", "expected"), [(1, 2.0), (4, 5.47), (32, 8.0)])
def test_mixtral_wakes_experts(batch, expected):
    made = evaluate(bf16(model="mixtral-8x7b", batch=batch)).decode
    assert made.experts_touched == 2
    assert made.expected.experts_touched == pytest.approx(expected, abs=0.005)
    # Of 46,702,792,704 parameters 45,097,156,608 are in 8 experts.
    beside, expert = 46_702_792_704 - 45_097_156_608, 45_097_156_608 / 8
    assert made.weights_read_bytes == 2 * (beside + 2 * expert)
    assert made.expected.weights_read_bytes == pytest.approx(2 * (beside + expected * expert), rel=0.001)
    assert made.expected.kv_read_bytes == made.kv_read_bytes


@pytest.mark.parametrize(("batch", "expected"), [(1, 8.0), (4, 29.123), (16, 82.423), (64, 125.942)])
def test_128_experts_of_which_8(batch, expected):
    made = evaluate(Scenario(model="qwen3-30b-a3b", batch=batch)).decode
    assert made.experts_touched == 8
    assert made.expected.experts_touched == pytest.approx(expected, abs=0.001)


def test_a_dense_model_has_no_experts():
    made = evaluate(Scenario()).decode
    assert (made.expected, made.experts_touched) == (None, None)


def test_a_stage_of_a_pipeline_wakes_experts_for_its_share_of_the_batch():
    made = evaluate(bf16(model="mixtral-8x7b", batch=16, n_gpus=4, split="layer")).decode.expected
    assert made.experts_touched == pytest.approx(5.469, abs=0.001)  # 4 tokens at a time
    assert made.weights_read_bytes == pytest.approx(2 * (46_702_792_704 - 45_097_156_608 * (1 - 5.469 / 8)), rel=1e-4)


# Attention that does not read everything


@pytest.mark.parametrize(
    ("model", "flops_per_further_token"),
    [
        ("llama-3-8b", 32 * 4 * 32 * 128),
        ("gemma-3-27b", 10 * 4 * 32 * 128),  # its 52 window layers are full
        ("llama-4-scout", 12 * 4 * 40 * 128),  # and 36 chunked ones
        ("mistral-7b-v0.1", 0),
        ("deepseek-v3", 61 * 2 * 128 * (2 * 512 + 64)),
        ("deepseek-v3.2", 0),  # attends 2,048 selected tokens
        ("qwen3-next-80b-a3b", 12 * 4 * 16 * 256),
    ],
)
def test_attention_flops_of_a_long_context(model, flops_per_further_token):
    near, far = (evaluate(Scenario(model=model, context=n, batch=3)).decode.flops for n in (100_000, 100_007))
    assert far - near == 3 * 7 * flops_per_further_token


def test_sparse_attention_reads_less_than_is_stored():
    # DeepSeek-V3.2 at 100,000 tokens: 2,048 latents of 576 values and all indexer keys of 128, in 61 layers
    made = evaluate(Scenario(model="deepseek-v3.2", context=100_000))
    assert made.memory.kv_bytes == 61 * 2 * (576 + 128) * 100_000
    assert made.decode.kv_read_bytes == 61 * 2 * (576 * 2_048 + 128 * 100_000)


# Formats


@pytest.mark.parametrize(
    ("gpu", "fmt", "tflops"),
    [
        ("h100-sxm", "bf16", 989.4),
        ("h100-sxm", "fp8", 1978.9),
        ("h100-sxm", "int8", 1978.9),
        ("h100-sxm", "int4", 989.4),  # weight-only
        ("h100-sxm", "mxfp4", 1978.9),
        ("h100-sxm", "nvfp4", 989.4),
        ("h100-sxm", "q4_k_m", 1978.9),
        ("a100-80gb-sxm", "fp8", 312),
        ("b300", "int8", 2250),
        ("b300", "nvfp4", 14_000),
        ("t4", "bf16", 65),
    ],
)
def test_peak_follows_the_weight_format(gpu, fmt, tflops):
    made = evaluate(Scenario(gpu=gpu, weight_format=fmt, batch=64)).decode
    assert made.flops / made.compute_s == pytest.approx(tflops * 1e12)


@pytest.mark.parametrize(
    ("fmt", "share"), [("fp8", 1 / 2), ("q8_0", 8.5 / 16), ("int4", 4.15625 / 16), ("q4_0", 4.5 / 16)]
)
def test_cache_format_scales_the_cache_alone(fmt, share):
    whole, small = (evaluate(Scenario(batch=32, cache_format=f)) for f in ("bf16", fmt))
    assert small.memory.kv_bytes == share * whole.memory.kv_bytes
    assert small.decode.kv_read_bytes == share * whole.decode.kv_read_bytes
    assert small.memory.weights_bytes == whole.memory.weights_bytes


def test_int8_cache_of_llama_3_70b():
    # scaling-book, applied-inference.md: 163,840 bytes a token; 32 sequences of 8,192 on 8 TPU v5e, int8: the cache
    # and 70 GB are 112 GB.
    made = evaluate(Scenario(model="llama-3-70b", gpu="tpu-v5e", n_gpus=8, batch=32, weight_format="int8",
                             cache_format="fp8", context=8192))  # fmt: skip
    assert made.memory.kv_bytes == 163_840 * 8192 * 32
    assert (made.memory.kv_bytes + 70e9) / GB == pytest.approx(112, rel=0.01)


def test_scaling_book_llama_2_13b_on_8_tpus():
    # inference.md's table from the real shapes: 12.13 ms at batch 8, 36.65 at 32 (0.82 TB/s rounded from 819 GB/s).
    scenario = bf16(model="llama-2-13b", gpu="tpu-v5e", n_gpus=8, context=8192)
    made = [r.decode.step_s * 1e3 for r in sweep(scenario, "batch", (1, 8, 32, 240))]
    assert made == pytest.approx([4.98, 12.13, 36.65, 249.09], rel=0.005)


# Several GPUs


@pytest.mark.parametrize(
    ("model", "n_gpus", "copies"),
    [
        ("llama-3-8b", 8, 1),
        ("llama-3-8b", 16, 2),
        ("llama-3-8b", 12, 1.5),
        ("llama-2-7b", 32, 1),
        ("falcon-7b", 4, 4),
        ("qwen3.5-397b-a17b", 4, 2),  # 15,360 bytes a token and rank (sgl-project/sglang#19086)
        ("deepseek-v3", 8, 8),  # one latent, on every GPU (vllm-project/vllm#51454)
    ],
)
def test_tensor_parallel_repeats_the_cache(model, n_gpus, copies):
    one, many = (evaluate(Scenario(model=model, n_gpus=n, context=4096)) for n in (1, n_gpus))
    state = models()[model].state_bytes
    assert many.memory.kv_bytes - state == copies * (one.memory.kv_bytes - state)
    assert many.decode.kv_read_bytes == many.memory.kv_bytes
    assert many.memory.weights_bytes == one.memory.weights_bytes
    assert many.memory.capacity_bytes == n_gpus * one.memory.capacity_bytes


def test_tensor_parallel_multiplies_bandwidth_and_peak():
    one, two = (evaluate(Scenario(n_gpus=n, batch=32)).decode for n in (1, 2))
    assert one.memory_s / two.memory_s == one.compute_s / two.compute_s == 2


@pytest.mark.parametrize(
    ("batch", "step_ms"),
    # Llama 3 70B, two H100 by layers, 4,096 tokens: (141,107,412,992 + max(1, B / 2) x 1,342,177,280) / 3.35e12
    [(1, 42.522), (2, 42.522), (3, 42.722), (16, 45.327)],
)
def test_layer_split_of_llama_3_70b(batch, step_ms):
    made = evaluate(bf16(model="llama-3-70b", n_gpus=2, split="layer", batch=batch, context=4096))
    assert made.decode.step_s * 1e3 == pytest.approx(step_ms, abs=0.001)
    assert made.decode.tokens_per_s == pytest.approx(batch / step_ms * 1e3, rel=1e-4)
    assert made.memory.kv_bytes == batch * 1_342_177_280


@pytest.mark.parametrize("n_gpus", [1, 2, 8, 64])
def test_layer_split_never_gives_one_user_more_than_one_gpu(n_gpus):
    one, many = (evaluate(Scenario(n_gpus=n, split="layer")) for n in (1, n_gpus))
    assert many.decode.step_s == one.decode.step_s
    assert many.memory.capacity_bytes == n_gpus * one.memory.capacity_bytes
    assert many.memory.kv_bytes == one.memory.kv_bytes


def test_layer_split_does_not_repeat_the_latent():
    one, many = (evaluate(Scenario(model="deepseek-v3", n_gpus=n, split="layer")) for n in (1, 8))
    assert many.memory.kv_bytes == one.memory.kv_bytes


# Measured speeds: no dense one exceeds its ceiling, and the ceilings agree with those worked out from file sizes.


@pytest.mark.parametrize(
    ("fields", "measured", "ceiling"),
    [
        # GPU-Benchmarks-on-LLM-Inference (llama.cpp, tg 512): the file less its token table, and 256 tokens of cache
        ({"model": "llama-3-8b", "gpu": "rtx-6000-ada", "context": 256}, 52.32, 63.8),
        ({"model": "llama-3-8b", "gpu": "rtx-3090", "context": 256, "weight_format": "q4_k_m"}, 115.42, 201.1),
        ({"model": "llama-3-70b", "gpu": "rtx-4090", "n_gpus": 2, "split": "layer", "context": 256,
          "weight_format": "q4_k_m"}, 19.22, 24.0),
        ({"model": "llama-3-70b", "gpu": "rtx-4090", "n_gpus": 8, "split": "layer", "context": 256}, 6.47, 7.247),
        # gpt-fast README: batch 1, about 105 tokens
        ({"model": "llama-2-7b", "gpu": "a100-80gb-sxm", "context": 105}, 104.9, 153.7),
        ({"model": "llama-2-70b", "gpu": "a100-80gb-sxm", "n_gpus": 2, "context": 105}, 21.32, 29.55),
        # llama.cpp, benches/dgx-spark.md
        ({"model": "qwen3-30b-a3b", "gpu": "gb10", "context": 16, "weight_format": "q8_0"}, 60.92, 83.54),
        # kipply: 13B on an A100 took 22.0 ms; the output head, 1.2 %, is left out there
        ({"model": "llama-2-13b", "gpu": "a100-40gb-sxm", "context": 517}, 1 / 22.0e-3, 1 / 16.46e-3),
    ],
)  # fmt: skip
def test_measured_speeds_stay_below_the_ceiling(fields, measured, ceiling):
    made = evaluate(Scenario(skip_embedding=True, **fields)).decode.tokens_per_s_per_user
    assert measured < made
    assert made == pytest.approx(ceiling, rel=0.022)


@pytest.mark.parametrize(
    ("skip_embedding", "n_tokens", "gb"),
    # gpt-fast README, Llama 2 7B: 1397.31 GB/s / 104.9 tokens/s without the table and with a buffer of 208 positions;
    # on MI250X 1028.70 / 76.33 with the table
    [(True, 208, 13.320), (False, None, 13.477)],
)
def test_bytes_per_token_gpt_fast_reports(skip_embedding, n_tokens, gb):
    made = evaluate(Scenario(model="llama-2-7b", skip_embedding=skip_embedding, context=n_tokens or 1)).decode
    assert (made.bytes_read if n_tokens else made.weights_read_bytes) / GB == pytest.approx(gb, rel=0.0005)


# Sweeps


def test_sweep_is_evaluate_with_one_field_changed():
    scenario = Scenario(model="mixtral-8x7b", context=1024)
    assert sweep(scenario, "batch", (1, 7)) == [evaluate(scenario.replace(batch=n)) for n in (1, 7)]
    assert [r.scenario.kv_heads for r in sweep(scenario, "kv_heads", (None, 1, 32))] == [None, 1, 32]


def test_specs_give_the_same_result_as_slugs():
    by_slug = evaluate(Scenario(model="gemma-3-27b", gpu="tpu-v5e", n_gpus=8))
    by_spec = evaluate(Scenario(model=models()["gemma-3-27b"], gpu=gpus()["tpu-v5e"], n_gpus=8))
    assert (by_slug.memory, by_slug.decode, by_slug.prefill) == (by_spec.memory, by_spec.decode, by_spec.prefill)
