"""The explorer: how big is the cache, does it fit, and how fast can a system be at most?"""

from functools import partial

import streamlit as st

from core import lessons, presets
from core.derivation import memory_derivations, speed_derivations
from core.evaluate import evaluate
from core.exact import users_curve
from core.report import numbers_table
from core.verdict import ceiling_alt, key_line, memory_alt, verdict
from ui import blocks, charts, controls, shell

view = shell.open_page("home")
scenario, unit = view.scenario, view.unit

first = (controls.model, controls.gpu, controls.n_gpus)
second = (controls.batch, controls.context, controls.kv_heads)
controls.row(view, *first, controls.more(*first, *second), controls.unit, widths=(3.4, 3.6, 1.6, 2.2, 1.5))
controls.row(view, *second)

result = evaluate(scenario)
said = verdict(result, unit)

blocks.chart(charts.memory_bar(result, unit), key="memory_bar", alt=memory_alt(result, unit))
blocks.verdict(said)
blocks.sentences([key_line(result, unit)], small=True)

speed = speed_derivations(result, unit)
chart, figures = st.columns([3, 2])
with chart:
    blocks.chart(charts.ceiling_chart(result), key="ceiling", alt=ceiling_alt(result))
with figures:
    blocks.key_figures([d for d in speed if d.key in ("memory_s", "per_user", "system")])
    blocks.sentences(said.speed)

with st.container(horizontal=True):
    blocks.presets(presets.PRESETS)
blocks.sentences(said.cautions, small=True)

st.header("The arithmetic", anchor=False)
memory_column, speed_column = st.columns(2)
with memory_column:
    st.subheader("Memory", anchor=False)
    blocks.arithmetic(memory_derivations(result, unit))
with speed_column:
    st.subheader("Speed", anchor=False)
    blocks.arithmetic(speed)

st.header("The numbers", anchor=False)
blocks.table(*numbers_table(result, unit))
with st.container(horizontal=True):
    blocks.csv_of(partial(numbers_table, result, unit, exact=True), name="how-big-is-the-cache")
    blocks.csv_of(partial(users_curve, scenario), name="ceiling-against-users", label="The curves as CSV")
blocks.take_away(view, result)
blocks.reading(lessons.READING)
