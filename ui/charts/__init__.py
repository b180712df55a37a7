"""`Result -> figure`, one module per page; no streamlit here."""

from ui.charts.base import CONFIG, Figure
from ui.charts.bits import formats_figure
from ui.charts.context import context_figure
from ui.charts.experts import experts_figure
from ui.charts.heads import architectures_figure, kv_variants_figure
from ui.charts.home import ceiling_chart, memory_bar
from ui.charts.levers import waterfall_figure
from ui.charts.paging import POOL_KEY, pool_figure, shares_figure
from ui.charts.phases import phases_figure, request_figure, roofline_figure
from ui.charts.speculation import speculation_figure
from ui.charts.users import step_figure, users_figure

__all__ = [
    "CONFIG",
    "POOL_KEY",
    "Figure",
    "architectures_figure",
    "ceiling_chart",
    "context_figure",
    "experts_figure",
    "formats_figure",
    "kv_variants_figure",
    "memory_bar",
    "phases_figure",
    "pool_figure",
    "request_figure",
    "roofline_figure",
    "shares_figure",
    "speculation_figure",
    "step_figure",
    "users_figure",
    "waterfall_figure",
]
