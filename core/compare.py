"""Models x GPUs: GPUs needed, ceilings, cost, and the front of latency against throughput.

Each cell is `evaluate()` of the scenario with that model, device, number of GPUs and batch, without building a scenario
for it: what depends on the model alone is worked out once, the rest by the same functions of plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, Protocol, TypeVar, get_args

from core import cost, decode, prefill
from core.catalog import gpus, models
from core.evaluate import (
    Costs,
    attention_flops_per_token,
    model_costs,
    prefill_attention_flops,
    reserve_bytes,
)
from core.formats import Peak
from core.gpu import GpuSpec
from core.model import ModelSpec
from core.prices import Edit, Edits, Terms, terms
from core.scenario import BATCH_MAX, GPUS_MAX, Scenario
from core.stops import BATCH_STOPS
from core.units import integer, plural

Over = Literal["gpus", "models", "all"]
OVERS: tuple[Over, ...] = get_args(Over)
OVER_LABELS: dict[Over, str] = {
    "gpus": "this model on all GPUs",
    "models": "this GPU for all models",
    "all": "all models on all GPUs",
}
Count = Literal["together", "gpu", "dollar", "joule"]
COUNTS: tuple[Count, ...] = get_args(Count)
COUNT_LABELS: dict[Count, str] = {
    "together": "all users together",
    "gpu": "per GPU",
    "dollar": "per dollar",
    "joule": "per joule",
}
AT_MOST = 8  # GPUs in one server, the usual largest group without a network between
AT_MOST_STOPS = (1, 2, 4, AT_MOST, 16, 64, 0)  # 0: any number, also where none is enough
CHART_ROWS = 82  # more would be a cloud: the whole grid is drawn as a map instead


class HasPlace(Protocol):
    """Something with a place in the picture of latency against throughput."""

    @property
    def step_s(self) -> float:
        """Time per output token of one user: lower is better."""
        ...

    @property
    def throughput(self) -> float:
        """Tokens of all users, however counted: higher is better."""
        ...


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


@dataclass(frozen=True, slots=True)
class Row:
    """One model on one kind of GPU, at the scenario's context and formats.

    `n_gpus` is the smallest number, from the scenario's own upwards, on which weights, one sequence's cache and the
    reserve fit; None, with all that follows, when GPUS_MAX are not enough. `one` is one user on them, `full` as many
    as fit (at most BATCH_MAX; None in the odd case that a sequence takes no cache).
    """

    model: ModelSpec
    gpu: GpuSpec
    terms: Terms
    fits_as_asked: bool
    n_gpus: int | None
    max_batch: int | None = None
    ttft_s: float | None = None
    one: Speed | None = None
    full: Speed | None = None

    @property
    def model_name(self) -> str:
        """The model, and its KV heads where they are a what-if."""
        if not self.model.is_hypothetical:
            return self.model.name
        return f"{self.model.name} ({plural(self.model.released_kv_heads[0], 'KV head')})"

    @property
    def gpu_name(self) -> str:
        """The device, marked where it is not on sale."""
        return f"{self.gpu.name} (preview)" if self.gpu.preview else self.gpu.name

    @property
    def group(self) -> str:
        """The devices with their number, without the vendor's name."""
        name = self.gpu_name.removeprefix(f"{self.gpu.vendor} ")
        return f"{integer(self.n_gpus)} × {name}" if self.n_gpus and self.n_gpus > 1 else name

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


