"""Published measurements under our ceiling: the records, the point each makes, and those nearest to a scenario.

A ceiling comes from the catalog wherever model, device and format are in it, else from the row's own bytes. Both use
the exact reading: a looked-up embedding is not streamed. `data/measured.csv` says what was left out and why.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import Field, PositiveFloat, PositiveInt, ValidationError, model_validator

from core import decode
from core.catalog import DATA, CatalogError, explain, gpus, models
from core.evaluate import DecodeStep, evaluate, request
from core.formats import CacheFormatName, WeightFormatName
from core.model import Frozen, SoftmaxAttention
from core.query import shown
from core.scenario import BATCH_MAX, CONTEXT_MAX, GPUS_MAX, Scenario, Split
from core.units import GB, format_rate, significant

Kind = Literal["decode", "request", "prefill"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KIND_LABELS: dict[Kind, str] = {
    "decode": "decode",
    "request": "whole requests",
    "prefill": "prompt pass",
}
Path_ = Literal["catalog", "row"]
OWN = "yours"
RATE_MAX = 1e9
# A measurement at another context counts as near while its ceiling differs from the scenario's by at most this share.
NEAR = 0.1


class Source(Frozen):
    """A publication."""

    slug: Annotated[str, Field(min_length=1)]
    title: Annotated[str, Field(min_length=1)]
    url: Annotated[str, Field(pattern=r"^https://[\w.-]+/[\w./-]+$")]


class Measurement(Frozen):
    """One published figure: what ran on what, how fast, and where it is printed.

    `slug`, `gpu` and `weights` are the catalog's names, None where it has none; then the row brings its own bytes.
    """

    id: Annotated[str, Field(min_length=1)]
    kind: Kind
    source: Annotated[str, Field(min_length=1)]
    where: str = ""
    engine: Annotated[str, Field(min_length=1)]
    device: Annotated[str, Field(min_length=1)]
    gpu: str | None = None
    n_gpus: Annotated[int, Field(ge=1, le=GPUS_MAX)]
    split: Split = "tensor"
    bandwidth_gb_per_s: PositiveFloat | None = None
    model: Annotated[str, Field(min_length=1)]
    slug: str | None = None
    format: Annotated[str, Field(min_length=1)]
    weights: WeightFormatName | None = None
    bits: PositiveFloat
    cache: CacheFormatName
    batch: Annotated[int, Field(ge=1, le=BATCH_MAX)]
    prompt: Annotated[int, Field(ge=0)] | None = None
    output: PositiveInt | None = None
    context: Annotated[int, Field(ge=1, le=CONTEXT_MAX)]
    tokens_per_s: Annotated[float, Field(gt=0, le=RATE_MAX, allow_inf_nan=False)]
    weight_gb: PositiveFloat | None = None
    least_weight_gb: PositiveFloat | None = None
    cache_bytes_per_token: PositiveFloat | None = None
    window_bytes_per_token: PositiveFloat | None = None
    window: PositiveInt | None = None
    draft: str | None = None
    reference_ceiling: PositiveFloat | None = None
    note: str = ""

    @model_validator(mode="after")
    def _can_be_bounded(self) -> Measurement:
        if self.source == OWN:
            return self
        if self.slug is not None and self.slug not in models():
            raise ValueError(f"slug must be a slug of data/models.toml, got {shown(self.slug)}")
        if self.gpu is not None and self.gpu not in gpus():
            raise ValueError(f"gpu must be a slug of data/gpus.toml, got {shown(self.gpu)}")
        if not self.in_catalog:
            for name in ("bandwidth_gb_per_s", "weight_gb", "cache_bytes_per_token"):
                if getattr(self, name) is None:
                    raise ValueError(f"{name} must be given where model, gpu and weights are not all in the catalog")
            if self.kind != "decode":
                raise ValueError(f"kind must be decode where the catalog has no model or GPU, got {self.kind}")
        if self.kind != "decode" and not self.prompt:
            raise ValueError(f"prompt must be given where kind is {self.kind}")
        if self.kind == "request" and self.output is None:
            raise ValueError("output must be given where kind is request")
        return self

    @property
    def in_catalog(self) -> bool:
        """Whether model, device and format are all in the catalog."""
        return self.slug is not None and self.gpu is not None and self.weights is not None

    @property
    def scenario(self) -> Scenario:
        """What ran, as a scenario under the exact reading; only for rows in the catalog."""
        if self.slug is None or self.gpu is None or self.weights is None:
            raise ValueError(f"{self.id} is not in the catalog")
        return Scenario(
            model=self.slug,
            gpu=self.gpu,
            n_gpus=self.n_gpus,
            split=self.split,
            batch=self.batch,
            context=self.context,
            weight_format=self.weights,
            cache_format=self.cache,
            skip_embedding=True,
        )


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement under its ceiling.

    For a mixture of experts with several users `ceiling` counts the experts expected under uniform routing, an
    estimate, and `bound` the fewest a step can touch; elsewhere the two are equal.
    """

    measurement: Measurement
    path: Path_
    ceiling: float
    bound: float
    bytes_per_step: float | None  # at the ceiling's count; None where a prompt pass is part of it
    bandwidth_bytes_per_s: float
    step_s: float | None
    no_cache_ceiling: float | None  # what the ceiling would be if caches were not read
    is_chunked: bool = False

    @property
    def ratio(self) -> float:
        """Measured over ceiling."""
        return self.measurement.tokens_per_s / self.ceiling

    @property
    def is_estimate(self) -> bool:
        """Whether the ceiling is an expectation over routings rather than a bound."""
        return self.bound > self.ceiling * (1 + 1e-9)

    @property
    def achieved_bytes_per_s(self) -> float | None:
        """Bandwidth that the bytes of a step, read this often, come to."""
        if self.bytes_per_step is None:
            return None
        return self.bytes_per_step * self.measurement.tokens_per_s / self.measurement.batch

    @property
    def reason(self) -> str | None:
        """Why it is above its ceiling; None where it is not."""
        if self.ratio <= 1:
            return None
        m = self.measurement
        if m.draft:
            return (
                f"Speculation: {m.draft} drafts, so one reading of the weights yields at least "
                f"{significant(self.ratio)} tokens on average; the ceiling counts one."
            )
        if self.is_estimate and m.tokens_per_s <= self.bound:
            return (
                "Mixture of experts: its users share more experts than uniform routing expects "
                f"({format_rate(self.ceiling)}); the bound, with the fewest experts, is {format_rate(self.bound)}."
            )
        if self.is_chunked:
            return "Attention in chunks: just past a chunk's boundary a real step reads less than ours."
        if m.source == OWN:
            return (
                "Something differs from what is set: the formats, the users, the context, the GPU, per user or "
                "together; or the engine speculates."
            )
        return "Not explained."


