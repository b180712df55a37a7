"""When does the cache outgrow the weights?"""

from functools import partial

import streamlit as st

from core.changes import changed, told
from core.derivation import memory_derivations
from core.evaluate import evaluate
from core.exact import context_curve
from core.report import context_rows
from core.verdict import context_summary, verdict
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("longer-context")
shown = (controls.model, controls.batch, controls.context)
lesson.control_row(view, *shown)
lesson.predict(view, plan, says_fit=False)

result = evaluate(view.scenario)
said = verdict(result, view.unit)
summary = context_summary(result)
change = changed(view)
before = change.before if change else None
words = told(" ".join((*said.memory, *summary)), change)
blocks.chart(charts.context_figure(result, view.unit, before), key="context_curve", alt=words)
blocks.verdict(said)
blocks.pinned(view, change)
sums = memory_derivations(result, view.unit)
lesson.fold(view, plan, sums, ("weights", "kv_cache", "crossing"))
blocks.sentences([*summary, *said.cautions])
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
wanted = ("weights", "kv_cache", "crossing", "max_context")
blocks.arithmetic([d for d in sums if d.key in wanted])
blocks.table(*context_rows(view.scenario, view.unit))
blocks.csv_of(partial(context_curve, view.scenario), name="context")
lesson.close(view, plan)
