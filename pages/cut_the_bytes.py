"""Which lever moves this model most?"""

from functools import partial

import streamlit as st

from core.changes import changed, pinned_view, told
from core.derivation import waterfall_derivations
from core.exact import levers
from core.levers import waterfall
from core.predict import view_plan
from core.report import lever_rows
from core.verdict import levers_summary
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("cut-the-bytes")
shown = (controls.model, controls.batch, controls.context)
extra = (controls.draft, controls.draft_length, controls.acceptance)
lesson.control_row(view, *shown, extra=extra)
lesson.predict(view, plan)

fall = waterfall(view_plan(view))
summary = levers_summary(fall, view.unit)
change, pin = changed(view), pinned_view(view)
before = waterfall(view_plan(pin), [step.lever for step in fall.steps]) if pin else None
figures = (charts.waterfall_figure(fall, view.unit, before), charts.lever_memory_figure(fall, view.unit, before))
blocks.side_by_side(figures, key="waterfall", alt=told(" ".join(summary), change), widths=(3, 2))
blocks.pinned(view, change)
blocks.sentences(summary)
lesson.fold(view, plan, waterfall_derivations(fall, view.unit))
st.caption(
    "Start: one user, multi-head attention, 16 bits, every expert read, one token a pass. A lever that you have not "
    "pulled is shown with a usual setting, named beside its bar."
)
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
blocks.arithmetic(waterfall_derivations(fall, view.unit))
blocks.table(*lever_rows(fall, view.unit))
blocks.csv_of(partial(levers, fall), name="levers")
lesson.close(view, plan)
