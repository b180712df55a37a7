"""A model or a GPU of the reader's own: its form in a link, and links that somebody else has written."""

import base64
import json
import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog import gpus, models
from core.custom import (
    CUSTOM,
    GPU_FIGURES,
    NAME_CHARS,
    OWN_MODEL_KEY,
    PACKED_CHARS,
    TEXT_CHARS,
    UNPACKED_BYTES,
    _lean,
    custom_gpu,
    gpu_figures,
    gpu_query,
    one_line,
    pack,
    read_gpu,
    unpack,
)
from core.evaluate import evaluate
from core.gpu import GpuSpec
from core.model import (
    CONTEXT_MAX,
    DenseFfn,
    Indexer,
    LatentAttention,
    LayerGroup,
    LinearAttention,
    Mamba2Mixer,
    MambaMixer,
    ModelSpec,
    MoeFfn,
    ShortConv,
    SoftmaxAttention,
)
from core.presets import OPENING
from core.query import shown
from core.scenario import Scenario
from core.units import GIB
from core.view import LINK_KEYS, View
from tests.strategies import scenarios

HERE = View(OPENING)
LINK = View(Scenario()).to_query()
MODEL = models()["gemma-3-27b"].model_copy(update={"slug": CUSTOM, "name": "Mine"})
GPU = custom_gpu(
    name="Mine",
    memory_gb=80,
    bandwidth_gb_per_s=3350,
    bf16_tflops=989.4,
    fp16_tflops=989.4,
    fp8_tflops=1978.9,
    int8_tflops=1978.9,
    fp4_tflops=3000,
    price_per_hour=2.5,
    tdp_w=700,
)

# ---------------------------------------------------------------- strategies

widths = st.integers(1, 2**13) | st.integers(1, 2**24)
counts = st.integers(1, 128) | st.integers(1, 2**20)
kernels = st.integers(1, 8)
heads = st.integers(1, 128)


@st.composite
def softmax_layers(draw: st.DrawFn) -> SoftmaxAttention:
    n_kv, span = draw(heads), draw(st.none() | st.tuples(st.sampled_from(["window", "chunk"]), st.integers(1, 2**20)))
    return SoftmaxAttention(
        n_kv=n_kv,
        n_q=n_kv * draw(st.integers(1, 64)),
        d_k=draw(widths),
        d_v=draw(widths),
        qkv_bias=draw(st.booleans()),
        o_bias=draw(st.booleans()),
        qk_norm=draw(st.sampled_from(["none", "per_head", "full_width"])),
        output_gate=draw(st.booleans()),
        sinks=draw(st.booleans()),
        **({span[0]: span[1]} if span else {}),
    )


attentions = (
    softmax_layers()
    | st.builds(
        LatentAttention,
        n_q=heads,
        q_lora_rank=widths,
        kv_lora_rank=widths,
        d_nope=widths,
        d_rope=widths,
        d_v=widths,
        indexer=st.none()
        | st.builds(Indexer, n_heads=heads, head_dim=widths, top_k=st.integers(1, 2**20), shared=st.booleans()),
    )
    | st.builds(LinearAttention, n_k_heads=heads, n_v_heads=heads, d_k=widths, d_v=widths, conv_kernel=kernels)
    | st.builds(MambaMixer, d_inner=widths, d_state=widths, conv_kernel=kernels, dt_rank=widths, bias=st.booleans())
    | st.builds(Mamba2Mixer, n_heads=heads, head_dim=widths, n_groups=heads, d_state=widths, conv_kernel=kernels)
    | st.builds(ShortConv, channels=widths, conv_kernel=kernels, bias=st.booleans())
)


@st.composite
def mixtures(draw: st.DrawFn) -> MoeFfn:
    n_experts = draw(st.integers(1, 512))
    return MoeFfn(
        n_experts=n_experts,
        n_active=draw(st.integers(1, n_experts)),
        d_expert=draw(widths),
        n_matrices=draw(st.sampled_from([2, 3])),
        d_shared=draw(st.just(0) | widths),
        shared_gate=draw(st.booleans()),
    )


