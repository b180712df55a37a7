"""The widgets. Each is keyed by a field of the view, filled by the shell, and reports through `touch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

import streamlit as st

from core.catalog import gpus, models
from core.custom import CUSTOM
from core.drafting import draft_models
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.gpu import GpuSpec
from core.model import ModelSpec
from core.scenario import BATCH_MAX, CONTEXT_MAX, GPUS_MAX, RELEASED, RESERVE_MAX, SPLIT_LABELS, SPLITS, Scenario
from core.stops import batch_stops, block_stops, context_stops, output_stops
from core.units import UNITS, integer
from core.view import AUTO, NO_DRAFT, NUMBERS, View
from ui import shell
from ui.text import plain


@lru_cache
def _names(catalog: Callable[[], Mapping[str, ModelSpec | GpuSpec]]) -> dict[str, str]:
    return {slug: spec.label for slug, spec in catalog().items()}


def model(view: View) -> None:
    """The model, grouped by family in the catalog's order."""
    own = view.own_model
    names = _names(models) if own is None else {CUSTOM: f"{own.label} (yours)", **_names(models)}
    st.selectbox(
        "Model",
        list(names),
        format_func=names.__getitem__,
        key=shell.live("model"),
        on_change=shell.touch,
        help="Type to search; grouped by family.",
    )


def gpu(view: View) -> None:
    """The device."""
    own = view.own_gpu
    names = _names(gpus) if own is None else {CUSTOM: f"{own.label} (yours)", **_names(gpus)}
    st.selectbox(
        "GPU",
        list(names),
        format_func=names.__getitem__,
        key=shell.live("gpu"),
        on_change=shell.touch,
        help="Type to search.",
    )


def n_gpus(view: View) -> None:
    """How many devices."""
    st.number_input("GPUs", 1, GPUS_MAX, step=1, key=shell.live("n_gpus"), on_change=shell.touch)


def unit(view: View) -> None:
    """GB or GiB."""
    st.segmented_control(
        "Unit",
        UNITS,
        required=True,
        key=shell.live("unit"),
        on_change=shell.touch,
        help="1 GB is 1e9 bytes, 1 GiB is 2^30 bytes. The switch changes labels, never a verdict.",
    )


def batch(view: View) -> None:
    """Users decoded together."""
    st.select_slider(
        "Users (batch)",
        batch_stops(view.scenario.batch),
        format_func=integer,
        key=shell.live("batch"),
        on_change=shell.touch,
    )


def _context_slider(view: View, label: str) -> None:
    s = view.scenario
    st.select_slider(
        label,
        context_stops(s.released_model, s.context),
        format_func=integer,
        key=shell.live("context"),
        on_change=shell.touch,
        help="Tokens of each user so far, prompt and answer: the KV cache keeps keys and values of every one.",
    )


def context(view: View) -> None:
    """Tokens in each user's cache."""
    _context_slider(view, "Context length (tokens)")


def prompt(view: View) -> None:
    """The context under the name it has for prefill."""
    _context_slider(view, "Prompt length (tokens)")


def output(view: View) -> None:
    """Length of the answer."""
    st.select_slider(
        "Output (tokens after the first)",
        output_stops(view.output),
        format_func=integer,
        key=shell.live("output"),
        on_change=shell.touch,
    )


def kv_head_options(scenario: Scenario) -> list[str]:
    """Values of the KV-heads control: the divisors, the released number as "released"."""
    released = scenario.released_model.released_kv_heads
    same = released[0] if len(released) == 1 else None
    numbers = [
        RELEASED if n == same and scenario.kv_heads != n else str(n) for n in scenario.released_model.kv_head_options
    ]
    return numbers if RELEASED in numbers or same is not None else [RELEASED, *numbers]


def kv_heads(view: View) -> None:
    """The KV-heads slider, or the reason why there is none."""
    released_model = view.scenario.released_model
    released = " and ".join(map(str, released_model.released_kv_heads))
    if len(released_model.kv_head_options) < 2:
        shell.hide(["kv_heads"])
        reason = f"{released}, the only choice" if released else f"none to set: {released_model.why_no_kv_heads}"
        st.selectbox(
            "KV heads",
            [reason],
            disabled=True,
            key="kv_heads_none",
            help=f"{plain(released_model.name)} leaves no number of KV heads to choose.",
        )
        return
    st.select_slider(
        "KV heads",
        kv_head_options(view.scenario),
        format_func=lambda v: f"{released} (released)" if v == RELEASED else v,
        key=shell.live("kv_heads"),
        on_change=shell.touch,
        help="How many sets of keys and values each layer keeps for a token; the query heads share them evenly. Fewer "
        f"make a smaller cache. {plain(released_model.name)} was released with {released}; others are hypothetical.",
    )


def weight_format(view: View) -> None:
    """Number format of the weights."""
    native = view.scenario.replace(weight_format="native").weight_format_spec.label
    st.selectbox(
        "Weight format",
        list(WEIGHT_FORMATS),
        format_func=lambda f: f"as released: {native}" if f == "native" else WEIGHT_FORMATS[f].label,
        key=shell.live("weight_format"),
        on_change=shell.touch,
    )


def cache_format(view: View) -> None:
    """Number format of the cache."""
    st.selectbox(
        "Cache format",
        list(CACHE_FORMATS),
        format_func=lambda f: CACHE_FORMATS[f].label,
        key=shell.live("cache_format"),
        on_change=shell.touch,
    )


