"""How many experts does a batch wake?"""

from functools import partial

import streamlit as st

from core.changes import changed, told
from core.derivation import speed_derivations
from core.evaluate import evaluate
from core.exact import experts
from core.report import expert_rows
from core.verdict import experts_summary, verdict
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("experts")
shown = (controls.model, controls.batch, controls.context)
lesson.control_row(view, *shown)
lesson.predict(view, plan)

result = evaluate(view.scenario)
said = verdict(result, view.unit)
summary = experts_summary(result, view.unit)
change = changed(view)
before = change.before if change else None
if result.decode.expected is not None:
    figures = (charts.experts_figure(result, before), charts.experts_ceiling_figure(result, before))
    blocks.side_by_side(figures, key="experts", alt=told(" ".join(summary), change))
blocks.pinned(view, change)
blocks.sentences(summary)
sums = speed_derivations(result, view.unit)
lesson.fold(view, plan, sums, ("experts_touched", "memory_s", "system"))
blocks.sentences([said.headline, *said.memory, *said.cautions], small=True)
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
wanted = ("weights_read", "experts_touched", "kv_read", "memory_s", "system")
blocks.arithmetic([d for d in sums if d.key in wanted])
if result.decode.expected is not None:
    blocks.table(*expert_rows(view.scenario, view.unit))
    blocks.csv_of(partial(experts, view.scenario), name="experts")
lesson.close(view, plan)