def read_sources(path: Path) -> dict[str, Source]:
    """Publications by slug; CatalogError naming file, record and key."""
    try:
        content: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(f"{path.name}: {error}") from error
    rows = content.get("source")
    if not isinstance(rows, list) or not rows:
        raise CatalogError(f"{path.name}: no [[source]] record")
    found: dict[str, Source] = {}
    for number, row in enumerate(cast("list[object]", rows), start=1):
        try:
            record = Source.model_validate(row)
        except ValidationError as error:
            raise CatalogError(f"{path.name}: source #{number}: {explain(error)}") from error
        if record.slug in found:
            raise CatalogError(f"{path.name}: source {record.slug}: slug: appears twice")
        found[record.slug] = record
    return found


def read_measurements(path: Path, known: Mapping[str, Source]) -> tuple[Measurement, ...]:
    """Validated rows of a CSV whose leading lines may start with "#"; CatalogError naming file, row and key."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path.name}: {error}") from error
    reader = csv.reader(line for line in lines if not line.startswith("#"))
    header: list[str] = next(reader, [""])
    found: dict[str, Measurement] = {}
    for number, cells in enumerate(reader, start=1):
        name = cells[0] if cells and cells[0] else f"#{number}"
        if len(cells) != len(header):
            raise CatalogError(f"{path.name}: row {name}: has {len(cells)} cells, the header {len(header)}")
        row = {key: cell for key, cell in zip(header, cells, strict=True) if cell}
        try:
            record = Measurement.model_validate(row)
        except ValidationError as error:
            raise CatalogError(f"{path.name}: row {name}: {explain(error)}") from error
        if record.source not in known:
            raise CatalogError(f"{path.name}: row {name}: source: must be a slug of the sources, got {record.source}")
        if record.id in found:
            raise CatalogError(f"{path.name}: row {name}: id: appears twice")
        found[record.id] = record
    if not found:
        raise CatalogError(f"{path.name}: no row")
    return tuple(found.values())


@lru_cache(maxsize=1)
def sources() -> dict[str, Source]:
    """All publications by slug.

    >>> sources()["gpt-fast"].title
    'pytorch-labs, gpt-fast, README'
    """
    return read_sources(DATA / "measured.toml")


@lru_cache(maxsize=1)
def measurements() -> tuple[Measurement, ...]:
    """All published measurements, in the file's order.

    >>> measurements()[0].device
    'DGX Spark GB10'
    """
    return read_measurements(DATA / "measured.csv", sources())


def _step_point(
    m: Measurement, path: Path_, step: DecodeStep, *, bound: float, bandwidth: float, chunked: bool = False
) -> Point:
    return Point(
        measurement=m,
        path=path,
        ceiling=step.tokens_per_s,
        bound=bound,
        bytes_per_step=step.bytes_read,
        bandwidth_bytes_per_s=bandwidth,
        step_s=step.step_s,
        no_cache_ceiling=m.batch / max(step.weights_read_bytes / bandwidth, step.compute_s),
        is_chunked=chunked,
    )


def _from_scenario(m: Measurement, s: Scenario) -> Point:
    bandwidth = decode.group_rate(one=s.gpu_spec.bandwidth_bytes_per_s, n_gpus=s.n_gpus, split=s.split)
    if m.kind == "decode":
        found = evaluate(s).decode
        layers = [group.attention for group in s.model_spec.groups]
        chunked = any(isinstance(a, SoftmaxAttention) and a.chunk for a in layers)
        return _step_point(
            m, "catalog", found.expected or found, bound=found.tokens_per_s, bandwidth=bandwidth, chunked=chunked
        )
    asked = s.replace(context=m.prompt)
    if m.kind == "prefill":
        ceiling = m.batch * asked.context / evaluate(asked).prefill.ttft_s
    else:
        # The prompt pass yields the first token. One phase after the other, as a batch runs that starts together.
        n_output = m.output or 1
        ceiling = m.batch * n_output / request(asked, n_output - 1).total_s
    return Point(m, "catalog", ceiling, ceiling, None, bandwidth, None, None)


def _from_row(m: Measurement) -> Point:
    """The ceiling of a row that brings its bytes: formulas 6, 9 and 15 without the compute term."""
    tokens = decode.tokens_on_one_gpu(batch=m.batch, n_gpus=m.n_gpus, split=m.split)
    bandwidth = decode.group_rate(one=(m.bandwidth_gb_per_s or 0) * GB, n_gpus=m.n_gpus, split=m.split)
    kept = (m.cache_bytes_per_token or 0) * m.context
    kept += (m.window_bytes_per_token or 0) * min(m.context, m.window or m.context)

    def step(weight_gb: float) -> DecodeStep:
        weights, cache = weight_gb * GB, tokens * kept
        memory_s = decode.memory_time_s(bytes_read=weights + cache, bandwidth_bytes_per_s=bandwidth)
        return DecodeStep(m.batch, weights, cache, 0.0, memory_s, 0.0, None)

    weight_gb = m.weight_gb or 0
    bound = step(m.least_weight_gb or weight_gb).tokens_per_s
    return _step_point(m, "row", step(weight_gb), bound=bound, bandwidth=bandwidth)


def point(measurement: Measurement) -> Point:
    """A measurement under its ceiling, from the catalog where it can be.

    >>> fast = next(m for m in measurements() if m.source == "gpt-fast" and m.batch == 1)
    >>> found = point(fast)
    >>> found.path, round(found.ceiling, 1), round(found.ratio, 2)
    ('catalog', 153.7, 0.68)
    """
    return _from_scenario(measurement, measurement.scenario) if measurement.in_catalog else _from_row(measurement)


@lru_cache(maxsize=1)
def points() -> tuple[Point, ...]:
    """All published measurements under their ceilings."""
    return tuple(point(m) for m in measurements())


# ---------------------------------------------------------------- filters and groups


def bits_group(m: Measurement) -> str:
    """Formats by the bits of a weight."""
    if m.bits >= 16:
        return "16 bits"
    if m.bits >= 8:
        return "8 bits"
    return "4 to 5 bits" if m.bits >= 4 else "under 4 bits"


def batch_group(m: Measurement) -> str:
    """Users, in a few steps."""
    if m.batch == 1:
        return "1 user"
    return "2 to 8 users" if m.batch <= 8 else "9 to 32 users" if m.batch <= 32 else "more users"


By = Literal["engine", "device", "format", "batch"]
BYS: tuple[By, ...] = get_args(By)
GROUPS: dict[By, Callable[[Measurement], str]] = {
    "engine": lambda m: m.engine,
    "device": lambda m: m.device,
    "format": bits_group,
    "batch": batch_group,
}
_ORDERS: dict[By, tuple[str, ...]] = {
    "format": ("16 bits", "8 bits", "4 to 5 bits", "under 4 bits"),
    "batch": ("1 user", "2 to 8 users", "9 to 32 users", "more users"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which points to show; an empty set is all."""

    kind: Kind = "decode"
    devices: frozenset[str] = frozenset()
    engines: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()
    one_gpu: bool = False

    def takes(self, m: Measurement) -> bool:
        """Whether a measurement is among them."""
        return (
            m.kind == self.kind
            and (not self.devices or m.device in self.devices)
            and (not self.engines or m.engine in self.engines)
            and (not self.formats or bits_group(m) in self.formats)
            and (not self.one_gpu or m.n_gpus == 1)
        )


