"""The naive bench's blocks: both sums of every mistake, and what does not apply."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.naive import Figure, Finding, Kind, shown
from core.units import Unit
from ui.text import escaped


def _equation(figure: Figure, kind: Kind, unit: Unit) -> str:
    result = shown(figure.value, kind, unit)
    return result if figure.numbers == result else f"{figure.numbers} = {result}"


def sums(found: Sequence[Finding], unit: Unit) -> None:
    """Each mistake that matters: the wrong formula and the right one, with their numbers in, and who would notice."""
    entries: list[str] = []
    for f in found:
        if not (f.wrong and f.right):
            continue
        m = f.mistake
        entries.append(
            f"<dt>{escaped(m.title)}: {escaped(f.text)}</dt>"
            f'<dd class="formula">Wrong: {escaped(m.figure)} = {escaped(m.wrong)}</dd>'
            f'<dd class="numbers">{escaped(_equation(f.wrong, m.kind, unit))}</dd>'
            f'<dd class="formula">Right: {escaped(m.figure)} = {escaped(m.right)}</dd>'
            f'<dd class="numbers">{escaped(_equation(f.right, m.kind, unit))}</dd>'
            f'<dd class="formula">{escaped(m.notices)}</dd>'
        )
    st.html(f'<dl class="sums">{"".join(entries)}</dl>')
