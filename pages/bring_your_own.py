"""What about my model or GPU?"""

import streamlit as st

from core.custom import CUSTOM
from core.derivation import memory_derivations, model_derivations, speed_derivations
from core.evaluate import evaluate
from core.own import assumed_rows, group_rows, growth_rows, read_rows, summary
from core.verdict import ceiling_alt, key_line, memory_alt, verdict
from ui import blocks, charts, controls, own, shell

view = shell.open_page("bring-your-own")
model_tab, gpu_tab = st.tabs(["My model", "My GPU"])
with model_tab:
    uploaded, pasted, fetched = st.columns(3)
    with uploaded:
        own.upload()
    with pasted:
        own.paste()
    with fetched:
        own.repository()
    st.caption("What a file does not say is refused or listed as assumed, never filled in. Nothing is stored.")
with gpu_tab:
    st.caption("From a data sheet: dense peaks, never those with sparsity; empty where unknown.")
    own.gpu_form(view)

mine, seen = view.own_model, own.seen(view)
if mine is not None:
    st.header("Your model", anchor=False)
    blocks.sentences(summary(mine))
    if seen is not None and seen.count:
        blocks.sentences([seen.count])
    own.sharing(view)
    st.button("Remove my model", key="own_remove", on_click=own.remove_model, icon=":material/delete:")
    blocks.arithmetic(model_derivations(mine))
    st.subheader("Layers", anchor=False)
    blocks.table(*group_rows(mine))
    st.subheader("How its cache grows", anchor=False)
    blocks.table(*growth_rows(mine, view.unit))
    if seen is not None:
        blocks.sentences([f"Read from {seen.origin}."], small=True)
        with st.expander("What was read from which key"):
            blocks.table(*read_rows(seen.reading))
        if seen.reading.assumed:
            st.subheader("What was assumed, and why", anchor=False)
            blocks.table(*assumed_rows(seen.reading))

first = (controls.model, controls.gpu, controls.n_gpus)
second = (controls.batch, controls.context, controls.kv_heads)
st.header("In memory and at its ceiling", anchor=False)
controls.row(view, *first, controls.more(*first, *second), controls.unit, widths=(3.4, 3.6, 1.6, 2.2, 1.5))
controls.row(view, *second)
scenario = view.scenario
result = evaluate(scenario)
said = verdict(result, view.unit)
blocks.chart(charts.memory_bar(result, view.unit), key="memory_bar", alt=memory_alt(result, view.unit))
blocks.verdict(said)
blocks.sentences([key_line(result, view.unit)], small=True)
blocks.chart(charts.ceiling_chart(result), key="ceiling", alt=ceiling_alt(result))
blocks.sentences([*said.speed, *said.cautions], small=True)
if CUSTOM not in (scenario.model_key, scenario.gpu_key):
    st.caption("Both come from the catalog now. Every other page works with your model and GPU as well.")
st.header("The arithmetic", anchor=False)
memory_column, speed_column = st.columns(2)
with memory_column:
    blocks.arithmetic(memory_derivations(result, view.unit))
with speed_column:
    blocks.arithmetic(speed_derivations(result, view.unit))
blocks.take_away(view, result)
