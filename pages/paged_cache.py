"""What do reservations waste?"""

from functools import partial

import streamlit as st

from core.derivation import paging_derivations
from core.exact import pool_requests, pool_shares
from core.pool import pool
from core.published import RESERVED_USE_SOURCE
from core.verdict import pool_summary
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("paged-cache")
shown = (controls.block, controls.mean, controls.spread)
extra = (controls.seed,)
lesson.control_row(view, *shown, extra=extra)
lesson.predict(view, plan)

found = pool(view)
if found is None:
    blocks.sentences([plan.prediction.nothing(view)])
else:
    summary = pool_summary(found)
    blocks.side_by_side(charts.pool_figures(found), key="pool", alt=" ".join(summary))
    blocks.legend(charts.POOL_KEY)
    blocks.chart(charts.shares_figure(found), key="shares", alt=summary[0])
    blocks.sentences(summary)
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
