"""Text of unknown content as plain text: Markdown, KaTeX and HTML in it stay what they are."""

from __future__ import annotations

import html
import re

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>$~:&-])")


def plain(text: str) -> str:
    r"""Escaped for Markdown.

    >>> plain("a *b* $c$ [d](e)")
    'a \\*b\\* \\$c\\$ \\[d\\]\\(e\\)'
    """
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def escaped(text: str) -> str:
    """Escaped for HTML.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return html.escape(text)
