"""Scaling of bytes, seconds, FLOPs and rates for people; nothing else in the project divides by 1e9 or 2**30."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal

GB = 10**9
GIB = 2**30
MIB = 2**20
TERA = 10**12
DECIMALS_MOST = 15  # as many as a float holds

Unit = Literal["GB", "GiB"]
UNITS: tuple[Unit, ...] = ("GB", "GiB")

_DECIMAL = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_BINARY = ((2**50, "PiB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SI = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def in_unit(value_bytes: float, unit: Unit) -> float:
    """Bytes in the unit a page shows.

    >>> in_unit(2**30, "GiB"), in_unit(10**9, "GB")
    (1.0, 1.0)
    """
    return value_bytes / (GIB if unit == "GiB" else GB)


def from_unit(value: float, unit: Unit) -> float:
    """The inverse of :func:`in_unit`.

    >>> from_unit(1.0, "GiB")
    1073741824.0
    """
    return value * (GIB if unit == "GiB" else GB)


def significant(value: float, digits: int = 3) -> str:
    """A number with thousands separators and at least `digits` significant digits, never in exponent form.

    >>> [significant(x) for x in (0.04567, 4.799, 66.44, 2126.14, 0.0, 122_500)]
    ['0.0457', '4.80', '66.4', '2,126', '0', '122,500']
    """
    if value == 0:
        return "0"
    sizes, forms = _forms(digits)
    return format(value, forms[bisect_right(sizes, abs(value))])


@cache
def _forms(digits: int) -> tuple[list[float], list[str]]:
    """The sizes at each of which a number shows a decimal less, and its form below the first and from each on."""
    most = max(DECIMALS_MOST, digits - 1)
    sizes = [10.0 ** (digits - decimals) * _almost_one(digits) for decimals in range(most, 0, -1)]
    return sizes, [f",.{decimals}f" for decimals in range(most, -1, -1)]


@cache
def _almost_one(digits: int) -> float:
    """What rounds up to one in so many digits: 0.9995 of a GB is "1.00 GB", not "1,000 MB"."""
    return 1 - 0.5 * 10.0**-digits


def trimmed(value: float, digits: int = 3) -> str:
    """`significant` without trailing zeros: for counts that may or may not be whole.

    >>> trimmed(15.0), trimmed(7.199), trimmed(1024)
    ('15', '7.2', '1,024')
    """
    text = significant(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def integer(value: float) -> str:
    """A count with thousands separators.

    >>> integer(131072)
    '131,072'
    """
    return f"{value:,.0f}"


def _scaled(value: float, steps: tuple[tuple[float, str], ...], digits: int, base: str, space: str = " ") -> str:
    almost_one = _almost_one(digits)
    for size, name in steps:
        if abs(value) >= size * almost_one:
            return f"{significant(value / size, digits)}{space}{name}"
    return f"{significant(value, digits)}{space}{base}".rstrip()


@lru_cache(maxsize=8192, typed=True)
def format_bytes(value_bytes: float, unit: Unit = "GB", digits: int = 3) -> str:
    """Bytes for people, in decimal or binary steps.

    >>> format_bytes(34_359_738_368), format_bytes(34_359_738_368, "GiB")
    ('34.4 GB', '32.0 GiB')
    >>> format_bytes(70_272), format_bytes(819_200, "GiB"), format_bytes(3.04e12)
    ('70.3 kB', '800 KiB', '3.04 TB')
    """
    if value_bytes == int(value_bytes) and abs(value_bytes) < 1000:
        return f"{int(value_bytes)} B"
    return _scaled(value_bytes, _BINARY if unit == "GiB" else _DECIMAL, digits, "B")


def format_seconds(value_s: float, digits: int = 3) -> str:
    """Seconds for people.

    >>> format_seconds(0.015051), format_seconds(0.0000038), format_seconds(2.5)
    ('15.1 ms', '3.80 µs', '2.50 s')
    """
    return _scaled(value_s, _SECONDS, digits, "s")


def format_rate(value_tokens_per_s: float, digits: int = 3) -> str:
    """Tokens per second for people.

    >>> format_rate(2126.14), format_rate(66.44)
    ('2,126 tokens/s', '66.4 tokens/s')
    """
    return f"{significant(value_tokens_per_s, digits)} tokens/s"


def format_bandwidth(value_bytes_per_s: float, digits: int = 3) -> str:
    """Bandwidth for people; vendors print it in decimal units only.

    >>> format_bandwidth(3.35e12), format_bandwidth(936.2e9)
    ('3.35 TB/s', '936 GB/s')
    """
    return f"{_scaled(value_bytes_per_s, _DECIMAL, digits, 'B')}/s"


def format_flops(value_flops: float, digits: int = 3) -> str:
    """A number of floating-point operations for people.

    >>> format_flops(15.1e9)
    '15.1 GFLOP'
    """
    return _scaled(value_flops, tuple((size, f"{name}FLOP") for size, name in _SI), digits, "FLOP")


def format_flop_rate(value_flops_per_s: float, digits: int = 4) -> str:
    """A peak arithmetic rate for people.

    >>> format_flop_rate(989.4e12)
    '989.4 TFLOP/s'
    """
    return f"{format_flops(value_flops_per_s, digits)}/s"


def format_tokens(value: float, digits: int = 3) -> str:
    """A number of tokens for people, in words from a million on.

    >>> format_tokens(9_487_698), format_tokens(6.413), format_tokens(60_400)
    ('9.49 million tokens', '6.41 tokens', '60,400 tokens')
    """
    return f"{_scaled(value, ((1e9, 'billion'), (1e6, 'million')), digits, '')} tokens"


def format_dollars(value: float, digits: int = 3) -> str:
    """Dollars for people; below a cent as many digits as it takes.

    >>> format_dollars(6.536), format_dollars(0.0312), format_dollars(12.0)
    ('$6.54', '$0.0312', '$12.0')
    """
    return f"${significant(value, digits)}"


def format_joules(value: float, digits: int = 3) -> str:
    """Energy for people.

    >>> format_joules(143_000), format_joules(7.2e7)
    ('143 kJ', '72.0 MJ')
    """
    return _scaled(value, tuple((size, f"{name}J") for size, name in _SI), digits, "J")


def format_ratio(value: float, digits: int = 2) -> str:
    """A factor for people.

    >>> format_ratio(2.139), format_ratio(15.6)
    ('2.1', '16')
    """
    return significant(value, digits)


def shortest(value: float, show: Callable[..., str], digits: int = 5) -> str:
    """A formatted value without zeros that say nothing: exact figures stay short, rounded ones keep their digits.

    >>> shortest(3.35e12, format_bandwidth), shortest(50_420_260_864, format_bytes)
    ('3.35 TB/s', '50.420 GB')
    """
    number, _, unit = show(value, digits=digits).partition(" ")
    exact, _, _ = show(value, digits=14).partition(" ")
    exact = exact.rstrip("0").rstrip(".") if "." in exact else exact
    return f"{exact if len(exact) < len(number) else number} {unit}"


def signed_percent(share: float) -> str:
    """A small difference in percent, without a sign on nothing.

    >>> signed_percent(0.0007), signed_percent(-0.000001)
    ('+0.07 %', '0.00 %')
    """
    return f"{100 * share:+.2f} %" if abs(share) >= 0.00005 else "0.00 %"


def plural(count: float, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> plural(1, "user"), plural(32, "user"), plural(2, "copy", "copies")
    ('1 user', '32 users', '2 copies')
    """
    return f"{integer(count)} {one if count == 1 else many or one + 's'}"
