"""Bring your own: a model by file, text or repository, a GPU by its figures; what both leave on every other page."""

import functools
import html
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import lessons
from core.catalog import gpus, models
from core.compare import OVERS
from core.custom import CUSTOM, GPU_FIGURES, OWN_MODEL_KEY, PACKED_CHARS, custom_gpu
from core.derivation import model_derivations
from core.evaluate import evaluate
from core.hf_config import read_config, read_hf_config
from core.model import DenseFfn, ModelSpec
from core.own import group_rows, growth_rows, summary
from core.scenario import Scenario
from core.units import GIB, format_bytes
from core.view import View
from tests import harness
from tests.harness import open_app, query, text
from tests.hub_server import StandIn, config, document, send, silent, stand_ins, status
from ui import hub, shell
from ui.own import FIGURE_LABELS, LARGEST_UPLOAD_MB
from ui.text import charted, plain

PAGE = lessons.page("bring-your-own").file
DATA = Path(__file__).parent.parent / "core" / "data" / "transformers_counts.json"
ENTRIES: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))[1:]
FAMILIES = ("llama", "mixtral", "gpt2", "gemma3_text", "gpt_oss", "deepseek_v3", "deepseek_v32", "qwen3_next", "mamba",
            "mamba2", "jamba", "nemotron_h", "lfm2", "llama4_text", "gemma3")  # fmt: skip
CONFIGS = {family: next(e["config"] for e in ENTRIES if e["model_type"] == family) for family in FAMILIES}
LLAMA: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 31, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "_name_or_path": "mine/first",
}  # fmt: skip
SECOND = LLAMA | {"num_hidden_layers": 30, "_name_or_path": "mine/second"}
HOSTILE = (
    '<img src=x onerror="window.hacked=1"><b>bold</b>',
    "$\\frac{1}{2}$ $$x^2$$ :red[x] **b** [l](javascript:alert(1)) `code`",
    ":smile: :material/home: www.example.org https://example.org a@example.org -> --",
    "1. x" + "x" * 300,
    "\u202egnp.exe שלום عالم",
)


def open_page(view: View | None = None) -> AppTest:
    return open_app(view.to_query() if view else None, PAGE)


def paste(at: AppTest, source: object) -> AppTest:
    at.text_area(key="own_text").set_value(source if isinstance(source, str) else json.dumps(source))
    return at.button(key="own_paste").click().run()


def model_box(at: AppTest) -> tuple[str, str]:
    """Value of the model's select box and how it is named."""
    box = at.selectbox(key="model")
    return box.value, box.options[box.index or 0]


def said(at: AppTest) -> str:
    """The page's only error: one sentence."""
    assert not at.exception
    (error,) = at.error
    sentence = error.value.replace("\\", "").replace("\u2060", "")
    assert sentence.endswith(".")
    assert sentence.isprintable()
    assert not re.search(r"[.!?] [A-Z]", sentence)
    assert 10 < len(sentence) < 320
    return sentence


def assert_shown(at: AppTest, spec: ModelSpec) -> None:
    """All that the page says of a model is that model's."""
    harness.assert_sound(at, charts=2)
    assert not at.error
    page = html.unescape(text(at))
    assert [header.value for header in at.header][:1] == ["Your model"]
    for sentence in summary(spec):
        assert sentence in page
    for derivation in model_derivations(spec):
        assert derivation.numbers in page
    for rows in (group_rows(spec)[1], growth_rows(spec, View.from_query(query(at), View(Scenario()))[0].unit)[1]):
        for row in rows:
            assert "| " + " | ".join(map(str, row)) + " |" in page
    assert query(at)["model"] == CUSTOM
    value, name = model_box(at)
    assert (value, name) == (CUSTOM, f"{spec.name} (yours)")
    scenario, notes = Scenario.from_query(query(at))
    assert (scenario.released_model, notes) == (spec, [])
    assert f"{evaluate(scenario).memory.weights_bytes:,} B" in page


