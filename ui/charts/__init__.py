"""`Result -> figure`, one module per page; no streamlit here."""

from ui.charts.base import CONFIG, Figure
from ui.charts.context import context_figure
from ui.charts.heads import architectures_figure, kv_variants_figure
from ui.charts.home import ceiling_chart, memory_bar
from ui.charts.phases import phases_figure, request_figure, roofline_figure
from ui.charts.users import step_figure, users_figure

__all__ = [
    "CONFIG",
    "Figure",
    "architectures_figure",
    "ceiling_chart",
    "context_figure",
    "kv_variants_figure",
    "memory_bar",
    "phases_figure",
    "request_figure",
    "roofline_figure",
    "step_figure",
    "users_figure",
]
