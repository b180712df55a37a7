"""Why serve many users at once?"""

from functools import partial

import streamlit as st

from core.changes import changed, told
from core.derivation import intensity_derivations, speed_derivations
from core.evaluate import evaluate
from core.exact import users_curve
from core.measured_report import near_sentence
from core.report import batch_rows
from core.verdict import users_summary, verdict
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("more-users")
shown = (controls.model, controls.batch, controls.context)
lesson.control_row(view, *shown)
lesson.predict(view, plan)

result = evaluate(view.scenario)
said = verdict(result, view.unit)
summary = users_summary(result)
change = changed(view)
before = change.before if change else None
words = told(" ".join((*said.speed, *summary)), change)
blocks.chart(charts.users_figure(result, before), key="users_curve", alt=words, lecture_px=charts.TALL)
sums = speed_derivations(result, view.unit)
blocks.pinned(view, change)
blocks.sentences([*said.speed, *summary])
lesson.fold(view, plan, [*sums, *intensity_derivations(result)], ("intensity_weights", "ridge", "system"))
blocks.chart(charts.step_figure(result, before), key="step", alt=told(f"What fills a step: {said.speed[0]}", change))
blocks.sentences([*near_sentence(view.scenario), said.headline, *said.memory, *said.cautions], small=True)
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
blocks.arithmetic([*sums, *intensity_derivations(result)])
blocks.table(*batch_rows(view.scenario))
blocks.csv_of(partial(users_curve, view.scenario), name="users")
lesson.close(view, plan)