def assert_catalog(at: AppTest) -> None:
    """Nothing of an own model is left."""
    harness.assert_sound(at, charts=2)
    assert not at.error
    assert query(at)["model"] in models()
    assert OWN_MODEL_KEY not in query(at)
    assert "Your model" not in [header.value for header in at.header]
    assert "(yours)" not in str(at.selectbox(key="model").options)


# ---------------------------------------------------------------- paste


def test_untouched_it_offers_and_asks_nothing() -> None:
    at = open_page()
    assert_catalog(at)
    assert not at.info
    assert not at.warning
    assert len(at.file_uploader) == 1
    assert query(at) == View(Scenario(batch=32)).to_query()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pasted_config_is_read_and_shown(family: str) -> None:
    reading = read_config(CONFIGS[family])
    at = paste(open_page(), CONFIGS[family])
    assert_shown(at, reading.spec)
    page = text(at)
    assert "Read from the pasted text." in page
    for entry in reading.read:
        assert f"| {entry.field} | {entry.key} | " in page
    titles = [header.value for header in at.subheader]
    assert ("What was assumed, and why" in titles) is bool(reading.assumed)
    for assumption in reading.assumed:
        assert f"| {assumption.field} | {assumption.value} | " in page
        assert " ".join(assumption.why.split()) in page


def test_a_smaller_limit_shortens_the_context_and_says_so() -> None:
    at = paste(open_page(View(Scenario(context=8192, kv_heads=4))), CONFIGS["llama"])
    assert query(at)["context"] == "160"
    assert query(at)["kv_heads"] == "released"
    (note,) = at.info
    assert "custom llama stops at 160 tokens; the context of 8,192 was shortened to that." in note.value.replace(
        "\\", ""
    )
    at.select_slider(key="batch").set_value(2).run()
    assert not at.info  # said once
    at.button(key="own_remove").click().run()
    assert query(at)["context"] == "160"


BAD = [
    ("", "empty"),
    (" \n\t ", "empty"),
    ("<!DOCTYPE html><html><b>Sign in</b></html>", "web page"),
    ("[1, 2]", "a list"),
    ("null", "null"),
    ('"llama"', "a text"),
    ("42", "a number"),
    ("{", "ends too early"),
    (json.dumps(LLAMA)[:-1] + ",}", "a comma too many"),
    (json.dumps(LLAMA)[:-40], "not JSON"),
    ("model_type: llama", "not JSON"),
    ('{"model_type": "llama", "model_type": "qwen2"}', "twice"),
    ("[" * 50_000, "nested too deeply"),
    (LLAMA | {"model_type": "bert"}, "an encoder"),
    (LLAMA | {"model_type": "t5"}, "an encoder-decoder"),
    (LLAMA | {"model_type": "frobnicate"}, "no architecture this reader knows"),
    (LLAMA | {"model_type": None}, "model_type is missing"),
    (LLAMA | {"model_type": "<b>x</b> **y** $z$"}, '"<b>x</b> **y** $z$" is no architecture'),
    ({"peft_type": "LORA", "base_model_name_or_path": "x"}, "adapter"),
    ({key: value for key, value in LLAMA.items() if key != "num_hidden_layers"}, "num_hidden_layers is missing"),
    (LLAMA | {"hidden_size": -4096}, "hidden_size"),
    (LLAMA | {"hidden_size": "4096; DROP"}, "hidden_size"),
    (LLAMA | {"hidden_size": 1e400}, "hidden_size"),
    (LLAMA | {"num_key_value_heads": 7}, "num_key_value_heads"),
]


@pytest.fixture(scope="module")
def long_session() -> AppTest:
    """One session with an own model, which nothing below may change."""
    return paste(open_page(View(Scenario(context=2048), unit="GiB")), LLAMA)