@lru_cache(maxsize=64)
def select(choice: Choice) -> tuple[Point, ...]:
    """The points of a choice."""
    return tuple(p for p in points() if choice.takes(p.measurement))


def grouped(found: Sequence[Point], by: By) -> list[tuple[str, list[Point]]]:
    """Points by group: formats and batches in their order, others with the most points first."""
    groups: defaultdict[str, list[Point]] = defaultdict(list)
    for p in found:
        groups[GROUPS[by](p.measurement)].append(p)
    order = _ORDERS.get(by)
    if order:
        return [(name, groups[name]) for name in order if name in groups]
    return sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))


@dataclass(frozen=True, slots=True)
class Spread:
    """Ratios of some points: how many, their quartiles and the largest."""

    count: int
    low: float
    median: float
    high: float
    most: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Spread of all points and of each group."""

    all: Spread
    by: tuple[tuple[By, tuple[tuple[str, Spread], ...]], ...]


def spread(found: Sequence[Point]) -> Spread:
    """Quartiles of the ratios of at least one point."""
    ratios = [p.ratio for p in found]
    if len(ratios) == 1:
        return Spread(1, ratios[0], ratios[0], ratios[0], ratios[0])
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Spread(len(ratios), low, median, high, max(ratios))


def summary(found: Sequence[Point]) -> Summary:
    """Count, median, maximum and quartiles of at least one point, also by engine, device, format and batch.

    >>> found = summary([p for p in points() if p.measurement.kind == "decode"])
    >>> found.all.count, round(found.all.median, 2)
    (546, 0.7)
    """
    by: list[tuple[By, tuple[tuple[str, Spread], ...]]] = []
    for name in BYS:
        by.append((name, tuple((group, spread(rows)) for group, rows in grouped(found, name))))
    return Summary(spread(found), tuple(by))


# ---------------------------------------------------------------- near a scenario, and one's own


@dataclass(frozen=True, slots=True)
class Near:
    """A measurement of a scenario's model, GPUs and formats."""

    batch: int
    tokens_per_s: float
    context: int
    engine: str
    source: str

    @property
    def each(self) -> float:
        """Tokens/s of one user."""
        return self.tokens_per_s / self.batch


