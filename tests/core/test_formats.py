"""Number formats: bits per value with scales, and which peak multiplies them."""

import pytest

from core.formats import CACHE_FORMATS, WEIGHT_FORMATS, resolve_weight_format, steps


@pytest.mark.parametrize(
    ("slug", "bits"),
    [
        ("bf16", 16),
        ("fp8", 8),
        ("int8", 8),
        ("int4", 4.15625),  # AWQ's stored tensors: 4 + 4/128 + 16/128 (casper-hansen/AutoAWQ#566)
        ("mxfp4", 4.25),  # OCP MX v1.0: one scale byte per 32 values
        ("nvfp4", 4.5),  # one FP8 scale per 16 values: 0.5625 bytes
        ("q8_0", 8.5),  # llama.cpp: 34 bytes per 32 values
        ("q4_0", 4.5),  # llama.cpp: 18 bytes per 32 values
        ("q4_k_m", 4.5),  # its base type Q4_K: 144 bytes per 256 values
    ],
)
def test_weight_bits(slug, bits):
    assert WEIGHT_FORMATS[slug].linear_bits == bits


@pytest.mark.parametrize(("slug", "bits"), [("bf16", 16), ("fp8", 8), ("q8_0", 8.5), ("int4", 4.15625), ("q4_0", 4.5)])
def test_cache_bits(slug, bits):
    assert CACHE_FORMATS[slug].bits == bits


@pytest.mark.parametrize(
    ("peak", "slugs"),
    [
        ("fp8", {"fp8", "mxfp4"}),
        ("int8", {"int8", "q8_0", "q4_0", "q4_k_m"}),  # llama.cpp multiplies in int8
        ("fp4", {"nvfp4"}),
        (None, {"native", "bf16", "int4"}),  # AWQ/GPTQ int4 is weight-only: 16-bit arithmetic
    ],
)
def test_which_formats_multiply_at_which_peak(peak, slugs):
    assert {slug for slug, f in WEIGHT_FORMATS.items() if f.peak == peak} == slugs


@pytest.mark.parametrize("formats", [WEIGHT_FORMATS, CACHE_FORMATS])
def test_every_format_has_its_own_label_and_slug(formats):
    assert all(slug == f.slug for slug, f in formats.items())
    assert len({f.label for f in formats.values()}) == len(formats)


@pytest.mark.parametrize(
    ("native", "bits", "peak"),
    [("bf16", 16, None), ("fp16", 16, None), ("fp32", 32, None), ("fp8", 8, "fp8"), ("mxfp4", 4.25, "fp8")],
)
def test_native_is_the_checkpoints_own_mix(native, bits, peak):
    made = resolve_weight_format("native", native)
    assert (made.linear_bits, made.peak) == (bits, peak)


def test_a_named_format_ignores_the_checkpoint():
    assert resolve_weight_format("bf16", "mxfp4") is WEIGHT_FORMATS["bf16"]


def test_widths_are_exact_in_32nds_of_a_bit():
    formats = [*WEIGHT_FORMATS.values()]
    assert all(steps(f.linear_bits) == f.linear_bits * 32 for f in formats)
    assert all(steps(f.bits) == f.bits * 32 for f in CACHE_FORMATS.values())


@pytest.mark.parametrize("bits", [4.16, -1, 1 / 3])
def test_other_widths_are_refused(bits):
    with pytest.raises(ValueError, match=f"bits must be.*got {bits}"):
        steps(bits)
