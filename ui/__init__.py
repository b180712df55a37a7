"""Streamlit and Plotly adapters: palette, charts, controls, page shell, lesson blocks."""
