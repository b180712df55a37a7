"""Bring your own: the ways a model or a GPU comes in, kept as the view's `own_model` and `own_gpu`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st
from pydantic import ValidationError

from core.catalog import explain
from core.custom import CUSTOM, GPU_FIGURES, NAME_CHARS, PACKED_CHARS, TEXT_CHARS, custom_gpu, gpu_figures, one_line
from core.gpu import GpuSpec
from core.hf_config import ConfigError, Reading, read_config
from core.model import ModelSpec
from core.own import count_sentence
from core.scenario import Scenario
from core.units import GB, GIB, UNITS, integer
from core.view import View
from ui import hub, shell
from ui.text import plain

LARGEST_UPLOAD_MB = 1
PASTE_CHARS = 200_000
_SEEN, _FAULT, _UPLOADS = "_own_read", "_own_fault", "_own_uploads"
FIGURE_LABELS = {
    "memory_gb": "Memory",
    "bandwidth_gb_per_s": "Bandwidth (GB/s)",
    "bf16_tflops": "BF16 peak (dense TFLOP/s)",
    "fp16_tflops": "FP16 peak (dense TFLOP/s)",
    "fp8_tflops": "FP8 peak (dense TFLOP/s)",
    "int8_tflops": "INT8 peak (dense TOP/s)",
    "fp4_tflops": "FP4 peak (dense TFLOP/s)",
    "price_per_hour": "Price ($ per GPU-hour)",
    "tdp_w": "Power (W)",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What the page shows of the model that was read last."""

    reading: Reading
    part: str  # of the page: upload, paste or hub
    origin: str
    hub_params: int | None = None

    @property
    def count(self) -> str | None:
        """Our count beside the Hub's."""
        return None if self.hub_params is None else count_sentence(self.reading.spec, self.hub_params)


def seen(view: View) -> Seen | None:
    """How the own model was read, if it was in this session."""
    found: Seen | None = st.session_state.get(_SEEN)
    return found if found is not None and found.reading.spec == view.own_model else None


def _fail(part: str, said: str) -> None:
    st.session_state[_FAULT] = (part, said)
    shell.touch()


def fault(part: str) -> None:
    """The one sentence of the last attempt of a part of the page, until the next one."""
    found = st.session_state.get(_FAULT)
    if found is not None and found[0] == part:
        st.error(plain(found[1]), icon=":material/error:")


def _take(reading: Reading, part: str, origin: str, hub_params: int | None = None) -> None:
    spec = reading.spec.model_copy(update={"name": one_line(reading.spec.name, TEXT_CHARS)})
    st.session_state.pop(_FAULT, None)
    st.session_state[_SEEN] = Seen(replace(reading, spec=spec), part, origin, hub_params)
    if part != "upload":
        _empty_uploader()
    _show_model(shell.current(), spec, own_model=spec)


def _show_model(view: View, spec: ModelSpec, *, own_model: ModelSpec | None) -> None:
    """Another model in the scenario, its context clamped to what the model allows, which is said."""
    asked, context = view.scenario.context, min(view.scenario.context, spec.max_context)
    said = (
        f"{spec.name} stops at {integer(spec.max_context)} tokens; the context of {integer(asked)} was shortened to "
        "that."
    )
    scenario = view.scenario.replace(model=spec, kv_heads=None, context=context)
    shell.show(view.replace(scenario=scenario, own_model=own_model), () if context == asked else (said,))


def _read(source: str | bytes, *, part: str, name: str, origin: str) -> None:
    try:
        reading = read_config(source, name=name)
    except ConfigError as error:
        _fail(part, str(error))
    else:
        _take(reading, part, origin)


def _upload_key() -> str:
    return f"own_upload_{st.session_state.get(_UPLOADS, 0)}"


def _empty_uploader() -> None:
    """A new, empty field: the file it shows is the model in use, or was refused."""
    st.session_state[_UPLOADS] = st.session_state.get(_UPLOADS, 0) + 1


def remove_model() -> None:
    """Back to the catalog (a callback)."""
    _empty_uploader()
    st.session_state.pop(_SEEN, None)
    st.session_state.pop(_FAULT, None)
    view = shell.current()
    if view.scenario.model_key == CUSTOM:
        _show_model(view, Scenario().released_model, own_model=None)
    else:
        shell.show(view.replace(own_model=None))


def remove_gpu() -> None:
    """Back to the catalog (a callback)."""
    view = shell.current()
    scenario = view.scenario
    if scenario.gpu_key == CUSTOM:
        scenario = scenario.replace(gpu=Scenario().gpu)
    shell.show(view.replace(scenario=scenario, own_gpu=None))


def _uploaded() -> None:
    file = st.session_state.get(_upload_key())
    if file is None:
        found = seen(shell.current())
        if found is not None and found.part == "upload":
            remove_model()
        else:  # the file was refused, and the model in use is not its
            st.session_state.pop(_FAULT, None)
            shell.touch()
        return
    name = file.name.rsplit(".", 1)[0]
    _read(
        file.getvalue(),
        part="upload",
        name="" if name == "config" else name,
        origin=f"the uploaded file {one_line(file.name)}",
    )


def upload() -> None:
    """A file; removing it returns to the catalog."""
    st.file_uploader(
        "Upload a config.json",
        key=_upload_key(),
        on_change=_uploaded,
        max_upload_size=LARGEST_UPLOAD_MB,
        help="The file beside a checkpoint on Hugging Face. It is read in memory and never stored.",
    )
    fault("upload")


def _pasted() -> None:
    _read(st.session_state.get("own_text") or "", part="paste", name="", origin="the pasted text")


