"""Hands a finished figure to Streamlit as it is."""

from __future__ import annotations

from typing import Any

from plotly.basedatatypes import BaseFigure


class ReadyFigure(BaseFigure):
    """A whole dictionary in the form of a figure.

    Streamlit runs a dictionary through Plotly's validation on every rerun, 6 ms a chart; the tests validate every
    figure instead (`go.Figure(data, layout)`), so the page does not have to.
    """

    def __init__(self, figure: dict[str, Any]) -> None:
        """Keep the dictionary; the base class would validate and copy it."""
        object.__setattr__(self, "_whole", figure)

    def to_dict(self) -> dict[str, Any]:
        """The dictionary."""
        whole: dict[str, Any] = object.__getattribute__(self, "_whole")
        return whole
