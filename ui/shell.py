"""Page set-up: configuration, state and URL, the notes of a link, navigation.

The truth is one frozen `View` in the session; widget keys are scratch, refilled from it when the page changes,
since Streamlit drops the keys of a page that is left. The URL is rewritten on every run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import lessons, presets
from core.custom import CUSTOM, OWN_MODEL_KEY
from core.scenario import RELEASED, Scenario
from core.units import UNITS, integer
from core.view import LINK_KEYS, VIEW_FIELDS, View
from ui import keys, share
from ui.text import plain

# A rerun makes thousands of objects that end with it; looked through by the 700, as is Python's custom, they cost a
# page a tenth of its time. The old ones are looked through twice as often for it, so that memory stays where it was.
gc.set_threshold(10_000, 10, 5)

OPENING = View(presets.OPENING)

_KEPT = "_kept"


@dataclass
class _Kept:
    """What the shell keeps of a session from run to run: one thing to ask the session for, since each asking costs."""

    view: View | None = None
    page: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, object] | None = None  # of options, as they were last sent
    touched: bool = False  # by a callback, since the last run
    notes: Sequence[str] = ()  # for the next run to say
    drawn: set[str] = field(default_factory=set)  # keys of this page's widgets
    resumed: Set[str] = frozenset()  # widgets that a tab sent along to a new server


def _kept() -> _Kept:
    kept = st.session_state.get(_KEPT)
    if not isinstance(kept, _Kept):  # none yet, or one from before this module was loaded anew: the link has it all
        kept = st.session_state[_KEPT] = _Kept()
    return kept


_CSS = """
<style>
[data-testid=stHeader] { height: 2.4rem; min-height: 2.4rem; background: transparent; }
[data-testid=stHeader], [data-testid=stHeader] * { pointer-events: none; }
[data-testid=stMainMenu], [data-testid=stMainMenu] *, [data-testid=stStatusWidget] * { pointer-events: auto; }
.stMainBlockContainer { padding: .7rem 1.6rem 3rem; max-width: 1500px; }
.stMainBlockContainer h1 { font-size: 1.75rem; padding: 0; }
.stMainBlockContainer h2 { font-size: 1.4rem; padding: .8rem 0 .5rem; }
.stMainBlockContainer h3 { font-size: 1.15rem; padding: .3rem 0 .25rem; }
[data-testid=stVerticalBlock] { gap: .5rem; }
[data-testid=stButtonGroup] button { min-height: 2.5rem; }
.js-plotly-plot g[class$=tick] text, .js-plotly-plot text[class$=title], .js-plotly-plot .annotation-text,
.js-plotly-plot .legend text, .js-plotly-plot .bartext-outside { fill: currentColor !important; }
.verdict { font-size: 1.12rem; line-height: 1.4; }
.verdict strong { font-size: 1.22rem; }
.modebar-btn { min-width: 24px; min-height: 24px; }
[data-testid=stMarkdownContainer] table { display: block; max-width: 100%; overflow-x: auto;
  /* A shadow at an edge beyond which there is more; at the end of the way its cover, in the page's colour, hides it. */
  background:
    linear-gradient(to right, light-dark(#FFFFFF, #0E1117) .7rem, transparent) left / 2rem 100% no-repeat local,
    linear-gradient(to left, light-dark(#FFFFFF, #0E1117) .7rem, transparent) right / 2rem 100% no-repeat local,
    linear-gradient(to right, rgb(128 128 128 / .5), transparent) left / .7rem 100% no-repeat scroll,
    linear-gradient(to left, rgb(128 128 128 / .5), transparent) right / .7rem 100% no-repeat scroll; }
[data-testid=stCaptionContainer] a { color: inherit !important; text-decoration: underline; }
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
.st-key-page_list a * { white-space: normal; }
@media (min-width: 641px) {
  .st-key-bar { padding-right: 2.4rem; }
  .st-key-page_list { width: 35rem; max-width: 100%; }
}
@media (max-width: 640px) {
  .stMainBlockContainer { padding: 2.4rem .9rem 2rem; }
  .stMainBlockContainer h1 { font-size: 1.45rem; }
  /* No keyboard, and nothing to project: the bar keeps to one line. */
  .st-key-keys, [data-testid=stButton] kbd, .st-key-bar_lecture { display: none; }
  .st-key-bar button { padding: 0 .55rem; }
  .st-key-page_list a { min-height: 40px; }
  [data-testid=stMarkdownContainer] :is(td, th) { padding: .3rem .4rem; font-size: .85rem; }
  [class*=st-key-row_] [data-testid=stHorizontalBlock] { gap: .4rem; }
  [class*=st-key-row_] [data-testid=stColumn] { min-width: calc(50% - .4rem); flex: 1 1 calc(50% - .4rem); }
  .st-key-row_live [data-testid=stColumn]:first-child { min-width: 100%; }
}
.figures.strip { grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); }
.st-key-offstage { position: fixed; left: 0; bottom: 0; background: var(--background, Canvas); }
.st-key-offstage:not(:focus-within) { clip-path: inset(50%); height: 1px; overflow: hidden; }
[data-testid=stDialog] img { height: min(62vh, 480px, 74vw); width: auto !important; aspect-ratio: 1; }
@media print { .js-plotly-plot, .stMainBlockContainer { color: #000 !important; } }
</style>
"""


# A projector: everything is measured in rem, so the root carries the size; Streamlit's own header goes. A phone that
# opens a link from the hall keeps its own size.
_LECTURE_CSS = """
<style>
@media (min-width: 900px) {
html { font-size: 24px; }
[data-testid=stHeader] { display: none; }
.stMainBlockContainer { padding: .3rem .8rem 0; max-width: none; }
.st-key-bar { padding-right: 0; }
.stMainBlockContainer h1 { font-size: 1.2rem; line-height: 1.15; }
[data-testid=stVerticalBlock] { gap: .3rem; }
[data-testid=stMarkdownContainer] { margin-bottom: 0; }
[data-testid=stMarkdownContainer] p { margin-bottom: 0; line-height: 1.25; }
.verdict { font-size: 1rem; line-height: 1.25; }
.verdict strong { font-size: 1.35rem; }
.figures b { font-size: 1.4rem; line-height: 1.1; }
.figures span { font-size: .8rem; line-height: 1.15; display: block; }
.st-key-bar button { min-height: 1.4rem; padding: 0 .35rem; }
.st-key-bar button * { font-size: .72rem; }
.st-key-bar, .st-key-bar [data-testid=stLayoutWrapper] { gap: .25rem; }
.st-key-bar [data-testid=stPopover] button [data-testid=stIconMaterial] { display: none; }
.st-key-page_list a { min-height: 1.15rem; }
.st-key-page_list a * { font-size: .64rem; line-height: 1.2; }
.modebar-container { display: none; }
}
@media (max-width: 640px) { .st-key-bar_lecture { display: block; } } /* the way back, in a narrow window */
/* A title that a font draws a hair wider would break, and push the last line off the screen. */
@media (min-width: 1240px) { .stMainBlockContainer h1 { white-space: nowrap; } }
</style>
"""


def touch() -> None:
    """Callback of every widget: what the student did is newer than the URL that travels with the rerun."""
    _kept().touched = True


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
        **{name: getattr(view, name) for name in VIEW_FIELDS},
    }


def live(key: str) -> str:
    """The key of a widget that is drawn now: filled from the view if it was not drawn before, and read from now on.

    Keys of widgets that are not drawn are neither written nor read. A browser that builds a widget anew (another page,
    an opened popover) shows a value only if that very run has set it. The set of keys only grows while a page is open,
    since a run may be cut short before it has drawn everything.
    """
    kept = _kept()
    if key not in kept.drawn:
        kept.drawn.add(key)
        values = widget_values(current())
        if key in values and key not in kept.resumed:
            st.session_state[key] = values[key]
    return key


def hide(keys: Iterable[str]) -> None:
    """The widgets of a closed popover: no longer drawn, no longer read."""
    _kept().drawn.difference_update(keys)


def _labels(view: View) -> dict[str, object]:
    """What the labels of options depend on, by widget key."""
    model = view.scenario.released_model
    return {
        "model": view.own_model and view.own_model.label,
        "gpu": view.own_gpu and view.own_gpu.label,
        "kv_heads": model.released_kv_heads,
        "weight_format": (model.native_format, model.native_wide),
    }


def _held() -> dict[str, Any]:
    """What the widgets hold that are drawn."""
    state = st.session_state
    return {key: state.get(key) for key in _kept().drawn}


def seed(view: View, held: Mapping[str, Any]) -> None:
    """Refill the widgets that are drawn from a view, where they hold something else.

    So too where the chosen option of a menu or slider has another label: the browser looks for the old one, and
    finding none it takes the first.
    """
    kept, labels = _kept(), _labels(view)
    before = labels if kept.labels is None else kept.labels
    kept.labels = labels
    for key, value in widget_values(view).items():
        if key in held and (held[key] != value or labels.get(key) != before.get(key)):
            st.session_state[key] = value
    # Always, drawn or not: a browser may send their old values along just after their popover has closed, and what
    # differs from the session's would count as typed.
    st.session_state["exact_batch"] = view.scenario.batch
    st.session_state["exact_context"] = view.scenario.context


def _sent() -> set[str]:
    """Keys of the widgets whose values came from the browser with this run."""
    context = get_script_run_ctx()
    return {state.id.split("-", 2)[-1] for state in context.session_state.get_widget_states()} if context else set()


def catch_up(view: View) -> None:
    """Run again with what a tab changed that lost its server; to be called when widgets have been drawn.

    Such a tab connects to a new server in silence. With its next touch it sends its address, which is older than the
    touch, and its widgets, which no callback of the new session knows.
    """
    if _kept().resumed:
        found, _ = snapped(_held(), view)
        if found != view:
            touch()
            st.rerun()


def current() -> View:
    """The view of this session."""
    return _kept().view or OPENING


def show(view: View, notes: tuple[str, ...] = ()) -> None:
    """Make a view the truth from inside a callback (a preset, a reset, an exact number)."""
    kept = _kept()
    kept.view, kept.notes = view, notes
    seed(view, _held())
    touch()


def show_scenario(scenario: Scenario) -> None:
    """`show` with the present unit."""
    show(current().replace(scenario=scenario))


def reset() -> None:
    """Back to the opening scenario (a callback); what is one's own stays, and so does the look of the page."""
    view = current()
    show(
        OPENING.replace(own_model=view.own_model, own_gpu=view.own_gpu, pins=view.pins, unit=view.unit, view=view.view)
    )


def snapped(held: Mapping[str, Any], previous: View) -> tuple[View, list[str]]:
    """The view that the drawn widgets ask for; what a change of model makes impossible is clamped and said."""
    before = previous.scenario
    values = widget_values(previous)
    wanted = values | {key: held[key] for key in values if held.get(key) is not None}
    if wanted == values:
        return previous, []
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
    changes = {key: value for key, value in changes.items() if value != getattr(before, key)}
    return previous.replace(scenario=before.replace(**changes), **own), notes


def _chosen(choice: str, own: Any, before: Any) -> Any:
    """What a menu's choice stands for; `custom` without an own spec (it was just removed) changes nothing."""
    if choice != CUSTOM:
        return choice
    return before if own is None else own


def _is_phone() -> bool:
    """Whether a phone asks: a link from the hall shows it the whole page, not the projector's."""
    agent = st.context.headers.get("User-Agent") or ""
    return "Mobi" in agent or st.context.headers.get("Sec-CH-UA-Mobile") == "?1"


def _default(query: Mapping[str, str]) -> View:
    """What a link falls back on: the session's own model where the link only names it, being too long to hold it."""
    held = current()
    named = query.get("model") == CUSTOM and OWN_MODEL_KEY not in query
    return held if named and held.scenario.model_key == CUSTOM else OPENING


def load(page: str) -> View:
    """State and URL of this run; to be called before any widget is drawn."""
    kept = _kept()
    touched, kept.touched = kept.touched, False
    notes, kept.notes = list(kept.notes), ()
    link = st.query_params.to_dict()
    query = {key: link[key] for key in LINK_KEYS if key in link}
    if kept.page != page:  # its widgets are new, whoever opened it: a link, Back or Next
        kept.drawn = set()
    if kept.view is None or (query and query != kept.query and not touched):
        view, notes = View.from_query(query, _default(query))
        if view.is_lecture and _is_phone():
            view = view.replace(view="page")
        kept.resumed = _sent() if kept.view is None else frozenset()
        seed(view, _held())
    else:
        kept.resumed = frozenset()
        held = _held()
        view, more = snapped(held, kept.view)
        notes += more
        seed(view, held)
    asked = view.to_query()
    kept.view, kept.page, kept.query = view, page, asked
    others = {key: st.query_params.get_all(key) for key in link if key not in LINK_KEYS}
    st.query_params.from_dict({**others, **asked})
    if notes:
        tell = st.toast if view.is_lecture else st.info  # a projected page has no line to spare
        tell(plain(" ".join(notes)), icon=":material/info:")
    return view


def open_page(slug: str) -> View:
    """First call of every page: configuration, style, state, title and navigation."""
    page = lessons.page(slug)
    st.set_page_config(page_title=page.question, page_icon=":material/memory:", layout="wide")
    st.html(_CSS)
    title, bar = st.columns([9, 11], vertical_alignment="center")
    view = load(slug)
    if view.is_lecture:
        st.html(_LECTURE_CSS)
    with title:
        st.title(page.question, anchor=False)
    with bar:
        _bar(view, slug)
    return view


def _bar(view: View, slug: str) -> None:
    """Page before, next page, lecture view, share, keys, all pages."""
    query = {**_kept().query, "reveal": "0"}  # the next page asks anew

    def icon(name: str) -> str | None:  # large print leaves no room for icons
        return None if view.is_lecture else f":material/{name}:"

    previous_key, next_key, lecture_key, share_key = keys.of("previous", "next", "lecture", "share")
    place = [p.slug for p in lessons.PAGES].index(slug)
    with st.container(
        horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="xsmall", key="bar"
    ):
        if place and st.button("Back", key="bar_previous", shortcut=previous_key, icon=icon("arrow_back")):
            st.switch_page(lessons.PAGES[place - 1].file, query_params=query)
        last = place + 1 == len(lessons.PAGES)
        if not last and st.button("Next", key="bar_next", shortcut=next_key, icon=icon("arrow_forward")):
            st.switch_page(lessons.PAGES[place + 1].file, query_params=query)
        st.button(
            "Page view" if view.is_lecture else "Lecture view",
            key="bar_lecture",
            shortcut=lecture_key,
            on_click=_turn_lecture,
            icon=icon("co_present"),
        )
        if st.button("Share", key="bar_share", shortcut=share_key, on_click=touch, icon=icon("qr_code_2")):
            share.dialog(view)
        keys.panel()
        box = st.popover("Pages", key="pages", on_change="rerun")
    if box.open:  # a quarter of what a lesson sends, so only for those who look
        with box, st.container(key="page_list"):
            _page_list(query)


def _page_list(query: dict[str, str]) -> None:
    for column, groups in zip(st.columns([19, 17]), lessons.MENU, strict=True):
        with column:
            for group in groups:
                st.caption(f"**{group}**")
                for other in lessons.PAGES:  # Streamlit marks the one that is open
                    if other.group == group:
                        st.page_link(other.file, label=other.question, query_params=query)


def _turn_lecture() -> None:
    view = current()
    show(view.replace(view="page" if view.is_lecture else "lecture"))