@pytest.mark.parametrize(("source", "words"), BAD, ids=[words for _, words in BAD])
def test_what_is_malformed_is_said_in_one_sentence_and_changes_nothing(
    long_session: AppTest, source: object, words: str
) -> None:
    before = query(long_session)
    assert words in said(paste(long_session, source))
    assert query(long_session) == before
    page = text(long_session)
    assert "mine/first" in page
    assert "Read from the pasted text." in page
    assert not long_session.info
    harness.assert_sound(long_session, charts=2)


def test_malformed_text_leaves_the_catalog_too() -> None:
    at = open_page(View(Scenario(model="gpt2-small", context=512)))
    before = query(at)
    assert "not JSON" in said(paste(at, "{]"))
    assert query(at) == before
    at.select_slider(key="batch").set_value(4).run()
    assert "not JSON" in said(at)  # it stands until the next attempt
    paste(at, LLAMA)
    assert_shown(at, read_hf_config(LLAMA))


def test_a_second_text_leaves_nothing_of_the_first() -> None:
    first, second = read_hf_config(LLAMA), read_hf_config(SECOND)
    at = paste(open_page(), LLAMA)
    assert_shown(at, first)
    paste(at, SECOND)
    assert_shown(at, second)
    for word in (first.name, f"{first.n_params:,}"):
        assert word not in text(at)
        assert word not in str(at.selectbox(key="model").options)


def test_removing_it_returns_to_the_catalog() -> None:
    at = paste(open_page(), LLAMA | {"max_position_embeddings": 131_072})
    at.select_slider(key="context").set_value(65_536).run()
    at.button(key="own_remove").click().run()
    assert_catalog(at)
    assert query(at)["model"] == "llama-3-8b"
    assert query(at)["context"] == "8192"
    (note,) = at.info
    assert "Llama 3 8B stops at 8,192 tokens; the context of 65,536 was shortened" in note.value.replace("\\", "")


def test_removing_it_while_the_catalog_is_used_keeps_the_scenario() -> None:
    at = paste(open_page(), LLAMA)
    at.selectbox(key="model").set_value("gpt2-small").run()
    assert OWN_MODEL_KEY in query(at)  # and it stays in the menu
    assert at.selectbox(key="model").options[0] == "mine/first (yours)"
    before = query(at)
    at.button(key="own_remove").click().run()
    assert_catalog(at)
    assert query(at) == {key: value for key, value in before.items() if key != OWN_MODEL_KEY}


def test_back_and_forth_between_the_own_model_and_the_catalog() -> None:
    at = paste(open_page(), LLAMA)
    at.selectbox(key="model").set_value("llama-3-70b").run()
    assert "Read from the pasted text." in text(at)
    at.selectbox(key="model").set_value(CUSTOM).run()
    assert_shown(at, read_hf_config(LLAMA))


def bare(value: str) -> str:
    """Text without what escapes it."""
    return value.replace("\\", "").replace("\u2060", "")


