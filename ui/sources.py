"""The sources page's blocks: formulas as their docstrings present them, and the report of a wrong number."""

from __future__ import annotations

import streamlit as st

from core.formulas import Chapter, Formula, chapters
from core.units import plural
from core.view import View
from core.wrong_number import issue_text
from ui import shell
from ui.text import escaped, plain


def formulas() -> None:
    """One box a module, drawn while it is open: every formula with signature, docstring and example."""
    for chapter in chapters():
        title = f"{plain(chapter.name)}: {plural(len(chapter.formulas), 'formula')}"
        box = st.expander(title, key=f"formulas_{chapter.name}", on_change=shell.touch)
        if box.open:
            with box:
                _chapter(chapter)


def _chapter(chapter: Chapter) -> None:
    st.markdown(plain(chapter.about))
    st.html(f'<dl class="sums">{"".join(map(_entry, chapter.formulas))}</dl>')


def _entry(formula: Formula) -> str:
    lines = [f"<dt><code>{escaped(formula.signature)}</code></dt>"]
    lines += [f"<dd>{escaped(text)}</dd>" for text in formula.paragraphs]
    for name, items in formula.sections:
        listed = "".join(f"<li>{escaped(item)}</li>" for item in items)
        lines.append(f'<dd class="formula">{escaped(name)}<ul style="margin: 0">{listed}</ul></dd>')
    if formula.example:
        example = escaped(formula.example)
        lines.append(f'<dd><pre style="margin: .2rem 0; white-space: pre-wrap"><code>{example}</code></pre></dd>')
    return "".join(lines)


def report(view: View) -> None:
    """The text of a report for the present scenario, to copy."""
    st.code(issue_text(view.scenario, view.unit), language=None, wrap_lines=True)