ffns = mixtures() | st.builds(DenseFfn, d_ff=widths, n_matrices=st.sampled_from([2, 3]), bias=st.booleans())
groups = st.builds(LayerGroup, count=counts, attention=attentions, ffn=st.none() | ffns, n_norms=st.integers(0, 16))
names = st.text(max_size=300).map(lambda text: one_line(text, TEXT_CHARS) or "Custom model")
own_models = st.builds(
    ModelSpec,
    slug=st.just(CUSTOM),
    name=names,
    family=st.sampled_from(["llama", "own"]),
    d_model=widths,
    vocab=widths,
    tied_embeddings=st.booleans(),
    norm=st.sampled_from(["rmsnorm", "layernorm"]),
    learned_positions=st.integers(0, 2**24),
    n_outer_norms=st.integers(0, 4),
    groups=st.lists(groups, min_size=1, max_size=4).map(tuple),
    max_context=st.integers(1, CONTEXT_MAX),
    native_format=st.sampled_from(["bf16", "fp8", "mxfp4", "fp32"]),
    source=st.just("a config.json given by the user"),
)
changed_models = st.sampled_from(
    [m.with_kv_heads(n) for m in models().values() for n in m.kv_head_options if m.released_kv_heads != (n,)]
)
own_gpus = st.builds(
    custom_gpu,
    name=st.text(max_size=120),
    **{
        field: st.floats(low, high)
        if field in ("memory_gb", "bandwidth_gb_per_s", "bf16_tflops")
        else st.none() | st.floats(low, high)
        for field, low, high in GPU_FIGURES.values()
    },
)


@st.composite
def own_scenarios(draw: st.DrawFn) -> Scenario:
    """A scenario with an own model, an own GPU or both."""
    base = draw(scenarios()).replace(kv_heads=None)
    model = draw(st.none() | own_models | changed_models)
    gpu = draw(own_gpus if model is None else st.none() | own_gpus)
    made = base.replace(**({"model": model} if model else {}), **({"gpu": gpu} if gpu else {}))
    options = made.released_model.kv_head_options[:64]
    return made.replace(kv_heads=draw(st.none() | st.sampled_from(options))) if options else made


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize("slug", models())
def test_every_catalog_model_comes_back(slug):
    packed = pack(models()[slug])
    assert packed is not None
    assert packed.replace("-", "").replace("_", "").isalnum()  # nothing that an address would escape
    assert len(packed) < PACKED_CHARS / 3
    assert unpack(packed) == models()[slug]


@given(own_models)
@settings(max_examples=100, deadline=None)
def test_every_own_model_comes_back(model):
    packed = pack(model)
    assert packed is not None
    assert unpack(packed) == model


@given(own_scenarios())
@settings(max_examples=100, deadline=None)
def test_a_scenario_with_an_own_model_or_gpu_comes_back(scenario):
    link = scenario.to_query()
    assert Scenario.from_query(link) == (scenario, [])
    assert all(value.isprintable() or value.endswith("\u200e") for value in link.values())


