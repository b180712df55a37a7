"""Page set-up: configuration, state and URL, the notes of a link, navigation.

The truth is one frozen `View` in the session; widget keys are scratch, refilled from it when the page changes,
since Streamlit drops the keys of a page that is left. The URL is rewritten on every run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

import streamlit as st

from core import lessons, presets
from core.custom import CUSTOM
from core.scenario import RELEASED, Scenario
from core.units import UNITS, integer
from core.view import LINK_KEYS, VIEW_FIELDS, View
from ui.text import plain

OPENING = View(presets.OPENING)

_VIEW, _PAGE, _QUERY, _TOUCHED, _NOTES, _LIVE = "_view", "_page", "_query", "_touched", "_notes", "_live"

_CSS = """
<style>
[data-testid=stHeader] { height: 2.4rem; min-height: 2.4rem; background: transparent; }
.stMainBlockContainer { padding: .7rem 1.6rem 3rem; max-width: 1500px; }
.stMainBlockContainer h1 { font-size: 1.75rem; padding: 0; }
.stMainBlockContainer h2 { font-size: 1.4rem; padding: .8rem 0 .2rem; }
.stMainBlockContainer h3 { font-size: 1.15rem; padding: .3rem 0 .25rem; }
[data-testid=stVerticalBlock] { gap: .5rem; }
[data-testid=stButtonGroup] button { min-height: 2.5rem; }
.js-plotly-plot g[class$=tick] text, .js-plotly-plot text[class$=title], .js-plotly-plot .annotation-text,
.js-plotly-plot .bartext-outside { fill: currentColor !important; }
.verdict { font-size: 1.12rem; line-height: 1.4; }
.verdict strong { font-size: 1.22rem; }
.figures { display: grid; gap: .45rem; }
.figures div { border-left: 4px solid currentColor; padding: 0 0 0 .7rem; }
.figures b { display: block; font-size: 1.5rem; line-height: 1.15; }
.figures span { font-size: .9rem; overflow-wrap: anywhere; }
.legend .mark { margin-right: 1.2rem; white-space: nowrap; }
.legend i { display: inline-block; width: 1em; height: 1em; border: 1px solid #767676; margin-right: .4em; }
dl.sums, .sums dt, .sums dd { margin: 0; padding: 0; }
.sums dt { font-weight: 600; margin-top: .55rem; }
.sums dd { overflow-wrap: anywhere; line-height: 1.4; }
.sums dd.formula { font-size: .86rem; }
.sums dd.numbers { font-variant-numeric: tabular-nums; }
@media (max-width: 640px) {
  .stMainBlockContainer { padding: 2.4rem .9rem 2rem; }
  .stMainBlockContainer h1 { font-size: 1.45rem; }
}
@media print { .js-plotly-plot, .stMainBlockContainer { color: #000 !important; } }
</style>
"""


class SessionState(Protocol):
    """What is read of Streamlit's session state."""

    def get(self, key: str, /) -> Any:
        """The value of a key, or None."""


def touch() -> None:
    """Callback of every widget: what the student did is newer than the URL that travels with the rerun."""
    st.session_state[_TOUCHED] = True


def widget_values(view: View) -> dict[str, Any]:
    """The widget keys of a view."""
    s = view.scenario
    return {
        "model": s.model_key,
        "gpu": s.gpu_key,
        "n_gpus": s.n_gpus,
        "split": s.split,
        "batch": s.batch,
        "context": s.context,
        "kv_heads": RELEASED if s.kv_heads is None else str(s.kv_heads),
        "weight_format": s.weight_format,
        "cache_format": s.cache_format,
        "reserve": s.reserve * 100,
        "skip_embedding": s.skip_embedding,
        "exact_batch": s.batch,
        "exact_context": s.context,
        **{name: getattr(view, name) for name in VIEW_FIELDS},
    }


def live(key: str) -> str:
    """The key of a widget that is drawn now: from the next run on it is read.

    Keys of widgets that are not drawn hold whatever was last written to them, so they are never read. The set only
    grows while a page is open, since a run may be cut short before it has drawn everything.
    """
    st.session_state.setdefault(_LIVE, set()).add(key)
    return key


def hide(keys: Iterable[str]) -> None:
    """The widgets of a closed popover: no longer drawn, no longer read."""
    st.session_state.setdefault(_LIVE, set()).difference_update(keys)


def seed(view: View) -> None:
    """Refill the widget keys from a view.

    A live widget's key is written only where it differs. The others are always written: a browser that builds a widget
    anew (another page, an opened popover) shows a value only if this very run has set it.
    """
    known = st.session_state.get(_LIVE, ())
    for key, value in widget_values(view).items():
        if key not in known or st.session_state.get(key) != value:
            st.session_state[key] = value


def current() -> View:
    """The view of this session."""
    return st.session_state.get(_VIEW, OPENING)


def show(view: View, notes: tuple[str, ...] = ()) -> None:
    """Make a view the truth from inside a callback (a preset, a reset, an exact number)."""
    st.session_state[_VIEW] = view
    st.session_state[_NOTES] = list(notes)
    seed(view)
    touch()


def show_scenario(scenario: Scenario) -> None:
    """`show` with the present unit."""
    show(current().replace(scenario=scenario))


def snapped(state: SessionState, previous: View, read: Collection[str]) -> tuple[View, list[str]]:
    """The view that the live widget keys ask for; what a change of model makes impossible is clamped and said."""
    before = previous.scenario
    values = widget_values(previous)
    asked = {key: state.get(key) for key in values if key in read}
    wanted = values | {key: value for key, value in asked.items() if value is not None}
    notes: list[str] = []
    changes: dict[str, Any] = {
        "gpu": before.gpu if wanted["gpu"] == values["gpu"] else _chosen(wanted["gpu"], previous.own_gpu, before.gpu),
        "kv_heads": None if wanted["kv_heads"] == RELEASED else int(wanted["kv_heads"]),
        "reserve": before.reserve if wanted["reserve"] == values["reserve"] else round(wanted["reserve"] / 100, 6),
    }
    plain_fields = ("n_gpus", "split", "batch", "context", "weight_format", "cache_format", "skip_embedding")
    changes |= {key: wanted[key] for key in plain_fields}
    if wanted["model"] != values["model"]:
        changes["model"] = _chosen(wanted["model"], previous.own_model, before.model)
        released = Scenario(model=changes["model"]).released_model
        if changes["kv_heads"] is not None and changes["kv_heads"] not in released.kv_head_options:
            notes.append(f"{released.name} cannot have {changes['kv_heads']} KV heads; back to the released number.")
            changes["kv_heads"] = None
        if changes["context"] > released.max_context:
            notes.append(
                f"{released.name} stops at {integer(released.max_context)} tokens; "
                f"the context of {integer(changes['context'])} was shortened to that."
            )
            changes["context"] = released.max_context
    unit = wanted["unit"] if wanted["unit"] in UNITS else previous.unit
    own: dict[str, Any] = {name: wanted[name] for name in VIEW_FIELDS} | {"unit": unit}
    return previous.replace(scenario=before.replace(**changes), **own), notes


def _chosen(choice: str, own: Any, before: Any) -> Any:
    """What a menu's choice stands for; `custom` without an own spec (it was just removed) changes nothing."""
    if choice != CUSTOM:
        return choice
    return before if own is None else own


def load(page: str) -> View:
    """State and URL of this run; to be called before any widget is drawn."""
    state = st.session_state
    touched = state.pop(_TOUCHED, False)
    link = st.query_params.to_dict()
    query = {key: link[key] for key in LINK_KEYS if key in link}
    notes: list[str] = state.pop(_NOTES, [])
    if state.get(_VIEW) is None or (query and query != state.get(_QUERY) and not touched):
        view, notes = View.from_query(query, OPENING)
        seed(view)
    else:
        if state.get(_PAGE) != page:
            state[_LIVE] = set()
        view, more = snapped(state, state[_VIEW], state.get(_LIVE, ()))
        notes += more
        seed(view)
    state[_VIEW], state[_PAGE], state[_QUERY] = view, page, view.to_query()
    others = {key: st.query_params.get_all(key) for key in link if key not in LINK_KEYS}
    st.query_params.from_dict({**others, **view.to_query()})
    if notes:
        st.info(plain(" ".join(notes)), icon=":material/info:")
    return view


def open_page(slug: str) -> View:
    """First call of every page: configuration, style, state, title and navigation."""
    page = lessons.page(slug)
    st.set_page_config(page_title=page.question, page_icon=":material/memory:", layout="wide")
    st.html(_CSS)
    title, links, _menu = st.columns([7, 2, 0.5], vertical_alignment="center")
    view = load(slug)
    with title:
        st.title(page.question, anchor=False)
    with links, st.popover("Pages", width="stretch"):
        for other in lessons.PAGES:
            if other.slug != slug:
                st.page_link(other.file, label=other.question, query_params=view.to_query())
    return view
