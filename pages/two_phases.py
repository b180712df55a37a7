"""Why is the GPU idle?"""

from functools import partial

import streamlit as st

from core.changes import changed, told
from core.derivation import intensity_derivations, prefill_derivations, speed_derivations
from core.evaluate import evaluate, request
from core.exact import phases
from core.variants import ridge_rows
from core.verdict import phases_summary, request_summary, verdict
from ui import blocks, charts, controls, lesson, shell

view, plan = lesson.open_lesson("two-phases")
shown = (controls.batch, controls.prompt, controls.output)
lesson.control_row(view, *shown)
lesson.predict(view, plan)

result = evaluate(view.scenario)
asked = request(view.scenario, view.output)
said, whole = phases_summary(result), request_summary(view.scenario, asked)
change = changed(view)
before = change.before if change else None
asked_before = request(before.scenario, view.output) if before else None
blocks.chart(charts.roofline_figure(result, before), key="roofline", alt=told(" ".join(said), change))
blocks.pinned(view, change)
blocks.sentences(said)
prefill_sums, decode_sums = prefill_derivations(result), speed_derivations(result, view.unit)
lesson.fold(view, plan, [*prefill_sums, *decode_sums], ("ttft_s", "memory_s", "compute_s"))
blocks.chart(charts.phases_figure(result, before), key="phases", alt=told(whole[0], change))
blocks.chart(charts.request_figure(asked, asked_before), key="request", alt=told(whole[-1], change))
blocks.sentences(whole)
blocks.sentences(verdict(result, view.unit).cautions, small=True)
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
steps = [d for d in decode_sums if d.key in ("memory_s", "compute_s", "step_s")]
prefill, decode = st.columns(2)
with prefill:
    st.subheader("Prefill", anchor=False)
    blocks.arithmetic(prefill_sums)
with decode:
    st.subheader("Decode", anchor=False)
    blocks.arithmetic(steps + intensity_derivations(result))

blocks.csv_of(partial(phases, result, asked), name="phases")

st.header("The ridge of this GPU", anchor=False)
blocks.table(*ridge_rows(view.scenario.gpu_spec.slug))
box = st.expander("The ridge of every GPU and format", key="all_ridges", on_change=shell.touch)
if box.open:
    with box:
        blocks.table(*ridge_rows())
lesson.close(view, plan)
