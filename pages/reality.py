"""How close do real systems get?"""

import streamlit as st

from core.measured import select
from core.measured_report import (
    above_rows,
    cache_term_rows,
    cache_term_sentence,
    introduction,
    what_is_seen,
)
from ui import blocks, charts, controls, reality, shell

view = shell.open_page("reality")
choice, by = reality.choose()
found = select(choice)
reality.pictures(found, choice, by)
blocks.sentences(what_is_seen(found))
if view.is_lecture:
    st.stop()
blocks.sentences((introduction(),), small=True)

st.header("Add your own", anchor=False)
st.caption("Choose what ran, then enter what your benchmark printed. It stays in this session only.")
shown = (controls.model, controls.gpu, controls.n_gpus, controls.weight_format, controls.cache_format)
controls.row(view, *shown, controls.more(*shown), widths=(3, 3, 1.2, 3, 2, 2))
reality.add_own(view)

st.header("Is the cache really read?", anchor=False)
picture, numbers = st.columns([5, 4], vertical_alignment="center")
with picture:
    blocks.chart(charts.cache_term_figure(), key="reality_cache_term", alt=cache_term_sentence())
with numbers:
    blocks.table(*cache_term_rows())
blocks.sentences((cache_term_sentence(),))

st.header("Above the ceiling", anchor=False)
blocks.table(*above_rows())

st.header("The ratio in numbers", anchor=False)
reality.spreads(found, by)

st.header("Every measurement", anchor=False)
st.caption("Click a column to sort by it, use the magnifier to search; the download is exact.")
reality.table(found)
