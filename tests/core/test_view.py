"""A link carries everything and comes back the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.scenario import Scenario
from core.units import UNITS
from core.view import VIEW_KEYS, View
from tests.strategies import scenarios


@given(scenarios(), st.sampled_from(UNITS))
@settings(max_examples=100, deadline=None)
def test_round_trip(scenario: Scenario, unit: str) -> None:
    view = View(scenario, unit)  # type: ignore[arg-type]
    assert View.from_query(view.to_query(), View(Scenario())) == (view, [])
    assert set(view.to_query()) == set(VIEW_KEYS)


@pytest.mark.parametrize("value", ["", "gb", "MB", "<b>"])
def test_unknown_unit_is_said(value: str) -> None:
    view, notes = View.from_query({"unit": value}, View(Scenario(), "GiB"))
    assert view.unit == "GiB"
    assert notes
    assert "unit" in notes[0]
