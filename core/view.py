"""`View`: a scenario and what a page needs besides; everything that a link carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from core.catalog import models
from core.drafting import draft_models
from core.model import ModelSpec
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
AUTO = "auto"
NO_DRAFT = "none"


@dataclass(frozen=True, slots=True)
class View:
    """What is on screen: the question, and the fields of single pages; `reveal` shows all answers at once."""

    scenario: Scenario
    unit: Unit = "GB"
    reveal: bool = False
    draft: str = AUTO  # slug of the draft model, the smallest there is, or none
    output: int = NUMBERS["output"][2]
    draft_length: int = NUMBERS["draft_length"][2]
    acceptance: int = NUMBERS["acceptance"][2]
    block: int = NUMBERS["block"][2]
    mean: int = NUMBERS["mean"][2]
    spread: int = NUMBERS["spread"][2]
    seed: int = NUMBERS["seed"][2]

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
        own = {"unit": self.unit, "reveal": "1" if self.reveal else "0", "draft": self.draft}
        return {**self.scenario.to_query(), **own, **{key: str(getattr(self, key)) for key in NUMBERS}}

    @staticmethod
    def from_query(query: Mapping[str, str], default: View) -> tuple[View, list[str]]:
        """The view a link asks for, and a sentence for each value that was changed or replaced.

        A link may leave out the fields of other pages: they are no part of its question.

        >>> View.from_query({"unit": "MB"}, View(Scenario()))[1]
        ['unit must be one of GB, GiB; "MB" was replaced by GB.']
        """
        scenario, notes = Scenario.from_query(query, default.scenario)
        read = QueryReader(query, default.to_query())
        unit = read.choice("unit", UNITS, default.unit)
        drafts = (AUTO, NO_DRAFT, *models())
        view = View(
            scenario,
            "GiB" if unit == "GiB" else "GB",
            read.flag("reveal", default.reveal),
            read.choice("draft", drafts, default.draft, f"{AUTO}, {NO_DRAFT} or the slug of a model in the catalog"),
            **{key: read.whole(key, low, high, getattr(default, key)) for key, (low, high, _) in NUMBERS.items()},
        )
        return view, notes + read.notes

    def replace(self, **changes: Any) -> View:
        """A copy with some fields changed."""
        return replace(self, **changes)


VIEW_FIELDS = tuple(f.name for f in fields(View) if f.name != "scenario")
VIEW_KEYS = tuple(View(Scenario()).to_query())
