"""The widgets. Each is keyed by a scenario field, filled by the shell, and reports through `touch`."""

from __future__ import annotations

import streamlit as st

from core.catalog import gpus, models
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.scenario import BATCH_MAX, CONTEXT_MAX, GPUS_MAX, RELEASED, RESERVE_MAX, SPLIT_LABELS, SPLITS, Scenario
from core.stops import batch_stops, context_stops
from core.units import UNITS, integer
from core.view import View
from ui import shell


def model_and_gpu(view: View) -> None:
    """Model, GPU, number of GPUs, the assumptions and the unit, in one row."""
    model, gpu, count, more, unit = st.columns([3.4, 3.6, 1.6, 2.2, 1.5], vertical_alignment="bottom")
    with model:
        st.selectbox(
            "Model",
            list(models()),
            format_func=lambda slug: models()[slug].name,
            key="model",
            on_change=shell.touch,
            help="Type to search; grouped by family.",
        )
    with gpu:
        st.selectbox(
            "GPU",
            list(gpus()),
            format_func=lambda slug: gpus()[slug].label,
            key="gpu",
            on_change=shell.touch,
            help="Type to search.",
        )
    with count:
        st.number_input("GPUs", 1, GPUS_MAX, step=1, key="n_gpus", on_change=shell.touch)
    with more:
        assumptions(view)
    with unit:
        st.segmented_control(
            "Unit",
            UNITS,
            required=True,
            key="unit",
            on_change=shell.touch,
            help="1 GB is 1e9 bytes, 1 GiB is 2^30 bytes. The switch changes labels, never a verdict.",
        )


def load_sliders(view: View) -> None:
    """Users, context and KV heads, in one row."""
    users, context, heads = st.columns(3)
    s = view.scenario
    with users:
        st.select_slider("Users (batch)", batch_stops(s.batch), format_func=integer, key="batch", on_change=shell.touch)
    with context:
        st.select_slider(
            "Context length (tokens)",
            context_stops(s.released_model, s.context),
            format_func=integer,
            key="context",
            on_change=shell.touch,
        )
    with heads:
        kv_heads(s)


def kv_head_options(scenario: Scenario) -> list[str]:
    """Values of the KV-heads control: the divisors, the released number as "released"."""
    released = scenario.released_model.released_kv_heads
    same = released[0] if len(released) == 1 else None
    numbers = [
        RELEASED if n == same and scenario.kv_heads != n else str(n) for n in scenario.released_model.kv_head_options
    ]
    return numbers if RELEASED in numbers or same is not None else [RELEASED, *numbers]


def kv_heads(scenario: Scenario) -> None:
    """The KV-heads slider, or the reason why there is none."""
    model = scenario.released_model
    released = " and ".join(map(str, model.released_kv_heads))
    options = kv_head_options(scenario)
    if not model.kv_head_options:
        st.selectbox(
            "KV heads",
            ["none to set: MLA keeps one latent for all heads"],
            disabled=True,
            key="kv_heads_none",
            help=f"{model.name} caches one compressed latent per token and layer, shared by all query heads.",
        )
        return
    st.select_slider(
        "KV heads",
        options,
        format_func=lambda v: f"{released} (released)" if v == RELEASED else v,
        key="kv_heads",
        on_change=shell.touch,
        help=f"Divisors of the query heads. {model.name} was released with {released}; others are hypothetical.",
    )


def _exact(field: str) -> None:
    value = st.session_state[f"exact_{field}"]
    if value is not None:
        shell.show_scenario(shell.current().scenario.replace(**{field: int(value)}))


def assumptions(view: View) -> None:
    """Everything else, in a popover."""
    s = view.scenario
    with st.popover("More assumptions", width="stretch"):
        st.selectbox(
            "Weight format",
            list(WEIGHT_FORMATS),
            format_func=lambda f: (
                f"as released: {s.replace(weight_format='native').weight_format_spec.label}"
                if f == "native"
                else WEIGHT_FORMATS[f].label
            ),
            key="weight_format",
            on_change=shell.touch,
        )
        st.selectbox(
            "Cache format",
            list(CACHE_FORMATS),
            format_func=lambda f: CACHE_FORMATS[f].label,
            key="cache_format",
            on_change=shell.touch,
        )
        st.selectbox(
            "How several GPUs split the model",
            SPLITS,
            format_func=lambda split: SPLIT_LABELS[split],
            key="split",
            on_change=shell.touch,
            disabled=s.n_gpus == 1,
            help="Only matters with more than one GPU.",
        )
        st.slider(
            "Reserve for activations and runtime (% of capacity)",
            0.0,
            RESERVE_MAX * 100,
            step=1.0,
            format="%g %%",
            key="reserve",
            on_change=shell.touch,
        )
        st.toggle(
            "Skip the input-embedding lookup",
            key="skip_embedding",
            on_change=shell.touch,
            help="The input embedding is looked up row by row, not streamed; a tied table is the output head too and "
            "is always read. Off: every weight is read, the chapter's rule.",
        )
        users, context = st.columns(2)
        with users:
            st.number_input("Exact users", 1, BATCH_MAX, step=1, key="exact_batch", on_change=_exact, args=("batch",))
        with context:
            st.number_input(
                "Exact context", 1, CONTEXT_MAX, step=1, key="exact_context", on_change=_exact, args=("context",)
            )