def strings(value: object) -> Iterator[str]:
    """All texts in a chart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def assert_plain(at: AppTest, name: str) -> int:
    """Wherever Markdown or a chart holds the name, it holds it escaped; the number of places."""
    assert not at.exception
    places = [element.value for element in (*at.markdown, *at.caption, *at.info, *at.error)]
    for widget in (*at.radio, *at.button, *at.selectbox, *at.select_slider):
        places += [widget.label, widget.help or ""]
    found = [value for value in places if bare(name) in bare(value)]
    within = plain(f"x {name}")[2:]  # a number and a dot are the start of a list at the start of a line alone
    assert [value for value in found if plain(name) not in value and within not in value] == []
    texts = [t for chart in at.get("plotly_chart") for t in strings(json.loads(chart.proto.spec))]
    drawn = [t for t in texts if name in html.unescape(t)]
    assert [t for t in drawn if charted(name) not in t] == []
    return len(found) + len(drawn)


@pytest.mark.parametrize("name", HOSTILE, ids=["html", "markdown", "late", "long", "backwards"])
def test_hostile_names_are_escaped_on_every_page(name: str) -> None:
    gpu = custom_gpu(name=name, memory_gb=80, bandwidth_gb_per_s=3000, bf16_tflops=900)
    at = paste(open_page(View(Scenario(gpu=gpu))), LLAMA | {"_name_or_path": name})
    harness.assert_sound(at, charts=2)
    assert not at.error
    called = model_box(at)[1].removesuffix(" (yours)")
    assert len(called) < 90
    assert at.selectbox(key="gpu").options[0] == f"{gpu.label} (yours)"
    assert View.from_query(query(at), View(Scenario()))[1] == []
    assert assert_plain(at, called) >= 2
    pages = lessons.PAGES if name == HOSTILE[0] else lessons.PAGES[::3]
    models_named = gpus_named = 0
    for page in pages:
        at.switch_page(page.file).run()
        models_named += assert_plain(at, called)
        gpus_named += assert_plain(at, gpu.name)
    assert models_named >= len(pages)
    assert gpus_named >= len(pages) // 4
    at.switch_page(lessons.page("compare").file).run()
    before = assert_plain(at, called), assert_plain(at, gpu.name)
    at.button(key="pin").click().run()
    after = assert_plain(at, called), assert_plain(at, gpu.name)
    assert all(now > then for now, then in zip(after, before, strict=True))
    for over in OVERS:
        at.segmented_control(key="compare_over").set_value(over).run()
        assert assert_plain(at, called) + assert_plain(at, gpu.name)


# ---------------------------------------------------------------- the other pages


def test_the_own_model_is_in_use_on_every_page() -> None:
    spec = read_hf_config(LLAMA)
    at = paste(open_page(), LLAMA)
    packed = query(at)[OWN_MODEL_KEY]
    for number, page in enumerate(other for other in lessons.PAGES if other.file != PAGE):
        at.switch_page(page.file).run()
        assert not at.exception
        assert not at.info
        assert (query(at)["model"], query(at)[OWN_MODEL_KEY]) == (CUSTOM, packed)
        if page.slug == "sources":
            continue
        for box in at.selectbox:
            if box.key == "model":
                assert (box.value, box.options[0]) == (CUSTOM, "mine/first (yours)")
        batch = 2 ** (number % 5 + 1)
        for key, value in (("batch", batch), ("context", 1024), ("context", 4096)):
            if key in [slider.key for slider in at.select_slider]:
                at.select_slider(key=key).set_value(value).run()
                assert query(at)[key] == str(value)
        assert not at.exception
        assert query(at)[OWN_MODEL_KEY] == packed
    at.switch_page(PAGE).run()
    assert_shown(at, spec)
    assert "Read from the pasted text." in text(at)  # also how it was read is kept


def test_the_numbers_of_other_pages_are_the_own_model_s() -> None:
    at = paste(open_page(), LLAMA)
    at.switch_page("app.py").run()
    scenario = View.from_query(query(at), View(Scenario()))[0].scenario
    memory = evaluate(scenario).memory
    assert memory.weights_bytes == 2 * read_hf_config(LLAMA).n_params
    assert f"weights {format_bytes(memory.weights_bytes)} · KV cache {format_bytes(memory.kv_bytes)}" in text(at)


def test_a_link_opens_it_in_another_session() -> None:
    link = query(paste(open_page(), LLAMA))
    spec = read_hf_config(LLAMA)
    at = open_app(link)
    assert not at.info
    assert model_box(at) == (CUSTOM, "mine/first (yours)")
    at.switch_page(PAGE).run()
    assert_shown(at, spec)
    assert "What was read from which key" not in [box.label for box in at.expander]  # the file was not seen here
    at.button(key="own_remove").click().run()
    assert_catalog(at)


def test_a_link_that_cannot_be_shared_says_so() -> None:
    spec = read_hf_config(LLAMA)
    layer = spec.groups[0]
    layers = tuple(
        layer.model_copy(update={"count": 1, "ffn": DenseFfn(d_ff=7919 * i % 100_003 + 1)}) for i in range(1_300)
    )
    long = spec.model_copy(update={"groups": layers})
    at = AppTest.from_file(str(harness.ROOT / "app.py"), default_timeout=harness.TIMEOUT_S)
    at.session_state[shell._KEPT] = shell._Kept(View(Scenario(model=long, context=1024)))
    at.switch_page(PAGE).run()
    assert not at.exception
    (warning,) = at.warning
    sentence = warning.value.replace("\\", "")
    assert f"more than {PACKED_CHARS:,} characters in a link" in sentence
    assert "cannot be shared" in sentence
    assert sentence.endswith(".")
    assert query(at)["model"] == CUSTOM
    assert OWN_MODEL_KEY not in query(at)
    assert f"{long.n_params:,} parameters" in text(at)
    at.select_slider(key="batch").set_value(2).run()
    at.switch_page("app.py").run()
    assert not at.exception
    assert not at.info
    assert model_box(at) == (CUSTOM, "mine/first (yours)")
    opened = open_app(query(at), PAGE)
    assert_catalog(opened)
    assert "it was missing" in opened.info[0].value


# ---------------------------------------------------------------- upload


def upload(at: AppTest, source: object, name: str = "config.json") -> AppTest:
    content = source if isinstance(source, bytes) else json.dumps(source).encode()
    return at.file_uploader[0].set_value((name, content, "application/json")).run()


def test_c36_an_upload_survives_a_rerun() -> None:
    # streamlit/streamlit#2213: same model still loaded, the cache changes, no JSON error; a second file leaves nothing
    # of the first; without a file the built-in models are back. One layer less than a model of the catalog.
    first, second = read_hf_config(LLAMA), read_hf_config(SECOND)
    at = upload(open_page(), LLAMA)
    assert_shown(at, first)
    assert "Read from the uploaded file config.json." in text(at)
    for context in (4_096, 2_048):
        at.select_slider(key="context").set_value(context).run()
        assert_shown(at, first)
        assert f"{31 * 4_096 * context * 32:,} B" in text(at)  # of 32 users

    upload(at, SECOND)
    assert_shown(at, second)
    assert f"{first.n_params:,}" not in text(at)
    assert first.name not in text(at)

    at.file_uploader[0].set_value(None).run()
    assert_catalog(at)
    assert f"{second.n_params:,}" not in text(at)


def test_a_file_names_its_model_where_the_config_does_not() -> None:
    nameless = {key: value for key, value in LLAMA.items() if key != "_name_or_path"}
    at = upload(open_page(), nameless, "my <b>model</b>.json")
    assert model_box(at)[1] == "my <b>model</b> (yours)"
    upload(at, nameless)
    assert model_box(at)[1] == "custom llama (yours)"


def test_a_file_name_is_plain_text() -> None:
    at = upload(open_page(), LLAMA, "\u202e$x$ <b>" + "y" * 200 + ".json")
    assert "Read from the uploaded file $x$ <b>yyy" in text(at)
    assert "\u202e" not in text(at)
    assert all(r"\$x\$" in c.value for c in at.caption if "uploaded file" in c.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\xff\xfe{", "not UTF-8"),
        (b"GGUF\x03\x00", "GGUF"),
        (b"PK\x03\x04", "zip"),
        (b" " * (LARGEST_UPLOAD_MB << 20) + b"{}", "1,048,578 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS"),
    ],
    ids=["empty", "utf-16", "gguf", "zip", "large", "lfs"],
)
def test_a_malformed_upload_changes_nothing(content: bytes, words: str) -> None:
    at = paste(open_page(), LLAMA)
    before = query(at)
    assert words in said(upload(at, content))
    assert query(at) == before
    at.file_uploader[0].set_value(None).run()  # takes the refused file away, not the model that was pasted
    assert query(at) == before
    assert_shown(at, read_hf_config(LLAMA))


def test_a_refused_second_file_leaves_the_first_model() -> None:
    at = upload(open_page(), LLAMA)
    assert "a list" in said(upload(at, b"[]"))
    assert query(at)["model"] == CUSTOM
    assert "mine/first" in text(at)
    at.file_uploader[0].set_value(None).run()
    assert_catalog(at)


def test_the_field_shows_no_file_that_is_not_in_use() -> None:
    at = upload(open_page(), LLAMA)
    paste(at, SECOND)
    assert at.file_uploader[0].value is None
    assert_shown(at, read_hf_config(SECOND))
    upload(at, LLAMA)
    at.button(key="own_remove").click().run()
    assert at.file_uploader[0].value is None
    assert_catalog(at)
    upload(at, LLAMA)
    assert_shown(at, read_hf_config(LLAMA))


def test_an_upload_survives_other_pages() -> None:
    at = upload(open_page(), LLAMA)
    at.switch_page("app.py").run()
    at.select_slider(key="batch").set_value(8).run()
    at.switch_page(PAGE).run()
    assert_shown(at, read_hf_config(LLAMA))
    assert "Read from the uploaded file config.json." in text(at)
    assert query(at)["batch"] == "8"


# ---------------------------------------------------------------- the Hub


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], StandIn]]:
    with stand_ins(monkeypatch) as start:
        yield start


@pytest.fixture
def server(servers: Callable[[], StandIn], monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The Hub of this test, which knows mine/model."""
    server = servers()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    server.answers = {
        "/mine/model/resolve/main/config.json": config(json.dumps(LLAMA).encode()),
        "/api/models/mine/model": document({}),
    }
    return server


