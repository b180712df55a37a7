"""Blocks that pages share: figures, verdict, arithmetic, table with CSV, files and commands, presets, reading list."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from core import lessons
from core.changes import SAME, Change, baseline, changed
from core.derivation import Derivation
from core.evaluate import Result, evaluate
from core.lessons import Reading
from core.pinned import pin_label
from core.pins import PINS_MAX
from core.presets import Preset
from core.report import Rowset
from core.takeaway import can_be_linked, command_line, json_text, notebook_lines, vllm_flags
from core.verdict import Verdict, headline, setting
from core.view import View
from ui import charts, keys, pins, projected, shell, tables
from ui.figure import ReadyFigure
from ui.text import escaped, plain

LONG_TABLE = 16
NUMBER = st.column_config.NumberColumn(format="localized")
# Plotly has one button for both, so the page chooses. Twice the pixels: PNGs go into slides.
SVG, PNG = "SVG", "PNG"
IMAGES: dict[str, dict[str, object]] = {SVG: {"format": "svg"}, PNG: {"format": "png", "scale": 2}}


def chart(figure: charts.Figure, *, key: str, alt: str, lecture_px: int | None = charts.MIDDLE) -> None:
    """A picture: its own colours, a stable key, its result as alt text, and a button that saves it under its key.

    In lecture view it is enlarged, to `lecture_px` CSS pixels of height; None: it is large already.
    """
    view = shell.current()
    if lecture_px is not None and view.is_lecture:
        taken = projected.taken_px(_looked_at(view), "".join(_against_pin(view, changed(view))))
        figure = charts.enlarged(figure, lecture_px - taken)
    save = IMAGES[st.session_state.get("images") or SVG] | {"filename": key.replace("_", "-")}
    config = charts.CONFIG | {"toImageButtonOptions": save}
    st.plotly_chart(ReadyFigure(figure), theme=None, key=key, alt=alt, config=config)


def side_by_side(
    figures: Sequence[charts.Figure],
    *,
    key: str,
    alt: str,
    widths: Sequence[float] | None = None,
    lecture_px: int = charts.MIDDLE,
) -> None:
    """Pictures in one row, beneath each other on a phone. The first carries the words, the others a reference to it."""
    for number, (column, figure) in enumerate(zip(st.columns(widths or len(figures)), figures, strict=True)):
        with column:
            title = figure["layout"]["annotations"][0]["text"].removeprefix("<b>").removesuffix("</b>")
            chart(figure, key=f"{key}_{number}", alt=f"{title}. {alt}", lecture_px=lecture_px)


def looked_at(view: View, *, load: str | None = None, says_fit: bool = True) -> None:
    """In lecture view, small: what is looked at, and where nothing else on the page says so, that it does not fit."""
    if view.is_lecture:
        words = _looked_at(view, load=load, says_fit=says_fit)
        st.html(f'<div role="status" style="font-size: .8rem; line-height: 1.15">{words}</div>')


def _looked_at(view: View, *, load: str | None = None, says_fit: bool = True) -> str:
    result = evaluate(view.scenario)
    words = escaped(setting(view.scenario, load))
    if says_fit and not result.memory.fits:
        return f"<strong>{escaped(headline(result.memory, view.unit))}</strong> {words}"
    return words


def verdict(said: Verdict, *, brief: bool = False) -> None:
    """The verdict in words, headline first; `brief`: of the rest only how the cache compares with the weights."""
    lines = said.memory[:1] if brief else said.memory
    if shell.current().is_lecture:
        lines = projected.first(lines, said.headline)
    body = " ".join(map(escaped, lines))
    st.html(f'<div class="verdict" role="status"><strong>{escaped(said.headline)}</strong> {body}</div>')


def _against_pin(view: View, change: Change | None) -> tuple[str, str]:
    """What differs from the pin, and by what factor; empty without a pin."""
    if not view.pins:
        return "", ""
    brief = view.is_lecture
    return (f"{change.what(brief=brief)}:", change.figures(brief=brief)) if change else ("", SAME)


def pinned(view: View, change: Change | None) -> None:
    """What changed against the pin and by what factor, as one sentence, which pin that is, and where all of them are.

    Nothing without a pin. A projector has room for the sentence alone, with the first of what differs.
    """
    if not view.pins:
        return
    what, factors = map(escaped, _against_pin(view, change))
    words = f"<b>{what}</b> {factors}" if what else factors
    if change and not view.is_lecture:
        words += f" Pinned: {escaped(pin_label(view.pins[-1]))}."
    st.html(f'<div role="status" style="line-height: 1.3">{words}</div>')
    if len(view.pins) > 1 and not view.is_lecture:
        page = lessons.page("compare")
        label = f"The pictures show the last of {len(view.pins)} pins. All side by side: {page.question}"
        st.page_link(page.file, label=label, icon=":material/compare_arrows:", query_params=view.to_query())


def pin_row(view: View) -> None:
    """Buttons: pin the present scenario unless it is the last pin already, unpin that, and back to the opening one."""
    is_pinned = bool(view.pins) and baseline(view) is None
    pin_key, reset_key = keys.of("pin", "reset")
    if not is_pinned:
        st.button(
            "Pin this scenario",
            key="pin",
            type="tertiary",
            icon=":material/keep:",
            shortcut=pin_key,
            on_click=pins.pin_last,
            args=(view.scenario,),
            help="The pictures then show it thin or dashed beside whatever you change to, and so does the link. "
            f"There is room for {PINS_MAX}, of which they show the last; one more takes the last one's place. "
            f"“{lessons.page('compare').question}” shows all side by side.",
        )
    if view.pins:
        st.button(
            "Unpin",
            key="unpin",
            type="tertiary",
            icon=":material/keep_off:",
            shortcut=pin_key if is_pinned else None,
            on_click=pins.unpin,
            args=(len(view.pins) - 1,),
            help=f"Take the last pin away: {plain(setting(view.pins[-1]))}",
        )
    st.button(
        "Reset",
        key="reset",
        type="tertiary",
        icon=":material/restart_alt:",
        shortcut=reset_key,
        on_click=shell.reset,
        help="Back to the scenario that the app opens with; pins and your own model and GPU stay.",
    )


def sentences(lines: Sequence[str], *, small: bool = False, help: str | None = None) -> None:
    """Sentences as one paragraph of plain text; projected, only the first that fill two lines."""
    if shell.current().is_lecture:
        lines = projected.first(lines)
    if lines:
        (st.caption if small else st.markdown)(plain(" ".join(lines)), help=help)


def key_figures(derivations: Sequence[Derivation], *, strip: bool = False) -> None:
    """The figures of a page, large, each with its numbers; beneath each other or side by side."""
    rows = "".join(
        f"<div><span>{escaped(d.title)}</span><b>{escaped(d.result.text.rpartition(' = ')[2])}</b>"
        f"<span>{escaped(d.expression.render('numbers'))}</span></div>"
        for d in derivations
    )
    st.html(f'<div class="figures{" strip" if strip else ""}">{rows}</div>')


def fold(
    view: View,
    derivations: Sequence[Derivation],
    picked: Sequence[str] = (),
    scenarios: Callable[[], None] | None = None,
) -> None:
    """In lecture view the page ends here, with the arithmetic of up to three figures in large print.

    `picked` names the derivations; without it the first three are shown. The page's scenarios, pin and reset stay
    within reach of their keys: their buttons are out of sight until the keyboard comes to them.
    """
    if view.is_lecture:
        found = {d.key: d for d in derivations}
        key_figures([found[k] for k in picked if k in found] or list(derivations)[:3], strip=True)
        with st.container(key="offstage", horizontal=True):
            if scenarios is not None:
                scenarios()
            pin_row(view)
        st.stop()


def legend(entries: Sequence[tuple[str, str]]) -> None:
    """Colours with their words, for pictures whose parts are too small to label."""
    marks = "".join(
        f'<span class="mark"><i style="background:{escaped(color)}"></i>{escaped(words)}</span>'
        for color, words in entries
    )
    small = ' style="font-size: .85rem; line-height: 1.2"' if shell.current().is_lecture else ""
    st.html(f'<div class="legend"{small}>{marks}</div>')


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
    """Buttons that open a scenario, each with what to notice; the first ten have keys."""
    for preset, key in zip(choices, keys.of_presets(len(choices)), strict=True):
        st.button(
            preset.title,
            key=f"preset_{preset.slug}",
            shortcut=key,
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
    table = tables.frame(tuple(header), tuple(map(tuple, rows)))
    numbers = {name: NUMBER for name in table.select_dtypes("number").columns if name != "year"}
    st.dataframe(table, hide_index=True, key=f"grid_{name}", column_config=numbers)
    csv_button(header, rows, name=name, label="Download as CSV")
