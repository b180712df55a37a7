"""A cell of the grid as an object, its names, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast, get_args, overload

import numpy as np

from core import cost, decode
from core.columns import Floats, Ints, floats, sealed
from core.gpu import GpuSpec
from core.grid import Grid
from core.model import ModelSpec
from core.prices import Edits, Terms, terms
from core.units import integer, plural

Count = Literal["together", "gpu", "dollar", "joule"]
COUNTS: tuple[Count, ...] = get_args(Count)
COUNT_LABELS: dict[Count, str] = {
    "together": "all users together",
    "gpu": "per GPU",
    "dollar": "per dollar",
    "joule": "per joule",
}

# These take columns as they take numbers; NaN is their unknown.
dollars_per_million_tokens = cast("Callable[..., Floats]", cost.dollars_per_million_tokens)
joules_per_million_tokens = cast("Callable[..., Floats]", cost.joules_per_million_tokens)


class Prices:
    """What devices cost an hour and draw, as `terms` and in columns: NaN where unknown."""

    __slots__ = ("dated", "high", "low", "power_w", "sources", "terms")

    def __init__(self, all_terms: Sequence[Terms]) -> None:
        """Of each device in order."""
        self.terms = tuple(all_terms)
        self.dated = tuple(one.dated for one in self.terms)
        self.sources = tuple(one.source for one in self.terms)
        self.low = sealed(floats([one.low for one in self.terms]))  # None becomes NaN
        self.high = sealed(floats([one.high for one in self.terms]))
        self.power_w = sealed(floats([one.power_w for one in self.terms]))

    def rate(self, count: Count) -> Floats | None:
        """What a count of tokens asks of each device; None where nothing."""
        return self.low if count == "dollar" else self.power_w if count == "joule" else None


@lru_cache(maxsize=16)
def prices(on_gpus: tuple[GpuSpec, ...], edits: Edits = ()) -> Prices:
    """What devices cost an hour and draw: the catalog's figures, but for the reader's own."""
    if not edits:
        return Prices([terms(gpu) for gpu in on_gpus])
    own = dict(edits)
    known = prices(on_gpus).terms
    return Prices(
        [terms(gpu, own[gpu.slug]) if gpu.slug in own else as_is for gpu, as_is in zip(on_gpus, known, strict=True)]
    )


def counted(tokens_per_s: Any, *, n_gpus: Any, rate: Any, count: Count) -> Any:
    """Tokens/s of all users together, per GPU, or tokens per dollar or joule; NaN if unknown.

    `rate` is what the count asks of one GPU: dollars an hour (the lower price), watts, or nothing.

    >>> round(counted(1990 / 3.6, n_gpus=1, rate=1.99, count="dollar"))
    1000000
    >>> round(counted(2800, n_gpus=2, rate=700, count="joule"))
    2
    """
    if count == "together":
        return tokens_per_s
    if count == "gpu":
        return tokens_per_s / n_gpus
    if count == "dollar":
        per_million = dollars_per_million_tokens(price_per_gpu_hour=rate, n_gpus=n_gpus, tokens_per_s=tokens_per_s)
    else:
        per_million = joules_per_million_tokens(tdp_w=rate, n_gpus=n_gpus, tokens_per_s=tokens_per_s)
    return cost.MILLION / np.where(per_million, per_million, np.nan)


@dataclass(frozen=True, slots=True)
class Speed:
    """The least time of a decode step at one batch; `expected_step_s` at the experts expected, None when dense."""

    batch: int
    step_s: float
    expected_step_s: float | None

    @property
    def tokens_per_s(self) -> float:
        """Ceiling of all users together."""
        return decode.system_tokens_per_s(batch=self.batch, step_s=self.step_s)

    @property
    def tokens_per_s_per_user(self) -> float:
        """Ceiling of one user."""
        return 1 / self.step_s

    @property
    def expected_tokens_per_s(self) -> float | None:
        """Ceiling of all users together at the experts expected; None when dense."""
        if self.expected_step_s is None:
            return None
        return decode.system_tokens_per_s(batch=self.batch, step_s=self.expected_step_s)


def model_name(model: ModelSpec) -> str:
    """The model, and its KV heads where they are a what-if."""
    return f"{model.name} ({plural(model.released_kv_heads[0], 'KV head')})" if model.is_hypothetical else model.name


def gpu_name(gpu: GpuSpec) -> str:
    """The device, marked where it is not on sale."""
    return f"{gpu.name} (preview)" if gpu.preview else gpu.name


@lru_cache(maxsize=1024)
def _group(name: str, vendor: str, n_gpus: int | None) -> str:
    name = name.removeprefix(f"{vendor} ")
    return f"{integer(n_gpus)} × {name}" if n_gpus and n_gpus > 1 else name


@lru_cache(maxsize=16)
def model_names(of_models: tuple[ModelSpec, ...]) -> tuple[str, ...]:
    """The name of each model."""
    return tuple(map(model_name, of_models))


@lru_cache(maxsize=16)
def gpu_names(on_gpus: tuple[GpuSpec, ...]) -> tuple[str, ...]:
    """The name of each device."""
    return tuple(map(gpu_name, on_gpus))


@dataclass(frozen=True, slots=True)
class Row:
    """One model on one kind of GPU: a cell of a grid, with what the device costs. Read from the columns when asked."""

    grid: Grid
    cell: int
    terms: Terms

    @property
    def model(self) -> ModelSpec:
        """The model, as released or with the KV heads of a what-if."""
        return self.grid.models[self.cell // len(self.grid.gpus)]

    @property
    def gpu(self) -> GpuSpec:
        """The device."""
        return self.grid.gpus[self.cell % len(self.grid.gpus)]

    @property
    def n_gpus(self) -> int | None:
        """The smallest number that holds one sequence, from the one asked for upwards; None where none does."""
        return int(self.grid.n_gpus[self.cell]) or None

    @property
    def fits_as_asked(self) -> bool:
        """Whether that is the number asked for."""
        return self.n_gpus == self.grid.asked.n_gpus

    @property
    def max_batch(self) -> int | None:
        """Users that fit; None where nothing does, or where a sequence takes no cache."""
        most = int(self.grid.most[self.cell])
        return most if most > 0 else None

    @property
    def ttft_s(self) -> float | None:
        """Least time to the first token."""
        return float(self.grid.ttft_s[self.cell]) if self.n_gpus else None

    @property
    def one(self) -> Speed | None:
        """One user on these GPUs."""
        if self.n_gpus is None:
            return None
        expected_s = self.grid.expected_step_s(np.array([self.cell]), np.array([[1]])).item()
        return self._speed(1, self.grid.one_s[self.cell], expected_s)

    @property
    def full(self) -> Speed | None:
        """As many users as fit, at most BATCH_MAX; None in the odd case that a sequence takes no cache."""
        batch = int(self.grid.batch[self.cell])
        return self._speed(batch, self.grid.full_s[self.cell], self.grid.expected_s[self.cell]) if batch else None

    def _speed(self, batch: int, step_s: float, expected_s: float) -> Speed:
        return Speed(batch, float(step_s), None if self.model.moe is None else float(expected_s))

    @property
    def model_name(self) -> str:
        """The model, and its KV heads where they are a what-if."""
        return model_name(self.model)

    @property
    def gpu_name(self) -> str:
        """The device, marked where it is not on sale."""
        return gpu_name(self.gpu)

    @property
    def group(self) -> str:
        """The devices with their number, without the vendor's name."""
        gpu = self.gpu
        return _group(gpu_name(gpu), gpu.vendor, self.n_gpus)

    def _dollars(self, price: float | None) -> float | None:
        if self.n_gpus is None or self.full is None:
            return None
        return cost.dollars_per_million_tokens(
            price_per_gpu_hour=price, n_gpus=self.n_gpus, tokens_per_s=self.full.tokens_per_s
        )

    @property
    def dollars_low(self) -> float | None:
        """Least dollars per million tokens at the lower price, all users busy."""
        return self._dollars(self.terms.low)

    @property
    def dollars_high(self) -> float | None:
        """Least dollars per million tokens at the higher price, all users busy."""
        return self._dollars(self.terms.high)

    @property
    def joules(self) -> float | None:
        """Joules per million tokens at the ceiling, all users busy."""
        if self.n_gpus is None or self.full is None:
            return None
        return cost.joules_per_million_tokens(
            tdp_w=self.terms.power_w, n_gpus=self.n_gpus, tokens_per_s=self.full.tokens_per_s
        )