def _wide(name: str) -> str:
    return "bf16" if name == "fp16" else name


@lru_cache(maxsize=1)
def _by_pair() -> dict[tuple[str, str], list[Measurement]]:
    found: defaultdict[tuple[str, str], list[Measurement]] = defaultdict(list)
    for m in measurements():
        if m.kind == "decode" and m.in_catalog and not m.draft:
            found[m.slug or "", m.gpu or ""].append(m)
    return dict(found)


@lru_cache(maxsize=512)
def nearest(scenario: Scenario) -> tuple[Near, ...]:
    """Measured points of this model on these GPUs in these formats; for each engine and batch the nearest context.

    Only contexts whose ceiling is within a tenth of the scenario's: a point at another context can mislead.

    >>> [(n.batch, n.engine, n.context) for n in nearest(Scenario(gpu="h100-pcie"))]
    [(1, 'llama.cpp', 4096)]
    >>> nearest(Scenario(gpu="t4"))
    ()
    """
    s = scenario
    rows = _by_pair().get((s.model_key, s.gpu_key), ()) if s.kv_heads is None else ()
    best: dict[tuple[str, int], Measurement] = {}
    for m in rows:
        same = (
            m.n_gpus == s.n_gpus
            and (m.n_gpus == 1 or m.split == s.split)
            and m.cache == s.cache_format
            and m.weights == _wide(s.weight_format_spec.slug)
        )
        if not same:
            continue
        held = best.get((m.engine, m.batch))
        if held is None or _apart(m, s) < _apart(held, s):
            best[m.engine, m.batch] = m
    return tuple(
        Near(m.batch, m.tokens_per_s, m.context, m.engine, sources()[m.source].title)
        for m in sorted(best.values(), key=lambda m: (m.batch, m.engine))
        if _is_near(m, s)
    )


