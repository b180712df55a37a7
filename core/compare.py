"""Models x GPUs: which cells of the grid are shown, in which order, and what is drawn of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

import numpy as np

from core.catalog import gpus, models
from core.columns import Flags, Floats, Ints, sealed
from core.curves import Curves, Point, curves
from core.custom import CUSTOM
from core.gpu import GpuSpec
from core.grid import Grid, grid
from core.model import ModelSpec
from core.prices import Edits
from core.rows import Count, Prices, Row, Rows, dollars_per_million_tokens, joules_per_million_tokens, prices
from core.scenario import Scenario

Over = Literal["gpus", "models", "all"]
OVERS: tuple[Over, ...] = get_args(Over)
OVER_LABELS: dict[Over, str] = {
    "gpus": "this model on all GPUs",
    "models": "this GPU for all models",
    "all": "all models on all GPUs",
}
OVER_BRIEF: dict[Over, str] = {"gpus": "all GPUs", "models": "all models", "all": "all pairs"}  # for a projector
AT_MOST = 8  # GPUs in one server, the usual largest group without a network between
AT_MOST_STOPS = (1, 2, 4, AT_MOST, 16, 64, 0)  # 0: any number, also where none is enough
CHART_ROWS = 82  # more would be a cloud: the whole grid is drawn as a map instead


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reader wants to see: which cells, of which kinds, on how many GPUs at most, tokens counted by what.

    Devices that are only announced would lead every front with figures nobody can check: they show on request.
    """

    over: Over = "gpus"
    only: frozenset[str] = frozenset()
    at_most: int | None = AT_MOST
    count: Count = "together"


DENSE, MIXTURE, ANNOUNCED = "dense", "mixture of experts", "announced"


def model_facets(model: ModelSpec) -> dict[str, str]:
    """What a model can be chosen by.

    >>> model_facets(models()["llama-3-8b"])
    {'kind': 'dense', 'family': 'Llama 3'}
    """
    return {"kind": MIXTURE if model.moe else DENSE, "family": model.family}


def gpu_facets(gpu: GpuSpec) -> dict[str, str]:
    """What a device can be chosen by.

    >>> gpu_facets(gpus()["h100-sxm"])
    {'category': 'datacenter', 'vendor': 'NVIDIA'}
    """
    return {"category": gpu.category, "vendor": gpu.vendor}


def specs(scenario: Scenario, over: Over) -> tuple[tuple[ModelSpec, ...], tuple[GpuSpec, ...]]:
    """The models and devices of a grid: the catalogs', and the scenario's own where it is not in them."""
    s = scenario
    own_model = s.released_model if s.model_key == CUSTOM else None
    own_gpu = s.gpu_spec if s.gpu_key == CUSTOM else None
    of_models, on_gpus = _catalogs(own_model, own_gpu)
    return (s.released_model,) if over == "gpus" else of_models, (s.gpu_spec,) if over == "models" else on_gpus


@lru_cache(maxsize=8)
def _catalogs(model: ModelSpec | None, gpu: GpuSpec | None) -> tuple[tuple[ModelSpec, ...], tuple[GpuSpec, ...]]:
    of_models, on_gpus = tuple(models().values()), tuple(gpus().values())
    return (model, *of_models) if model else of_models, (gpu, *on_gpus) if gpu else on_gpus


def options(scenario: Scenario, over: Over) -> tuple[str, ...]:
    """The words of `Choice.only` that say something about a grid.

    >>> options(Scenario(), "gpus")[:5]
    ('datacenter', 'workstation', 'consumer', 'edge', 'NVIDIA')
    """
    of_models, on_gpus = specs(scenario, over)
    of_gpu = (*_words(on_gpus), ANNOUNCED) if over != "models" else ()
    return tuple(dict.fromkeys((*of_gpu, *(_words(of_models) if over != "gpus" else ()))))


@lru_cache(maxsize=16)
def _words(of_specs: tuple[ModelSpec, ...] | tuple[GpuSpec, ...]) -> tuple[str, ...]:
    """Each word of each facet once."""
    return tuple(dict.fromkeys(word for words in _facets(of_specs).values() for word in words))


@lru_cache(maxsize=16)
def _facets(of_specs: tuple[ModelSpec, ...] | tuple[GpuSpec, ...]) -> dict[str, tuple[str, ...]]:
    """By facet, the word of each."""
    found = [model_facets(one) if isinstance(one, ModelSpec) else gpu_facets(one) for one in of_specs]
    return {key: tuple(facets[key] for facets in found) for key in found[0]}


@lru_cache(maxsize=32)
def _are_of_kind(of_specs: tuple[ModelSpec, ...] | tuple[GpuSpec, ...], only: frozenset[str]) -> Flags:
    """Whether in each facet of which some value was chosen they have a chosen value."""
    are = np.ones(len(of_specs), dtype=np.bool_)
    for key, words in _facets(of_specs).items():
        if any(key in _facets_with(word) for word in only):
            are &= [word in only for word in words]
    return sealed(are)


@lru_cache(maxsize=256)
def _facets_with(word: str) -> tuple[str, ...]:
    of_models, on_gpus = _catalogs(None, None)
    return tuple(key for found in (_facets(of_models), _facets(on_gpus)) for key in found if word in found[key])


