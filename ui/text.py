"""Text of unknown content as plain text: Markdown, KaTeX, HTML and Plotly's tags in it stay what they are."""

from __future__ import annotations

import html
import re
from functools import lru_cache

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>$~:&-])")
# What Streamlit turns into links, emoji, icons and arrows after it has resolved the escapes: split by a word joiner.
_LATE = re.compile(
    r"(?<=https:)(?=//)|(?<=http:)(?=//)|(?<=www)(?=\.)|(?<=@)|(?<=:)(?=[\w+/-]+:)|(?<=[-<>~])(?=[-=>])", re.IGNORECASE
)
_JOINER = "\u2060"
_NUMBERED = re.compile(r"^(\d+)\.")  # at the start of a line, the first item of a list


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    r"""Escaped for Markdown.

    >>> plain("a *b* $c$ [d](e)")
    'a \\*b\\* \\$c\\$ \\[d\\]\\(e\\)'
    """
    return _NUMBERED.sub(r"\1\\.", _MARKUP.sub(r"\\\1", _LATE.sub(_JOINER, " ".join(text.split()))))


@lru_cache(maxsize=1024)
def escaped(text: str) -> str:
    """Escaped for HTML.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return html.escape(text)


def charted(text: str) -> str:
    """Escaped for the text of a chart, where Plotly knows a few tags, entities and formulas between dollars.

    >>> charted("<b>$x$</b> & y")
    '&lt;b&gt;&#36;x&#36;&lt;/b&gt; &amp; y'
    """
    return html.escape(text, quote=False).replace("$", "&#36;")
