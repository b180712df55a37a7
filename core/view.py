"""`View`: a scenario and what a page needs besides; everything that a link carries."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from core.catalog import models
from core.custom import CUSTOM, OWN_GPU_KEYS, OWN_KEYS, OWN_MODEL_KEY, gpu_query, pack, read_gpu, unpack
from core.drafting import draft_models
from core.gpu import GpuSpec
from core.model import ModelSpec
from core.pins import PINS_KEY, PINS_MAX, linkable, pins_query, read_pins
from core.query import QueryReader
from core.scenario import Scenario
from core.units import UNITS, Unit

# Whole-number fields of single pages: (least, most, at first).
NUMBERS: dict[str, tuple[int, int, int]] = {
    "output": (1, 2**17, 256),  # tokens of an answer; the prompt is the scenario's context
    "draft_length": (0, 16, 4),  # tokens drafted a round
    "acceptance": (0, 100, 70),  # percent of drafted tokens accepted
    "block": (1, 256, 16),  # tokens a block of the cache holds
    "mean": (1, 100, 25),  # mean length of a request, percent of the longest
    "spread": (0, 150, 60),  # spread of the lengths, percent of a logarithm
    "seed": (1, 999, 1),  # which draw of lengths
}
Look = Literal["page", "lecture"]
LOOKS: tuple[Look, ...] = get_args(Look)
AUTO = "auto"
NO_DRAFT = "none"


@dataclass(frozen=True, slots=True)
class View:
    """What is on screen: the question, and the fields of single pages; `reveal` shows all answers at once.

    `own_model` and `own_gpu` are the reader's own, kept in the menus also while the scenario uses others.
    """

    scenario: Scenario
    unit: Unit = "GB"
    view: Look = "page"  # or as projected in a lecture hall
    reveal: bool = False
    draft: str = AUTO  # slug of the draft model, the smallest there is, or none
    output: int = NUMBERS["output"][2]
    draft_length: int = NUMBERS["draft_length"][2]
    acceptance: int = NUMBERS["acceptance"][2]
    block: int = NUMBERS["block"][2]
    mean: int = NUMBERS["mean"][2]
    spread: int = NUMBERS["spread"][2]
    seed: int = NUMBERS["seed"][2]
    own_model: ModelSpec | None = None
    own_gpu: GpuSpec | None = None
    pins: tuple[Scenario, ...] = ()  # at most four, to compare with

    def __post_init__(self) -> None:
        s = self.scenario
        if s.model_key == CUSTOM and self.own_model != s.released_model:
            object.__setattr__(self, "own_model", s.released_model)
        if s.gpu_key == CUSTOM and self.own_gpu != s.gpu_spec:
            object.__setattr__(self, "own_gpu", s.gpu_spec)
        object.__setattr__(self, "pins", linkable(self.pins, self.own_model, self.own_gpu)[:PINS_MAX])

    @property
    def is_lecture(self) -> bool:
        """Whether the page is laid out for a projector."""
        return self.view == "lecture"

    @property
    def accepted(self) -> float:
        """Share of the drafted tokens that is accepted."""
        return self.acceptance / 100

    @property
    def draft_model(self) -> ModelSpec | None:
        """The draft model that is meant; None when there is none to pick.

        >>> View(Scenario()).draft_model.slug
        'llama-3.2-1b'
        """
        choices = draft_models(self.scenario.released_model)
        if self.draft == NO_DRAFT or not choices:
            return None
        return next((m for m in choices if m.slug == self.draft), choices[0])

    def to_query(self) -> dict[str, str]:
        """Every field of the link, always, in a fixed order.

        >>> View(Scenario()).to_query()["unit"]
        'GB'
        """
        own = {"unit": self.unit, "view": self.view, "reveal": "1" if self.reveal else "0", "draft": self.draft}
        return {
            **self.scenario.to_query(),
            **own,
            **{key: str(getattr(self, key)) for key in NUMBERS},
            **self._own_query(),
        }

    def _own_query(self) -> dict[str, str]:
        packed = pack(self.own_model) if self.own_model else None
        return {
            **({OWN_MODEL_KEY: packed} if packed else {}),
            **(gpu_query(self.own_gpu) if self.own_gpu else {}),
            **pins_query(self.pins),
        }

    @property
    def can_be_shared(self) -> bool:
        """Whether a link carries everything: false for a model too long for one."""
        return self.own_model is None or pack(self.own_model) is not None

    @staticmethod
    def from_query(query: Mapping[str, str], default: View) -> tuple[View, list[str]]:
        """The view a link asks for, and a sentence for each value that was changed or replaced.

        A link may leave out the fields of other pages: they are no part of its question.

        >>> View.from_query({"unit": "MB"}, View(Scenario()))[1]
        ['unit must be one of GB, GiB; "MB" was replaced by GB.']
        """
        scenario, notes = Scenario.from_query(query, default.scenario)
        read = QueryReader(query, default.to_query())
        own_model, own_gpu = _own(query, scenario)
        unit = read.choice("unit", UNITS, default.unit)
        drafts = (AUTO, NO_DRAFT, *models())
        view = View(
            scenario,
            "GiB" if unit == "GiB" else "GB",
            "lecture" if read.choice("view", LOOKS, default.view) == "lecture" else "page",
            read.flag("reveal", default.reveal),
            read.choice("draft", drafts, default.draft, f"{AUTO}, {NO_DRAFT} or the slug of a model in the catalog"),
            own_model=own_model,
            own_gpu=own_gpu,
            pins=read_pins(query, read.notes),
            **{key: read.whole(key, low, high, getattr(default, key)) for key, (low, high, _) in NUMBERS.items()},
        )
        return view, notes + read.notes

    def replace(self, **changes: Any) -> View:
        """A copy with some fields changed."""
        return replace(self, **changes)


def _own(query: Mapping[str, str], scenario: Scenario) -> tuple[ModelSpec | None, GpuSpec | None]:
    """The reader's own model and GPU, also where the scenario uses others; useless ones are dropped in silence then."""
    own_model: ModelSpec | None = None
    if scenario.model_key != CUSTOM and OWN_MODEL_KEY in query:
        with suppress(ValueError):
            own_model = unpack(query[OWN_MODEL_KEY])
    own_gpu = None
    if scenario.gpu_key != CUSTOM and any(key in query for key in OWN_GPU_KEYS):
        own_gpu = read_gpu(query, [])
    return own_model, own_gpu


VIEW_FIELDS = tuple(f.name for f in fields(View) if f.name not in ("scenario", "own_model", "own_gpu", "pins"))
VIEW_KEYS = tuple(View(Scenario()).to_query())  # always in a link
LINK_KEYS = (*VIEW_KEYS, *OWN_KEYS, PINS_KEY)  # all that may be in one
