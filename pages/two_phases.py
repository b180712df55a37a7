"""Why is the GPU idle?"""

from functools import partial

import streamlit as st

from core.derivation import intensity_derivations, prefill_derivations, speed_derivations
from core.evaluate import evaluate, request
from core.exact import phases
from core.variants import ridge_rows
from core.verdict import phases_summary, request_summary, verdict
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("two-phases")
shown = (controls.batch, controls.prompt, controls.output)
lesson.control_row(view, *shown)
lesson.predict(view, plan)

result = evaluate(view.scenario)
asked = request(view.scenario, view.output)
said, whole = phases_summary(result), request_summary(view.scenario, asked)
blocks.chart(charts.roofline_figure(result), key="roofline", alt=" ".join(said))
blocks.sentences(said)
blocks.chart(charts.phases_figure(result), key="phases", alt=whole[0])
blocks.chart(charts.request_figure(asked), key="request", alt=whole[-1])
blocks.sentences(whole)
blocks.sentences(verdict(result, view.unit).cautions, small=True)
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
steps = [d for d in speed_derivations(result, view.unit) if d.key in ("memory_s", "compute_s", "step_s")]
prefill, decode = st.columns(2)
with prefill:
    st.subheader("Prefill", anchor=False)
    blocks.arithmetic(prefill_derivations(result))
with decode:
    st.subheader("Decode", anchor=False)
    blocks.arithmetic(steps + intensity_derivations(result))

blocks.csv_of(partial(phases, result, asked), name="phases")

st.header("The ridge of this GPU", anchor=False)
blocks.table(*ridge_rows(view.scenario.gpu_spec.slug))
with st.expander("The ridge of every GPU and format"):
    blocks.table(*ridge_rows())
lesson.close(view, plan)
