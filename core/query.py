"""Reading values of unknown origin from a link: each is used, clamped or replaced, and the change is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

Value = TypeVar("Value")
Number = TypeVar("Number", int, float)

SHOWN_CHARS = 40
LONGEST_NUMBER = 25
FLAGS = {"0": False, "1": True}


class QueryReader:
    """Reads keys of one link, falling back on `defaults` (the same keys as text), and collects the notes."""

    def __init__(self, query: Mapping[str, str], defaults: Mapping[str, str]) -> None:
        self.query = query
        self.defaults = defaults
        self.notes: list[str] = []

    def _read(self, key: str, read: Callable[[str], Value], default: Value, allowed: str) -> Value:
        if key not in self.query:
            return default
        try:
            return read(str(self.query[key]).strip())
        except (ValueError, KeyError):
            said = f"{key} must be {allowed}; {shown(str(self.query[key]))} was replaced by {self.defaults[key]}."
            self.notes.append(said)
            return default

    def choice(self, key: str, known: Collection[str], default: str, allowed: str | None = None) -> str:
        """One of the known words; `allowed` names them where there are too many to list."""

        def read(text: str) -> str:
            if text not in known:
                raise KeyError(text)
            return text

        return self._read(key, read, default, allowed or one_of(tuple(known)))

    def flag(self, key: str, default: bool) -> bool:
        """0 or 1."""
        return self._read(key, FLAGS.__getitem__, default, "0 or 1")

    def whole(self, key: str, low: int, high: int, default: int) -> int:
        """A whole number, clamped to its range."""
        return self._number(key, whole, (low, high), default, "a whole number")

    def decimal(self, key: str, low: float, high: float, default: float) -> float:
        """A finite number, clamped to its range."""
        return self._number(key, decimal, (low, high), default, "a number")

    def _number(
        self, key: str, read: Callable[[str], Number], limits: tuple[Number, Number], default: Number, kind: str
    ) -> Number:
        low, high = limits
        allowed = f"{kind} from {low:,} to {high:,}"

        def clamped(text: str) -> Number:
            number = read(text)
            nearest = min(max(number, low), high)
            if nearest != number:
                self.notes.append(f"{key} must be {allowed}; {shown(text)} became {nearest:,}.")
            return nearest

        return self._read(key, clamped, default, allowed)


def whole(text: str) -> int:
    """A plain whole number; ValueError for anything else.

    >>> whole("-3")
    -3
    """
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) <= LONGEST_NUMBER):
        raise ValueError(text)
    return int(text)


def decimal(text: str) -> float:
    """A plain finite number; ValueError for anything else.

    >>> decimal("12.5")
    12.5
    """
    if not text.isascii() or len(text) > LONGEST_NUMBER or "_" in text:
        raise ValueError(text)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def shown(value: str) -> str:
    """A value of unknown origin, quoted and cut to a readable length.

    >>> shown("x" * 50)
    '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"'
    """
    clean = "".join(c if c.isprintable() else "?" for c in value)
    return f'"{clean[:SHOWN_CHARS]}…"' if len(clean) > SHOWN_CHARS else f'"{clean}"'


def one_of(options: tuple[str, ...] | tuple[int, ...]) -> str:
    """The allowed values as words.

    >>> one_of((1, 2, 4)), one_of(())
    ('one of 1, 2, 4', 'left as released')
    """
    return f"one of {', '.join(map(str, options))}" if options else "left as released"
