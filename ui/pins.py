"""Pinning a scenario and taking a pin away: callbacks on the view's `pins`, which the link carries."""

from __future__ import annotations

from core.pinned import refusal
from core.pins import PINS_MAX
from core.scenario import Scenario
from ui import shell


def pins() -> tuple[Scenario, ...]:
    """The pinned scenarios, in the order they were pinned."""
    return shell.current().pins


def pin(scenario: Scenario) -> None:
    """Pin one more (a callback); where it cannot be, one sentence says why."""
    view = shell.current()
    said = refusal(scenario, view.pins, PINS_MAX)
    if said:
        shell.show(view, (said,))
        return
    shell.show(view.replace(pins=(*view.pins, scenario)))


def pin_last(scenario: Scenario) -> None:
    """Pin a scenario as the last, which the pictures show (a callback); with no room left, in place of the last."""
    view = shell.current()
    others = [held for held in view.pins if held != scenario][: PINS_MAX - 1]
    shell.show(view.replace(pins=(*others, scenario)))


def unpin(number: int) -> None:
    """Take the pin of this number away (a callback), counting from 0; none of that number is no error."""
    view = shell.current()
    shell.show(view.replace(pins=tuple(held for i, held in enumerate(view.pins) if i != number)))
