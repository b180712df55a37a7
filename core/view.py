"""`View`: a scenario and how a page shows it; everything that a link carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.query import QueryReader
from core.scenario import Scenario
from core.units import UNITS, Unit

OUTPUT_MAX = 2**17


@dataclass(frozen=True, slots=True)
class View:
    """What is on screen: the question, and what a page needs besides.

    `reveal` shows the answers of the predictions at once; `output` is the length of an answer on the page of the two
    phases (the prompt is the scenario's context).
    """

    scenario: Scenario
    unit: Unit = "GB"
    reveal: bool = False
    output: int = 256

    def to_query(self) -> dict[str, str]:
        """Every field of the link, always, in a fixed order.

        >>> View(Scenario()).to_query()["unit"]
        'GB'
        """
        own = {"unit": self.unit, "reveal": "1" if self.reveal else "0", "output": str(self.output)}
        return {**self.scenario.to_query(), **own}

    @staticmethod
    def from_query(query: Mapping[str, str], default: View) -> tuple[View, list[str]]:
        """The view a link asks for, and a sentence for each value that was changed or replaced.

        Links from before a field existed stay silent about it: it is no part of the question.

        >>> View.from_query({"unit": "MB"}, View(Scenario()))[1]
        ['unit must be one of GB, GiB; "MB" was replaced by GB.']
        """
        scenario, notes = Scenario.from_query(query, default.scenario)
        read = QueryReader(query, default.to_query())
        unit = read.choice("unit", UNITS, default.unit)
        view = View(
            scenario,
            "GiB" if unit == "GiB" else "GB",
            read.flag("reveal", default.reveal),
            read.whole("output", 1, OUTPUT_MAX, default.output),
        )
        return view, notes + read.notes

    def replace(self, **changes: Any) -> View:
        """A copy with some fields changed."""
        return replace(self, **changes)


VIEW_KEYS = tuple(View(Scenario()).to_query())
