"""Text of unknown origin stays text."""

import html
import re

import pytest

from ui.blocks import to_csv
from ui.text import charted, escaped, plain


@pytest.mark.parametrize(
    "hostile",
    ["**bold**", "[x](javascript:alert(1))", "$\\int$", "<img src=x>", "a|b", ":material/home:", "# h", "~~x~~"],
)
def test_markdown_is_escaped(hostile: str) -> None:
    marked = plain(hostile)
    for char in "*[]()$<>|:#~":
        assert marked.count(char) == marked.count("\\" + char)


# What Streamlit's front end looks for in text whose escapes it has resolved already.
LATE = re.compile(
    r"https?://|www\.|[\w.+-]+@[\w-]+\.\w|:[+-]1:|:[\w-]+:|:material/\w+:|(^|\s)(<->|->|<-|--|>=|<=|~=)(\s|$)",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "hostile",
    [
        "https://example.org/a",
        "see HTTP://example.org",
        "www.example.org",
        "x WWW.example.org",
        "a.b+c@example.org",
        ":smile:",
        ":+1:",
        "a:smile:smile:b",
        ":material/home:",
        ":streamlit:",
        "a -> b",
        "a <-> b <- c -- d",
        "a >= b <= c ~= d",
    ],
)
def test_nothing_is_made_of_it_after_the_escapes_are_resolved(hostile: str) -> None:
    resolved = plain(hostile).replace("\\", "")
    assert LATE.search(hostile)
    assert not LATE.search(resolved)
    assert resolved.replace("\u2060", "") == hostile


@pytest.mark.parametrize(
    "text", ["12:30, two users: 1.5 GB", "a-b, c/d (e) 100 % × 2 · ≥ 3", "first, second. Third: x"]
)
def test_plain_sentences_get_no_invisible_characters(text: str) -> None:
    assert plain(text).replace("\\", "") == text


@pytest.mark.parametrize(
    ("text", "shown"), [("1. x", "1\\. x"), ("12. x", "12\\. x"), ("1.5 GB", "1\\.5 GB"), ("a 1. x", "a 1. x")]
)
def test_a_sentence_never_starts_a_list(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("a<br>b", "a&lt;br&gt;b"),
        ('<a href="javascript:x">', '&lt;a href="javascript:x"&gt;'),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("$x^2$", "&#36;x^2&#36;"),
        ("Llama 3 8B · H100", "Llama 3 8B · H100"),
    ],
)
def test_chart_text_is_escaped(text: str, shown: str) -> None:
    assert charted(text) == shown
    assert html.unescape(shown) == text


def test_html_is_escaped() -> None:
    assert escaped('<script>"&') == "&lt;script&gt;&quot;&amp;"


@pytest.mark.parametrize("cell", ["=1+1", "+x", "-x", "@x"])
def test_csv_cells_never_run(cell: str) -> None:
    assert to_csv(("a",), [(cell,)]).splitlines()[1] == f"'{cell}"


def test_csv_numbers_stay_exact() -> None:
    assert to_csv(("a", "b"), [(34_359_738_368, -1.5)]).splitlines()[1] == "34359738368,-1.5"
