"""GpuSpec: capacities drivers report, dense peaks, and which peak a format gets."""

import pytest
from pydantic import ValidationError

from core.catalog import gpus
from core.gpu import GpuSpec
from core.units import GIB, MIB

BASE = {
    "slug": "mine", "name": "Mine", "vendor": "Me", "year": 2026, "category": "custom", "arch": "none",
    "marketed_memory": 24, "marketed_unit": "GB", "memory_type": "HBM", "bandwidth_gb_per_s": 1000,
    "bf16_tflops": 100, "source": ("this file",), "confidence": "given",
}  # fmt: skip


@pytest.mark.parametrize(
    ("slug", "capacity"),
    [
        ("h100-sxm", 85_520_809_984),  # nvidia-smi: 81,559 MiB
        ("a100-80gb-sxm", 81_920 * MIB),
        ("rtx-3090", 24_576 * MIB),
        ("l4", 23_034 * MIB),  # "24 GB" with inline ECC
        ("tpu-v4", 32 * GIB),  # cloud.google.com prints GiB for v4
        ("tpu-v5e", 16 * 10**9),  # and GB for v5e
    ],
)
def test_capacity(slug, capacity):
    assert gpus()[slug].memory_bytes == capacity


@pytest.mark.parametrize(
    ("slug", "bandwidth", "peak", "ridge"),
    [
        ("h100-sxm", 3.35e12, 989.4e12, 295.3),  # NVIDIA's 1,979 is "with sparsity"
        ("h100-pcie", 2.0e12, 756.5e12, 378.2),
        ("a100-80gb-sxm", 2.039e12, 312e12, 153.0),
        ("l40s", 864e9, 362.05e12, 419.0),
        ("rtx-3090", 936.2e9, 71.2e12, 76.1),  # FP32 accumulation, dense
        ("tpu-v5e", 819e9, 197e12, 240.5),
        ("tpu-v6e", 1.638e12, 918e12, 560.4),
        ("b300", 8e12, 2250e12, 281.2),
    ],
)
def test_bandwidth_and_dense_16_bit_peak(slug, bandwidth, peak, ridge):
    gpu = gpus()[slug]
    assert gpu.bandwidth_bytes_per_s == bandwidth
    assert gpu.peak_flops_per_s() == peak
    assert gpu.peak_flops_per_s() / gpu.bandwidth_bytes_per_s == pytest.approx(ridge, abs=0.06)


@pytest.mark.parametrize(("slug", "tflops"), [("t4", 65), ("v100-sxm2-16gb", 125), ("v100-sxm2-32gb", 125)])
def test_devices_without_bf16_use_fp16(slug, tflops):
    assert gpus()[slug].bf16_tflops is None
    assert gpus()[slug].peak_flops_per_s() == tflops * 1e12


@pytest.mark.parametrize(
    ("slug", "number_format", "tflops"),
    [
        ("h100-sxm", "fp8", 1978.9),
        ("h100-sxm", "int8", 1978.9),
        ("h100-sxm", "fp4", 989.4),  # Hopper has no FP4 units
        ("a100-80gb-sxm", "fp8", 312),  # nor has Ampere FP8
        ("a100-80gb-sxm", "int8", 624),
        ("t4", "int8", 130),
        ("b300", "fp8", 4500),
        ("b300", "fp4", 14_000),
        ("b300", "int8", 2250),  # its INT8 is 153.5: slower than converting to BF16, so C does not fall
    ],
)
def test_peak_of_a_format(slug, number_format, tflops):
    assert gpus()[slug].peak_flops_per_s(number_format) == pytest.approx(tflops * 1e12)


def test_b300_lists_the_slow_int8():
    assert gpus()["b300"].int8_tflops == 153.5


def test_no_peak_is_a_sparse_one():
    # A doubled figure in one format shows as FP8 four times BF16 or INT8 more than twice FP8.
    for gpu in gpus().values():
        base = gpu.peak_flops_per_s() / 1e12
        assert (gpu.fp8_tflops or 0) <= 4.5 * base, gpu.slug
        assert (gpu.int8_tflops or 0) <= 4.01 * base, gpu.slug
        assert (gpu.fp4_tflops or 0) <= 9 * base, gpu.slug


def test_notes_on_memory():
    assert "not all of it is usable" in gpus()["apple-m2-ultra"].memory_note
    assert "2 devices" in gpus()["mi250x"].memory_note
    assert gpus()["h100-sxm"].memory_note is None


def test_label_gives_the_marketed_memory_once_and_marks_previews():
    assert gpus()["h100-sxm"].label.count("80 GB") == 1
    assert gpus()["a100-80gb-sxm"].label.count("80") == 1
    assert gpus()["vr200"].label.endswith("preview")


def test_a_custom_gpu():
    gpu = GpuSpec(**BASE)
    assert gpu.memory_bytes == 24 * 10**9
    assert gpu.peak_flops_per_s("fp8") == 100e12


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bf16_tflops": None}, "bf16_tflops or fp16_tflops"),
        ({"bandwidth_gb_per_s": 0}, "bandwidth_gb_per_s"),
        ({"bandwidth_gb_per_s": -1}, "bandwidth_gb_per_s"),
        ({"marketed_memory": 0}, "marketed_memory"),
        ({"marketed_unit": "TB"}, "marketed_unit"),
        ({"source": ()}, "source"),
        ({"int8_tflops": 10**9}, "int8_tflops"),
        ({"cores": 3}, "cores"),
        ({"bandwidth_gb_per_s": float("inf")}, "bandwidth_gb_per_s"),
        ({"marketed_memory": float("inf")}, "marketed_memory"),
        ({"bf16_tflops": float("nan")}, "bf16_tflops"),
        ({"tdp_w": float("inf")}, "tdp_w"),
        ({"driver_memory_bytes": 10**400}, "driver_memory_bytes"),
    ],
)
def test_impossible_devices_are_refused_by_name(change, says):
    with pytest.raises(ValidationError, match=says):
        GpuSpec(**BASE | change)
