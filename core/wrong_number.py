"""The text of a report that a number is wrong: what was asked, what came out, and what should have."""

from __future__ import annotations

from core.evaluate import evaluate
from core.report import numbers_table
from core.scenario import Scenario
from core.takeaway import can_be_linked, command_line, link
from core.units import Unit
from core.verdict import setting

TO_FILL = "…"


def issue_text(scenario: Scenario, unit: Unit = "GB") -> str:
    """A report to fill in, with the scenario, the line that reproduces it and every figure of its result.

    >>> print(issue_text(Scenario()).splitlines()[0])
    Wrong number: …
    """
    _, rows = numbers_table(evaluate(scenario), unit)
    lines = [
        f"Wrong number: {TO_FILL}",
        "",
        f"Which figure, on which page: {TO_FILL}",
        f"What it should be, in which unit: {TO_FILL}",
        f"Where that is published or measured (title, page, date): {TO_FILL}",
        f"How it is computed there: {TO_FILL}",
        "",
        f"Setting: {setting(scenario)}",
    ]
    if can_be_linked(scenario):
        lines += [f"Reproduce: {command_line(scenario, unit)}", f"Link: ?{link(scenario, unit=unit)}"]
    else:
        lines.append("Reproduce: the model is too long for a link, so please attach its config.json.")
    lines += ["", "What the formulas give now:", *(f"  {name}: {value}" for name, value in rows)]
    return "\n".join(lines)