def ask(at: AppTest, repo: str = "mine/model") -> AppTest:
    at.text_input(key="own_repo").set_value(repo)
    return at.button(key="own_fetch").click().run()


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "the same number"),
        (1_000_000_000, "more: a vision tower, extra prediction layers"),
        (-5_000_000_000, "fewer: a quantized file packs several weights"),
    ],
)
def test_our_count_stands_beside_the_hub_s(server: StandIn, count: int, words: str) -> None:
    spec = read_hf_config(LLAMA)
    total = spec.n_params + count
    server.answers["/api/models/mine/model"] = document(
        {"safetensors": {"parameters": {"BF16": total}, "total": total}}
    )
    at = ask(open_page())
    page = text(at)
    assert f"{spec.n_params:,} parameters" in page
    assert f"The Hub counts {total:,} stored values" in page
    assert words in page
    assert "Read from mine/model on the Hugging Face Hub." in page
    assert model_box(at)[1] == "mine/model (yours)"


def test_without_the_hub_s_count_ours_stands_alone(server: StandIn) -> None:
    at = ask(open_page(), f"{server.url}/mine/model/blob/main/config.json")
    assert not at.error
    assert f"{read_hf_config(LLAMA).n_params:,} parameters" in text(at)
    assert "The Hub counts" not in text(at)
    at.session_state["take_away"] = True
    at.run()
    assert "vllm serve mine/model" in " ".join(code.value for code in at.code)