@dataclass(frozen=True, eq=False)
class Comparison:
    """The cells to show, fewest GPUs first, then most tokens of all users together; their curves, and the front.

    `curves` is empty where there are more rows than a picture can hold (CHART_ROWS), and lacks rows whose price or
    power is asked for and unknown. Models that stop before the context are left out of grids of many models and counted
    in `n_short`, announced devices in `n_announced`.
    """

    scenario: Scenario
    choice: Choice
    grid: Grid
    prices: Prices
    cells: Ints
    own_cell: int  # the scenario's own model on its own device, shown or not
    n_cells: int
    n_short: int
    n_announced: int
    curves: Curves

    @property
    def rows(self) -> Rows:
        """The cells as rows."""
        return Rows(self.grid, self.prices, self.cells)

    @property
    def front(self) -> tuple[Point, ...]:
        """The Pareto front of the curves, from the least latency to the most throughput."""
        return self.curves.front

    @cached_property
    def on(self) -> Ints:
        """Places of the rows' devices among those of the grid."""
        return sealed(self.grid.on(self.cells))

    def kinds(self, cells: Ints) -> list[str]:
        """What sort of model or maker of device tells some cells apart."""
        if self.choice.over == "models":
            words, places = _facets(self.grid.models)["kind"], self.grid.of(cells)
        else:
            words, places = _facets(self.grid.gpus)["vendor"], self.grid.on(cells)
        return [words[place] for place in places.tolist()]

    @cached_property
    def n_gpus(self) -> Ints:
        """GPUs needed, of each row; 0 where none are enough."""
        return sealed(self.grid.n_gpus[self.cells])

    @cached_property
    def has_experts(self) -> bool:
        """Whether a row that holds somebody is a mixture of experts."""
        return not np.isnan(self.grid.expected_s[self.cells]).all()

    @cached_property
    def tokens_per_s(self) -> Floats:
        """Ceiling of all users together."""
        return sealed(self.grid.tokens_per_s[self.cells])

    @cached_property
    def dollars_low(self) -> Floats:
        """Least dollars per million tokens at the lower price, all users busy; NaN where unknown."""
        return self._dollars(self.prices.low)

    @cached_property
    def dollars_high(self) -> Floats:
        """The same at the higher price."""
        return self._dollars(self.prices.high)

    def _dollars(self, price: Floats) -> Floats:
        price, n_gpus, tokens_per_s = price[self.on], self.n_gpus, self.tokens_per_s
        return sealed(dollars_per_million_tokens(price_per_gpu_hour=price, n_gpus=n_gpus, tokens_per_s=tokens_per_s))

    @cached_property
    def joules(self) -> Floats:
        """Joules per million tokens at the ceiling, all users busy; NaN where unknown."""
        power_w, n_gpus, tokens_per_s = self.prices.power_w[self.on], self.n_gpus, self.tokens_per_s
        return sealed(joules_per_million_tokens(tdp_w=power_w, n_gpus=n_gpus, tokens_per_s=tokens_per_s))

    def is_own(self, row: Row) -> bool:
        """Whether a row is the scenario's own model on its own device."""
        return row.cell == self.own_cell

    @property
    def front_rows(self) -> list[Point]:
        """Each row of the front once, where it makes the most tokens there; quickest first."""
        best = {p.row.cell: p for p in self.front}  # throughput rises along it, so the last one stays
        return sorted(best.values(), key=lambda p: (p.step_s, p.throughput))

    @property
    def is_map(self) -> bool:
        """Whether there are too many rows for a picture of speeds."""
        return self.cells.size > CHART_ROWS


@lru_cache(maxsize=8)
def compare(scenario: Scenario, choice: Choice = Choice(), edits: Edits = ()) -> Comparison:
    """A grid of the catalogs about a scenario, its chosen rows, their curves and the front.

    >>> found = compare(Scenario())
    >>> found.n_cells == len(gpus()), found.front_rows[0].row.n_gpus <= AT_MOST
    (True, True)
    """
    of_models, on_gpus = specs(scenario, choice.over)
    whole = grid(scenario, of_models, on_gpus)
    model, gpu = scenario.model_spec, scenario.gpu_spec
    of = next(i for i, one in enumerate(whole.models) if one.slug == model.slug and one == model)
    on = next(i for i, one in enumerate(whole.gpus) if one.slug == gpu.slug and one == gpu)
    long_enough = np.array([one.max_context >= scenario.context for one in whole.models])
    long_enough[of] = True
    with_announced = choice.over == "models" or ANNOUNCED in choice.only
    of_kind = _are_of_kind(whole.models, choice.only) & long_enough
    on_kind = _are_of_kind(whole.gpus, choice.only)
    if not with_announced:
        on_kind = on_kind & [not one.preview for one in whole.gpus]
    is_shown = (of_kind[:, None] & on_kind).ravel()
    if choice.at_most is not None:
        is_shown &= (whole.n_gpus > 0) & (whole.n_gpus <= choice.at_most)
    cells = sealed(whole.order[is_shown[whole.order]])
    at_prices = prices(whole.gpus, edits)
    drawn = cells if cells.size <= CHART_ROWS else cells[:0]
    return Comparison(
        scenario=scenario,
        choice=choice,
        grid=whole,
        prices=at_prices,
        cells=cells,
        own_cell=of * len(whole.gpus) + on,
        n_cells=int(long_enough.sum()) * len(whole.gpus),
        n_short=int((~long_enough).sum()),
        n_announced=0 if with_announced else len({one.slug for one in whole.gpus if one.preview}),
        curves=curves(whole, at_prices, drawn, choice.count),
    )
