"""Ridge, intensities and the roof."""

import pytest

from core import roofline


@pytest.mark.parametrize(
    ("tflops", "bandwidth", "published"),
    [
        (989.4e12, 3.35e12, 295.3),  # H100 SXM, dense BF16
        (312e12, 1.5e12, 208),  # A100 (kipply, Transformer Inference Arithmetic)
        (1.97e14, 8.2e11, 240.2),  # TPU v5e (scaling-book, "B_crit = 240")
    ],
)
def test_ridge(tflops, bandwidth, published):
    made = roofline.ridge_flops_per_byte(peak_flops_per_s=tflops, bandwidth_bytes_per_s=bandwidth)
    assert made == pytest.approx(published, abs=0.05)


@pytest.mark.parametrize(("bits", "per_user"), [(16, 1), (8, 2), (4, 4), (4.5, 32 / 9)])
@pytest.mark.parametrize("batch", [1, 32, 295])
def test_weight_intensity_is_the_batch_in_16_bits_and_more_in_fewer(batch, bits, per_user):
    made = roofline.weight_intensity_flops_per_byte(batch=batch, bits_per_weight=bits)
    assert made == pytest.approx(batch * per_user)


def test_an_expert_sees_its_share_of_the_batch():
    # 64 tokens to 8 of 128 experts, all touched: 4 tokens an expert (scaling-book's B k / E).
    made = roofline.expert_intensity_flops_per_byte(batch=64, bits_per_weight=16, n_active=8, touched=128)
    assert made == 4


@pytest.mark.parametrize(
    ("n_q", "n_kv", "bits", "intensity"),
    [(32, 32, 16, 1), (32, 8, 16, 4), (64, 8, 16, 8), (71, 1, 16, 71), (32, 8, 8, 8), (64, 8, 4, 32)],
)
def test_attention_intensity_is_the_group_size(n_q, n_kv, bits, intensity):
    made = roofline.attention_intensity_flops_per_byte(n_q=n_q, n_kv=n_kv, bits_per_value=bits)
    assert made == intensity


def test_absorbed_mla_of_deepseek_v3_is_about_242():
    made = roofline.latent_attention_intensity_flops_per_byte(n_q=128, kv_lora_rank=512, d_rope=64, bits_per_value=16)
    assert made == pytest.approx(242, abs=0.5)


@pytest.mark.parametrize(
    ("intensity", "attainable"),
    [(1, 3.35e12), (295, 295 * 3.35e12), (296, 989.4e12), (10_000, 989.4e12)],  # the roof bends at 295.3
)
def test_the_roof(intensity, attainable):
    made = roofline.attainable_flops_per_s(
        intensity_flops_per_byte=intensity, peak_flops_per_s=989.4e12, bandwidth_bytes_per_s=3.35e12
    )
    assert made == attainable


def test_nothing_moved_has_intensity_zero():
    assert roofline.intensity_flops_per_byte(flops=5, bytes_moved=0) == 0
