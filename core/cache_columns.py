"""Cache bytes of one sequence of many models at once, against context and number of GPUs; whole and exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.columns import SAFE, Ints, Whole, ceil_div, sealed, whole
from core.kv_cache import CacheCurve
from core.model import CONTEXT_MAX, ModelSpec, SoftmaxAttention
from core.scenario import GPUS_MAX, Split

Pick = Callable[[NDArray[Any]], NDArray[Any]]  # from a column of models or devices what each cell needs


def knots_of(model: ModelSpec, split: Split) -> tuple[int, ...]:
    """The numbers of GPUs from which on a model's cache grows in another way.

    >>> from core.catalog import models
    >>> knots_of(models()["llama-3-8b"], "tensor"), knots_of(models()["llama-3-8b"], "layer")
    ((1, 8), (1,))
    """
    heads = {group.attention.n_kv for group in model.groups if isinstance(group.attention, SoftmaxAttention)}
    return (1, *sorted(n for n in heads if 1 < n < GPUS_MAX)) if split == "tensor" else (1,)


class CacheColumns:
    """Cache bytes of one sequence of each model, against context and number of GPUs.

    From knot to knot, the counts from which on some layer repeats its KV heads, it is linear in the number of GPUs: so
    much on one GPU, and from each knot on so much more for each further one. Each is linear in the context, from span
    to span, so the curves of all models make one curve of columns. Whole numbers over a denominator, both reduced.
    """

    __slots__ = ("_curve", "_denominators", "_knots", "finest", "largest")

    def __init__(self, knots: Sequence[tuple[int, ...]], curves: Sequence[Sequence[CacheCurve]]) -> None:
        """One row a model: its knots, and its curves at these and at GPUS_MAX."""
        n_knots = max(map(len, knots))
        spans = sorted({span for row in curves for curve in row for span, _ in curve.spans})
        rows = [_rises(at, row, spans, n_knots) for at, row in zip(knots, curves, strict=True)]
        ends = [int(row[-1].scaled(CONTEXT_MAX)) // found.divisor for row, found in zip(curves, rows, strict=True)]
        denominators = [row[0].denominator // found.divisor for row, found in zip(curves, rows, strict=True)]
        self.finest = max(denominators)
        self.largest = max(self.finest, *ends)
        is_safe = self.largest < SAFE
        self._denominators = sealed(whole(denominators, is_safe=is_safe)[:, None])
        padded = [(*at, *[1] * n_knots) for at in knots]
        self._knots = [sealed(np.array([at[i] for at in padded])[:, None]) for i in range(n_knots)]
        columns = [
            np.stack([whole((row.numbers[c][k] for row in rows), is_safe=is_safe) for k in range(n_knots + 1)])
            for c in range(2 + len(spans))
        ]
        curve: Any = CacheCurve((), bits=0)
        curve.constant, curve.endless, *slopes = (sealed(column[:, :, None]) for column in columns)
        curve.spans = tuple(zip(spans, slopes, strict=True))
        self._curve = curve

    def at(self, context: int, *, is_safe: bool) -> CacheLines:
        """The same at one context; not `is_safe`: products of these numbers may be past 64 bits."""
        kind = np.int64 if is_safe else object
        base, *rises = self._curve.scaled(context).astype(kind, copy=False)
        return CacheLines(
            base,
            [(knot, rise) for knot, rise in zip(self._knots, rises, strict=True) if rise.any()],
            None if self.finest == 1 else self._denominators.astype(kind, copy=False),
        )


@dataclass(frozen=True, slots=True, eq=False)
class CacheLines:
    """Cache of one sequence of each model against the number of GPUs, in whole parts of a byte."""

    base: Whole
    rises: list[tuple[Ints, Whole]]
    denominators: Whole | None  # parts of a byte; None: whole bytes

    def scaled(self, n_gpus: Ints, pick: Pick) -> Whole:
        """On so many GPUs."""
        total = pick(self.base)
        for knot, rise in self.rises:
            total = total + pick(rise) * np.maximum(n_gpus - pick(knot), 0)
        return total

    def rounded_up(self, scaled: Whole, pick: Pick) -> Whole:
        """So many parts in bytes."""
        return scaled if self.denominators is None else ceil_div(scaled, pick(self.denominators))

    def in_parts(self, n_bytes: Whole, pick: Pick) -> Whole:
        """Bytes in these parts."""
        return n_bytes if self.denominators is None else n_bytes * pick(self.denominators)


@dataclass(frozen=True, slots=True)
class _Rises:
    """By coefficient (constant, endless, each span's) its value on one GPU and its rise at each knot, reduced."""

    divisor: int
    numbers: list[list[int]]


def _rises(knots: tuple[int, ...], curves: Sequence[CacheCurve], spans: Sequence[int], n_knots: int) -> _Rises:
    ends = (*knots, GPUS_MAX)
    slopes_at = [dict(curve.spans) for curve in curves]
    coefficients = [[curve.constant for curve in curves], [curve.endless for curve in curves]]
    coefficients += [[slopes.get(span, 0) for slopes in slopes_at] for span in spans]
    found: list[list[int]] = []
    for values in coefficients:
        slopes = [(values[i + 1] - values[i]) // (ends[i + 1] - ends[i]) for i in range(len(knots))]
        rises = [slope - before for slope, before in zip(slopes, [0, *slopes], strict=False)]
        found.append([values[0], *rises, *[0] * (n_knots - len(knots))])
    divisor = math.gcd(curves[0].denominator, *(number for row in found for number in row))
    return _Rises(divisor, [[number // divisor for number in row] for row in found])
