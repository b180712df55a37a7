"""Scenario: what is refused and how, and links of every kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.catalog import explain, gpus, models
from core.query import one_of, shown
from core.scenario import BATCH_MAX, CONTEXT_MAX, GPUS_MAX, LOOKED_UP, QUERY_KEYS, Scenario

LINK = Scenario().to_query()


# Validation


@pytest.mark.parametrize(
    ("fields", "field", "allowed", "given"),
    [
        ({"batch": 0}, "batch", "greater than or equal to 1", "0"),
        ({"batch": -3}, "batch", "greater than or equal to 1", "-3"),
        ({"batch": BATCH_MAX + 1}, "batch", f"less than or equal to {BATCH_MAX}", str(BATCH_MAX + 1)),
        ({"batch": 1.5}, "batch", "valid integer", "1.5"),
        ({"batch": "many"}, "batch", "valid integer", "many"),
        ({"batch": float("nan")}, "batch", "finite", "nan"),
        ({"context": 0}, "context", "greater than or equal to 1", "0"),
        ({"context": CONTEXT_MAX + 1}, "context", f"less than or equal to {CONTEXT_MAX}", str(CONTEXT_MAX + 1)),
        ({"n_gpus": 0}, "n_gpus", "greater than or equal to 1", "0"),
        ({"n_gpus": GPUS_MAX + 1}, "n_gpus", f"less than or equal to {GPUS_MAX}", str(GPUS_MAX + 1)),
        ({"reserve": -0.1}, "reserve", "greater than or equal to 0", "-0.1"),
        ({"reserve": 1.0}, "reserve", "less than or equal to 0.9", "1.0"),
        ({"reserve": float("nan")}, "reserve", "finite", "nan"),
        ({"reserve": float("inf")}, "reserve", "finite", "inf"),
        ({"split": "expert"}, "split", "'tensor' or 'layer'", "expert"),
        ({"weight_format": "int3"}, "weight_format", "'q4_k_m'", "int3"),
        ({"cache_format": "q4_k_m"}, "cache_format", "'q8_0'", "q4_k_m"),
        ({"model": "llama-9"}, "model", "data/models.toml", "llama-9"),
        ({"gpu": "h900"}, "gpu", "data/gpus.toml", "h900"),
        ({"kv_heads": 3}, "kv_heads", "one of 1, 2, 4, 8, 16, 32", "3"),
        ({"kv_heads": 0}, "kv_heads", "one of 1, 2, 4, 8, 16, 32", "0"),
        ({"kv_heads": -8}, "kv_heads", "one of 1, 2, 4, 8, 16, 32", "-8"),
        ({"model": "deepseek-v3", "kv_heads": 8}, "kv_heads", "left as released", "8"),
        ({"colour": "red"}, "colour", "not permitted", "red"),
    ],
)
def test_an_invalid_value_is_refused_with_field_allowed_and_given(fields, field, allowed, given):
    with pytest.raises(ValidationError) as fault:
        Scenario(**fields)
    sentence = explain(fault.value)
    assert [part for part in (field, allowed, given) if part not in sentence] == []
    assert "\n" not in sentence


def test_an_impossible_load_is_no_error():
    assert Scenario(model="llama-3.1-405b", gpu="t4", batch=BATCH_MAX, context=CONTEXT_MAX).batch == BATCH_MAX


def test_model_and_gpu_may_be_specs():
    made = Scenario(model=models()["llama-2-7b"], gpu=gpus()["t4"], kv_heads=4)
    assert made.to_query()["model"] == "llama-2-7b"
    assert made.gpu_spec is gpus()["t4"]
    assert made.model_spec.kv_bytes_per_token() == 524_288 / 8


def test_the_what_if_is_marked_and_the_released_model_kept():
    made = Scenario(kv_heads=32)
    assert (made.model_spec.is_hypothetical, made.released_model.is_hypothetical) == (True, False)
    assert Scenario(kv_heads=8).model_spec is models()["llama-3-8b"]


@pytest.mark.parametrize(
    ("model", "fmt", "bits"),
    [("llama-3-8b", "native", 16), ("deepseek-v3", "native", 8), ("gpt-oss-20b", "native", 4.25),
     ("gpt2-xl", "native", 32), ("gpt-oss-20b", "bf16", 16)],
)  # fmt: skip
def test_native_is_resolved_for_the_model(model, fmt, bits):
    assert Scenario(model=model, weight_format=fmt).weight_format_spec.linear_bits == bits


def test_replace_validates():
    assert Scenario().replace(batch=64, reserve=0.2) == Scenario(batch=64, reserve=0.2)
    for load in (0, -1, 1.5, "x", BATCH_MAX + 1, None):
        with pytest.raises(ValidationError, match="batch"):
            Scenario().replace(batch=load)
    with pytest.raises(ValidationError, match="kv_heads"):
        Scenario(kv_heads=32).replace(model="qwen2.5-7b")


def test_frozen_and_equal_by_value():
    first, second = Scenario(batch=2), Scenario(batch=2)
    assert first.model_spec is second.model_spec
    assert first == second
    with pytest.raises(ValidationError, match="frozen"):
        first.batch = 3


# Links


def test_the_link_carries_every_field_in_the_documented_form():
    made = Scenario(batch=32, kv_heads=4, n_gpus=2, split="layer", reserve=0.125, skip_embedding=True)
    assert made.to_query() == {
        "model": "llama-3-8b",
        "gpu": "h100-sxm",
        "gpus": "2",
        "split": "layer",
        "batch": "32",
        "context": "8192",
        "kv_heads": "4",
        "weights": "native",
        "cache": "bf16",
        "reserve": "12.5",
        "skip_embedding": "1",
    }


def test_the_defaults_link_of_the_design():
    assert "&".join(f"{k}={v}" for k, v in LINK.items()) == (
        "model=llama-3-8b&gpu=h100-sxm&gpus=1&split=tensor&batch=1&context=8192"
        "&kv_heads=released&weights=native&cache=bf16&reserve=10&skip_embedding=0"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"batch": 12_345, "context": 131_071},
        {"batch": BATCH_MAX, "context": CONTEXT_MAX, "n_gpus": GPUS_MAX},
        {"reserve": 0},
        {"reserve": 0.9},
        {"reserve": 0.07},  # 7.000000000000001 when multiplied in binary
        {"reserve": 0.29},
        {"reserve": 1 / 3},
        {"reserve": 0.1 + 0.2},
        {"reserve": 1e-5},
        {"reserve": 5e-324},
        {"kv_heads": 8},  # the released number, asked for by number
        {"model": "qwen2.5-7b", "kv_heads": 7},
        {"weight_format": "q4_k_m", "cache_format": "q4_0", "split": "layer", "skip_embedding": True},
    ],
)
def test_round_trip(fields):
    made = Scenario(**fields)
    assert Scenario.from_query(made.to_query()) == (made, [])


@pytest.mark.parametrize("slug", models())
def test_every_model_travels(slug):
    made = Scenario(model=slug)
    assert Scenario.from_query(made.to_query()) == (made, [])


@pytest.mark.parametrize("query", [{}, {"unit": "GiB", "view": "lecture"}, {"utm_source": "mail", "Model": "x"}])
def test_a_link_without_our_keys_is_silent(query):
    base = Scenario(batch=5)
    assert Scenario.from_query(query) == (Scenario(), [])
    assert Scenario.from_query(query, base) == (base, [])


def test_keys_of_others_are_ignored():
    assert Scenario.from_query(LINK | {"unit": "GiB", "view": "lecture", "fbclid": "'; --"}) == (Scenario(), [])


@pytest.mark.parametrize("key", QUERY_KEYS)
def test_a_missing_key_is_said_with_the_default_that_holds(key):
    link = {k: v for k, v in LINK.items() if k != key}
    made, notes = Scenario.from_query(link)
    assert made == Scenario()
    assert len(notes) == 1
    assert f"{key} {LINK[key]}" in notes[0]


def test_missing_keys_take_the_given_default():
    base = Scenario(model="llama-3-70b", n_gpus=4, reserve=0.07)
    made, notes = Scenario.from_query({"batch": "9"}, base)
    assert made == base.replace(batch=9)
    assert "model llama-3-70b" in notes[0]


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("batch", "0", "batch", 1),
        ("batch", "-7", "batch", 1),
        ("batch", str(BATCH_MAX + 1), "batch", BATCH_MAX),
        ("context", "0", "context", 1),
        ("context", "999999999999", "context", CONTEXT_MAX),
        ("gpus", "0", "n_gpus", 1),
        ("gpus", "99999", "n_gpus", GPUS_MAX),
        ("reserve", "-1", "reserve", 0.0),
        ("reserve", "90.5", "reserve", 0.9),
        ("reserve", "1e300", "reserve", 0.9),
    ],
)
def test_out_of_range_is_clamped_and_said(key, text, field, value):
    made, notes = Scenario.from_query(LINK | {key: text})
    assert made == Scenario().replace(**{field: value})
    assert len(notes) == 1
    assert key in notes[0]
    assert text in notes[0]


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("batch", " 32 ", "batch", 32),
        ("batch", "0032", "batch", 32),
        ("context", "131071", "context", 131_071),
        ("reserve", "12.5", "reserve", 0.125),
        ("reserve", "0", "reserve", 0.0),
        ("kv_heads", " released ", "kv_heads", None),
        ("kv_heads", "32", "kv_heads", 32),
    ],
)
def test_what_is_valid_is_taken_without_a_word(key, text, field, value):
    assert Scenario.from_query(LINK | {key: text}) == (Scenario().replace(**{field: value}), [])


HOSTILE = (
    "", " ", "-", "--5", "1.5", "1e3", "0x10", "1_000", "1,000", "12 13", "+", "nan", "inf", "-inf", "NaN", "None",
    "null", "true", "[]", "{}", "<script>alert(1)</script>", "'; DROP TABLE models; --", "../../etc/passwd", "%00",
    "\x00", "\n", "1\n2", "٣٢", "３２", "²", "½", "∞", "−5", "\u202e32", "\ud800", "🙂", "9" * 400, "-" * 400,
    "a" * 10_000, "1e999999999", "__class__", "${7*7}", "batch=3", "llama-3-8b", "LLAMA-3-8B",
)  # fmt: skip
FINE = {("model", "llama-3-8b"), ("reserve", "1.5"), ("reserve", "1e3")}  # numbers to a percentage, the last clamped


@pytest.mark.parametrize("key", QUERY_KEYS)
def test_a_hostile_value_changes_nothing_and_is_said(key):
    for text in (t for t in HOSTILE if (key, t) not in FINE):
        made, notes = Scenario.from_query(LINK | {key: text})
        assert made == Scenario(), text
        assert len(notes) == 1, text
        assert notes[0].startswith(f"{key} must be ")
        assert notes[0].endswith(f"was replaced by {LINK[key]}.")
        assert len(notes[0]) < 300
        assert notes[0].isprintable()


def test_every_fault_of_a_link_is_said():
    made, notes = Scenario.from_query(dict.fromkeys(QUERY_KEYS, "?"))
    assert made == Scenario()
    assert sorted(note.split()[0] for note in notes) == sorted(QUERY_KEYS)


def test_a_fault_falls_back_to_the_given_default():
    base = Scenario(model="llama-3-70b", batch=7, n_gpus=4, reserve=0.29, cache_format="fp8")
    made, notes = Scenario.from_query(dict.fromkeys(QUERY_KEYS, "?"), base)
    assert made == base
    assert len(notes) == len(QUERY_KEYS)


@pytest.mark.parametrize(
    ("model", "text", "allowed"),
    [("llama-3-8b", "3", "1, 2, 4, 8, 16, 32"), ("qwen2.5-7b", "8", "1, 2, 4, 7, 14, 28"), ("deepseek-v3", "8", "")],
)
def test_kv_heads_that_do_not_divide_become_released(model, text, allowed):
    made, notes = Scenario.from_query(LINK | {"model": model, "kv_heads": text})
    assert made == Scenario(model=model)
    assert len(notes) == 1
    said = ("kv_heads", "released", allowed, f'"{text}"')
    assert [part for part in said if part not in notes[0]] == []


def test_kv_heads_are_judged_by_the_model_that_holds_in_the_end():
    made, notes = Scenario.from_query(LINK | {"model": "no-such-model", "kv_heads": "32"})
    assert (made.model, made.kv_heads) == ("llama-3-8b", 32)
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [("abc", '"abc"'), ("", '""'), ("a\nb\x00", '"a?b?"'), ("x" * 41, f'"{"x" * 40}…"'), ("x" * 40, f'"{"x" * 40}"')],
)
def test_shown(value, text):
    assert shown(value) == text


def test_one_of():
    assert one_of(("a", "b")) == "one of a, b"
    assert one_of(()) == "left as released"


@given(st.data())
def test_a_changed_copy_is_what_would_have_been_made_anew(data: st.DataObject) -> None:
    """Whatever the first one had looked up before."""
    changes = {
        "model": st.sampled_from(["llama-3-8b", "gpt2-xl", "deepseek-v3"]),
        "gpu": st.sampled_from(["h100-sxm", "t4"]),
        "batch": st.integers(1, BATCH_MAX),
        "context": st.integers(1, CONTEXT_MAX),
        "kv_heads": st.just(None),
        "weight_format": st.sampled_from(["native", "fp8"]),
        "reserve": st.sampled_from([0.0, 0.1]),
    }
    fields = st.fixed_dictionaries({}, optional=changes)
    first, then = data.draw(fields), data.draw(fields)
    old = Scenario(**first)
    for name in data.draw(st.sets(st.sampled_from(sorted(LOOKED_UP)))):
        getattr(old, name)
    hash(old)
    copy, new = old.replace(**then), Scenario(**(first | then))
    assert copy == new
    assert hash(copy) == hash(new)
    for name in LOOKED_UP:
        assert getattr(copy, name) == getattr(new, name)
    assert copy.to_query() == new.to_query()