def paste() -> None:
    """The same file as text."""
    st.text_area(
        "Paste a config.json",
        key="own_text",
        height=160,
        max_chars=PASTE_CHARS,
        placeholder='{"model_type": "llama", "num_hidden_layers": 32, ...}',
        on_change=shell.touch,
    )
    st.button("Read the text", key="own_paste", on_click=_pasted, icon=":material/data_object:")
    fault("paste")


def _fetched() -> None:
    try:
        repo = hub.repo_id(st.session_state.get("own_repo") or "")
        found = hub.fetch(repo)
        reading = read_config(found.config, name=repo)
    except (hub.HubError, ConfigError) as error:
        _fail("hub", str(error))
        return
    # The repository's name makes the vLLM line runnable.
    reading = replace(reading, spec=reading.spec.model_copy(update={"hf_id": repo}))
    _take(reading, "hub", f"{repo} on the Hugging Face Hub", found.n_params)


def repository() -> None:
    """A public repository of the Hub."""
    st.text_input(
        "Name a Hugging Face repository",
        key="own_repo",
        max_chars=300,
        placeholder="Qwen/Qwen3-8B",
        on_change=shell.touch,
        help="Only config.json and the published counts are read; no token is used.",
    )
    st.button("Fetch its config.json", key="own_fetch", on_click=_fetched, icon=":material/cloud_download:")
    fault("hub")


def sharing(view: View) -> None:
    """What a link does with the own model."""
    if view.own_model is not None and not view.can_be_shared:
        st.warning(
            f"This model needs more than {integer(PACKED_CHARS)} characters in a link, so the address of this page "
            "cannot be shared: who opens it must upload the file too.",
            icon=":material/link_off:",
        )


def _gpu_key(field: str) -> str:
    return f"own_gpu_{field}"


def _seed_gpu(gpu: GpuSpec) -> None:
    figures = gpu_figures(gpu)
    in_gib = gpu.memory_bytes % (GIB // 2) == 0
    st.session_state["own_gpu_unit"] = "GiB" if in_gib else "GB"
    for field, value in figures.items():
        st.session_state[_gpu_key(field)] = value
    if in_gib:
        st.session_state[_gpu_key("memory_gb")] = gpu.memory_bytes / GIB
    st.session_state["own_gpu_name"] = gpu.name[:NAME_CHARS]


def _copy_gpu() -> None:
    _seed_gpu(shell.current().scenario.gpu_spec)
    shell.touch()


def _use_gpu() -> None:
    state = st.session_state
    figures: dict[str, float | None] = {field: state.get(_gpu_key(field)) for field in FIGURE_LABELS}
    memory, bandwidth = figures.pop("memory_gb"), figures.pop("bandwidth_gb_per_s")
    if memory is None or bandwidth is None:
        _fail("gpu", f"{FIGURE_LABELS['memory_gb' if memory is None else 'bandwidth_gb_per_s']} must be given.")
        return
    if state.get("own_gpu_unit") == "GiB":
        memory *= GIB / GB
    if figures["bf16_tflops"] is None and figures["fp16_tflops"] is None:
        _fail("gpu", f"{FIGURE_LABELS['bf16_tflops']} or {FIGURE_LABELS['fp16_tflops']} must be given.")
        return
    try:
        name = state.get("own_gpu_name") or ""
        gpu = custom_gpu(name=name, memory_gb=memory, bandwidth_gb_per_s=bandwidth, **figures)
    except ValidationError as error:
        _fail("gpu", f"This GPU cannot be used: {explain(error)}.")
        return
    state.pop(_FAULT, None)
    view = shell.current()
    shell.show(view.replace(scenario=view.scenario.replace(gpu=gpu), own_gpu=gpu))


def gpu_form(view: View) -> None:
    """The figures of a data sheet; empty where unknown."""
    if "own_gpu_name" not in st.session_state or _gpu_key("memory_gb") not in st.session_state:
        _seed_gpu(view.own_gpu or view.scenario.gpu_spec)
    bounds = {field: (low, high) for field, low, high in GPU_FIGURES.values()}
    name, unit = st.columns([3, 1], vertical_alignment="bottom")
    with name:
        st.text_input("Name", key="own_gpu_name", max_chars=NAME_CHARS, on_change=shell.touch)
    with unit:
        st.segmented_control("Memory in", UNITS, required=True, key="own_gpu_unit", on_change=shell.touch)
    for fields in (
        ("memory_gb", "bandwidth_gb_per_s", "bf16_tflops"),
        ("fp16_tflops", "fp8_tflops", "int8_tflops"),
        ("fp4_tflops", "price_per_hour", "tdp_w"),
    ):
        for column, field in zip(st.columns(len(fields), vertical_alignment="bottom"), fields, strict=True):
            low, high = bounds[field]
            with column:
                st.number_input(
                    FIGURE_LABELS[field],
                    low,
                    high,
                    value=None,
                    key=_gpu_key(field),
                    format="%.6g",
                    placeholder="unknown",
                    on_change=shell.touch,
                )
    with st.container(horizontal=True):
        st.button("Use this GPU", key="own_gpu_use", on_click=_use_gpu, icon=":material/check:")
        st.button(
            "Copy the figures of the present GPU",
            key="own_gpu_copy",
            on_click=_copy_gpu,
            icon=":material/content_copy:",
        )
        if view.own_gpu is not None:
            st.button("Remove my GPU", key="own_gpu_remove", on_click=remove_gpu, icon=":material/delete:")
    fault("gpu")
