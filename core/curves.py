"""Latency against throughput: rows from one user to as many as fit, and the Pareto front above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from core.columns import Flags, Floats, Ints, sealed
from core.grid import Grid
from core.rows import Count, Prices, Row, Rows, counted
from core.stops import BATCH_STOPS


@dataclass(frozen=True, slots=True)
class Point:
    """A row at one batch: a place to run it. `throughput` is its tokens/s as the picture counts them."""

    row: Row
    batch: int
    step_s: float  # time per output token of one user
    throughput: float

    @property
    def tokens_per_s(self) -> float:
        """Ceiling of all users together."""
        return self.batch / self.step_s


def batches_to(most: int) -> list[int]:
    """Batches to draw a row at: powers of two, of four beyond the sliders' stops, and the largest that fits.

    >>> batches_to(10), batches_to(20_000)[-3:]
    ([1, 2, 4, 8, 10], [4096, 16384, 20000])
    """
    found = [stop for stop in BATCH_STOPS if stop < most]
    step = BATCH_STOPS[-1] * 4
    while step < most:
        found.append(step)
        step *= 4
    return [*found, most]


def pareto(step_s: Floats, throughput: Floats) -> Ints:
    """Places of the Pareto front: the points that no other dominates, from the least latency to the most throughput.

    Better is to the left (time per output token of one user, lower) and up (throughput): a point dominates another
    that it is at least as good as both ways, and better than one way. Points equal both ways are all on the front or
    all off it. One sort and one sweep: the skyline of two dimensions.

    >>> pareto(np.array([0.02, 0.01, 0.04]), np.array([400.0, 100.0, 300.0])).tolist()
    [1, 0]
    """
    places = np.lexsort((-throughput, step_s))
    x, y = step_s[places], throughput[places]
    leads, is_new = np.ones(x.size, dtype=np.bool_), np.ones(x.size, dtype=np.bool_)
    leads[1:] = y[1:] > np.maximum.accumulate(y)[:-1]
    is_new[1:] = (x[1:] != x[:-1]) | (y[1:] != y[:-1])
    # The first of equal points speaks for all.
    return places[leads if is_new.all() else leads[is_new][np.cumsum(is_new) - 1]]


@dataclass(frozen=True, slots=True, eq=False)
class Curves(Sequence[tuple[Point, ...]]):
    """Rows along the batches in columns, a line each; as points when they are looked at.

    Not every line is taken at every batch. `is_drawn` leaves out the batches that only other rows need; the last one
    is as many users as fit.
    """

    rows: Rows
    batches: Ints
    is_taken: Flags
    is_drawn: Flags
    step_s: Floats
    throughput: Floats
    front: tuple[Point, ...]  # from the least latency to the most throughput

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> tuple[Point, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[Point, ...]]: ...
    def __getitem__(self, place: int | slice) -> tuple[Point, ...] | list[tuple[Point, ...]]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        taken = self.is_taken[place]
        columns = (self.batches[place], self.step_s[place], self.throughput[place])
        row = self.rows[place]
        return tuple(Point(row, *numbers) for numbers in zip(*(c[taken].tolist() for c in columns), strict=True))

    @property
    def full(self) -> list[Point]:
        """Each row at as many users as fit."""
        columns = (column[:, -1].tolist() for column in (self.batches, self.step_s, self.throughput))
        return [Point(row, *numbers) for row, *numbers in zip(self.rows, *columns, strict=True)]


def curves(of_grid: Grid, at_prices: Prices, cells: Ints, count: Count = "together") -> Curves:
    """The cells that hold somebody, and have the figure that tokens are counted by, from one user to as many as fit.

    Where a row ends on the front, all others that hold as many users are taken at that batch too: what is as fast at
    equal batch is then equal in the picture, and nothing leads only because another was not looked at there.

    >>> from core.catalog import gpus, models
    >>> from core.grid import grid
    >>> from core.rows import prices
    >>> from core.scenario import Scenario
    >>> one = grid(Scenario(), [models()["llama-3-8b"]], [gpus()["h100-sxm"]])
    >>> [point.batch for point in curves(one, prices(one.gpus), np.array([0]))[0]]
    [1, 2, 4, 8, 16, 32, 56]
    """
    cells = cells[of_grid.batch[cells] > 0]
    rate = at_prices.rate(count)
    if rate is not None:
        rate = rate[of_grid.on(cells)]
        is_known = ~np.isnan(counted(1.0, n_gpus=of_grid.n_gpus[cells], rate=rate, count=count))
        cells, rate = cells[is_known], rate[is_known, None]
    n_gpus, most = of_grid.n_gpus[cells, None], of_grid.batch[cells, None]
    step_s_at = of_grid.steps_of(cells)

    def taken_at(batches: Ints) -> tuple[Ints, Flags, Floats, Floats]:
        """All rows at these batches below their own most, and at that; what is not taken is worked out at one user."""
        is_taken = np.ones((cells.size, batches.size + 1), dtype=np.bool_)
        is_taken[:, :-1] = batches < most
        taken = np.ones(is_taken.shape, dtype=np.int64)
        taken[:, :-1], taken[:, -1:] = batches, most
        taken[~is_taken] = 1
        step_s = step_s_at(taken)
        throughput = counted(taken / step_s, n_gpus=n_gpus, rate=rate, count=count)
        return sealed(taken), sealed(is_taken), sealed(step_s), sealed(throughput)

    stops = batches_to(int(most.max(initial=1)))[:-1]
    batches, is_taken, step_s, throughput = taken_at(np.array(stops, dtype=np.int64))
    lines, places = _front(is_taken, step_s, throughput)
    ends = set(most[lines[places == len(stops)], 0].tolist()).difference(stops)
    is_stop = np.ones(len(stops) + 1, dtype=np.bool_)
    if ends:
        all_batches = sorted({*stops, *ends})
        is_stop = np.array([*(batch not in ends for batch in all_batches), True])
        # What was off the front stays off it.
        candidates = np.zeros((cells.size, is_stop.size), dtype=np.bool_)
        candidates[lines, np.flatnonzero(is_stop)[places]] = True
        batches, is_taken, step_s, throughput = taken_at(np.array(all_batches, dtype=np.int64))
        candidates |= is_taken & ~is_stop
        lines, places = _front(candidates, step_s, throughput)
    is_drawn = sealed(is_taken & is_stop)
    shown = Rows(of_grid, at_prices, cells)
    places_of: list[int] = lines.tolist()
    rows = {line: shown[line] for line in set(places_of)}
    columns = (column[lines, places].tolist() for column in (batches, step_s, throughput))
    front = tuple(Point(rows[line], *numbers) for line, *numbers in zip(places_of, *columns, strict=True))
    return Curves(shown, batches, is_taken, is_drawn, step_s, throughput, front)


def _front(is_taken: Flags, step_s: Floats, throughput: Floats) -> tuple[Ints, Ints]:
    """Lines and columns of the front."""
    lines, places = np.nonzero(is_taken)
    front = pareto(step_s[is_taken], throughput[is_taken])
    return lines[front], places[front]
