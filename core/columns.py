"""Columns of numbers: exact whole numbers however large, and numbers rounded for reading."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Whole = NDArray[Any]  # whole numbers, exact: int64 where every product is known to fit, else Python's own

T = TypeVar("T", bound=np.generic)

SAFE = 2**60  # sums of a few numbers up to here, of either sign, stay within int64


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of a table: numbers, or the places of its words among `words`. Blank: NaN, or where `is_blank`.

    Columns of the same content are equal.
    """

    values: NDArray[Any]
    words: tuple[str, ...] | None = None
    is_blank: Flags | None = None

    def _content(self) -> tuple[object, ...]:
        numbers = tuple(self.values.tolist()) if self.values.dtype == object else self.values.tobytes()
        return self.values.dtype.char, numbers, self.words, None if self.is_blank is None else self.is_blank.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __len__(self) -> int:
        return self.values.size

    def cells(self) -> list[Any]:
        """Plain values, None where blank.

        >>> Column(np.array([1, 0]), is_blank=np.array([False, True])).cells()
        [1, None]
        """
        values = self.values.tolist()
        if self.words is not None:
            return [self.words[place] for place in values]
        if self.is_blank is not None:
            return [None if blank else value for value, blank in zip(values, self.is_blank.tolist(), strict=True)]
        return [None if value != value else value for value in values]  # noqa: PLR0124 - NaN alone differs from itself


def whole(values: Iterable[int], *, is_safe: bool) -> Whole:
    """A column of whole numbers: int64, or Python's own where products of them might not fit.

    >>> whole([1, 2], is_safe=True).dtype, whole([1, 10**30], is_safe=False)[1]
    (dtype('int64'), 1000000000000000000000000000000)
    """
    return np.array(list(values), dtype=np.int64 if is_safe else object)


def floats(values: Any) -> Floats:
    """Whole numbers as floats, each rounded once."""
    return np.asarray(values, dtype=np.float64)


def ceil_div(a: Whole, b: Whole) -> Whole:
    """Quotients rounded up."""
    return -(-a // b)


def sealed(column: NDArray[T]) -> NDArray[T]:
    """The column, which nobody writes to any more: what is kept is shared by all sessions."""
    column.flags.writeable = False
    return column


_DIGITS = 4
_AT_ONCE = 8192  # numbers: past 128 kB each passing result is memory that the system hands out and takes back
_EXACT_POWERS = 22  # 10**22 is the last power of ten that a float holds exactly
_LEAST, _MOST = -64, 84  # exponents of two: numbers between these have four digits within exact powers of ten


def _powers() -> tuple[Floats, Floats, Floats]:
    """By exponent of two: the power of ten in reach, and twice (below it, from it on) what shifts by how many digits.

    Below four whole digits a number is multiplied by the one and divided by 1, above it is multiplied by 1 and divided
    by the other. NaN where neither is exact.
    """
    limits, up, down = [math.nan], [math.nan] * 2, [math.nan] * 2
    for exponent in range(_LEAST, _MOST):
        low = math.floor(math.log10(2.0 ** (exponent - 1)))  # no power of two but 1 is near one of ten
        limits.append(10.0 ** (low + 1))
        for shift in (_DIGITS - 1 - low, _DIGITS - 2 - low):
            is_exact = abs(shift) <= _EXACT_POWERS
            up.append(10.0 ** max(shift, 0) if is_exact else math.nan)
            down.append(10.0 ** max(-shift, 0) if is_exact else math.nan)
    return np.array([*limits, math.nan]), np.array([*up, math.nan, math.nan]), np.array([*down, math.nan, math.nan])


_LIMITS, _UP, _DOWN = _powers()


def four_digits(values: Floats) -> Floats:
    """Each number as if written with four significant digits and read again: float(f"{value:.4g}"). NaN stays NaN.

    >>> four_digits(np.array([2126.14, 0.0456789, 195.5, np.nan, 0.0])).tolist()
    [2126.0, 0.04568, 195.5, nan, 0.0]
    """
    _, exponents = np.frexp(values)
    places = np.clip(exponents - (_LEAST - 1), 0, _LIMITS.size - 1)
    places = 2 * places + (values >= _LIMITS.take(places))
    up, down = _UP.take(places), _DOWN.take(places)
    digits = values * up / down
    whole_digits = np.rint(digits)
    found = whole_digits * down / up  # of an exact power: the float next to those digits
    # What is no number, and what is too near a tie for a float to tell, is done one by one.
    is_sure = (np.abs(np.abs(digits - whole_digits) - 0.5) > 1e-6) & (digits > 0)
    for at in np.flatnonzero(~is_sure & ~np.isnan(values)).tolist():
        found.flat[at] = float(f"{values.flat[at]:.{_DIGITS}g}")
    return found


def all_to_four_digits(columns: Sequence[Floats]) -> list[Floats]:
    """`four_digits` of columns of one length: short ones together, long ones each alone, as a processor likes it."""
    together = max(1, _AT_ONCE // max(1, columns[0].size))
    return [
        column
        for start in range(0, len(columns), together)
        for column in four_digits(np.array(columns[start : start + together]))
    ]