def test_a_repository_is_asked_for_once(server: StandIn) -> None:
    at = ask(ask(open_page()))
    at.select_slider(key="batch").set_value(2).run()
    assert len(server.paths("/mine")) == 1
    ask(open_page())
    assert len(server.paths("/mine")) == 1


@pytest.mark.parametrize(
    ("repo", "words"),
    [
        ("", "Name a model repository"),
        ("no such", '"no such" is no repository name'),
        ("https://example.org/a/b", "is not the Hugging Face Hub"),
        ("nobody/nothing", "no public repository"),
        ("mine/gated", "needs its owner's permission"),
        ("mine/gguf", "holds no config.json"),
        ("mine/busy", "no more requests"),
        ("mine/broken", "HTTP 503"),
        ("mine/html", "is no config.json"),
        ("mine/bert", "an encoder"),
        ("mine/large", "too large"),
        ("<b>x</b>/$y$", '"<b>x</b>/$y$" is no repository name'),
    ],
)
@pytest.mark.parametrize("own", [False, True], ids=["catalog", "own"])
def test_what_is_refused_is_said_in_one_sentence_and_changes_nothing(
    server: StandIn, own: bool, repo: str, words: str
) -> None:
    answers = {
        "gated": status(401, "GatedRepo"),
        "gguf": status(404, "EntryNotFound"),
        "busy": status(429),
        "broken": status(503),
        "html": send(200, b"<html><b>Sign in</b></html>"),
        "bert": config(b'{"model_type": "bert", "num_hidden_layers": 12}'),
        "large": config(b"{}".ljust(hub.ANSWER_MAX_BYTES + 1)),
    }
    server.answers |= {f"/mine/{name}/resolve/main/config.json": answer for name, answer in answers.items()}
    at = paste(open_page(), SECOND) if own else open_page(View(Scenario(model="gpt2-small", context=512)))
    before = query(at)
    assert words in said(ask(at, repo))
    assert query(at) == before
    assert ("mine/second" in text(at)) is own
    harness.assert_sound(at, charts=2)


