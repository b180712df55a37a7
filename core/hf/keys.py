"""Reading keys of one section of a `config.json`: typed, ranged, and remembered for the page that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from core.hf.text import ConfigError, as_text, printable

LAYERS_MAX = 4096
WIDTH_MAX = 2**24
COUNT_MAX = 2**20
TOKENS_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Entry:
    """What was read: the meaning, the key in the file with its section, and the value as text."""

    field: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Assumption:
    """What the file does not say, and why it is taken so."""

    field: str
    value: str
    why: str


@dataclass(slots=True)
class Log:
    """Everything that was read and assumed, in order."""

    read: list[Entry] = field(default_factory=list[Entry])
    assumed: list[Assumption] = field(default_factory=list[Assumption])


class _Required:
    """Marks a key without a default."""


REQUIRED = _Required()


def _given(value: object) -> str:
    if isinstance(value, str):
        return f'"{printable(value, 40)}"'
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return printable(as_text(value), 40)


class Keys:
    """One section of a config, with typed reads. A null counts as absent, since many files write it so."""

    def __init__(
        self, data: Mapping[str, Any], log: Log, path: str = "", outer: Mapping[str, Any] | None = None
    ) -> None:
        self.data = data
        self.log = log
        self.path = path
        self.outer = outer or {}

    def name(self, key: str) -> str:
        """The key with its section, as messages name it."""
        return f"{self.path}{key}"

    def has(self, *names: str) -> bool:
        """Whether one of the keys holds a value."""
        return any(self.data.get(n) is not None for n in names)

    def present(self, *names: str) -> bool:
        """Whether one of the keys is in the file, null or not."""
        return any(n in self.data for n in names)

    def raw(self, *names: str) -> tuple[str, Any]:
        """The first of the keys that holds a value, and the value; the first name and None when none does."""
        found = [(n, self.data[n]) for n in names if self.data.get(n) is not None]
        for other, value in found[1:]:
            if value != found[0][1]:
                raise ConfigError(
                    f"{self.name(found[0][0])} and {self.name(other)} say different things: "
                    f"{_given(found[0][1])} and {_given(value)}."
                )
        return found[0] if found else (names[0], None)

    def missing(self, meaning: str, *names: str) -> ConfigError:
        """The refusal of an absent key."""
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        state = "is null" if names[0] in self.data else "is missing"
        return ConfigError(f"{self.name(names[0])}{others} {state}, so the {meaning} of the model is not known.")

    def note(self, meaning: str, key: str, value: object) -> None:
        """Remember what was read."""
        self.log.read.append(Entry(meaning, self.name(key), printable(str(value), 120)))

    def assume(self, meaning: str, value: object, why: str) -> None:
        """Remember what was assumed."""
        self.log.assumed.append(Assumption(meaning, printable(str(value), 120), why))

    def bad(self, key: str, allowed: str, value: object) -> ConfigError:
        """The refusal of a value."""
        return ConfigError(f"{self.name(key)} must be {allowed}, got {_given(value)}.")

    def whole(
        self, meaning: str, *names: str, default: int | _Required | None = REQUIRED, low: int = 1, high: int = WIDTH_MAX
    ) -> int:
        """A whole number in range under the first of `names` that is there.

        Raises ConfigError: absent without a default, not a whole number, out of range.

        >>> Keys({"n_layer": 12}, Log()).whole("layers", "num_hidden_layers", "n_layer")
        12
        """
        key, value = self.raw(*names)
        if value is None:
            if isinstance(default, int):
                return default
            raise self.missing(meaning, *names)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.bad(key, f"a whole number from {low:,} to {high:,}", value)
        self.note(meaning, key, value)
        return value

    def product(self, value: int, *of: str | int) -> int:
        """`value`, the product of these keys and numbers; ConfigError by their names when no width is that large.

        >>> Keys({}, Log()).product(2 * 4096, "expand", "hidden_size")
        8192
        """
        if value > WIDTH_MAX:
            made_of = " × ".join(str(part) if isinstance(part, int) else self.name(part) for part in of)
            raise ConfigError(f"{made_of} must be at most {WIDTH_MAX:,}, got {value:,}.")
        return value

    def maybe(self, meaning: str, *names: str, low: int = 1, high: int = WIDTH_MAX) -> int | None:
        """`whole`, or None when the key is absent."""
        return self.whole(meaning, *names, low=low, high=high) if self.has(*names) else None

    def flag(self, meaning: str, *names: str, default: bool) -> bool:
        """True or false; ConfigError for anything else."""
        key, value = self.raw(*names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.bad(key, "true or false", value)
        self.note(meaning, key, str(value).lower())
        return value

    def text(self, meaning: str, *names: str) -> str | None:
        """A text, or None when absent."""
        key, value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.bad(key, "a text", value)
        self.note(meaning, key, value)
        return value

    def number(self, meaning: str, *names: str, default: float, low: float = 0, high: float = 1e6) -> float:
        """A finite number in range."""
        key, value = self.raw(*names)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.bad(key, f"a number from {low:g} to {high:g}", value)
        if not math.isfinite(value):
            raise self.bad(key, "a finite number", value)
        self.note(meaning, key, value)
        return float(value)

    def section(self, name: str) -> Keys | None:
        """A nested object, or None when absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.bad(name, "an object", value)
        return Keys(cast("dict[str, Any]", value), self.log, f"{self.name(name)}.", self.data)

    def words(self, meaning: str, name: str, known: Mapping[str, str], length: int) -> list[str] | None:
        """One word a layer, each among `known`, or None when absent.

        Raises ConfigError: not a list of `length` known words.

        >>> Keys({"kinds": ["full"]}, Log()).words("layer kinds", "kinds", {"full": ""}, 1)
        ['full']
        """
        items = self.items(meaning, name, length)
        if items is None:
            return None
        for number, item in enumerate(items):
            if not isinstance(item, str) or item not in known:
                raise ConfigError(f"{self.name(name)}[{number}] must be one of {', '.join(known)}, got {_given(item)}.")
        found = cast("list[str]", items)
        counts = ", ".join(f"{found.count(word)} × {word}" for word in dict.fromkeys(found))
        self.note(meaning, name, counts)
        return found

    def items(self, meaning: str, name: str, length: int) -> list[Any] | None:
        """A list of `length` items, or None when absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.bad(name, "a list", value)
        found = list(cast("Sequence[Any]", value))
        if len(found) != length:
            raise ConfigError(
                f"{self.name(name)} must have one entry for each of {length:,} layers, got {len(found):,}."
            )
        return found

    def indices(self, meaning: str, name: str, length: int) -> list[int] | None:
        """A list of layer numbers, or None when absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.bad(name, "a list of layer numbers", value)
        found: list[int] = []
        for item in cast("Sequence[Any]", value):
            if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < length:
                raise self.bad(name, f"a list of layer numbers from 0 to {length - 1:,}", item)
            found.append(item)
        self.note(meaning, name, ", ".join(map(str, found)) or "none")
        return found

    def refuse_if_on(self, why: str, *names: str) -> None:
        """Refuse a model with a switch on (not null, 0 or false) whose sizes we do not count."""
        for name in names:
            if self.data.get(name):
                raise ConfigError(f"{self.name(name)} is {_given(self.data[name])}: {why}.")
