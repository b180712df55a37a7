"""Where the numbers come from: both catalogs with their sources, and what is not modelled."""

import streamlit as st

from core.catalog import gpus, models
from core.lessons import NOT_MODELLED
from core.report import gpu_rows, model_rows
from ui import blocks, shell

shell.open_page("sources")

st.markdown(
    "Every figure is computed from a model's dimensions and a device's data sheet. A ceiling is a bound, not a "
    "forecast: measured systems stay below it. Click a column to sort, use the magnifier to search."
)
model_tab, gpu_tab, limits_tab = st.tabs([f"{len(models())} models", f"{len(gpus())} devices", "What is not modelled"])
with model_tab:
    blocks.grid(*model_rows(), name="models")
with gpu_tab:
    st.markdown("Peaks are dense. A device without a ridge has none from a data sheet.")
    blocks.grid(*gpu_rows(), name="gpus")
with limits_tab:
    for title, sentence in NOT_MODELLED:
        st.markdown(f"**{title}.** {sentence}")