def _apart(m: Measurement, s: Scenario) -> float:
    return abs(math.log(m.context / s.context))


def _is_near(m: Measurement, s: Scenario) -> bool:
    there, here = (evaluate(s.replace(batch=m.batch, context=at)).decode.step_s for at in (m.context, s.context))
    return abs(there / here - 1) <= NEAR


def read_rate(text: str) -> float:
    """Tokens/s as a benchmark prints them, "151.09 ± 0.31" too.

    Raises ValueError with one sentence for the page.

    >>> read_rate("1,151.09 ± 0.31"), read_rate(" 12 ")
    (1151.09, 12.0)
    >>> read_rate("fast")
    Traceback (most recent call last):
    ...
    ValueError: Tokens per second must be a number above 0, such as 104.9; "fast" is none.
    """
    number = re.fullmatch(r"([\d,]*\.?\d+|\d+\.)(\s*(±|\+/-)\s*[\d.]+)?", text.strip(), re.ASCII)
    value = float(number[1].replace(",", "")) if number else 0.0
    if not 0 < value <= RATE_MAX:
        raise ValueError(f"Tokens per second must be a number above 0, such as 104.9; {shown(text)} is none.")
    return value


def own_point(scenario: Scenario, *, tokens_per_s: float, engine: str = "") -> Point:
    """One's own decode measurement of a scenario, all users together, under the exact reading.

    >>> found = own_point(Scenario(model="llama-2-7b", gpu="a100-80gb-sxm", context=105), tokens_per_s=104.9)
    >>> round(found.ratio, 2), round(found.achieved_bytes_per_s / 1e9)
    (0.68, 1392)
    """
    s = scenario.replace(skip_embedding=True)
    fmt = s.weight_format_spec
    fields: dict[str, Any] = {
        "id": OWN,
        "kind": "decode",
        "source": OWN,
        "engine": engine.strip() or "your engine",
        "device": s.gpu_spec.name,
        "n_gpus": s.n_gpus,
        "split": s.split,
        "model": s.released_model.name,
        "format": fmt.label,
        "bits": fmt.linear_bits,
        "cache": s.cache_format,
        "batch": s.batch,
        "context": s.context,
        "tokens_per_s": tokens_per_s,
    }
    return _from_scenario(Measurement.model_validate(fields), s)


def above(found: Iterable[Point]) -> list[Point]:
    """The points above their ceiling, furthest first."""
    return sorted((p for p in found if p.ratio > 1), key=lambda p: -p.ratio)


# ---------------------------------------------------------------- the cache term

CACHE_TERM = ("qwen2.5-7b", "gb10", "llama-bench tg32 at depth")


def cache_term() -> tuple[Point, ...]:
    """Qwen2.5-7B on the DGX Spark, one user at growing contexts: what shows that caches are read.

    >>> [p.measurement.context for p in cache_term()]
    [16, 4112, 8208, 16400, 32784]
    """
    rows = [m for m in measurements() if (m.slug, m.gpu, m.where) == CACHE_TERM]
    return tuple(point(m) for m in sorted(rows, key=lambda m: m.context))
