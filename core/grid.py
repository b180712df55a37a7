"""Models x GPUs in columns: GPUs needed and ceilings of every cell at once.

Each figure equals that of `evaluate` of the same model, device, number of GPUs and batch, to the last bit: it comes of
the same formulas in the same order, on columns of numbers. What hangs on the model alone is worked out once, by the
functions that `evaluate` uses. A column of models stands upright, one of devices lies flat, so that both make a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from core import decode, prefill
from core.cache_columns import CacheColumns, Pick, knots_of
from core.columns import SAFE, Floats, Ints, Whole, ceil_div, floats, sealed, whole
from core.evaluate import attention_flops_per_token, model_costs, prefill_attention_flops, reserve_bytes
from core.formats import CACHE_FORMATS, CacheFormatName, Peak, WeightFormat, WeightFormatName, resolve_weight_format
from core.gpu import GpuSpec
from core.kv_cache import CacheCurve
from core.model import ModelSpec
from core.scenario import BATCH_MAX, GPUS_MAX, Scenario, Split

# Formulas of operators alone take columns as they take numbers.
_group_rate = cast("Callable[..., Floats]", decode.group_rate)
_memory_time_s = cast("Callable[..., Floats]", decode.memory_time_s)
_compute_time_s = cast("Callable[..., Floats]", decode.compute_time_s)
_tokens_per_s = cast("Callable[..., Floats]", decode.system_tokens_per_s)

_FEW = 8  # numbers that are quicker one by one than as a column


def smallest_counts(
    at_low: Whole, shortfall: Callable[[Ints, Ints], Whole], *, low: int, high: int, rounding: Whole
) -> Ints:
    """For each cell the smallest n in [low, high] with a shortfall of at most 0; 0 where there is none.

    `shortfall(n, cells)` is that of some cells, each at its own count, convex in n up to `rounding`; `at_low` is that
    of all cells at `low`. Newton's method on whole numbers: by convexity no later GPU helps more than the next one, so
    a step that counts on the next one's help throughout never passes the first n that fits. Two or three steps instead
    of a search through a thousand counts, or one where no count is enough.

    >>> def linear(n, cells): return 100 - np.array([7, 20, 0])[cells] * n
    >>> smallest_counts(linear(1, np.arange(3)), linear, low=1, high=1024, rounding=np.zeros(3, int)).tolist()
    [15, 5, 0]
    """
    found = np.where(at_low <= 0, low, 0).astype(np.int64)
    cells = np.flatnonzero(found == 0)
    n, missing = np.full(cells.size, low), at_low[cells]
    while low < high and cells.size:
        help_of_next = missing - shortfall(n + 1, cells) + rounding[cells]
        missing = missing - rounding[cells]
        helps = help_of_next > 0
        steps = np.where(helps, np.maximum(1, ceil_div(missing, np.where(helps, help_of_next, 1))), 1)
        n = np.minimum(n + steps, high + 1).astype(np.int64)
        goes_on = (helps | (missing <= 0)) & (n <= high)
        n, cells = n[goes_on], cells[goes_on]
        missing = shortfall(n, cells)
        fits = missing <= 0
        found[cells[fits]] = n[fits]
        goes_on = ~fits & (n < high)
        n, cells, missing = n[goes_on], cells[goes_on], missing[goes_on]
    return found


# ---------------------------------------------------------------- models and devices


class _Bodies:
    """Models in given formats, in columns: all that neither context nor device changes."""

    __slots__ = ("costs", "heaviest", "mixtures", "models", "peaks", "read", "stored", "weights_read", "weights_stored")

    def __init__(
        self, of_models: tuple[ModelSpec, ...], formats: Sequence[WeightFormat], bits: float, split: Split, skip: bool
    ) -> None:
        knots = [knots_of(model, split) for model in of_models]
        costs = [
            [model_costs(model, fmt, bits, n, split) for n in (*at, GPUS_MAX)]
            for model, fmt, at in zip(of_models, formats, knots, strict=True)
        ]
        self.models = of_models
        self.peaks = [fmt.peak for fmt in formats]
        self.costs = [row[0] for row in costs]
        self.mixtures = frozenset(i for i, model in enumerate(of_models) if model.moe is not None)
        self.stored = CacheColumns(knots, [[at.stored for at in row] for row in costs])
        # Without an indexer a step reads all that is stored.
        reads_all = all(_terms(at.stored) == _terms(at.read) for row in costs for at in row)
        self.read = self.stored if reads_all else CacheColumns(knots, [[at.read for at in row] for row in costs])
        stored = [at.weights.stored_bytes for at in self.costs]
        read = [int(at.weights.read_bytes(skip_embedding=skip)) for at in self.costs]
        self.heaviest = max(stored)
        self.weights_stored = sealed(whole(stored, is_safe=self.heaviest < SAFE)[:, None])
        self.weights_read = sealed(whole(read, is_safe=self.heaviest < SAFE)[:, None])


def _terms(curve: CacheCurve) -> tuple[object, ...]:
    return curve.denominator, curve.constant, curve.endless, curve.spans


@lru_cache(maxsize=8)
def _bodies(
    of_models: tuple[ModelSpec, ...], weights: WeightFormatName, cache: CacheFormatName, split: Split, skip: bool
) -> _Bodies:
    formats = [resolve_weight_format(weights, model.native_format, model.native_wide) for model in of_models]
    return _Bodies(of_models, formats, CACHE_FORMATS[cache].bits, split, skip)


class _Devices:
    """Devices in columns."""

    __slots__ = ("bandwidth", "largest", "memory", "peaks", "rounding")

    def __init__(self, on_gpus: tuple[GpuSpec, ...]) -> None:
        memory = [gpu.memory_bytes for gpu in on_gpus]
        self.largest = max(memory)
        is_safe = self.largest < SAFE
        self.memory = sealed(whole(memory, is_safe=is_safe)[None, :])
        # Bytes are rounded at the reserve and at the cache; past 2**53 the reserve is a float's rounding off.
        self.rounding = sealed(whole((4 + (size * GPUS_MAX >> 51) for size in memory), is_safe=is_safe)[None, :])
        self.bandwidth = sealed(floats([gpu.bandwidth_bytes_per_s for gpu in on_gpus])[None, :])
        names: tuple[Peak | None, ...] = (None, *get_args(Peak))
        self.peaks = {name: sealed(floats([gpu.peak_flops_per_s(name) for gpu in on_gpus])) for name in names}


@lru_cache(maxsize=32)
def _devices(on_gpus: tuple[GpuSpec, ...]) -> _Devices:
    return _Devices(on_gpus)


# ---------------------------------------------------------------- cells


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of every cell: a scenario without model, device and batch."""

    n_gpus: int
    split: Split
    context: int
    weight_format: WeightFormatName
    cache_format: CacheFormatName
    reserve: float
    skip_embedding: bool


