"""Units: decimal and binary steps, and numbers as people read them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import units

LAW = settings(max_examples=200, deadline=None, derandomize=True, database=None)
SIZES = {
    "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
}  # fmt: skip


def parsed(text: str) -> tuple[float, str]:
    """Number and unit as a reader takes them."""
    found = re.fullmatch(r"(-?[\d,]+(?:\.\d+)?)(?: (\S.*))?", text)
    assert found, f"not a plain number with a unit: {text!r}"
    return float(found[1].replace(",", "")), found[2] or ""


def test_gb_and_gib_differ_by_seven_percent():
    # The "80 GB" of an H100: 81,559 MiB reported by the driver.
    assert units.in_unit(81_559 * units.MIB, "GB") == pytest.approx(85.52, abs=0.005)
    assert units.in_unit(81_559 * units.MIB, "GiB") == pytest.approx(79.65, abs=0.005)
    assert pytest.approx(1.0737, abs=5e-5) == units.GIB / units.GB


@pytest.mark.parametrize("unit", units.UNITS)
@given(value=st.integers(0, 10**18))
@LAW
def test_in_unit_and_back(unit, value):
    assert units.from_unit(units.in_unit(value, unit), unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "GB", "0 B"),
        (1, "GiB", "1 B"),
        (999, "GB", "999 B"),
        (1000, "GB", "1.00 kB"),
        (1023, "GiB", "1,023 B"),
        (1024, "GiB", "1.00 KiB"),
        (70_272, "GB", "70.3 kB"),  # DeepSeek-V3 per token (arXiv:2505.09343, Table 1: 70.272 KB)
        (819_200, "GiB", "800 KiB"),  # OPT-13B per token (arXiv:2309.06180, printed as 800 KB)
        (999_499, "GB", "999 kB"),
        (999_500, "GB", "1.00 MB"),  # rounds up into the next step instead of "1,000 kB"
        (16_060_522_496, "GB", "16.1 GB"),
        (16_060_522_496, "GiB", "15.0 GiB"),
        (3_040_836_845_568, "GB", "3.04 TB"),  # Pope et al. (arXiv:2211.05102): 3 TB
        (-34_359_738_368, "GB", "-34.4 GB"),
    ],
)
def test_format_bytes(value, unit, text):
    assert units.format_bytes(value, unit) == text


@pytest.mark.parametrize("unit", units.UNITS)
@given(value=st.integers(1, 10**17))
@LAW
def test_format_bytes_says_the_value_to_three_digits(unit, value):
    number, name = parsed(units.format_bytes(value, unit))
    assert number * SIZES[name] == pytest.approx(value, rel=0.005001)
    assert number < 1024 or name in ("PB", "PiB")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (4.799, "4.80"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (295.3, "295"),
        (2126.14, "2,126"),
        (0.0457, "0.0457"),
        (0.9996, "1.00"),
        (0.09996, "0.100"),
        (-66.44, "-66.4"),
    ],
)
def test_significant(value, text):
    assert units.significant(value) == text


@given(value=st.floats(1e-9, 1e18), digits=st.integers(2, 5))
@LAW
def test_significant_keeps_the_digits_it_promises(value, digits):
    number, _ = parsed(units.significant(value, digits))
    assert number == pytest.approx(value, rel=0.5001 * 10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (units.format_seconds(0.004_799), "4.80 ms"),
        (units.format_seconds(3.8e-6), "3.80 µs"),  # Shazeer 2019, Table 2: MQA decoding, 3.8 us per token
        (units.format_seconds(0.1334), "133 ms"),
        (units.format_seconds(0.99996), "1.00 s"),
        (units.format_seconds(85.2), "85.2 s"),
        (units.format_rate(2126.14), "2,126 tokens/s"),
        (units.format_rate(0.5), "0.500 tokens/s"),
        (units.format_bandwidth(3.35e12), "3.35 TB/s"),
        (units.format_bandwidth(68e9), "68.0 GB/s"),
        (units.format_flops(114_350_259_961_856), "114 TFLOP"),
        (units.format_flop_rate(989.4e12), "989.4 TFLOP/s"),
        (units.format_flop_rate(1978.9e12), "1.979 PFLOP/s"),
        (units.format_ratio(2.139), "2.1"),
        (units.format_ratio(15.6), "16"),
        (units.integer(BIG := 10**15), "1,000,000,000,000,000"),
        (units.plural(1, "user"), "1 user"),
        (units.plural(0, "user"), "0 users"),
        (units.plural(2, "copy", "copies"), "2 copies"),
        (units.plural(BIG, "token"), "1,000,000,000,000,000 tokens"),
    ],
)
def test_other_formatters(made, text):
    assert made == text
