"""Printing: what is for the screen stays there, and the rest is black on white, without scrolling boxes."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

SCREEN_ONLY = "screen-only"

_CSS = """
<style>
@media print {
  [data-testid=stHeader], [data-testid=stToolbar], [data-testid=stSidebar], [data-testid=stStatusWidget],
  [data-testid=stElementToolbar], .st-key-bar, [class*="st-key-screen-only"] { display: none !important; }
  html { font-size: 13px !important; }
  html, body, #root, .stApp, [data-testid=stAppViewContainer], [data-testid=stMain], .stMainBlockContainer {
    position: static !important; display: block !important; overflow: visible !important;
    height: auto !important; width: auto !important; max-width: none !important; min-width: 0 !important;
    background: #fff !important; }
  .stMainBlockContainer { padding: 0 !important; }
  .stApp, .stApp * { color: #000 !important; text-shadow: none !important; }
  [data-testid=stVerticalBlock] { gap: .3rem; }
  [data-testid=stPageLink] a { padding: 0; background: none !important; }
  [data-testid=stPageLink] * { white-space: normal !important; overflow: visible !important; }
  [data-testid=stColumn]:has(.st-key-bar) { display: none; }
  h1, h2, h3 { break-after: avoid; }
  tr, li, .whole, [class*="st-key-whole"] { break-inside: avoid; }
}
</style>
"""


def style() -> None:
    """The print style of a page; on screen nothing changes."""
    st.html(_CSS)


def screen_only(name: str = "") -> DeltaGenerator:
    """A container that is not printed: for controls."""
    return st.container(key=f"{SCREEN_ONLY}-{name}" if name else SCREEN_ONLY)
