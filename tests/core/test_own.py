"""The tables and sentences about a reader's own model, against the model's own figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from core.catalog import models
from core.derivation import model_derivations
from core.hf_config import read_config, read_hf_config
from core.kv_cache import tokens_kept
from core.model import ModelSpec, Recurrent, SoftmaxAttention
from core.own import assumed_rows, count_sentence, group_rows, growth_rows, read_rows, summary
from core.units import UNITS, format_bytes
from tests.core.test_derivation import calculator

COUNTS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "transformers_counts.json").read_text(encoding="utf-8")
)
KINDS = ("mamba", "mamba2", "falcon_mamba", "jamba", "bamba", "nemotron_h", "lfm2", "qwen3_next", "deepseek_v3",
         "deepseek_v32", "glm_moe_dsa", "gemma3_text", "gpt_oss", "llama4_text")  # fmt: skip
READ = {f"{e['model_type']}-{e['variant']}": e["config"] for e in COUNTS if e.get("model_type") in KINDS}
SPECS: dict[str, ModelSpec] = dict(models()) | {name: read_hf_config(config) for name, config in READ.items()}


def number(text: str) -> int:
    return int(text.replace(",", ""))


# ---------------------------------------------------------------- the arithmetic


@pytest.mark.parametrize("model", SPECS.values(), ids=SPECS)
def test_derivations_multiply_out(model):
    lines = {d.key: d for d in model_derivations(model)}
    assert ("per_token" in lines) is bool(model.kv_bytes_per_token())
    assert ("state" in lines) is bool(model.state_bytes)
    assert lines["params"].result.value == model.n_params
    if "per_token" in lines:
        assert lines["per_token"].result.value == model.kv_bytes_per_token() == model.kv_bytes(1)
    if "state" in lines:
        assert lines["state"].result.value == model.state_bytes
    for d in lines.values():
        assert d.expression.value == d.result.value
        exact, _, rounded = d.result.text.partition(" = ")
        assert calculator(d.expression.render("numbers")) == calculator(exact) == d.result.value, d.numbers
        if rounded:
            assert calculator(rounded) == pytest.approx(d.result.value, rel=6e-3)


def test_a_hybrid_adds_up_in_words():
    jamba = read_hf_config(READ["jamba-hybrid"])
    lines = {d.key: d.numbers for d in model_derivations(jamba)}
    assert lines["per_token"].startswith("2 × 2 × 3 × 16 × 2 B = 384 B")
    assert lines["state"] == "4 × 10,368 B + 2 × 10,368 B = 62,208 B = 62.2 kB"


# ---------------------------------------------------------------- layers


@pytest.mark.parametrize("model", SPECS.values(), ids=SPECS)
def test_layers_add_up_to_the_model(model):
    header, rows = group_rows(model)
    assert all(len(row) == len(header) for row in rows)
    layers, _, kept, tokens, _, sizes = zip(*rows, strict=True)
    assert sum(layers) == model.n_layers
    outside = {"embedding", "positions", "norms", "lm_head"}
    inside = sum(n for component, n in model.params_by_component.items() if component not in outside)
    assert sum(map(number, sizes)) == inside
    for group, words, span in zip(model.groups, kept, tokens, strict=True):
        a = group.attention
        if isinstance(a, SoftmaxAttention):
            left, _, right = words.partition(" = ")
            product = eval(re.sub(r" KV heads?", "", left).replace("×", "*"), {"__builtins__": {}})
            assert product == number(right) == a.values_per_token
            assert span == ("all" if a.span is None else f"at most {a.span:,}")
        elif a is None or isinstance(a, Recurrent):
            assert words == ("none" if a is None else f"none: a state of {a.state_bytes:,} bytes")
            assert span == "none"
        else:
            left, _, right = words.replace(" of the indexer", "").partition(" = ")
            assert eval(left, {"__builtins__": {}}) == number(right) == a.values_per_token
            assert span == "all"


@pytest.mark.parametrize(
    ("slug", "row"),
    [
        (
            "gemma-3-27b",
            (52, "GQA, window 1,024", "2 × 16 KV heads × 128 = 4,096", "at most 1,024"),
        ),
        ("deepseek-v3", (3, "MLA", "512 + 64 = 576", "all")),
        ("deepseek-v3.2", (3, "MLA, sparse reads", "512 + 64 + 128 of the indexer = 704", "all")),
        ("qwen3-next-80b-a3b", (36, "linear (gated DeltaNet)", "none: a state of 2,146,304 bytes", "none")),
    ],
)
def test_a_layer_group_in_words(slug, row):
    assert row in [found[:4] for found in group_rows(models()[slug])[1]]


# ---------------------------------------------------------------- growth


@pytest.mark.parametrize("unit", UNITS)
def test_growth_is_the_cache_of_one_sequence(unit):
    for model in SPECS.values():
        header, rows = growth_rows(model, unit)
        assert len(header) == 4
        contexts = [number(row[0]) for row in rows]
        assert contexts == sorted(set(contexts))
        assert contexts[-1] == model.max_context
        for tokens, (_, cache, adds, full) in zip(contexts, rows, strict=True):
            assert cache == format_bytes(model.kv_bytes(tokens) + model.state_bytes, unit)
            assert adds == format_bytes(model.kv_bytes(tokens + 1) - model.kv_bytes(tokens), unit)
            windows = [(g.count, g.attention.span) for g in model.groups if isinstance(g.attention, SoftmaxAttention)]
            filled = [n for n, span in windows if tokens_kept(context=2**40, span=span) <= tokens]
            assert full == sum(filled)


def test_windows_fill_one_after_the_other():
    rows = growth_rows(models()["gemma-3-27b"], "GB")[1]
    assert [(row[0], row[2], row[3]) for row in rows if row[0] in ("512", "1,024", "131,072")] == [
        ("512", "508 kB", 0),
        ("1,024", "81.9 kB", 52),
        ("131,072", "81.9 kB", 52),
    ]


def test_a_constant_state_does_not_grow():
    rows = growth_rows(read_hf_config(READ["mamba-default"]), "GB")[1]
    assert {row[1:] for row in rows} == {("51.8 kB", "0 B", 0)}


# ---------------------------------------------------------------- sentences


def test_summary():
    for model in SPECS.values():
        said = summary(model)
        assert f"{model.name}: {model.n_params:,} parameters" in said[0]
        assert all(sentence.endswith(".") and sentence.isprintable() for sentence in said)
        together = " ".join(said)
        assert ("One token uses" in together) is (model.moe is not None)
        assert ("Recurrent layers keep" in together) is bool(model.state_bytes)
        assert ("One more token adds" in together) is bool(model.kv_bytes_per_token())
        if model.moe is not None:
            assert f"{model.n_active_params:,} of them" in together


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        ("llama-3-8b", "32 query heads and 8 KV heads, stored as bf16. One more token adds 131 kB of cache in 16 bits, "
                       "at any context."),
        ("gemma-3-27b", "adds 508 kB of cache in 16 bits until the first window is full at 1,024 tokens."),
        ("deepseek-v3", "stored as fp8. One token uses"),
        ("gpt2-small", "12 query heads and 12 KV heads"),
    ],
)  # fmt: skip
def test_summary_in_words(slug, words):
    assert words in " ".join(summary(models()[slug]))


@pytest.mark.parametrize(
    ("published", "words"),
    [
        (8_030_261_248, "8,030,261,248 stored values: the same number."),
        (8_030_261_249, "stored values, 0.000000012 % more: "),
        (16_060_522_496, "16,060,522,496 stored values, 100 % more: a vision tower"),
        (1_983_000_000, "1,983,000,000 stored values, 75 % fewer: a quantized file packs"),
        (1, "The Hub counts 1 stored values, 100 % fewer"),
        (10**15, "% more"),
    ],
)
def test_our_count_beside_the_hub_s(published, words):
    said = count_sentence(models()["llama-3-8b"], published)
    assert words in said
    assert said.endswith(".")


# ---------------------------------------------------------------- what was read and assumed


@pytest.mark.parametrize("config", READ.values(), ids=READ)
def test_every_figure_that_was_read_has_its_key(config):
    reading = read_config(config)
    header, rows = read_rows(reading)
    assert header == ("what", "key in the file", "value")
    for what, key, value in rows:
        place = config
        for section in key.split(".")[:-1]:
            place = place[section]
        given = place[key.split(".")[-1]]
        assert what
        if isinstance(given, int) and not isinstance(given, bool) and not value.startswith("not used: "):
            assert value.replace(",", "") == str(given)
    read = {key for _, key, _ in rows}
    assert {"model_type", "vocab_size", "hidden_size"} <= read
    header, rows = assumed_rows(reading)
    assert header == ("what", "taken as", "why")
    assert all(all(row) for row in rows)


def test_a_key_inside_a_section_is_named_with_it():
    vision = next(e["config"] for e in COUNTS if e.get("model_type") == "gemma3")
    assert "text_config.hidden_size" in [key for _, key, _ in read_rows(read_config(vision))[1]]
