"""Number formats of weights and cache: bits per value with their scales, and the peak that applies.

Sources: AWQ/GPTQ int4 is 4 bits with one fp16 scale and one 4-bit zero per group of 128 (16 + 4 bits / 128 =
0.15625); OCP MX v1.0 FP4 has one 8-bit scale per 32 values; NVFP4 one 8-bit scale per 16; llama.cpp's Q8_0 one
fp16 per 32 int8, Q4_0 one fp16 per 32 four-bit values; its K-quants store 144 (Q4_K), 176 (Q5_K) and 210 (Q6_K)
bytes per 256 values (ggml-common.h).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

# Every width in use is a multiple of 1/32 bit, so byte totals are exact integer arithmetic in 1/256 byte.
BIT_STEPS = 32
BYTE_STEPS = BIT_STEPS * 8

FP32_BITS = 32.0
INT8_WIDTH = 8
BF16_BITS = 16.0
INT4_G128_BITS = 4 + (16 + 4) / 128
MXFP4_BITS = 4 + 8 / 32
NVFP4_BITS = 4 + 8 / 16
Q8_0_BITS = 8 + 16 / 32
Q4_0_BITS = 4 + 16 / 32
NF4_BITS = 4 + 32 / 64  # bitsandbytes: one fp32 scale per 64 values
NF4_DOUBLE_BITS = 4 + 8 / 64  # the scales in 8 bits; their own scales, 0.002 bits, left out
Q5_0_BITS = 5.5
Q5_1_BITS = 6.0
Q4_K_BITS = 144 * 8 / 256
Q5_K_BITS = 176 * 8 / 256
Q6_K_BITS = 210 * 8 / 256
FP8_BLOCK = 128  # DeepSeek-V3's checkpoint: one fp32 scale per 128 x 128 block of a linear layer
FP8_BLOCK_SCALE_BYTES = 4

Peak = Literal["fp8", "int8", "fp4"]
WeightFormatName = Literal["native", "bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4", "q8_0", "q4_k_m", "q4_0"]
CacheFormatName = Literal["bf16", "fp8", "q8_0", "int4", "q4_0"]
NATIVE_PATTERN = (
    r"^(bf16|fp16|fp32|fp8|fp8_tensor|mxfp4|nvfp4|nf4|nf4_double|int8|int[2-8]_g(16|32|64|128|256|0)(_sym)?)$"
)
NativeFormatName = Annotated[str, Field(pattern=NATIVE_PATTERN)]


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """How weights are stored: which tensors take `linear_bits`, and which stay wider."""

    slug: str
    label: str
    linear_bits: float
    peak: Peak | None = None
    scheme: Literal["plain", "linear_only", "llama_cpp", "fp8_block", "experts_only"] = "linear_only"
    note: str = ""
    wide: tuple[str, ...] = ()  # components that stay in 16 bits besides


@dataclass(frozen=True, slots=True)
class CacheFormat:
    """How one cached value is stored."""

    slug: CacheFormatName
    label: str
    bits: float


_STAYS = "linear layers only; embedding, output head, norms and router stay in 16 bits"

WEIGHT_FORMATS: dict[str, WeightFormat] = {
    f.slug: f
    for f in (
        WeightFormat("native", "as released", BF16_BITS, None, "plain", "the checkpoint's own mix"),
        WeightFormat("bf16", "BF16 (16 bits)", BF16_BITS, None, "plain", "every parameter in 16 bits"),
        WeightFormat("fp8", "FP8 (8 bits)", 8.0, "fp8", note=_STAYS),
        WeightFormat("int8", "INT8 (8 bits)", 8.0, "int8", note=_STAYS),
        WeightFormat("int4", "INT4 AWQ/GPTQ, group 128 (4.16 bits)", INT4_G128_BITS, None, note=_STAYS),
        WeightFormat("mxfp4", "MXFP4 (4.25 bits)", MXFP4_BITS, "fp8", note=_STAYS),
        WeightFormat("nvfp4", "NVFP4 (4.5 bits)", NVFP4_BITS, "fp4", note=_STAYS),
        WeightFormat("q8_0", "llama.cpp Q8_0 (8.5 bits)", Q8_0_BITS, "int8", "llama_cpp", "tables too"),
        WeightFormat("q4_k_m", "llama.cpp Q4_K_M (about 4.9 bits)", Q4_K_BITS, "int8", "llama_cpp", "per-tensor mix"),
        WeightFormat("q4_0", "llama.cpp Q4_0 (4.5 bits)", Q4_0_BITS, "int8", "llama_cpp", "tables too, head in Q6_K"),
    )
}

_NATIVE: dict[str, WeightFormat] = {
    "bf16": WeightFormat("bf16", "BF16", BF16_BITS, None, "plain"),
    "fp16": WeightFormat("fp16", "FP16", BF16_BITS, None, "plain"),
    "fp32": WeightFormat("fp32", "FP32", FP32_BITS, None, "plain"),
    "fp8": WeightFormat("fp8_block", "FP8 with 128 x 128 block scales", 8.0, "fp8", "fp8_block"),
    "mxfp4": WeightFormat("mxfp4_experts", "MXFP4 experts, the rest BF16", MXFP4_BITS, "fp8", "experts_only"),
    "fp8_tensor": WeightFormat("fp8_tensor", "FP8, one scale a tensor or row", 8.0, "fp8"),
    "nvfp4": WeightFormat("nvfp4", "NVFP4 (4.5 bits)", NVFP4_BITS, "fp4"),
    "int8": WeightFormat("int8", "INT8 (8 bits)", 8.0, "int8"),
    "nf4": WeightFormat("nf4", "NF4 (4.5 bits)", NF4_BITS),
    "nf4_double": WeightFormat("nf4_double", "NF4, scales quantized (4.13 bits)", NF4_DOUBLE_BITS),
}

CACHE_FORMATS: dict[str, CacheFormat] = {
    f.slug: f
    for f in (
        CacheFormat("bf16", "BF16 (16 bits)", BF16_BITS),
        CacheFormat("fp8", "FP8 (8 bits)", 8.0),
        CacheFormat("q8_0", "llama.cpp Q8_0 (8.5 bits)", Q8_0_BITS),
        CacheFormat("int4", "INT4, group 128 (4.16 bits)", INT4_G128_BITS),
        CacheFormat("q4_0", "llama.cpp Q4_0 (4.5 bits)", Q4_0_BITS),
    )
}


def steps(bits: float) -> int:
    """Bits per value in 1/32 bit, exactly.

    Raises ValueError when the width is not a multiple of 1/32 bit.

    >>> steps(4.15625)
    133
    """
    value = bits * BIT_STEPS
    if value != int(value) or value < 0:
        raise ValueError(f"bits must be a multiple of 1/{BIT_STEPS} and not negative, got {bits}")
    return int(value)


@lru_cache(maxsize=256)
def _native(name: str) -> WeightFormat:
    if name in _NATIVE:
        return _NATIVE[name]
    grouped = re.fullmatch(r"int(\d)_g(\d+)(_sym)?", name)
    if grouped is None:
        raise ValueError(f"native format must match {NATIVE_PATTERN}, got {name}")
    width, group, symmetric = int(grouped[1]), int(grouped[2]), bool(grouped[3])
    scales = 0.0 if group == 0 else (16 + (0 if symmetric else width)) / group
    bits = int((width + scales) * BIT_STEPS) / BIT_STEPS  # widths off the 1/32 grid are rounded down: still a bound
    size = f"group {group}" if group else "one scale a row"
    peak: Peak | None = "int8" if width == INT8_WIDTH else None
    return WeightFormat(name, f"INT{width}, {size} ({bits:.4g} bits)", bits, peak)


@lru_cache(maxsize=1024)
def resolve_weight_format(name: str, native: str, wide: tuple[str, ...] = ()) -> WeightFormat:
    """The format that `name` means for a model whose checkpoint format is `native`, with `wide` components in 16 bits.

    >>> resolve_weight_format("native", "mxfp4").label
    'MXFP4 experts, the rest BF16'
    >>> resolve_weight_format("int4", "bf16").linear_bits, resolve_weight_format("native", "int4_g32").linear_bits
    (4.15625, 4.625)
    """
    if name != "native":
        return WEIGHT_FORMATS[name]
    found = _native(native)
    return replace(found, wide=wide) if wide else found