class Rows(Sequence[Row]):
    """Some cells of a grid as rows, each made when it is looked at."""

    __slots__ = ("_grid", "_prices", "cells")

    def __init__(self, of_grid: Grid, at_prices: Prices, cells: Ints) -> None:
        """The cells in order."""
        self._grid, self._prices, self.cells = of_grid, at_prices, cells

    def __len__(self) -> int:
        return self.cells.size

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Rows: ...
    def __getitem__(self, place: int | slice) -> Row | Rows:
        if isinstance(place, slice):
            return Rows(self._grid, self._prices, self.cells[place])
        return self.row(int(self.cells[place]))

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, self.cells.tolist())

    def row(self, cell: int) -> Row:
        """The row of a cell, also of one that is not among these."""
        return Row(self._grid, cell, self._prices.terms[cell % len(self._grid.gpus)])


def rows(of_grid: Grid, edits: Edits = ()) -> Rows:
    """All cells of a grid as rows, at the reader's own prices and powers.

    >>> from core.catalog import gpus, models
    >>> from core.grid import grid
    >>> from core.scenario import Scenario
    >>> found = rows(grid(Scenario(), [models()["llama-3-8b"]], [gpus()["h100-sxm"]]))
    >>> [(row.group, row.max_batch, round(row.one.tokens_per_s)) for row in found]
    [('H100 SXM5', 56, 196)]
    """
    return Rows(of_grid, prices(of_grid.gpus, edits), np.arange(len(of_grid)))