def split(view: View) -> None:
    """How several GPUs share the model."""
    st.selectbox(
        "How several GPUs split the model",
        SPLITS,
        format_func=lambda name: SPLIT_LABELS[name],
        key=shell.live("split"),
        on_change=shell.touch,
        disabled=view.scenario.n_gpus == 1,
        help="Only matters with more than one GPU.",
    )


def reserve(view: View) -> None:
    """Share of the memory kept free."""
    st.slider(
        "Reserve for activations and runtime (% of capacity)",
        0.0,
        RESERVE_MAX * 100,
        step=0.5,
        format="%g %%",
        key=shell.live("reserve"),
        on_change=shell.touch,
        help="Memory that neither weights nor cache may take: it is left to intermediate results and the software.",
    )


def skip_embedding(view: View) -> None:
    """The two readings of "weights read"."""
    st.toggle(
        "Skip the input-embedding lookup",
        key=shell.live("skip_embedding"),
        on_change=shell.touch,
        help="The input embedding is looked up row by row, not streamed; a tied table is the output head too and "
        "is always read. Off: every weight is read, the chapter's rule.",
    )


def draft(view: View) -> None:
    """The draft model, from the target's family."""
    choices = draft_models(view.scenario.released_model)
    names = {AUTO: f"smallest: {choices[0].name}" if choices else "none of this family", NO_DRAFT: "none"}
    names |= {m.slug: m.name for m in choices}
    names.setdefault(view.draft, f"{view.draft}: not of this family, the smallest drafts")
    st.selectbox(
        "Draft model", list(names), format_func=names.__getitem__, key=shell.live("draft"), on_change=shell.touch
    )


def draft_length(view: View) -> None:
    """Tokens drafted a round."""
    low, high, _ = NUMBERS["draft_length"]
    st.slider("Draft length (tokens)", low, high, key=shell.live("draft_length"), on_change=shell.touch)


def acceptance(view: View) -> None:
    """Share of the drafted tokens that the target accepts."""
    low, high, _ = NUMBERS["acceptance"]
    st.slider("Accepted (%)", low, high, key=shell.live("acceptance"), on_change=shell.touch)


def block(view: View) -> None:
    """Tokens a block of the cache holds."""
    st.select_slider("Block (tokens)", block_stops(view.block), key=shell.live("block"), on_change=shell.touch)


def mean(view: View) -> None:
    """Mean length of the requests."""
    low, high, _ = NUMBERS["mean"]
    st.slider("Mean length (% of the longest)", low, high, key=shell.live("mean"), on_change=shell.touch)


def spread(view: View) -> None:
    """Spread of the lengths."""
    low, high, _ = NUMBERS["spread"]
    st.slider(
        "Spread of the lengths (%)",
        low,
        high,
        key=shell.live("spread"),
        on_change=shell.touch,
        help="Standard deviation of the logarithm of a length: 0 makes all requests equal.",
    )


def seed(view: View) -> None:
    """Which draw of lengths."""
    low, high, _ = NUMBERS["seed"]
    st.number_input("Draw", low, high, step=1, key=shell.live("seed"), on_change=shell.touch)


def _exact(field: str) -> None:
    value = st.session_state[f"exact_{field}"]
    if value is not None:
        st.session_state[field] = int(value)
        shell.touch()


def exact(view: View) -> None:
    """Any number of users and tokens, not only the stops of the sliders."""
    users, tokens = st.columns(2)
    with users:
        st.number_input("Exact users", 1, BATCH_MAX, step=1, key="exact_batch", on_change=_exact, args=("batch",))
    with tokens:
        st.number_input(
            "Exact context", 1, CONTEXT_MAX, step=1, key="exact_context", on_change=_exact, args=("context",)
        )


class Control(Protocol):
    """Draws one widget; its name is the widget's key."""

    __name__: str

    def __call__(self, view: View, /) -> None:
        """Draw it."""


# What "More assumptions" holds, less what the page already shows.
ALL: tuple[Control, ...] = (
    model,
    gpu,
    n_gpus,
    split,
    weight_format,
    cache_format,
    kv_heads,
    batch,
    context,
    reserve,
    skip_embedding,
    exact,
)


def row(view: View, *controls: Control, widths: Sequence[float] | None = None) -> None:
    """Controls side by side, two in a row on a phone."""
    with st.container(key=f"row_{controls[0].__name__}"):
        columns = st.columns(widths or len(controls), vertical_alignment="bottom")
    for column, control in zip(columns, controls, strict=True):
        with column:
            control(view)
    shell.catch_up(view)


def more(*shown: Control, extra: Sequence[Control] = ()) -> Control:
    """The popover with every control that a page does not show, and those of this page alone first.

    Its widgets are drawn only while it is open. A browser builds them when it first opens, and would send the defaults
    that it then shows, not the values seeded in a run before.
    """
    shown = tuple(context if control is prompt else control for control in shown)

    def draw(view: View) -> None:
        box = st.popover("More assumptions", width="stretch", key="more", on_change=shell.touch)
        hidden = [*extra, *(control for control in ALL if control not in shown)]
        if not box.open:
            shell.hide(control.__name__ for control in hidden)
            return
        with box:
            for control in hidden:
                control(view)

    return draw
