"""What the code says of itself: the symbols, and every formula with its docstring, read from the modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import core
from core import cost, decode, kv_cache, paging, prefill, roofline, speculation, weights

MODULES: tuple[ModuleType, ...] = (kv_cache, weights, decode, prefill, roofline, paging, speculation, cost)
SECTIONS = ("Args", "Returns", "Raises")
PROMPT = ">>>"


@dataclass(frozen=True, slots=True)
class Formula:
    """One public function of the formula modules, as its docstring presents it."""

    name: str  # as "kv_cache.tokens_kept"
    signature: str
    paragraphs: tuple[str, ...]  # sentence, formula, assumptions, source
    sections: tuple[tuple[str, tuple[str, ...]], ...]  # Args, Returns, Raises and their lines
    example: str  # the doctest; empty where there is none
    call: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One module: its own sentence and its formulas in the order of the file."""

    name: str
    about: str
    formulas: tuple[Formula, ...]


def symbols() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows of the list of symbols in the package's docstring.

    >>> header, rows = symbols()
    >>> header, rows[0]
    (('symbol', 'meaning', 'unit'), ('L', 'layers', 'count'))
    """
    lines = [line for line in (core.__doc__ or "").splitlines() if line.startswith("|")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return cells[0], cells[2:]


@lru_cache(maxsize=1)
def chapters() -> tuple[Chapter, ...]:
    """Every formula module with its public functions.

    >>> [chapter.name for chapter in chapters()][:2]
    ['kv_cache', 'weights']
    """
    return tuple(
        Chapter(_short(module), _joined((module.__doc__ or "").splitlines()), tuple(map(_read, _functions(module))))
        for module in MODULES
    )


def function(name: str) -> Callable[..., Any]:
    """The formula called "module.function"; ValueError when there is no such public function.

    >>> function("kv_cache.tokens_kept")(context=8)
    8
    """
    found = {formula.name: formula.call for chapter in chapters() for formula in chapter.formulas}
    if name not in found:
        raise ValueError(f"{name} is no public function of {', '.join(_short(module) for module in MODULES)}")
    return found[name]


def _short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines).strip()


def _functions(module: ModuleType) -> list[Callable[..., Any]]:
    own = [f for f in vars(module).values() if inspect.isfunction(f) and f.__module__ == module.__name__]
    return [f for f in own if not f.__name__.startswith("_")]


def _signature(f: Callable[..., Any]) -> str:
    found = inspect.signature(f)
    parts: list[str] = []
    for name, parameter in found.parameters.items():
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{name}: {parameter.annotation}{default}")
    return f"{f.__name__}({', '.join(parts)}) -> {found.return_annotation}"


def _read(f: Callable[..., Any]) -> Formula:
    paragraphs: list[str] = []
    sections: list[tuple[str, tuple[str, ...]]] = []
    example: list[str] = []
    for block in (inspect.getdoc(f) or "").split("\n\n"):
        lines = block.splitlines()
        opening = lines[0] if lines else ""
        if opening.startswith(PROMPT):
            example += lines
        elif opening.removesuffix(":") in SECTIONS and opening.endswith(":"):
            sections.append((opening.removesuffix(":"), _items(lines[1:])))
        else:
            paragraphs.append(_joined(lines))
    module = inspect.getmodule(f)
    name = f"{_short(module)}.{f.__name__}" if module else f.__name__
    return Formula(name, _signature(f), tuple(paragraphs), tuple(sections), "\n".join(example), f)


def _items(lines: list[str]) -> tuple[str, ...]:
    """The entries of a section: a line that is indented further continues the one before."""
    least = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    found: list[str] = []
    for line in lines:
        if found and len(line) - len(line.lstrip()) > least:
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.strip())
    return tuple(found)
