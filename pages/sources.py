"""Where the numbers come from: catalogs, symbols and formulas with their sources, and what is not modelled."""

import streamlit as st

from core.catalog import gpus, models
from core.formulas import symbols
from core.lessons import NOT_MODELLED, page
from core.report import gpu_rows, model_rows
from ui import blocks, shell, sources

view = shell.open_page("sources")

st.markdown(
    "Every figure is computed from a model's dimensions and a device's data sheet. A ceiling is a bound, not a "
    "forecast: measured systems stay below it."
)
names = [f"{len(models())} models", f"{len(gpus())} devices", "Symbols", "Formulas", "What is not modelled"]
model_tab, gpu_tab, symbol_tab, formula_tab, limits_tab, report_tab = st.tabs([*names, "A wrong number?"])
with model_tab:
    st.markdown("Parameters are counted from the dimensions and set beside the published count.")
    blocks.grid(*model_rows(), name="models")
with gpu_tab:
    st.markdown(
        "Peaks are dense. A device without a ridge has none from a data sheet. Weak fields are not taught from."
    )
    blocks.grid(*gpu_rows(), name="gpus")
with symbol_tab:
    blocks.table(*symbols())
with formula_tab:
    st.markdown("As the code documents them: read from it, not written here. Each example is run as a test.")
    sources.formulas()
with limits_tab:
    for title, sentence in NOT_MODELLED:
        st.markdown(f"**{title}.** {sentence}")
with report_tab:
    st.markdown(
        "Copy this into an issue of the repository and fill in the dots. A published or measured number with its "
        "source is worth most; the line below reproduces what you saw."
    )
    sources.report(view)
    published = page("papers")
    st.page_link(published.file, label=published.question, query_params=view.to_query())
