"""What do reservations waste?"""

from functools import partial

import streamlit as st

from core.changes import changed, pinned_view, told
from core.derivation import paging_derivations
from core.exact import pool_requests, pool_shares
from core.pool import pool
from core.published import RESERVED_USE_SOURCE
from core.units import plural
from core.verdict import pool_summary
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("paged-cache")
shown = (controls.block, controls.mean, controls.spread)
extra = (controls.seed,)
lesson.control_row(view, *shown, extra=extra)
load = f"requests of up to {plural(view.scenario.context, 'token')}"
lesson.predict(view, plan, load=load, says_fit=False)

found = pool(view)
change, pin = changed(view), pinned_view(view)
if found is None:
    blocks.sentences([plan.prediction.nothing(view)])
    lesson.fold(view, plan, [])
    blocks.pinned(view, change)
else:
    summary = pool_summary(found)
    before = pool(pin) if pin else None
    blocks.side_by_side(
        charts.pool_figures(found, before), key="pool", alt=told(" ".join(summary), change), lecture_px=charts.LOW
    )
    blocks.legend(charts.POOL_KEY)
    if not view.is_lecture:
        blocks.chart(charts.shares_figure(found, before), key="shares", alt=told(summary[0], change))
    blocks.pinned(view, change)
    blocks.sentences(summary)
    lesson.fold(view, plan, paging_derivations(found))
    st.caption(f"Dashed: where systems that reserve were measured ({RESERVED_USE_SOURCE}).")
lesson.presets(plan)

if found is not None:
    st.header("The arithmetic", anchor=False)
    blocks.arithmetic(paging_derivations(found))
    blocks.table(("figure", "reserved", "in blocks", "factor"), found.rows(view.unit))
    with st.container(horizontal=True):
        blocks.csv_of(partial(pool_shares, found), name="pages")
        blocks.csv_of(partial(pool_requests, found), name="requests", label="Every request as CSV")
lesson.close(view, plan)
