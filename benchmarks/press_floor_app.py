"""The floor of a page with a slider and a picture: Streamlit and Plotly with nothing of ours between them.

A script for `streamlit run`: one slider, and for each of its stops one picture that is there already.
"""

import streamlit as st

from ui.figure import ReadyFigure

STOPS = tuple(2**i for i in range(13))
FIGURES = {
    stop: {
        "data": [{"type": "bar", "orientation": "h", "x": [stop], "y": ["users"], "text": [str(stop)]}],
        "layout": {"height": 200, "xaxis": {"range": [0, STOPS[-1]], "fixedrange": True}},
    }
    for stop in STOPS
}

shown = st.select_slider("Users (batch)", STOPS, value=8, key="batch")
st.plotly_chart(ReadyFigure(FIGURES[shown]), theme=None, key="picture", config={"displayModeBar": False})
