"""Blocks that pages share: figures, verdict, arithmetic, table with CSV, files and commands, presets, reading list."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from functools import partial

import pandas
import streamlit as st

from core.derivation import Derivation
from core.evaluate import Result, evaluate
from core.lessons import Reading
from core.presets import Preset
from core.report import Rowset
from core.takeaway import can_be_linked, command_line, json_text, notebook_lines, vllm_flags
from core.verdict import Verdict
from core.view import View
from ui import charts, shell
from ui.figure import ReadyFigure
from ui.text import escaped, plain

LONG_TABLE = 16
NUMBER = st.column_config.NumberColumn(format="localized")
# Plotly has one button for both, so the page chooses. Twice the pixels: PNGs go into slides.
SVG, PNG = "SVG", "PNG"
IMAGES: dict[str, dict[str, object]] = {SVG: {"format": "svg"}, PNG: {"format": "png", "scale": 2}}


def chart(figure: charts.Figure, *, key: str, alt: str) -> None:
    """A picture: its own colours, a stable key, its result as alt text, and a button that saves it under its key."""
    save = IMAGES[st.session_state.get("images") or SVG] | {"filename": key.replace("_", "-")}
    config = charts.CONFIG | {"toImageButtonOptions": save}
    st.plotly_chart(ReadyFigure(figure), theme=None, key=key, alt=alt, config=config)


def side_by_side(
    figures: Sequence[charts.Figure], *, key: str, alt: str, widths: Sequence[float] | None = None
) -> None:
    """Pictures in one row, beneath each other on a phone. The first carries the words, the others a reference to it."""
    for number, (column, figure) in enumerate(zip(st.columns(widths or len(figures)), figures, strict=True)):
        with column:
            title = figure["layout"]["annotations"][0]["text"].removeprefix("<b>").removesuffix("</b>")
            chart(figure, key=f"{key}_{number}", alt=f"{title}. {alt}")


def verdict(said: Verdict) -> None:
    """The verdict in words: headline first, cautions small."""
    body = " ".join(escaped(sentence) for sentence in said.memory)
    st.html(f'<div class="verdict" role="status"><strong>{escaped(said.headline)}</strong> {body}</div>')


def sentences(lines: Sequence[str], *, small: bool = False) -> None:
    """Sentences as one paragraph of plain text."""
    if lines:
        (st.caption if small else st.markdown)(plain(" ".join(lines)))


def key_figures(derivations: Sequence[Derivation]) -> None:
    """The figures of a page, large, each with its numbers."""
    rows = "".join(
        f"<div><span>{escaped(d.title)}</span><b>{escaped(d.result.text)}</b>"
        f"<span>{escaped(d.expression.render('numbers'))}</span></div>"
        for d in derivations
    )
    st.html(f'<div class="figures">{rows}</div>')


def legend(entries: Sequence[tuple[str, str]]) -> None:
    """Colours with their words, for pictures whose parts are too small to label."""
    marks = "".join(
        f'<span class="mark"><i style="background:{escaped(color)}"></i>{escaped(words)}</span>'
        for color, words in entries
    )
    st.html(f'<div class="legend">{marks}</div>')


def arithmetic(derivations: Sequence[Derivation]) -> None:
    """Each figure as words and symbols, then with the numbers in; long lines wrap."""
    rows = "".join(
        f"<dt>{escaped(d.title)}</dt>"
        f'<dd class="formula">{escaped(d.symbols)}; that is, {escaped(d.words)}</dd>'
        f'<dd class="numbers">{escaped(d.numbers)}</dd>'
        for d in derivations
    )
    st.html(f'<dl class="sums">{rows}</dl>')


def to_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    r"""Rows as CSV text; cells that a spreadsheet would run as a formula are quoted with an apostrophe.

    >>> to_csv(("a", "b"), [(1, "=x")])
    "a,b\r\n1,'=x\r\n"
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    for row in rows:
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@" else cell for cell in row])
    return out.getvalue()


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table as Markdown, in two columns when it is long: readable by screen readers, copyable, cheap."""
    half = -(-len(rows) // 2)
    if half > LONG_TABLE // 2:
        for column, part in zip(st.columns(2), (rows[:half], rows[half:]), strict=True):
            with column:
                table(header, part)
        return
    lines = ["| " + " | ".join(map(plain, header)) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(plain(str(cell)) for cell in row) + " |" for row in rows]
    st.markdown("\n".join(lines))


def csv_button(header: Sequence[str], rows: Sequence[Sequence[object]], *, name: str, label: str) -> None:
    """A download of rows that are there already, with exact numbers."""
    _download(label, partial(to_csv, header, rows), file_name=f"{name}.csv", mime="text/csv")


def csv_of(make: Callable[[], Rowset], *, name: str, label: str = "Download as CSV") -> None:
    """A download of exact rows, made when it is asked for and not before."""
    _download(label, lambda: to_csv(*make()), file_name=f"{name}.csv", mime="text/csv")


def _download(label: str, data: Callable[[], str], *, file_name: str, mime: str) -> None:
    st.download_button(
        label,
        data,
        file_name=file_name,
        mime=mime,
        key=f"download_{file_name}",
        on_click="ignore",
        icon=":material/download:",
    )


def take_away(view: View, result: Result | None = None) -> None:
    """The scenario as JSON, as vLLM's flags and as lines that reproduce it; all of it only while the box is open."""
    box = st.expander("Take it with you: JSON, pictures, vLLM, command line", key="take_away", on_change=shell.touch)
    if not box.open:
        return
    found = result or evaluate(view.scenario)
    with box:
        files, images = st.columns([2, 3], vertical_alignment="bottom")
        with files:
            data = partial(json_text, found, view.unit)
            _download("Everything as JSON", data, file_name="how-big-is-the-cache.json", mime="application/json")
        with images:
            st.segmented_control(
                "The camera over each picture saves it as",
                list(IMAGES),
                default=SVG,
                required=True,
                key="images",
                on_change=shell.touch,
            )
        line = vllm_flags(found, view.unit)
        st.markdown("**vLLM**, as close as its flags come")
        st.code(line.command, language=None, wrap_lines=True)
        st.caption("\n".join(f"- {plain(sentence)}" for sentence in line.differs))
        if not can_be_linked(view.scenario):
            st.caption("This model is too long for a link, and so for a command: the JSON holds all of it.")
            return
        st.markdown("**The same numbers** in a terminal or a notebook, started in a copy of this repository")
        st.code(command_line(view.scenario, view.unit), language=None, wrap_lines=True)
        st.code(notebook_lines(view.scenario), language="python", wrap_lines=True)


def presets(choices: Sequence[Preset]) -> None:
    """Buttons that open a scenario, each with what to notice."""
    for preset in choices:
        st.button(
            preset.title,
            key=f"preset_{preset.slug}",
            on_click=shell.show_scenario,
            args=(preset.scenario,),
            help=preset.notice,
        )


def reading(texts: Sequence[Reading]) -> None:
    """Where to read on."""
    parts = [
        f"[{plain(t.title)}]({t.url}), {plain(t.where)}" if t.url else f"*{plain(t.title)}*, {plain(t.where)}"
        for t in texts
    ]
    st.caption("Read on: " + "; ".join(parts) + ".")


def grid(header: Sequence[str], rows: Sequence[Sequence[object]], *, name: str) -> None:
    """A large table to sort and search, with its download."""
    frame = pandas.DataFrame(rows, columns=list(header))
    numbers = {name: NUMBER for name in frame.select_dtypes("number").columns if name != "year"}
    st.dataframe(frame, hide_index=True, key=f"grid_{name}", column_config=numbers)
    csv_button(header, rows, name=name, label="Download as CSV")
