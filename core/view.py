"""`View`: a scenario and how a page shows it; everything that a link carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.scenario import QUERY_KEYS, Scenario, one_of, shown
from core.units import UNITS, Unit


@dataclass(frozen=True, slots=True)
class View:
    """What is on screen. Numbers never depend on anything but `scenario`."""

    scenario: Scenario
    unit: Unit = "GB"

    def to_query(self) -> dict[str, str]:
        """Every field of the link, always, in a fixed order.

        >>> View(Scenario()).to_query()["unit"]
        'GB'
        """
        return {**self.scenario.to_query(), "unit": self.unit}

    @staticmethod
    def from_query(query: Mapping[str, str], default: View) -> tuple[View, list[str]]:
        """The view a link asks for, and a sentence for each value that was changed or replaced.

        >>> View.from_query({"unit": "MB"}, View(Scenario()))[1]
        ['unit must be one of GB, GiB; "MB" was replaced by GB.']
        """
        scenario, notes = Scenario.from_query(query, default.scenario)
        unit = default.unit
        if "unit" in query:
            found: tuple[Unit, ...] = tuple(u for u in UNITS if u == query["unit"])
            if found:
                unit = found[0]
            else:
                notes.append(f"unit must be {one_of(UNITS)}; {shown(query['unit'])} was replaced by {unit}.")
        return View(scenario, unit), notes

    def replace(self, **changes: Any) -> View:
        """A copy with some fields changed."""
        return replace(self, **changes)


VIEW_KEYS = (*QUERY_KEYS, "unit")