def test_a_slow_hub_ends_within_the_limit(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "fetch", functools.partial(hub.fetch, timeout_s=0.4))
    ask(open_page())  # the first request loads the library
    server.answers["/mine/slow/resolve/main/config.json"] = silent
    at = open_page()
    before, started = query(at), time.monotonic()
    assert "within 0.4 seconds" in said(ask(at, "mine/slow"))
    assert time.monotonic() - started < 4
    assert query(at) == before


def test_offline(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    at = open_page()
    before = query(at)
    assert "cannot be reached" in said(ask(at))
    assert query(at) == before
    assert server.asked == []
    paste(at, LLAMA)
    assert_shown(at, read_hf_config(LLAMA))


# ---------------------------------------------------------------- the GPU


def fill(at: AppTest, name: str = "", unit: str = "GB", **figures: float | None) -> AppTest:
    at.text_input(key="own_gpu_name").set_value(name)
    at.segmented_control(key="own_gpu_unit").set_value(unit)
    for field in FIGURE_LABELS:
        at.number_input(key=f"own_gpu_{field}").set_value(figures.get(field))
    return at.button(key="own_gpu_use").click().run()


GIVEN: dict[str, Any] = {"memory_gb": 100.0, "bandwidth_gb_per_s": 2000.0, "bf16_tflops": 500.0}


def gpu_box(at: AppTest) -> tuple[str, str]:
    box = at.selectbox(key="gpu")
    return box.value, box.options[box.index or 0]


def test_a_gpu_by_its_figures() -> None:
    at = open_page()
    fill(at, "My card", **GIVEN, fp8_tflops=1000.0, price_per_hour=1.5, tdp_w=600.0)
    harness.assert_sound(at, charts=2)
    assert not at.error
    assert gpu_box(at) == (CUSTOM, "My card, 100 GB (yours)")
    scenario, notes = Scenario.from_query(query(at))
    assert notes == []
    wanted = custom_gpu(name="My card", **GIVEN, fp8_tflops=1000.0, price_per_hour=1.5, tdp_w=600.0)
    assert scenario.gpu_spec == wanted
    given = {key: query(at).get(key) for key in GPU_FIGURES}
    assert given == {
        "gpu_memory": "100", "gpu_bandwidth": "2000", "gpu_bf16": "500", "gpu_fp16": None, "gpu_fp8": "1000",
        "gpu_int8": None, "gpu_fp4": None, "gpu_price": "1.5", "gpu_power": "600",
    }  # fmt: skip
    # Every page works with it, and back here the form shows it.
    for page in lessons.PAGES:
        at.switch_page(page.file).run()
        assert not at.exception
        assert query(at)["gpu_memory"] == "100"
    at.switch_page(PAGE).run()
    assert at.text_input(key="own_gpu_name").value == "My card"
    assert at.number_input(key="own_gpu_memory_gb").value == 100
    assert at.number_input(key="own_gpu_fp4_tflops").value is None


def test_a_gpu_in_gib() -> None:
    at = fill(open_page(), unit="GiB", **GIVEN | {"memory_gb": 80.0})
    assert Scenario.from_query(query(at))[0].gpu_spec.memory_bytes == 80 * GIB
    assert query(at)["gpu_memory"] == "85.89934592"
    assert gpu_box(at)[1] == "Custom GPU, 85.8993 GB (yours)"
    at = open_app(query(at), PAGE)
    assert not at.info
    assert at.segmented_control(key="own_gpu_unit").value == "GiB"
    assert at.number_input(key="own_gpu_memory_gb").value == 80
    before = query(at)
    at.button(key="own_gpu_use").click().run()
    assert query(at) == before


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (("memory_gb",), "Memory must be given."),
        (("bandwidth_gb_per_s",), "Bandwidth (GB/s) must be given."),
        (("bf16_tflops",), "BF16 peak (dense TFLOP/s) or FP16 peak (dense TFLOP/s) must be given."),
        (tuple(GIVEN), "Memory must be given."),
    ],
)
def test_a_missing_figure_is_named_and_nothing_changes(missing: tuple[str, ...], words: str) -> None:
    at = fill(open_page(), "Before", **GIVEN)
    before = query(at)
    assert said(fill(at, "After", **GIVEN | dict.fromkeys(missing))) == words
    assert query(at) == before
    assert gpu_box(at) == (CUSTOM, "Before, 100 GB (yours)")
    assert at.text_input(key="own_gpu_name").value == "After"  # what was typed stays, to be completed
    fill(at, "After", **GIVEN)
    assert not at.error
    assert gpu_box(at)[1] == "After, 100 GB (yours)"


