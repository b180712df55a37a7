"""Which GPU, which model?"""

import streamlit as st

from core.compare import compare
from core.compare_report import cautions, summary
from ui import blocks, comparing, controls, shell

view = shell.open_page("compare")
shown = (controls.model, controls.gpu, controls.context)
widths = (2.6, 2.6, 2.6, 3, 2.2) if view.is_lecture else (3, 3, 3, 2, 1.5)
controls.row(view, *shown, controls.more(*shown), controls.unit, widths=widths)
choice = comparing.choose(view)

found = compare(view.scenario, choice, comparing.edits())
comparing.picture(found)
blocks.sentences(summary(found))
blocks.sentences(cautions(found), small=True)

st.header("Every row", anchor=False)
st.caption("Fewest GPUs first. Click a column to sort by it, use the magnifier to search; the download is exact.")
comparing.table(found)

st.header("What it costs, at best", anchor=False)
comparing.prices(view)

st.header("Side by side", anchor=False)
comparing.pinned(view)
