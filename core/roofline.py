"""Arithmetic intensity, ridge and attainable FLOP/s. Formula 11; pure numbers."""

from __future__ import annotations


def ridge_flops_per_byte(*, peak_flops_per_s: float, bandwidth_bytes_per_s: float) -> float:
    """Intensity above which arithmetic, not memory, sets the time: C / BW.

    Source: NVIDIA H100 SXM, 989.4 dense BF16 TFLOP/s over 3.35 TB/s: about 295.

    >>> round(ridge_flops_per_byte(peak_flops_per_s=989.4e12, bandwidth_bytes_per_s=3.35e12), 1)
    295.3
    """
    return peak_flops_per_s / bandwidth_bytes_per_s


def intensity_flops_per_byte(*, flops: float, bytes_moved: float) -> float:
    """Arithmetic intensity: FLOPs / bytes; 0 when nothing is moved.

    >>> intensity_flops_per_byte(flops=8.0, bytes_moved=2.0)
    4.0
    """
    return flops / bytes_moved if bytes_moved else 0.0


def weight_intensity_flops_per_byte(*, batch: float, bits_per_weight: float) -> float:
    """Intensity of one weight matrix in decode: 2 B FLOPs per weight over its bytes; equals B in 16 bits.

    >>> weight_intensity_flops_per_byte(batch=32, bits_per_weight=16)
    32.0
    """
    return 2 * batch * 8 / bits_per_weight


def expert_intensity_flops_per_byte(*, batch: float, bits_per_weight: float, n_active: int, touched: float) -> float:
    """Intensity of an expert's matrices in decode: B k / touched of a dense matrix's.

    Source: each of `touched` experts sees B k / touched tokens on average.

    >>> expert_intensity_flops_per_byte(batch=32, bits_per_weight=16, n_active=2, touched=8)
    8.0
    """
    return weight_intensity_flops_per_byte(batch=batch * n_active / touched, bits_per_weight=bits_per_weight)


def attention_intensity_flops_per_byte(*, n_q: int, n_kv: int, bits_per_value: float) -> float:
    """Intensity of full attention in decode: (n_q / n_kv) x 2 bytes over the cached value's bytes.

    The group size n_q / n_kv in 16 bits, whatever the batch or the context.

    >>> attention_intensity_flops_per_byte(n_q=32, n_kv=8, bits_per_value=16)
    4.0
    """
    return n_q / n_kv * 16 / bits_per_value


def latent_attention_intensity_flops_per_byte(
    *, n_q: int, kv_lora_rank: int, d_rope: int, bits_per_value: float
) -> float:
    """Intensity of absorbed MLA in decode: 2 n_q (2 kv_lora + rope) over (kv_lora + rope) cached values' bytes.

    Source: DeepSeek-V3's 128 heads share one latent of 512 + 64 values: about 242.

    >>> round(latent_attention_intensity_flops_per_byte(n_q=128, kv_lora_rank=512, d_rope=64, bits_per_value=16))
    242
    """
    return 2 * n_q * (2 * kv_lora_rank + d_rope) / ((kv_lora_rank + d_rope) * bits_per_value / 8)


def attainable_flops_per_s(
    *, intensity_flops_per_byte: float, peak_flops_per_s: float, bandwidth_bytes_per_s: float
) -> float:
    """The roofline: min(C, intensity x BW).

    >>> attainable_flops_per_s(intensity_flops_per_byte=1.0, peak_flops_per_s=989.4e12, bandwidth_bytes_per_s=3.35e12)
    3350000000000.0
    """
    return min(peak_flops_per_s, intensity_flops_per_byte * bandwidth_bytes_per_s)
