"""Which published numbers come out?"""

from functools import partial

import streamlit as st

from core.papers import exact_rows, rows, summary
from ui import blocks, papers, shell

shell.open_page("papers")
blocks.sentences(summary())
st.caption(
    "Each published number is computed here by the formulas behind every other page. Those that rest on what is not "
    "modelled are out of scope, with the reason; misprints are listed, never tested."
)
chosen = papers.choose()
blocks.grid(*rows(chosen), name="papers")
blocks.csv_of(partial(exact_rows, chosen), name="papers-exact", label="Download inputs and base units as CSV")

st.header("The arithmetic", anchor=False)
papers.arithmetic(chosen)
