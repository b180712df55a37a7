"""The published numbers' blocks: what to list, and every paper with its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.papers import STATUSES, Example, counts, papers, shown
from core.units import plural, significant
from ui import shell
from ui.text import escaped, plain

ALL = "all"


def choose() -> list[Example]:
    """Which paper and which outcome to list."""
    names = {ALL: "all papers", **{slug: paper.name for slug, paper in papers().items()}}
    there = [status for status, n in counts().items() if n]
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    with left:
        paper = st.selectbox(
            "Paper", list(names), format_func=names.__getitem__, key="papers_paper", on_change=shell.touch
        )
    with right:
        status = st.segmented_control(
            "Outcome",
            [ALL, *there],
            default=ALL,
            required=True,
            format_func=lambda s: s if s == ALL else f"{s} ({counts()[s]})",
            key="papers_status",
            on_change=shell.touch,
        )
    return shown(None if paper in (None, ALL) else paper, (status,) if status in STATUSES else ())


def arithmetic(chosen: Sequence[Example]) -> None:
    """One box a paper: inputs, published, and how ours is computed, call by call; drawn only while it is open."""
    for slug, paper in papers().items():
        its = [e for e in chosen if e.paper == slug]
        if not its:
            continue
        title = f"{plain(paper.name)}: {plural(len(its), 'number')}"
        box = st.expander(title, key=f"papers_box_{slug}", on_change=shell.touch)
        if not box.open:
            continue
        with box:
            st.markdown(f"[{plain(paper.title)}]({paper.url}), {paper.year}")
            st.html(f'<dl class="sums">{"".join(map(_entry, its))}</dl>')


def _entry(example: Example) -> str:
    e = example
    lines = [
        f"<dt>{escaped(e.what)}: {escaped(e.status)}</dt>",
        f'<dd class="formula">{escaped(e.where)} ({escaped(e.grade)}). Inputs: {escaped(e.inputs)}</dd>',
        f'<dd class="numbers">Published: {escaped(e.published)}</dd>',
    ]
    if e.ours:
        steps = "".join(
            f'<dd class="formula">{escaped(step.text)} = {escaped(significant(step.value, 5))}</dd>'
            for step in e.steps
            if step.text != e.ours
        )
        lines.append(f'<dd class="numbers">Ours: {escaped(e.arithmetic)}</dd>{steps}')
    if e.why:
        lines.append(f'<dd class="formula">{escaped(e.why)}</dd>')
    return "".join(lines)
