"""`Result -> figure`, one module per page; no streamlit here.

The comparison's are not among these: its page imports `ui.charts.compare`, and with it numpy, by itself.
"""

from ui.charts.base import CONFIG, Figure
from ui.charts.bits import cache_formats_figure, formats_figure, parts_key
from ui.charts.context import context_figure
from ui.charts.experts import experts_ceiling_figure, experts_figure
from ui.charts.heads import architectures_figure, kv_variants_figures
from ui.charts.home import ceiling_chart, memory_bar
from ui.charts.lecture import HIGH, LOW, MIDDLE, SENTENCE, TALL, TWO_LINES, enlarged
from ui.charts.levers import lever_memory_figure, waterfall_figure
from ui.charts.live import CSS as LIVE_CSS
from ui.charts.live import live_figure
from ui.charts.nearest import nearest_traces
from ui.charts.paging import POOL_KEY, pool_figures, shares_figure
from ui.charts.phases import phases_figure, request_figure, roofline_figure
from ui.charts.reality import cache_term_figure, ratio_figure, reality_figure, reality_key
from ui.charts.speculation import expected_tokens_figure, speed_up_figures
from ui.charts.users import step_figure, users_figure

__all__ = [
    "CONFIG",
    "HIGH",
    "LIVE_CSS",
    "LOW",
    "MIDDLE",
    "POOL_KEY",
    "SENTENCE",
    "TALL",
    "TWO_LINES",
    "Figure",
    "architectures_figure",
    "cache_formats_figure",
    "cache_term_figure",
    "ceiling_chart",
    "context_figure",
    "enlarged",
    "expected_tokens_figure",
    "experts_ceiling_figure",
    "experts_figure",
    "formats_figure",
    "kv_variants_figures",
    "lever_memory_figure",
    "live_figure",
    "memory_bar",
    "nearest_traces",
    "parts_key",
    "phases_figure",
    "pool_figures",
    "ratio_figure",
    "reality_figure",
    "reality_key",
    "request_figure",
    "roofline_figure",
    "shares_figure",
    "speed_up_figures",
    "step_figure",
    "users_figure",
    "waterfall_figure",
]
