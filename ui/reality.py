"""The reality page's own widgets and blocks: filters, pictures, table, and one's own measurements.

The choice and the own figures are held in the session, not in the link: their keys are no fields of the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.measured import BYS, KINDS, By, Choice, Kind, Point, own_point, read_rate
from core.measured_report import (
    BY_LABELS,
    devices,
    engines,
    formats,
    group_rows,
    kind_label,
    own_sentences,
    point_rows,
    ratio_alt,
    reality_alt,
)
from core.scenario import BATCH_MAX, CONTEXT_MAX
from core.view import View
from ui import blocks, charts, shell
from ui.text import plain

_OWN, _FAULT = "_own_points", "_own_fault"
OWN_MAX = 12


def choose() -> tuple[Choice, By]:
    """Which measurements to show, and what the ratio is shown by."""
    kinds, groups = st.columns([6, 4], vertical_alignment="bottom")
    with kinds:
        picked_kind = st.segmented_control(
            "Measured",
            KINDS,
            default=KINDS[0],
            format_func=kind_label,
            required=True,
            key="reality_kind",
            on_change=shell.touch,
        )
    with groups:
        picked_by = st.segmented_control(
            "Ratio by",
            BYS,
            default=BYS[0],
            format_func=lambda name: BY_LABELS[name],
            required=True,
            key="reality_by",
            on_change=shell.touch,
        )
    kind: Kind = next(name for name in KINDS if name == (picked_kind or KINDS[0]))
    by: By = next(name for name in BYS if name == (picked_by or BYS[0]))
    if shell.current().is_lecture:  # no room for the filters
        return Choice(kind), by
    columns = st.columns([3, 3, 3, 1.6], vertical_alignment="bottom")
    picked: list[frozenset[str]] = []
    for column, (label, offered) in zip(
        columns, (("Device", devices), ("Engine", engines), ("Weight format", formats)), strict=False
    ):
        with column:
            chosen = st.multiselect(
                label,
                offered(kind),
                key=f"reality_{label}_{kind}",
                placeholder="all",
                on_change=shell.touch,
            )
        picked.append(frozenset(chosen))
    with columns[-1]:
        one = st.toggle("One GPU only", key="reality_one", on_change=shell.touch)
    return Choice(kind, *picked, one_gpu=one), by


def pictures(found: Sequence[Point], choice: Choice, by: By) -> None:
    """Measured against ceiling, and the ratio by group; one's own figures on both where decode is shown."""
    mine = own() if choice.kind == KINDS[0] else ()
    left, right = st.columns([1, 1])
    with left:
        figure = charts.reality_figure(found, choice.kind, mine)
        blocks.chart(figure, key="reality", alt=reality_alt(found, mine))
    with right:
        blocks.chart(charts.ratio_figure(found, by, mine), key="reality_ratio", alt=ratio_alt(found, by))
    blocks.legend(charts.reality_key(found))


def spreads(found: Sequence[Point], by: By) -> None:
    """The numbers of the strip as a table."""
    blocks.table(*group_rows(found, by))


def table(found: Sequence[Point]) -> None:
    """Every shown measurement, to sort and search, each with its link. The download is exact."""
    header, rows = point_rows(found)
    import pandas  # noqa: PLC0415 - 80 MB that most sessions do without

    frame = pandas.DataFrame(rows, columns=list(header))
    config = dict.fromkeys(frame.select_dtypes("number").columns, blocks.NUMBER)
    config |= {
        header[0]: st.column_config.TextColumn(pinned=True),
        "ratio": st.column_config.NumberColumn(format="%.2f"),
        "link": st.column_config.LinkColumn(display_text="open"),
    }
    st.dataframe(frame, hide_index=True, key="grid_measured", column_config=config, placeholder="")
    blocks.csv_of(partial(point_rows, found, exact=True), name="measured")


def own() -> tuple[Point, ...]:
    """One's own figures of this session."""
    return st.session_state.get(_OWN, ())


def _add(view: View) -> None:
    """Take the form's figure as a point, or keep the sentence that says what is wrong with it."""
    state = st.session_state
    shell.touch()
    state[_FAULT] = None
    try:
        rate = read_rate(state.get("own_rate") or "")
    except ValueError as fault:
        state[_FAULT] = str(fault)
        return
    if len(own()) >= OWN_MAX:
        state[_FAULT] = f"{OWN_MAX} figures are on the picture, which is all there is room for: take some away first."
        return
    users = state.get("own_users") or view.scenario.batch
    context = state.get("own_context") or view.scenario.context
    scenario = view.scenario.replace(batch=int(users), context=int(context))
    total = rate * scenario.batch if state.get("own_each") == EACH else rate
    state[_OWN] = (*own(), own_point(scenario, tokens_per_s=total, engine=state.get("own_engine") or ""))


TOGETHER, EACH = "all users together", "each user"


def add_own(view: View) -> None:
    """The form, what each own figure says, and a way to take them away."""
    s = view.scenario
    with st.form("own", border=False):
        columns = st.columns([2, 2, 3, 1.5, 1.5, 1.4], vertical_alignment="bottom")
        with columns[0]:
            st.text_input("Engine", key="own_engine", placeholder="llama-bench, vLLM, gpt-fast", max_chars=40)
        with columns[1]:
            st.text_input("Tokens per second", key="own_rate", placeholder="104.9", max_chars=40)
        with columns[2]:
            st.segmented_control("Counted for", (TOGETHER, EACH), default=TOGETHER, required=True, key="own_each")
        with columns[3]:
            st.number_input("Its users", 1, BATCH_MAX, s.batch, step=1, key="own_users")
        with columns[4]:
            st.number_input(
                "Its context",
                1,
                CONTEXT_MAX,
                s.context,
                step=1,
                key="own_context",
                help="The mean length during the run: prompt plus half of the output.",
            )
        with columns[5]:
            st.form_submit_button("Add it", key="own_add", on_click=_add, args=(view,))
    fault: str | None = st.session_state.get(_FAULT)
    if fault:
        st.warning(plain(fault), icon=":material/error:")
    for number, point in enumerate(own()):
        words, button = st.columns([8, 1], vertical_alignment="center")
        with words:
            st.markdown(plain(f"{number + 1}: {' '.join(own_sentences(point))}"))
        with button:
            st.button("Remove", key=f"own_remove_{number}", on_click=_remove, args=(number,))


def _remove(number: int) -> None:
    held = own()
    st.session_state[_OWN] = (*held[:number], *held[number + 1 :])
    shell.touch()
