"""The compare page's own widgets and blocks.

Its choices and the edited prices are held in the session, not in the link: their keys are no fields of the view.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
import streamlit as st

from core.columns import Column
from core.compare import AT_MOST, AT_MOST_STOPS, OVER_BRIEF, OVER_LABELS, OVERS, Choice, Comparison, Over, options
from core.compare_report import (
    at_most_label,
    comparison_columns,
    comparison_rows,
    map_alt,
    placeholders,
    price_note,
    speed_alt,
)
from core.pinned import pin_label, pinned_alt, pinned_rows, side_by_side
from core.pins import PINS_MAX
from core.prices import POWER_MAX, PRICE_MAX, Edit, Edits
from core.rows import COUNT_LABELS, COUNTS
from core.view import View
from ui import blocks, pins, shell, tables
from ui.charts import compare as charts
from ui.text import plain

_EDITS = "_edits"


def choose(view: View) -> Choice:
    """What to show: which cells, which kinds, on how many GPUs, tokens counted by what."""
    cells, kinds, limit, by = st.columns([5.3, 2.8, 1.6, 2], vertical_alignment="bottom")
    with cells:
        picked = st.segmented_control(
            "Compare",
            OVERS,
            default=OVERS[0],
            format_func=(OVER_BRIEF if view.is_lecture else OVER_LABELS).__getitem__,
            required=True,
            key="compare_over",
            on_change=shell.touch,
        )
    over: Over = next(name for name in OVERS if name == (picked or OVERS[0]))
    with kinds:
        only = st.multiselect(
            "Only",
            options(view.scenario, over),
            key=f"compare_only_{over}",
            placeholder="all kinds",
            on_change=shell.touch,
        )
    with limit:
        at_most = st.selectbox(
            "Fits on at most",
            AT_MOST_STOPS,
            index=AT_MOST_STOPS.index(AT_MOST),
            format_func=at_most_label,
            key="compare_at_most",
            on_change=shell.touch,
        )
    with by:
        count = st.selectbox(
            "Tokens counted",
            COUNTS,
            format_func=lambda name: COUNT_LABELS[name],
            key="compare_count",
            on_change=shell.touch,
            help="Together, the strongest devices lead everywhere; what they cost and draw makes it a choice.",
        )
    return Choice(over, frozenset(only), at_most or None, count)


def picture(found: Comparison) -> None:
    """Latency against throughput; the map of GPUs needed where rows are too many; nothing where there is nothing."""
    if found.is_map:
        blocks.chart(charts.map_figure(found), key="compare_map", alt=map_alt(found))
        blocks.legend(charts.map_key(found))
        st.caption(
            "Blank: not within the choice. Too many rows for a picture of speeds: choose fewer kinds to see one."
        )
    elif found.curves:
        blocks.chart(charts.speeds_figure(found), key="compare_speeds", alt=speed_alt(found))
        blocks.legend(charts.compare_key(found))
        st.caption("Each line runs from one user (left) to as many as fit (the mark); the stepped line is the front.")
    elif found.n_gpus.any():
        st.caption("No row of this choice has the figure that tokens are counted by.")


def _format(column: Column) -> str | None:
    """Thousands separators, or where there are small fractions enough decimals for three digits of the smallest.

    None where there is no number.
    """
    values = column.values
    if column.words is not None or values.size == 0:
        return None
    if column.is_blank is not None:
        return None if column.is_blank.all() else "localized"  # counts
    smallest = np.fmin.reduce(values)  # no NaN, if there is a number
    if smallest <= 0:
        smallest = min(values[values > 0], default=1.0)
    if np.isnan(smallest):
        return None
    return "localized" if smallest >= 1 else f"%.{min(6, 2 - math.floor(math.log10(smallest)))}f"


@lru_cache(maxsize=16)
def _number(form: str) -> Any:
    return st.column_config.NumberColumn(format=form)


def table(found: Comparison) -> None:
    """Every shown row, to sort and search; what is unknown stays blank. The download is exact."""
    columns = comparison_columns(found)
    config: dict[str, Any] = {next(iter(columns)): st.column_config.TextColumn(pinned=True)}
    for name, column in columns.items():
        if form := _format(column):
            config[name] = _number(form)
    shown = tables.frame_of(columns)
    st.dataframe(shown, hide_index=True, key="grid_compare", column_config=config, placeholder="")
    blocks.csv_of(partial(comparison_rows, found, exact=True), name="compare")


def edits() -> Edits:
    """The reader's own prices and powers."""
    held: dict[str, Edit] = st.session_state.get(_EDITS, {})
    return tuple(sorted(held.items()))


def _edited(slug: str) -> None:
    """Keep what the two fields hold; empty ones are the catalog's figures again."""
    state = st.session_state
    edit = Edit(state.get(f"price_{slug}"), state.get(f"power_{slug}"))
    held: dict[str, Edit] = {name: kept for name, kept in state.get(_EDITS, {}).items() if name != slug}
    state[_EDITS] = held if edit == Edit() else held | {slug: edit}
    shell.touch()


def prices(view: View) -> None:
    """Price and power of the scenario's device, as the catalog has them or as the reader sets them."""
    gpu = view.scenario.gpu_spec
    held = dict(edits()).get(gpu.slug, Edit())
    # Seeded, not given as defaults: a field that is emptied would fall back to its default.
    for key, value in ((f"price_{gpu.slug}", held.price_per_gpu_hour), (f"power_{gpu.slug}", held.power_w)):
        st.session_state.setdefault(key, value)
    price_hint, power_hint = placeholders(gpu)
    st.caption(plain(price_note(gpu)))
    price, power, _ = st.columns([2, 2, 5])
    with price:
        st.number_input(
            "Your price ($ per GPU-hour)",
            0.0,
            PRICE_MAX,
            None,
            key=f"price_{gpu.slug}",
            placeholder=price_hint,
            on_change=_edited,
            args=(gpu.slug,),
            help="Empty: the catalog's dated range. Choose another GPU above to set its price.",
        )
    with power:
        st.number_input(
            "Your power (W per GPU)",
            0.0,
            POWER_MAX,
            None,
            key=f"power_{gpu.slug}",
            placeholder=power_hint,
            on_change=_edited,
            args=(gpu.slug,),
            help="Empty: the data sheet's thermal design power.",
        )


def pinned(view: View) -> None:
    """The button, the pinned scenarios with a way to take each away, and the bars."""
    held = pins.pins()
    st.caption("Pin the scenario, change the model, the GPU or the formats, and pin the next.")
    with st.container(horizontal=True):
        st.button(
            "Pin this scenario",
            key="pin",
            icon=":material/keep:",
            on_click=pins.pin,
            args=(view.scenario,),
            help=f"Up to {PINS_MAX} stand side by side on one axis.",
        )
        for number, scenario in enumerate(held):
            st.button(
                f"{number + 1}: {plain(pin_label(scenario))}",
                key=f"unpin_{number}",
                icon=":material/close:",
                on_click=pins.unpin,
                args=(number,),
                help="Take it away.",
            )
    if not held:
        return
    variants = side_by_side(held)
    figures = charts.pinned_figures(variants, view.unit)
    blocks.side_by_side(figures, key="pinned", alt=pinned_alt(variants, view.unit), widths=(3, 2))
    blocks.table(*pinned_rows(variants, view.unit, edits()))