def test_removing_the_gpu_returns_to_the_catalog() -> None:
    at = fill(paste(open_page(), LLAMA), **GIVEN)
    assert (query(at)["model"], query(at)["gpu"]) == (CUSTOM, CUSTOM)
    at.button(key="own_gpu_remove").click().run()
    harness.assert_sound(at, charts=2)
    assert (query(at)["model"], query(at)["gpu"]) == (CUSTOM, "h100-sxm")
    assert not set(query(at)) & {"gpu_name", *GPU_FIGURES}
    assert "(yours)" not in str(at.selectbox(key="gpu").options)
    assert "own_gpu_remove" not in [button.key for button in at.button]


def test_the_gpu_stays_in_the_menu_beside_the_catalog() -> None:
    at = fill(open_page(), "Mine", **GIVEN)
    at.selectbox(key="gpu").set_value("t4").run()
    assert (query(at)["gpu"], query(at)["gpu_name"]) == ("t4", "Mine")
    at.switch_page("app.py").run()
    at.selectbox(key="gpu").set_value(CUSTOM).run()
    assert query(at)["gpu"] == CUSTOM
    assert gpu_box(at) == (CUSTOM, "Mine, 100 GB (yours)")


@pytest.fixture(scope="module")
def form() -> AppTest:
    return open_page()


@pytest.mark.parametrize("slug", ["h100-sxm", "t4", "tpu-v4", "mi300x", "rtx-4090", "apple-m4-max"])
def test_any_device_can_be_copied_and_used(form: AppTest, slug: str) -> None:
    form.selectbox(key="gpu").set_value(slug).run()
    form.button(key="own_gpu_copy").click().run()
    form.button(key="own_gpu_use").click().run()
    assert not form.exception
    assert not form.error
    made, device = Scenario.from_query(query(form))[0].gpu_spec, gpus()[slug]
    assert made.slug == CUSTOM
    for field in ("memory_bytes", "bandwidth_gb_per_s", "bf16_tflops", "fp16_tflops", "fp8_tflops", "tdp_w"):
        assert getattr(made, field) == getattr(device, field)
