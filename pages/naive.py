"""How wrong is the usual formula?"""

from functools import partial

import streamlit as st

from core.naive import PRESETS, alt, exact_rows, findings, rows, summary
from ui import blocks, controls, lesson, naive, shell
from ui.charts.naive import NAIVE_KEY, PROJECTED, naive_figure

view = shell.open_page("naive")
lesson.control_row(view, controls.model, controls.batch, controls.context)
found = findings(view.scenario)
said = summary(view.scenario, found, view.unit)

blocks.chart(naive_figure(found), key="naive", alt=alt(view.scenario, found), lecture_px=PROJECTED)
blocks.legend(NAIVE_KEY)
blocks.sentences(said)
if view.is_lecture:
    st.stop()
with st.container(horizontal=True):
    blocks.presets(PRESETS)

st.header("Every mistake", anchor=False)
blocks.table(*rows(found, view.unit))
blocks.csv_of(partial(exact_rows, view.scenario), name="naive")

st.header("The arithmetic", anchor=False)
naive.sums(found, view.unit)
blocks.take_away(view)