class _Load:
    """Models and devices in columns, at a context."""

    __slots__ = (
        "asked",
        "bandwidth",
        "bodies",
        "exact_read",
        "memory",
        "peak",
        "prompt_flops",
        "read",
        "rounding",
        "stored",
        "token_flops",
        "weights_read",
        "weights_stored",
    )

    def __init__(self, bodies: _Bodies, devices: _Devices, asked: Asked) -> None:
        context = asked.context
        # No product is larger than these: one sequence's cache on the most GPUs, and memory and weights in parts of a
        # byte, since the batches that are worked out take no more than their room.
        in_parts = max(devices.largest * GPUS_MAX, bodies.heaviest) * max(bodies.stored.finest, bodies.read.finest)
        is_safe = max(bodies.stored.largest, bodies.read.largest, in_parts) < SAFE
        kind = np.int64 if is_safe else object
        self.asked = asked
        self.bodies = bodies
        self.memory: Whole = devices.memory.astype(kind, copy=False)
        self.bandwidth = devices.bandwidth
        self.peak = np.array([devices.peaks[name] for name in bodies.peaks])
        self.weights_stored: Whole = bodies.weights_stored.astype(kind, copy=False)
        self.weights_read: Whole = bodies.weights_read.astype(kind, copy=False)
        self.rounding: Whole = devices.rounding.astype(kind, copy=False)
        self.stored = bodies.stored.at(context, is_safe=is_safe)
        self.read = self.stored if bodies.read is bodies.stored else bodies.read.at(context, is_safe=is_safe)
        attention = [attention_flops_per_token(model, context) for model in bodies.models]
        per_token = [c.step_flops(attention_flops=a, tokens=1) for c, a in zip(bodies.costs, attention, strict=True)]
        prompts = [
            prefill.linear_flops(body_params=c.body_params, head_params=c.head_params, context=context, batch=1)
            + prefill_attention_flops(model, context)
            for c, model in zip(bodies.costs, bodies.models, strict=True)
        ]
        self.token_flops = floats(per_token)[:, None]
        self.prompt_flops = floats(prompts)[:, None]
        # Layers split, the cache is the same on any number of GPUs.
        exact = [c.read.exact_bytes(context) for c in bodies.costs] if asked.split == "layer" else []
        self.exact_read = floats(exact)[:, None]

    def room(self, n_gpus: Ints, pick: Pick) -> Whole:
        """Memory that weights and reserve leave to the cache; negative where they do not fit."""
        capacity = pick(self.memory) * n_gpus
        return capacity - _reserves(capacity, self.asked.reserve) - pick(self.weights_stored)

    def shortfall(self, n_gpus: Ints, pick: Pick) -> Whole:
        """Bytes that one sequence has too few."""
        return self.stored.rounded_up(self.stored.scaled(n_gpus, pick), pick) - self.room(n_gpus, pick)

    def gpus_needed(self) -> Ints:
        """By cell the smallest number of GPUs, from the one asked for upwards, that holds one sequence; 0: none."""
        low, n_devices = self.asked.n_gpus, self.memory.shape[1]
        found = smallest_counts(
            self.shortfall(np.array(low), _all).ravel(),
            lambda n, cells: self.shortfall(n[:, None], _picking(cells, n_devices)).ravel(),
            low=low,
            high=GPUS_MAX,
            rounding=np.broadcast_to(self.rounding, self.peak.shape).ravel(),
        )
        return found.reshape(self.peak.shape)