def smallest_count(shortfall: Callable[[int], int], *, low: int, high: int, rounding: int) -> int | None:
    """Smallest n in [low, high] with shortfall(n) <= 0, for a shortfall convex in n up to `rounding`; None if none.

    Newton's method on whole numbers: by convexity no later GPU helps more than the next one, so a step that counts on
    the next one's help throughout never passes the first n that fits. Two or three steps instead of a search through
    a thousand counts, or one where no count is enough.

    >>> smallest_count(lambda n: 100 - 7 * n, low=1, high=1024, rounding=0)
    15
    >>> smallest_count(lambda n: (n - 40) ** 2 - 25, low=1, high=1024, rounding=0)
    35
    >>> smallest_count(lambda n: (n - 40) ** 2 - 25, low=46, high=1024, rounding=0) is None
    True
    """
    n = low
    while n <= high:
        missing = shortfall(n)
        if missing <= 0:
            return n
        if n == high:
            return None
        help_of_next = missing - shortfall(n + 1) + rounding
        missing -= rounding
        if help_of_next <= 0:
            if missing > 0:
                return None
            n += 1
        else:
            n += max(1, -(-missing // help_of_next))
    return None


class _Device:
    """One device's figures, looked up once for all models."""

    __slots__ = ("bandwidth", "gpu", "memory_bytes", "peaks", "terms")

    def __init__(self, gpu: GpuSpec, edit: Edit | None) -> None:
        self.gpu = gpu
        self.terms = terms(gpu, edit)
        self.memory_bytes = gpu.memory_bytes
        self.bandwidth = gpu.bandwidth_bytes_per_s
        self.peaks: dict[Peak | None, float] = {}

    def peak(self, name: Peak | None) -> float:
        found = self.peaks.get(name)
        if found is None:
            found = self.peaks[name] = self.gpu.peak_flops_per_s(name)
        return found


class _Column:
    """One model at the scenario's context, formats and split: all that no device changes, worked out once."""

    def __init__(self, scenario: Scenario, released: ModelSpec) -> None:
        s = scenario_for(scenario, released)
        self.scenario = s
        self.model = s.model_spec
        self.is_moe = self.model.moe is not None
        self.format = s.weight_format_spec
        self._costs: dict[int, tuple[Costs, int]] = {}
        self._expected: dict[float, float] = {}
        first, _ = self.costs(s.n_gpus)
        self.weights_bytes = first.weights.stored_bytes
        self.weights_read = first.weights.read_bytes(skip_embedding=s.skip_embedding)
        self.attention = attention_flops_per_token(self.model, s.context)
        linear = prefill.linear_flops(
            body_params=first.body_params, head_params=first.head_params, context=s.context, batch=1
        )
        self.prompt_flops = linear + prefill_attention_flops(self.model, s.context)

    def costs(self, n_gpus: int) -> tuple[Costs, int]:
        """Cache curves on `n_gpus`, and what one sequence stores there."""
        found = self._costs.get(n_gpus)
        if found is None:
            s = self.scenario
            at = model_costs(self.model, self.format, s.cache_bits, n_gpus, s.split)
            found = self._costs[n_gpus] = at, at.stored.bytes(s.context)
        return found

    def room_bytes(self, device: _Device, n_gpus: int) -> int:
        """Memory that weights and reserve leave to the cache; negative where they do not fit."""
        capacity = device.memory_bytes * n_gpus
        return capacity - reserve_bytes(capacity=capacity, share=self.scenario.reserve) - self.weights_bytes

    def gpus_needed(self, device: _Device) -> int | None:
        """Smallest number of GPUs, from the scenario's own upwards, that holds one sequence."""
        # Bytes are rounded at the reserve and at the cache; past 2**53 the reserve is a float's rounding off.
        rounding = 4 + (device.memory_bytes * GPUS_MAX >> 51)
        return smallest_count(
            lambda n: self.costs(n)[1] - self.room_bytes(device, n),
            low=self.scenario.n_gpus,
            high=GPUS_MAX,
            rounding=rounding,
        )

    def speeds(self, device: _Device, n_gpus: int, batches: Iterable[int]) -> list[Speed]:
        """The decode steps of batches on `n_gpus`."""
        s, weights_read = self.scenario, self.weights_read
        at, _ = self.costs(n_gpus)
        bandwidth = decode.group_rate(one=device.bandwidth, n_gpus=n_gpus, split=s.split)
        peak = decode.group_rate(one=device.peak(self.format.peak), n_gpus=n_gpus, split=s.split)
        kv_read_bytes = at.kv_read_bytes(s.context)
        found: list[Speed] = []
        for batch in batches:
            tokens = decode.tokens_on_one_gpu(batch=batch, n_gpus=n_gpus, split=s.split)
            kv_read = kv_read_bytes(tokens)
            flops = at.step_flops(attention_flops=self.attention, tokens=tokens)
            compute_s = decode.compute_time_s(flops=flops, peak_flops_per_s=peak)
            memory_s = decode.memory_time_s(bytes_read=weights_read + kv_read, bandwidth_bytes_per_s=bandwidth)
            expected = None
            if self.is_moe:
                bytes_read = self.expected_read(tokens) + kv_read
                usual_s = decode.memory_time_s(bytes_read=bytes_read, bandwidth_bytes_per_s=bandwidth)
                expected = decode.step_time_s(memory_s=usual_s, compute_s=compute_s)
            found.append(Speed(batch, decode.step_time_s(memory_s=memory_s, compute_s=compute_s), expected))
        return found

    def expected_read(self, tokens: float) -> float:
        """Weight bytes that a step of so many tokens reads, by the experts expected."""
        found = self._expected.get(tokens)
        if found is None:
            weights, skip = self.costs(self.scenario.n_gpus)[0].weights, self.scenario.skip_embedding
            found = self._expected[tokens] = weights.read_bytes(skip_embedding=skip, tokens=tokens)
        return found

    def ttft_s(self, device: _Device, n_gpus: int) -> float:
        """Least time to the first token of one prompt; all GPUs work on it, whatever the split."""
        return prefill.ttft_s(
            flops=self.prompt_flops,
            peak_flops_per_s=device.peak(self.format.peak) * n_gpus,
            weights_read_bytes=self.weights_read,
            bandwidth_bytes_per_s=decode.group_rate(one=device.bandwidth, n_gpus=n_gpus, split=self.scenario.split),
        )

    def row(self, device: _Device) -> Row:
        """The cell of this model and a device."""
        n_gpus = self.gpus_needed(device)
        if n_gpus is None:
            return Row(self.model, device.gpu, device.terms, fits_as_asked=False, n_gpus=None)
        at, _ = self.costs(n_gpus)
        most = at.stored.largest_batch(self.room_bytes(device, n_gpus), self.scenario.context)
        one, *full = self.speeds(device, n_gpus, (1,) if most is None else (1, min(most, BATCH_MAX)))
        return Row(
            self.model,
            device.gpu,
            device.terms,
            fits_as_asked=n_gpus == self.scenario.n_gpus,
            n_gpus=n_gpus,
            max_batch=most,
            ttft_s=self.ttft_s(device, n_gpus),
            one=one,
            full=full[0] if full else None,
        )


def scenario_for(scenario: Scenario, released: ModelSpec, **changes: object) -> Scenario:
    """The scenario with another model: KV heads set as a what-if stay with the model they were set for.

    >>> scenario_for(Scenario(kv_heads=4), models()["llama-3-70b"]).kv_heads is None
    True
    """
    if released == scenario.released_model:
        return scenario.replace(**changes) if changes else scenario
    return scenario.replace(model=_named(released, models()), kv_heads=None, **changes)


def _named(spec: ModelSpec, catalog: dict[str, ModelSpec]) -> str | ModelSpec:
    return spec.slug if catalog.get(spec.slug) is spec else spec


def grid(
    scenario: Scenario, of_models: Iterable[ModelSpec], on_gpus: Iterable[GpuSpec], edits: Edits = ()
) -> list[Row]:
    """Every model on every device, model by model; models as released, but for the scenario's own.

    Each figure equals that of `evaluate` of the same model, device, number of GPUs and batch; a test says so.

    >>> rows = grid(Scenario(), [models()["llama-3-8b"], models()["llama-3-70b"]], [gpus()["h100-sxm"]])
    >>> [(row.n_gpus, row.max_batch, round(row.one.tokens_per_s)) for row in rows]
    [(1, 56, 196), (2, 4, 47)]
    """
    own = dict(edits)
    return _rows(scenario, of_models, [_Device(gpu, own.get(gpu.slug)) for gpu in on_gpus])


@lru_cache(maxsize=96)
def _column(scenario: Scenario, released: ModelSpec) -> _Column:
    return _Column(scenario, released)


def _rows(scenario: Scenario, of_models: Iterable[ModelSpec], devices: Sequence[_Device]) -> list[Row]:
    found: list[Row] = []
    for released in of_models:
        column = _column(scenario, released)
        found += [column.row(device) for device in devices]
    return found


@cache
def _catalog_devices() -> list[_Device]:
    return [_Device(gpu, None) for gpu in gpus().values()]


@dataclass(frozen=True, slots=True)
class Point:
    """A row at one batch: a place to run it. `throughput` is its tokens/s as the picture counts them."""

    row: Row
    speed: Speed
    throughput: float

    @property
    def step_s(self) -> float:
        """Time per output token of one user."""
        return self.speed.step_s

    @property
    def is_full(self) -> bool:
        """Whether these are as many users as fit."""
        return self.speed == self.row.full


def counted(row: Row, tokens_per_s: float, count: Count) -> float | None:
    """Tokens/s of all users together, per GPU, or tokens per dollar (at the lower price) or joule; None if unknown.

    >>> row = grid(Scenario(), [models()["llama-3-8b"]], [gpus()["h100-sxm"]])[0]
    >>> round(counted(row, 1990 / 3.6, "dollar")), round(counted(row, 700, "joule"))
    (1000000, 1)
    """
    n = row.n_gpus
    if n is None:
        return None
    if count == "together":
        return tokens_per_s
    if count == "gpu":
        return tokens_per_s / n
    if count == "dollar":
        per_million = cost.dollars_per_million_tokens(
            price_per_gpu_hour=row.terms.low, n_gpus=n, tokens_per_s=tokens_per_s
        )
    else:
        per_million = cost.joules_per_million_tokens(tdp_w=row.terms.power_w, n_gpus=n, tokens_per_s=tokens_per_s)
    return cost.MILLION / per_million if per_million else None


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


def curves(scenario: Scenario, rows: Iterable[Row], count: Count = "together") -> list[list[Point]]:
    """Each row that fits along the batches, from one user to as many as fit.

    Where a row ends on the front, all others that hold as many users are taken at that batch too: what is as fast at
    equal batch is then equal in the picture, and nothing leads only because another was not looked at there.

    >>> row = grid(Scenario(), [models()["llama-3-8b"]], [gpus()["h100-sxm"]])[0]
    >>> [point.speed.batch for point in curves(Scenario(), [row])[0]]
    [1, 2, 4, 8, 16, 32, 56]
    """
    found = [_Curve(scenario, row, count) for row in rows if row.full and counted(row, 1, count) is not None]
    for curve in found:
        curve.take(batches_to(curve.most))
    ends = {point.speed.batch for point in pareto(point for curve in found for point in curve.points) if point.is_full}
    for curve in found:
        curve.take(ends)
    return [curve.points for curve in found]


class _Curve:
    """A row at batch after batch."""

    def __init__(self, scenario: Scenario, row: Row, count: Count) -> None:
        self.row = row
        self.count: Count = count
        self.most = row.full.batch if row.full else 0
        self.points: list[Point] = []
        own = scenario.released_model if row.model == scenario.model_spec else row.model
        self._column = _column(scenario, own)
        self._device = _Device(row.gpu, None)

    def take(self, batches: Iterable[int]) -> None:
        """The row at these batches too, as far as they fit."""
        row, there = self.row, {point.speed.batch for point in self.points}
        new = [batch for batch in batches if batch <= self.most and batch not in there]
        if not new or row.n_gpus is None:
            return
        speeds = self._column.speeds(self._device, row.n_gpus, new)
        self.points += [Point(row, speed, counted(row, speed.tokens_per_s, self.count) or 0.0) for speed in speeds]
        self.points.sort(key=lambda point: point.speed.batch)


T = TypeVar("T", bound=HasPlace)


def dominates(a: HasPlace, b: HasPlace) -> bool:
    """Whether `a` is at least as good both ways (lower latency, higher throughput), and better one way.

    Of two that are equal both ways neither dominates.

    >>> from types import SimpleNamespace as Place
    >>> fast, slow = Place(step_s=0.01, throughput=800), Place(step_s=0.02, throughput=400)
    >>> dominates(fast, slow), dominates(slow, fast), dominates(fast, fast)
    (True, False, False)
    """
    at_least = a.step_s <= b.step_s and a.throughput >= b.throughput
    return at_least and (a.step_s < b.step_s or a.throughput > b.throughput)


def pareto(points: Iterable[T]) -> list[T]:
    """The Pareto front: the points that no other dominates, from the least latency to the most throughput.

    Better is to the left (time per output token of one user, lower) and up (throughput). Points equal both ways are
    all on the front or all off it. One sort and one sweep: the skyline of two dimensions.

    >>> from types import SimpleNamespace as Place
    >>> places = [Place(step_s=0.01, throughput=100), Place(step_s=0.02, throughput=400),
    ...     Place(step_s=0.04, throughput=300)]
    >>> [p.throughput for p in pareto(places)]
    [100, 400]
    """
    front: list[T] = []
    for point in sorted(points, key=lambda p: (p.step_s, -p.throughput)):
        last = front[-1] if front else None
        if last is None or point.throughput > last.throughput or not dominates(last, point):
            front.append(point)
    return front


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reader wants to see: which cells, of which kinds, on how many GPUs at most, tokens counted by what."""

    over: Over = "gpus"
    only: frozenset[str] = frozenset()
    at_most: int | None = AT_MOST
    count: Count = "together"


DENSE, MIXTURE, ANNOUNCED = "dense", "mixture of experts", "announced"


def _model_facets(model: ModelSpec) -> dict[str, str]:
    return {"kind": MIXTURE if model.moe else DENSE, "family": model.family}


def _gpu_facets(gpu: GpuSpec) -> dict[str, str]:
    return {"category": gpu.category, "vendor": gpu.vendor}


def facets(row: Row) -> dict[str, str]:
    """What a row can be chosen by.

    >>> facets(grid(Scenario(), [models()["llama-3-8b"]], [gpus()["h100-sxm"]])[0])
    {'kind': 'dense', 'family': 'Llama 3', 'category': 'datacenter', 'vendor': 'NVIDIA'}
    """
    return {**_model_facets(row.model), **_gpu_facets(row.gpu)}


def specs(scenario: Scenario, over: Over) -> tuple[list[ModelSpec], list[GpuSpec]]:
    """The models and devices of a grid: the catalogs', and the scenario's own where it is not in them."""
    model, gpu = scenario.released_model, scenario.gpu_spec
    of_models, on_gpus = list(models().values()), list(gpus().values())
    if models().get(model.slug) != model:
        of_models.insert(0, model)
    if gpus().get(gpu.slug) != gpu:
        on_gpus.insert(0, gpu)
    return ([model] if over == "gpus" else of_models), ([gpu] if over == "models" else on_gpus)


@lru_cache(maxsize=64)
def options(scenario: Scenario, over: Over) -> tuple[str, ...]:
    """The words of `Choice.only` that say something about a grid.

    >>> options(Scenario(), "gpus")[:5]
    ('datacenter', 'workstation', 'consumer', 'edge', 'NVIDIA')
    """
    of_models, on_gpus = specs(scenario, over)
    of_gpu = [_gpu_facets(gpu) for gpu in on_gpus] if over != "models" else []
    of_model = [_model_facets(model) for model in of_models] if over != "gpus" else []
    words = [f[key] for key in ("category", "vendor") for f in of_gpu]
    words += [ANNOUNCED] if of_gpu else []
    return tuple(dict.fromkeys([*words, *(f[key] for key in ("kind", "family") for f in of_model)]))


def is_chosen(row: Row, choice: Choice) -> bool:
    """Whether a row is one of the chosen kinds, and fits on few enough GPUs.

    Devices that are only announced would lead every front with figures nobody can check: they show on request.
    """
    if choice.over != "models" and row.gpu.preview and ANNOUNCED not in choice.only:
        return False
    if choice.at_most is not None and (row.n_gpus is None or row.n_gpus > choice.at_most):
        return False
    return not choice.only or _is_of_kind(facets(row), choice.only)


def _is_of_kind(found: dict[str, str], only: frozenset[str]) -> bool:
    """Whether each facet of which some value was chosen has a chosen value."""
    asked = {key for word in only for key in _facets_with(word)}
    return all(found[key] in only for key in asked)


@lru_cache(maxsize=256)
def _facets_with(word: str) -> tuple[str, ...]:
    every = [*map(_model_facets, models().values()), *map(_gpu_facets, gpus().values())]
    return tuple(dict.fromkeys(key for found in every for key, value in found.items() if value == word))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows to show, fewest GPUs first, their curves, and the front.

    `curves` and `front` are empty where there are more rows than a picture can hold (CHART_ROWS), and lack rows whose
    price or power is asked for and unknown. Models that stop before the context are left out of grids of many models
    and counted in `n_short`, announced devices in `n_announced`.
    """

    scenario: Scenario
    choice: Choice
    rows: tuple[Row, ...]
    n_cells: int
    n_short: int
    n_announced: int
    curves: tuple[tuple[Point, ...], ...]
    front: tuple[Point, ...]

    def is_own(self, row: Row) -> bool:
        """Whether a row is the scenario's own model on its own device."""
        gpu, model = self.scenario.gpu_spec, self.scenario.model_spec
        slugs = (row.gpu.slug, row.model.slug) == (gpu.slug, model.slug)  # most rows differ in one, and these are quick
        return slugs and row.gpu == gpu and row.model == model

    @property
    def front_rows(self) -> list[Point]:
        """Each row of the front once, where it makes the most tokens there; quickest first."""
        best = {(p.row.model, p.row.gpu): p for p in self.front}  # throughput rises along it, so the last one stays
        return sorted(best.values(), key=lambda p: (p.step_s, p.throughput))

    @property
    def is_map(self) -> bool:
        """Whether there are too many rows for a picture of speeds."""
        return len(self.rows) > CHART_ROWS


@lru_cache(maxsize=96)
def _on_every_device(scenario: Scenario) -> tuple[Row, ...]:
    """A scenario's model on all devices of the catalog: most of a large grid stays when one of its models changes."""
    return tuple(_rows(scenario, [scenario.released_model], _catalog_devices()))


@lru_cache(maxsize=4)
def _whole_grid(scenario: Scenario, over: Over) -> tuple[tuple[Row, ...], int]:
    """All cells at the catalog's prices, and how many models stop before the context."""
    of_models, on_gpus = specs(scenario, over)
    own = scenario.released_model
    long_enough = [model for model in of_models if model == own or model.max_context >= scenario.context]
    found: list[Row] = []
    if over == "models":
        found += grid(scenario, long_enough, on_gpus)
    else:
        extra = on_gpus[: len(on_gpus) - len(gpus())]  # the reader's own
        base = scenario.replace(gpu=Scenario().gpu)
        for model in long_enough:
            found += grid(scenario, [model], extra) if extra else []
            found += _on_every_device(scenario_for(base, model))
    return tuple(found), len(of_models) - len(long_enough)


def _priced(cells: tuple[Row, ...], edits: Edits) -> tuple[Row, ...]:
    """The cells at the reader's own prices and powers."""
    own = dict(edits)
    if not own:
        return cells
    return tuple(replace(r, terms=terms(r.gpu, own[r.gpu.slug])) if r.gpu.slug in own else r for r in cells)


def _fewest_gpus(row: Row) -> tuple[int, float]:
    if row.n_gpus is None:
        return GPUS_MAX + 1, 0.0
    return row.n_gpus, -row.full.tokens_per_s if row.full else 0.0


@lru_cache(maxsize=8)
def compare(scenario: Scenario, choice: Choice = Choice(), edits: Edits = ()) -> Comparison:
    """A grid of the catalogs about a scenario, its chosen rows, their curves and the front.

    >>> found = compare(Scenario())
    >>> found.n_cells == len(gpus()), found.front_rows[0].row.n_gpus <= AT_MOST
    (True, True)
    """
    # The batch is the grid's own, so scenarios that differ in nothing else share one grid.
    whole, n_short = _whole_grid(scenario.replace(batch=1), choice.over)
    cells = _priced(whole, edits)
    rows = sorted((row for row in cells if is_chosen(row, choice)), key=_fewest_gpus)
    drawn = curves(scenario, rows, choice.count) if len(rows) <= CHART_ROWS else []
    return Comparison(
        scenario=scenario,
        choice=choice,
        rows=tuple(rows),
        n_cells=len(cells),
        n_short=n_short,
        n_announced=0
        if choice.over == "models" or ANNOUNCED in choice.only
        else len({row.gpu.slug for row in cells if row.gpu.preview}),
        curves=tuple(map(tuple, drawn)),
        front=tuple(pareto(point for curve in drawn for point in curve)),
    )