@given(own_scenarios(), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_view_keeps_what_is_the_reader_s_own_also_beside_the_catalog(scenario, model_in_use, gpu_in_use):
    view = View(scenario, unit="GiB", reveal=True)
    used = scenario.replace(kv_heads=None)
    used = used if model_in_use else used.replace(model="gpt2-small")
    used = used if gpu_in_use else used.replace(gpu="t4")
    view = view.replace(scenario=used)
    link = view.to_query()
    assert set(link) <= set(LINK_KEYS)
    assert View.from_query(link, HERE) == (view, [])
    assert view.can_be_shared


def test_the_own_model_stays_in_the_link_while_the_catalog_is_used():
    view = View(Scenario(), own_model=MODEL, own_gpu=GPU)
    link = view.to_query()
    assert (link["model"], link["gpu"]) == ("llama-3-8b", "h100-sxm")
    back, notes = View.from_query(link, HERE)
    assert (back, notes) == (view, [])
    assert (back.own_model, back.own_gpu) == (MODEL, GPU)


@pytest.mark.parametrize("memory_gb", [80 * GIB / 1e9, 0.1 + 0.2, 1e6 / 3, 0.001, 1e6, 141.107, 1 / 3])
def test_memory_comes_back_to_the_byte(memory_gb):
    gpu = custom_gpu(memory_gb=memory_gb, bandwidth_gb_per_s=1, fp16_tflops=1)
    assert read_gpu(gpu_query(gpu), []) == gpu
    assert gpu.memory_bytes == round(memory_gb * 1e9)


def test_numbers_in_a_link_are_plain():
    gpu = custom_gpu(memory_gb=1e6, bandwidth_gb_per_s=0.001, bf16_tflops=123.456, price_per_hour=0.0001)
    assert gpu_query(gpu) == {
        "gpu_name": "Custom GPU",
        "gpu_memory": "1000000",
        "gpu_bandwidth": "0.001",
        "gpu_bf16": "123.456",
        "gpu_price": "0.0001",
    }


# ---------------------------------------------------------------- names


@given(st.text(max_size=400), st.integers(1, 300))
def test_one_line_is_one_line_and_stays_so(text, longest):
    line = one_line(text, longest)
    assert one_line(line, longest) == line
    assert line.removesuffix("\u200e").isprintable()
    assert len(line.removesuffix("\u200e")) <= longest
    assert line == line.strip()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\r\nb\tc\u2028d\x00\x1b[31m", "a b c d[31m"),
        ("\u202egnp.exe", "gnp.exe"),
        ("a \u200b b", "a b"),
        ("\ud800x", "x"),
        ("\u202e\u200f", ""),
        ("x" * 300, "x" * NAME_CHARS),
        ("שלום", "שלום\u200e"),
        ("عالم 7B", "عالم 7B\u200e"),
        ("<b>$x$</b>", "<b>$x$</b>"),
    ],
)
def test_names(text, line):
    assert one_line(text) == line
    assert custom_gpu(name=text, memory_gb=1, bandwidth_gb_per_s=1, bf16_tflops=1).name == (line or "Custom GPU")


# ---------------------------------------------------------------- links that somebody else has written


def packed_json(text: str | bytes) -> str:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")


def unpacked(packed: str) -> ModelSpec | None:
    """The model or None; whatever comes back can be put into a link again, and computed with."""
    try:
        model = unpack(packed)
    except ValueError:
        return None
    scenario = Scenario(model=model)
    assert Scenario.from_query(scenario.to_query())[0] == scenario
    assert evaluate(scenario).memory.total_bytes > 0
    return model


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_any_text_is_refused(text):
    assert unpacked(text) is None


def test_a_link_cut_short_is_refused():
    packed = pack(MODEL) or ""
    assert [at for at in range(0, len(packed), 7) if unpacked(packed[:at]) is not None] == []


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_one_wrong_character_is_refused_or_makes_another_model(data):
    packed = pack(MODEL) or ""
    at = data.draw(st.integers(0, len(packed) - 1))
    char = data.draw(st.sampled_from("AZaz09-_ =+/.%é\x00"))
    unpacked(packed[:at] + char + packed[at + 1 :])


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, "\ud800", "\u202e", "softmax", "linear", CUSTOM, -1, 0, 2**63]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_one_wrong_value_is_refused_or_makes_another_model(data):
    record: Any = _lean(MODEL)
    place = record
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    if data.draw(st.booleans()):
        place[key] = data.draw(JUNK)
    else:
        del place[key]
    unpacked(packed_json(json.dumps(record)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "1e999",
        '"x"',
        "{",
        "{}",
        '{"slug": "llama-3-8b"}',
        "[" * 100_000,
        '{"a":' * 20_000,
        "9" * 50_000,
        '{"d_model": ' + "9" * 5_000 + "}",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        "NaN",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_what_is_no_model_is_refused(text):
    assert unpacked(packed_json(text)) is None


def test_more_keys_are_refused():
    assert unpacked(packed_json(json.dumps(_lean(MODEL) | {"__class__": "x"}))) is None


def test_hostile_texts_in_a_link_become_one_plain_line():
    hostile = "\u202e\ud800a\n" + "x" * 5_000
    record = _lean(MODEL) | {"name": hostile, "source": hostile, "notes": hostile, "reconcile": [[hostile, 1]]}
    model = unpacked(packed_json(json.dumps(record)))
    assert model is not None
    assert model.name == ("a " + "x" * 5_000)[:TEXT_CHARS]
    assert model.reconcile[0][0].isprintable()
    assert unpack(packed_json(json.dumps(_lean(MODEL) | {"name": "\u202e"}))).name == "Custom model"


@pytest.mark.parametrize(
    "raw",
    [
        b" " * 100_000_000,
        b" " * 4_000_000,
        b'{"a":"' + b"x" * 4_000_000,
        b" " * (UNPACKED_BYTES + 1),
    ],
    ids=["100 MB", "4 MB", "text", "one byte too many"],
)
def test_an_inflation_bomb_is_refused_before_it_unfolds(raw):
    bomb = packed_json(raw)
    if len(raw) < 10_000_000:
        assert len(bomb) <= PACKED_CHARS  # short enough to be tried
    tracemalloc.start()
    try:
        assert unpacked(bomb) is None
        assert tracemalloc.get_traced_memory()[1] < 4 * UNPACKED_BYTES
    finally:
        tracemalloc.stop()


def test_a_bomb_in_a_link_is_said_and_replaced():
    view, notes = View.from_query(LINK | {"model": CUSTOM, OWN_MODEL_KEY: packed_json(b" " * 4_000_000)}, HERE)
    assert view.scenario.model == "llama-3-8b"
    assert len(notes) == 1
    assert "this one cannot be read" in notes[0]
    assert len(notes[0]) < 200


def test_a_link_without_the_model_says_so():
    view, notes = View.from_query(LINK | {"model": CUSTOM}, HERE)
    assert view == View(Scenario())
    assert notes == [
        "custom_model must be the packed model of a link from this page; it was missing, so Llama 3 8B takes its place."
    ]


def test_a_useless_own_model_beside_the_catalog_is_dropped():
    assert View.from_query(LINK | {OWN_MODEL_KEY: "x", "gpu_memory": "80"}, HERE) == (View(Scenario()), [])


def test_a_catalog_model_in_the_packed_form_is_the_catalog_s():
    link = LINK | {"model": CUSTOM, OWN_MODEL_KEY: pack(models()["gpt2-small"]) or ""}
    scenario, notes = Scenario.from_query(link)
    assert (scenario.model_key, notes) == ("gpt2-small", [])


def unequal(n_layers: int) -> ModelSpec:
    """Layers no two of which are alike."""
    first = MODEL.groups[0]
    made = tuple(
        first.model_copy(update={"count": 1, "ffn": DenseFfn(d_ff=(i * 7919) % 100_003 + 1)}) for i in range(n_layers)
    )
    return MODEL.model_copy(update={"groups": made})


@pytest.mark.parametrize("n_layers", [100, 900, 4_000])
def test_what_can_be_shared_can_be_opened_and_what_cannot_is_said(n_layers):
    model = unequal(n_layers)
    view = View(Scenario(model=model))
    link = view.to_query()
    assert view.can_be_shared is (OWN_MODEL_KEY in link)
    assert view.can_be_shared is (n_layers == 100)
    back, notes = View.from_query(link, HERE)
    if view.can_be_shared:
        assert (back, notes) == (view, [])
    else:
        assert len("&".join(f"{key}={value}" for key, value in link.items())) < 600
        assert (back.scenario.model, len(notes)) == ("llama-3-8b", 1)
        assert "it was missing" in notes[0]
        # In a session that has it, the model is found.
        assert Scenario.from_query(view.scenario.to_query(), view.scenario) == (view.scenario, [])


# ---------------------------------------------------------------- figures of a GPU in a link

GPU_LINK = View(Scenario(gpu=GPU)).to_query()
NEEDED = "A custom GPU needs gpu_memory, gpu_bandwidth and gpu_bf16 or gpu_fp16 as numbers in the link."
BAD = [
    "fast",
    "",
    " ",
    "-1",
    "-0.0",
    "0",
    "1e-300",
    "nan",
    "inf",
    "-inf",
    "1e300",
    "9" * 400,
    "٣",
    "1_000",
    "<b>80</b>",
]


def opened(link: dict[str, str]) -> tuple[GpuSpec, list[str]]:
    """The GPU and the notes of a link; the view is sound and its own link is silent."""
    view, notes = View.from_query(link, HERE)
    assert evaluate(view.scenario).decode.tokens_per_s >= 0
    assert View.from_query(view.to_query(), HERE) == (view, [])
    for note in notes:
        assert note.isprintable()
        assert len(note) < 200
    return view.scenario.gpu_spec, notes


def test_a_good_link_is_silent():
    assert opened(GPU_LINK) == (GPU, [])


@pytest.mark.parametrize("key", GPU_FIGURES)
def test_a_bad_figure_is_named(key):
    for text in BAD:
        gpu, (said, *more) = opened(GPU_LINK | {key: text})
        assert said.startswith(f"{key} must be a number from ")
        assert shown(text) in said or shown(text.strip()) in said
        if more:  # nothing to clamp, and no custom GPU without it
            assert key in ("gpu_memory", "gpu_bandwidth")
            assert (gpu.slug, more) == ("h100-sxm", [NEEDED])
        else:
            assert gpu.slug == CUSTOM
            assert gpu != GPU


@pytest.mark.parametrize("key", GPU_FIGURES)
def test_a_missing_figure_is_unknown_or_named(key):
    gpu, notes = opened({k: v for k, v in GPU_LINK.items() if k != key})
    if key in ("gpu_memory", "gpu_bandwidth"):
        assert (gpu.slug, notes) == ("h100-sxm", [NEEDED])
    else:
        assert notes == []
        assert gpu == custom_gpu(**{k: v for k, v in FIGURES_OF_GPU.items() if k != GPU_FIGURES[key][0]})


FIGURES_OF_GPU: dict[str, Any] = {
    "name": "Mine",
    **{field: float(GPU_LINK[key]) for key, (field, _, _) in GPU_FIGURES.items()},
}


def test_one_16_bit_peak_is_needed():
    gpu, notes = opened({k: v for k, v in GPU_LINK.items() if k not in ("gpu_bf16", "gpu_fp16")})
    assert (gpu.slug, notes) == ("h100-sxm", [NEEDED])


def test_nothing_but_the_name_of_the_kind():
    gpu, notes = opened(LINK | {"gpu": CUSTOM})
    assert (gpu.slug, notes) == ("h100-sxm", [NEEDED])


@given(st.dictionaries(st.sampled_from(["gpu_name", *GPU_FIGURES]), st.text(max_size=40), max_size=10))
@settings(max_examples=100, deadline=None)
def test_any_texts_make_a_valid_view(texts):
    opened(LINK | {"gpu": CUSTOM} | texts)


@pytest.mark.parametrize("slug", gpus())
def test_every_device_of_the_catalog_can_be_copied(slug):
    """Its figures are within what the form and the link take."""
    figures = gpu_figures(gpus()[slug])
    for field, low, high in GPU_FIGURES.values():
        assert figures[field] is None or low <= figures[field] <= high
    made = custom_gpu(**figures)
    assert made.memory_bytes == gpus()[slug].memory_bytes
    assert opened(View(Scenario(gpu=made)).to_query()) == (made, [])