def _all(column: NDArray[Any]) -> NDArray[Any]:
    """Of all cells, in the form of a grid."""
    return column


def _picking(cells: Ints, n_devices: int) -> Pick:
    """Of some cells, upright."""
    of, on = cells // n_devices, cells % n_devices

    def pick(column: NDArray[Any]) -> NDArray[Any]:
        upright, flat = column.shape
        if upright == flat == 1:
            return column  # the same for all
        return column[of if upright > 1 else 0, on if flat > 1 else 0][:, None]

    return pick


def _reserves(capacity: Whole, share: float) -> Whole:
    """`reserve_bytes` of each."""
    if capacity.dtype == object:
        found = [reserve_bytes(capacity=int(one), share=share) for one in capacity.ravel()]
        return np.array(found, dtype=object).reshape(capacity.shape)
    return np.rint(capacity * share).astype(np.int64)


class _Groups:
    """Cells on so many GPUs each: what a decode step of any batch takes."""

    __slots__ = (
        "_bandwidth",
        "_load",
        "_models",
        "_n_gpus",
        "_peak",
        "_pick",
        "_scaled",
        "_token_flops",
        "_weights_read",
    )

    def __init__(self, load: _Load, n_gpus: Ints, pick: Pick, of_models: Sequence[int]) -> None:
        """`of_models`: whose model each row is."""
        split = load.asked.split
        self._load, self._n_gpus, self._pick, self._models = load, n_gpus, pick, of_models
        self._bandwidth = _group_rate(one=pick(load.bandwidth), n_gpus=n_gpus, split=split)
        self._peak = _group_rate(one=pick(load.peak), n_gpus=n_gpus, split=split)
        self._scaled = load.read.scaled(n_gpus, pick)
        self._weights_read, self._token_flops = pick(load.weights_read), pick(load.token_flops)

    def _passing(self, batch: Ints) -> tuple[NDArray[Any], Whole, Floats | None]:
        """Tokens that pass one GPU, the cache bytes they read, and where tokens are no whole number, those not rounded.

        `decode.tokens_on_one_gpu` and `Costs.kv_read_bytes` in columns.
        """
        load, pick = self._load, self._pick
        if load.asked.split == "tensor":
            return batch, load.read.rounded_up(self._scaled * batch, pick), None
        tokens = np.maximum(1.0, batch / self._n_gpus)
        whole_tokens = np.floor(tokens)
        kv_read = load.read.rounded_up(self._scaled * whole_tokens.astype(np.int64), pick)
        return tokens, kv_read, np.where(tokens == whole_tokens, np.nan, pick(load.exact_read) * tokens)

    def _step_s(self, weights: NDArray[Any], kv_read: Whole, parts: Floats | None, tokens: NDArray[Any]) -> Floats:
        bytes_read = floats(weights + kv_read)
        if parts is not None:
            bytes_read = np.where(np.isnan(parts), bytes_read, floats(weights) + parts)
        memory_s = _memory_time_s(bytes_read=bytes_read, bandwidth_bytes_per_s=self._bandwidth)
        compute_s = _compute_time_s(flops=tokens * self._token_flops, peak_flops_per_s=self._peak)
        return np.maximum(memory_s, compute_s)

    def step_s(self, batch: Ints) -> Floats:
        """Least time of a step."""
        tokens, kv_read, parts = self._passing(batch)
        return self._step_s(self._weights_read, kv_read, parts, tokens)

    def expected_s(self, batch: Ints) -> Floats:
        """The same at the experts expected; NaN where there are none."""
        bodies, skip = self._load.bodies, self._load.asked.skip_embedding
        rows = [row for row, model in enumerate(self._models) if model in bodies.mixtures]
        usual = np.full(batch.shape, np.nan)
        if not rows:
            return usual
        tokens, kv_read, parts = self._passing(batch)
        for row in rows:
            read_bytes = cast("Callable[..., Floats]", bodies.costs[self._models[row]].weights.read_bytes)
            at = tokens[row]
            if at.size < _FEW:
                usual[row] = [read_bytes(skip_embedding=skip, tokens=one) for one in at.tolist()]
            else:
                usual[row] = read_bytes(skip_embedding=skip, tokens=at)
        return self._step_s(usual, kv_read, parts, tokens)

    def largest_batch(self) -> Whole:
        """Most sequences that fit; -1 where one takes no cache. `CacheCurve.largest_batch` in columns."""
        load, pick = self._load, self._pick
        scaled = load.stored.scaled(self._n_gpus, pick)
        room = load.stored.in_parts(load.room(self._n_gpus, pick), pick)
        takes = scaled > 0
        return np.where(takes, room // np.where(takes, scaled, 1), -1)

    def ttft_s(self) -> Floats:
        """Least time to the first token of one prompt; all GPUs work on it, whatever the split. `prefill.ttft_s`."""
        load, pick = self._load, self._pick
        compute_s = pick(load.prompt_flops) / (pick(load.peak) * self._n_gpus)
        return np.maximum(compute_s, floats(self._weights_read) / self._bandwidth)


class Grid:
    """Every model on every device, model by model, in columns with an entry for each cell.

    `n_gpus` is the smallest number, from the one asked for upwards, on which weights, one sequence's cache and the
    reserve fit; 0 where GPUS_MAX are not enough. `most` users fit on them, or -1 for no limit in the odd case that a
    sequence takes no cache; `batch` is the same up to BATCH_MAX, or 0. `one_s` is the step of one user, `full_s` that
    of `batch` users, `expected_s` the same at the experts expected. What does not apply is 0, or NaN among floats.
    """

    __slots__ = (
        "_load",
        "batch",
        "expected_s",
        "full_s",
        "gpus",
        "models",
        "most",
        "n_gpus",
        "one_s",
        "order",
        "tokens_per_s",
        "ttft_s",
    )

    def __init__(self, of_models: tuple[ModelSpec, ...], on_gpus: tuple[GpuSpec, ...], asked: Asked) -> None:
        """Work it out; nothing changes afterwards."""
        a = asked
        bodies = _bodies(of_models, a.weight_format, a.cache_format, a.split, a.skip_embedding)
        self.models, self.gpus = of_models, on_gpus
        self._load = _Load(bodies, _devices(on_gpus), asked)
        needed = self._load.gpus_needed()
        groups = _Groups(self._load, np.maximum(needed, 1), _all, range(len(of_models)))
        fits = needed > 0
        most = np.where(fits, groups.largest_batch(), 0)
        batch = np.where(most > 0, np.minimum(most, BATCH_MAX), 0).astype(np.int64)
        is_full, users = batch > 0, np.maximum(batch, 1)
        self.n_gpus: Ints = sealed(needed.ravel())
        self.most: Whole = sealed(most.ravel())
        self.batch: Ints = sealed(batch.ravel())
        self.ttft_s: Floats = sealed(np.where(fits, groups.ttft_s(), np.nan).ravel())
        one_s, full_s = groups.step_s(np.stack((np.ones_like(users), users)))
        self.one_s: Floats = sealed(np.where(fits, one_s, np.nan).ravel())
        self.full_s: Floats = sealed(np.where(is_full, full_s, np.nan).ravel())
        self.expected_s: Floats = sealed(np.where(is_full, groups.expected_s(users), np.nan).ravel())
        self.tokens_per_s: Floats = sealed(_tokens_per_s(batch=self.batch, step_s=self.full_s))
        self.order = sealed(self._fewest_gpus_first())

    def _fewest_gpus_first(self) -> Ints:
        """All cells by GPUs needed, then most tokens first; what fits nowhere comes last, ties stay as they are."""
        by_tokens = np.argsort(-np.nan_to_num(self.tokens_per_s), kind="stable")
        n = np.where(self.n_gpus > 0, self.n_gpus, GPUS_MAX + 1).astype(np.int16)  # a radix sort
        return by_tokens[np.argsort(n[by_tokens], kind="stable")]

    @property
    def asked(self) -> Asked:
        """What was asked of every cell."""
        return self._load.asked

    def __len__(self) -> int:
        return self.n_gpus.size

    def of(self, cells: Ints) -> Ints:
        """Places of their models among `models`."""
        return cells // len(self.gpus)

    def on(self, cells: Ints) -> Ints:
        """Places of their devices among `gpus`."""
        return cells % len(self.gpus)

    def models_of(self, cells: Ints) -> list[ModelSpec]:
        """Each of their models once, in the order in which they come."""
        return [self.models[place] for place in _in_order(self.of(cells), len(self.models))]

    def gpus_of(self, cells: Ints) -> list[GpuSpec]:
        """Each of their devices once, in the order in which they come."""
        return [self.gpus[place] for place in _in_order(self.on(cells), len(self.gpus))]

    def steps_of(self, cells: Ints) -> Callable[[Ints], Floats]:
        """Least time of a step of some cells that fit, a row each, as a function of the batches of each row."""
        return self._groups(cells).step_s

    def expected_step_s(self, cells: Ints, batches: Ints) -> Floats:
        """The same at the experts expected, at the batches of each row; NaN when dense."""
        return self._groups(cells).expected_s(batches)

    def _groups(self, cells: Ints) -> _Groups:
        pick = _picking(cells, len(self.gpus))
        return _Groups(self._load, self.n_gpus[cells][:, None], pick, self.of(cells).tolist())


def _in_order(places: Ints, n_places: int) -> list[int]:
    first = np.full(n_places, places.size)
    first[places[::-1]] = np.arange(places.size)[::-1]  # of several, the last one written stays
    found: list[int] = np.argsort(first)[: np.count_nonzero(first < places.size)].tolist()
    return found


@lru_cache(maxsize=4)
def _grid(of_models: tuple[ModelSpec, ...], on_gpus: tuple[GpuSpec, ...], asked: Asked) -> Grid:
    return Grid(of_models, on_gpus, asked)


def grid(scenario: Scenario, of_models: Iterable[ModelSpec], on_gpus: Iterable[GpuSpec]) -> Grid:
    """Every model on every device at the scenario's context and formats; models as released, but for its own.

    >>> from core.catalog import gpus, models
    >>> found = grid(Scenario(), [models()["llama-3-8b"], models()["llama-3-70b"]], [gpus()["h100-sxm"]])
    >>> found.n_gpus.tolist(), found.most.tolist(), (1 / found.one_s).round().tolist()
    ([1, 2], [56, 4], [196.0, 47.0])
    """
    s = scenario
    asked = Asked(s.n_gpus, s.split, s.context, s.weight_format, s.cache_format, s.reserve, s.skip_embedding)
    own, spec = s.released_model, s.model_spec
    return _grid(
        tuple(spec if model.slug == own.slug and model == own else model for model in of_models), tuple(on_gpus), asked
    )
