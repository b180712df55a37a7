"""More than one token per read?"""

from functools import partial

import streamlit as st

from core.changes import changed, drafted, pinned_view, told
from core.derivation import speculation_derivations
from core.drafting import speculate
from core.exact import by_draft_length, by_users
from core.report import draft_rows
from core.verdict import speculation_summary
from core.view import NUMBERS
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("speculation")
shown = (controls.draft_length, controls.acceptance, controls.batch)
extra = (controls.draft,)
lesson.control_row(view, *shown, extra=extra)
lesson.predict(view, plan)

draft = view.draft_model
change = changed(view)
if draft is None:
    blocks.sentences([plan.prediction.nothing(view)])
    lesson.fold(view, plan, [])
    blocks.pinned(view, change)
    lesson.presets(plan)
else:
    found = speculate(view.scenario, draft, draft_length=view.draft_length, acceptance=view.accepted)
    summary = speculation_summary(found, view.unit)
    before = drafted(pinned_view(view))
    figures = (charts.expected_tokens_figure(found), *charts.speed_up_figures(view.scenario, draft, found, before))
    blocks.side_by_side(figures, key="speculation", alt=told(" ".join(summary), change))
    blocks.pinned(view, change)
    blocks.sentences([f"{draft.name} drafts for {view.scenario.released_model.name}.", *summary])
    lesson.fold(view, plan, speculation_derivations(found))
    lesson.presets(plan)
    st.header("The arithmetic", anchor=False)
    blocks.arithmetic(speculation_derivations(found))
    longest = NUMBERS["draft_length"][1]
    blocks.table(*draft_rows(view.scenario, draft, view.accepted, longest))
    lengths = partial(by_draft_length, view.scenario, draft, view.accepted)
    crowds = partial(by_users, view.scenario, draft, view.draft_length, view.accepted)
    with st.container(horizontal=True):
        blocks.csv_of(lengths, name="draft-length", label="By draft length as CSV")
        blocks.csv_of(crowds, name="speculation-by-users", label="By users as CSV")
lesson.close(view, plan)
