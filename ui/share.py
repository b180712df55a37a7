"""The link of a view: to copy, as a QR code for the back row, and as an iframe for a course page."""

from __future__ import annotations

import html
import io
from urllib.parse import urlencode, urlsplit

import segno
import streamlit as st

from core.view import View

QR_ALT = "QR code of the link above"
FRAME_HEIGHT = 720


def link(view: View, page_url: str | None = None) -> str:
    """The address of a view on the page it is seen on; without its host where that is not known (in a test)."""
    base = page_url if page_url is not None else (st.context.url or "")
    return f"{base}?{urlencode(view.to_query())}"


def qr_svg(text: str) -> str:
    """A QR code as SVG: dark on white whatever the theme, the quiet zone kept, the least redundancy for large squares.

    >>> qr_svg("https://example.org").startswith("<svg")
    True
    """
    out = io.BytesIO()
    segno.make(text, error="l", micro=False, boost_error=False).save(
        out, kind="svg", xmldecl=False, svgns=True, border=4, dark="#000", light="#fff", scale=8
    )
    return out.getvalue().decode()


def frame(url: str) -> str:
    """An iframe for a course page; `embed` leaves Streamlit's own frame out.

    >>> frame("https://example.org/?batch=1")
    '<iframe src="https://example.org/?batch=1&amp;embed=true" width="100%" height="720" style="border:0"></iframe>'
    """
    source = html.escape(f"{url}&embed=true")
    return f'<iframe src="{source}" width="100%" height="{FRAME_HEIGHT}" style="border:0"></iframe>'


@st.dialog("Share this view", width="large")
def dialog(view: View) -> None:
    """Link, QR code and iframe of exactly this view."""
    url = link(view)
    st.markdown("The link holds the whole view: who opens it sees this scenario.")
    st.code(url, language=None, wrap_lines=True)
    if not view.can_be_shared:
        st.warning("Your own model is too long for a link: who opens it must upload the file too.")
    code, words = st.columns([3, 2], vertical_alignment="center")
    with code:
        st.image(qr_svg(url), alt=QR_ALT, width="stretch")
    with words:
        host = urlsplit(url).hostname
        if host in ("localhost", "127.0.0.1", "0.0.0.0", None):
            st.caption("This copy runs on your own machine: a phone reaches it only under the machine's own address.")
        st.markdown("**For a course page**: paste this where HTML is allowed.")
        st.code(frame(url), language="html", wrap_lines=True)
