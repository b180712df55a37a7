"""The link of a view: to copy, as a QR code for the back row, and as an iframe for a course page."""

from __future__ import annotations

import html
import io
from pathlib import PurePath
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st
from streamlit import net_util

from core.lessons import page
from core.view import View
from ui.text import plain

QR_ALT = "QR code of this link"
FRAME_HEIGHT = 720
LOCAL = ("localhost", "127.0.0.1", "0.0.0.0", "::1", None)  # a machine's names for itself; None: unknown, in a test
# Page -> what its link leaves out.
NOT_IN_LINK = {
    "live": "what is dragged, nor where the grip stands (that can be set under More assumptions)",
    "compare": "what is chosen under the controls, nor your prices",
    "reality": "what is chosen on this page, nor your own measurements",
    "papers": "what is chosen on this page",
}
# Next to the picture there is room for the words of a projector only if the address is small.
_STYLE = """<style>
[data-testid=stDialog] [data-testid=stCode] code { font-size: max(.68rem, 13px); line-height: 1.35; }
[data-testid=stDialog] [data-testid=stCode] pre { padding: .5rem .7rem; }
@media (min-width: 641px) { [data-testid=stDialog] [data-testid=stCode] pre { max-height: 9rem; overflow-y: auto; } }
[data-testid=stDialog] [data-testid=stMarkdownContainer] p { line-height: 1.3; }
</style>"""


def link(view: View, page_url: str | None = None) -> str:
    """The address of a view on the page it is seen on; without its host where that is not known (in a test)."""
    base = urlsplit(page_url if page_url is not None else (st.context.url or ""))
    # Streamlit says its root without a slash, the browser with one.
    return base._replace(path=base.path or "/", query=urlencode(view.to_query())).geturl()


def qr_svg(text: str) -> str:
    """A QR code as SVG: dark on white whatever the theme, the quiet zone kept, the least redundancy for large squares.

    >>> qr_svg("https://example.org").startswith("<svg")
    True
    """
    import segno  # noqa: PLC0415 - only this needs it

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


def held(url: str) -> str:
    """What the link of the page at an address holds, in one sentence.

    >>> held("http://localhost:8501/papers?batch=1")
    'The link holds the scenario, but not what is chosen on this page.'
    """
    stem = PurePath(urlsplit(url).path).name
    out = next((words for slug, words in NOT_IN_LINK.items() if PurePath(page(slug).file).stem == stem), None)
    if out is None:
        return "The link holds the whole view: who opens it sees this scenario."
    return f"The link holds the scenario, but not {out}."


def phone_address(url: str) -> str | None:
    """The view under the machine's own address in its network, as Streamlit prints it at the start; None if unknown.

    Unknown too where the server was told to listen on one address only.
    """
    parts = urlsplit(url)
    try:
        own = None if st.get_option("server.address") else net_util.get_internal_ip()
    except OSError:
        own = None
    if own is None or own in LOCAL:
        return None
    return urlunsplit(parts._replace(netloc=f"{own}:{parts.port}" if parts.port else own))


def _for_phones(url: str) -> None:
    """What a phone needs while the address is the machine's name for itself."""
    if urlsplit(url).hostname not in LOCAL:
        return
    there = phone_address(url)
    if there is None:
        st.caption("**Phones** cannot open this address: it means “this machine”. Start the app where they reach it.")
        return
    start = there.partition("?")[0]
    st.caption(
        f"**Phones** cannot open this address: it means “this machine”. In the same network they reach it under the "
        f"Network URL that Streamlit printed at the start, most likely [{plain(start)}]({there}): open it there and "
        "share again."
    )


@st.dialog("Share this view", width="large")
def dialog(view: View) -> None:
    """QR code, link and iframe of exactly this view."""
    url = link(view)
    st.html(_STYLE)
    code, words = st.columns([2, 3], vertical_alignment="center")
    with code:
        st.image(qr_svg(url), alt=QR_ALT, width="stretch")
    with words:
        st.markdown(held(url))
        st.code(url, language=None, wrap_lines=True)
        if not view.can_be_shared:
            st.warning("Your own model is too long for a link: who opens it must upload the file too.")
        _for_phones(url)
        with st.expander("For a course page: HTML to paste"):
            st.code(frame(url), language="html", wrap_lines=True)
