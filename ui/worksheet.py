"""The worksheet and its answer key as HTML: on the page, on paper and as a file of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from core.units import integer
from core.view import NUMBERS, View
from core.worksheet import TOPICS, Blank, Given, Question, Worksheet
from ui import shell
from ui.text import escaped

CSS = """
.sheet { max-width: 60rem; }
.sheet h2 { font-size: 1.35rem; margin: 0; padding: .6rem 0 .1rem; }
.sheet p { margin: 0 0 .3rem; }
.sheet table { border-collapse: collapse; margin: .4rem 0; width: calc(100% - 2px); }
.sheet th, .sheet td { border: 1px solid currentColor; padding: .12rem .5rem; text-align: left; font-size: .92rem; }
.sheet td:first-child { width: 3.5rem; white-space: nowrap; }
.sheet td:last-child { font-variant-numeric: tabular-nums; white-space: nowrap; }
.sheet ol { margin: .4rem 0 0; padding-left: 1.6rem; }
.sheet li { margin-bottom: .7rem; break-inside: avoid; }
.sheet .blanks { display: flex; flex-wrap: wrap; gap: .5rem 1.6rem; padding-top: .7rem; }
.sheet .blank { display: inline-block; width: 7.5rem; height: 1.1rem; border-bottom: 1.5px solid currentColor; }
.sheet .long { width: 14rem; }
.sheet .line { font-size: .88rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.sheet .key { border-top: 1px solid currentColor; margin-top: 1.2rem; }
@media (max-width: 640px) { .sheet td:last-child { white-space: normal; } }
@media print {
  .sheet { max-width: none; }
  .stMainBlockContainer h1 { display: none; }
  .sheet .key { break-before: page; border: 0; margin: 0; }
  .sheet .room { min-height: 2.2rem; }
}
"""
_INDEX = re.compile(r"\b([A-Za-z])_([A-Za-z]+)")
TOPIC_WORDS = {"model": "The model", "GPU": "The GPUs", "load": "The load"}


def variant(view: View) -> None:
    """Which what-if is asked; a link carries it as the draw of the other pages."""
    low, high, _ = NUMBERS["seed"]
    st.number_input(
        "Variant", low, high, step=1, key=shell.live("seed"), on_change=shell.touch, help="Each asks another what-if."
    )


def key_switch(view: View) -> None:
    """The answer key, off at first; a link carries it like the answers of the lessons."""
    st.toggle("Answer key", key=shell.live("reveal"), on_change=shell.touch)


def _blank(blank: Blank) -> str:
    unit = f" {escaped(blank.unit)}" if blank.unit else ""
    line = '<span class="blank" role="img" aria-label="blank"></span>'
    return f"<span>{escaped(blank.label)}: {line}{unit}</span>"


def _givens(lines: Sequence[Given]) -> str:
    rows: list[str] = []
    for topic in TOPICS:
        rows.append(f'<tr><th colspan="3" scope="rowgroup">{TOPIC_WORDS[topic]}</th></tr>')
        rows += [
            f"<tr><td>{_symbol(line.symbol)}</td><td>{escaped(line.words)}</td><td>{escaped(line.text)}</td></tr>"
            for line in lines
            if line.topic == topic
        ]
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _symbol(symbol: str) -> str:
    return f"<i>{_lowered(symbol)}</i>"


def _lowered(text: str) -> str:
    """Escaped, and `P_head` with its index below the line."""
    return _INDEX.sub(r"\1<sub>\2</sub>", escaped(text))


def _asked(question: Question) -> str:
    blanks = "".join(map(_blank, question.blanks))
    return f'<li><p>{_lowered(question.text)}</p><div class="room"><div class="blanks">{blanks}</div></div></li>'


def _answered(question: Question) -> str:
    lines = "".join(
        f"<p>{escaped(b.label)}: <b>{escaped(b.text)}</b> {escaped(f'({b.leeway})') if b.leeway else ''}</p>"
        f'<p class="line">{escaped(b.arithmetic)}</p>'
        for b in question.blanks
    )
    return f"<li>{lines}</li>"


def html(sheet: Worksheet, *, key: bool) -> str:
    """The sheet, and with `key` the answers on a page of their own."""
    questions = "".join(map(_asked, sheet.questions))
    name = 'Name: <span class="blank long"></span>'
    said = f"<p>{escaped(sheet.title)} Variant {integer(sheet.seed)}.</p>"
    body = f"<section><h2>Worksheet</h2>{said}<p>{name}</p>{_givens(sheet.givens)}<ol>{questions}</ol></section>"
    if key:
        answers = "".join(map(_answered, sheet.questions))
        body += f'<section class="key"><h2>Answer key</h2>{said}<ol>{answers}</ol></section>'
    return f'<div class="sheet">{body}</div>'


def file(sheet: Worksheet, *, key: bool) -> str:
    """The same as a file that any browser shows and prints."""
    title = f"<title>Worksheet: {escaped(sheet.title)}</title>"
    page = "body { font: 15px/1.4 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }"
    head = f"<head><meta charset=utf-8>{title}<style>{page}{CSS}</style></head>"
    return f"<!doctype html><html lang=en>{head}<body>{html(sheet, key=key)}</body></html>"


def show(sheet: Worksheet, *, key: bool) -> None:
    """The sheet on the page."""
    st.html(f"<style>{CSS}</style>{html(sheet, key=key)}")


def download(sheet: Worksheet, *, key: bool) -> None:
    """What is shown, as a file."""
    st.download_button(
        "Download as HTML",
        lambda: file(sheet, key=key),
        file_name="worksheet-with-answers.html" if key else "worksheet.html",
        mime="text/html",
        key="download_worksheet",
        on_click="ignore",
        icon=":material/download:",
    )
