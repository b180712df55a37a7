"""What is carried off says what the result says, to the last digit, and its lines are safe to paste."""

import json
import math
import re
import shlex
from collections.abc import Iterator
from decimal import Decimal
from inspect import get_annotations
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog import gpus, models
from core.evaluate import DecodeStep, Memory, Prefill, Result, evaluate, intensities, limits
from core.gpu import GpuSpec
from core.lessons import NOT_MODELLED
from core.model import LatentAttention, ModelSpec
from core.paging import blocks_needed
from core.scenario import CACHE_NAMES, WEIGHT_NAMES, Scenario
from core.takeaway import (
    ANY_MODEL,
    BLOCK_TOKENS,
    as_json,
    assumptions,
    can_be_linked,
    command_line,
    json_text,
    link,
    notebook_lines,
    vllm_flags,
)
from core.units import format_bytes
from tests.strategies import scenarios

# Where a key names a unit that its attribute leaves to the docstring.
RENAMED = {
    "batch": "batch_users",
    "max_batch": "max_batch_users",
    "max_context": "max_context_tokens",
    "experts_touched": "experts_touched_per_layer",
    "crossover_batch": "crossover_batch_users",
    "crossover_context": "crossover_context_tokens",
    "compute_bound_batch": "compute_bound_batch_users",
    "compute_bound_context": "compute_bound_context_tokens",
}


def attributes(source: object) -> dict[str, Any]:
    """Every field and property of a result's part."""
    kind = type(source)
    names = list(get_annotations(kind))
    names += [n for base in kind.__mro__ for n, value in vars(base).items() if isinstance(value, property)]
    return {name: getattr(source, name) for name in names if name != "expected"}


def assert_says(part: dict[str, Any], source: object) -> None:
    for name, value in attributes(source).items():
        shown = part[RENAMED.get(name, name)]
        assert shown == value
        assert type(shown) is type(value)


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float):
        yield value


@given(scenarios())
@settings(max_examples=80, deadline=None)
def test_every_number_is_the_result_s(scenario: Scenario) -> None:
    result = evaluate(scenario)
    found = as_json(result)
    assert isinstance(result.memory, Memory)
    assert isinstance(result.prefill, Prefill)
    assert isinstance(result.decode, DecodeStep)
    assert_says(found["memory"], result.memory)
    assert_says(found["decode"], result.decode)
    assert_says(found["prefill"], result.prefill)
    if result.decode.expected is None:
        assert found["decode"]["expected"] is None
    else:
        assert isinstance(result.decode.expected, DecodeStep)
        assert_says(found["decode"]["expected"], result.decode.expected)
    edge = attributes(limits(scenario))
    del edge["is_capped_by_memory"]
    assert found["limits"] == {RENAMED.get(name, name): value for name, value in edge.items()}
    expected = attributes(intensities(scenario, result))
    assert found["intensities"] == {f"{name}_flops_per_byte": value for name, value in expected.items()}


@given(scenarios())
@settings(max_examples=80, deadline=None)
def test_it_is_json_and_comes_back(scenario: Scenario) -> None:
    found = as_json(evaluate(scenario))
    text = json_text(evaluate(scenario))
    assert text.isascii()
    assert json.loads(text) == found
    assert all(math.isfinite(number) for number in numbers(found))
    # Model, device and query give the scenario back without the catalog.
    asked = found["scenario"]
    assert ModelSpec.model_validate(asked["model"]) == scenario.model_spec
    assert GpuSpec.model_validate(asked["device"]) == scenario.gpu_spec
    assert Scenario.from_query(asked["query"]) == (scenario, [])
    assert dict(parse_qsl(asked["link"], keep_blank_values=True)) == asked["query"]


def test_whole_numbers_stay_whole_beyond_a_float() -> None:
    found = json.loads(json_text(evaluate(Scenario(model="llama-3.1-405b", batch=10**15 - 1, context=2**24 - 1))))
    size = found["memory"]["kv_bytes"]
    assert size > 2**53
    assert size == evaluate(Scenario(model="llama-3.1-405b", batch=10**15 - 1, context=2**24 - 1)).memory.kv_bytes


UNITS_IN_KEYS = re.compile(
    r"_(bytes|s|users|tokens|params|layers|layer|bits|user|token|byte)$|^bytes_read$|flops|params_by_component"
)


def test_each_number_names_its_unit() -> None:
    found = as_json(evaluate(Scenario(model="deepseek-v3", n_gpus=16)))
    blocks = [found["memory"], found["decode"], found["decode"]["expected"], found["prefill"], found["limits"]]
    blocks += [found["intensities"], found["scenario"]["model_figures"], found["scenario"]["device_figures"]]
    for block in blocks:
        for key, value in block.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert UNITS_IN_KEYS.search(key), key


def test_derivations_are_lines_that_multiply_out_by_eye() -> None:
    found = as_json(evaluate(Scenario(batch=32)), "GiB")["derivations"]
    assert set(found) == {"memory", "decode", "prefill", "intensities"}
    assert "8,030,261,248 × 2 B = 16,060,522,496 B = 15.0 GiB" in found["memory"][0]
    assert all(isinstance(line, str) and " = " in line for lines in found.values() for line in lines)


def said(scenario: Scenario) -> str:
    return " ".join(assumptions(evaluate(scenario)))


def test_assumptions_follow_the_scenario() -> None:
    plain = said(Scenario())
    assert "the input-embedding table too" in plain
    assert "10 % of the capacity" in plain
    assert "as its driver reports" in plain
    assert all(what in plain for what, _ in NOT_MODELLED)
    assert "hypothetical" not in plain
    assert "what-if" not in plain
    other = said(Scenario(skip_embedding=True, kv_heads=4, context=9000, gpu="mi300x", reserve=0.125, n_gpus=2))
    for words in ("only looked up", "hypothetical", "9,000 tokens is a what-if", "12.5 % of", "on all GPUs"):
        assert words in other
    assert "as marketed" in said(Scenario(gpu=next(g for g in gpus().values() if not g.driver_memory_bytes)))
    assert "is an estimate" in said(Scenario(model="mixtral-8x7b"))


# ---------------------------------------------------------------- lines to copy


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_the_lines_give_the_same_result(scenario: Scenario) -> None:
    (program, dash_m, package, query) = shlex.split(command_line(scenario, "GiB"))
    assert (program, dash_m, package) == ("python", "-m", "core")
    fields_of_link = dict(parse_qsl(query, keep_blank_values=True))
    assert fields_of_link.pop("unit") == "GiB"
    assert Scenario.from_query(fields_of_link) == (scenario, [])
    names: dict[str, Any] = {}
    exec(notebook_lines(scenario), names)
    assert isinstance(names["result"], Result)
    assert names["result"] == evaluate(scenario)
    assert can_be_linked(scenario)


def test_a_query_string_needs_no_quoting() -> None:
    hostile = models()["llama-3-8b"].model_copy(update={"slug": "own", "name": 'a"$(reboot)`!\\%x\n'})
    for scenario in (Scenario(), Scenario(model=hostile)):
        assert not set(link(scenario)) & set("\"'$`\\! \n;<>|()")


# ---------------------------------------------------------------- vLLM


def flags(scenario: Scenario) -> tuple[str, dict[str, str], str]:
    """The model, the flags, and what differs as one text."""
    line = vllm_flags(evaluate(scenario))
    vllm, serve, model, *rest = shlex.split(line.command)
    assert (vllm, serve) == ("vllm", "serve")
    assert all(flag.startswith("--") for flag in rest[::2])
    assert len(rest) == 2 * len(set(rest[::2])), "a flag twice, or one without its value"
    return model, dict(zip(rest[::2], rest[1::2], strict=True)), " ".join(line.differs)


# What vLLM's documentation lists for each of these flags.
KV_CACHE_DTYPES = {"auto", "bfloat16", "fp8"}
DTYPES = {"float16", "bfloat16", "float32"}
QUANTIZATIONS = {"fp8", "mxfp4"}
KNOWN = {
    "--max-num-seqs",
    "--max-model-len",
    "--kv-cache-dtype",
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--gpu-memory-utilization",
    "--dtype",
    "--quantization",
}


@given(scenarios())
@settings(max_examples=80, deadline=None)
def test_flags_hold_for_every_scenario(scenario: Scenario) -> None:
    model, found, differs = flags(scenario)
    assert model == (scenario.released_model.hf_id or ANY_MODEL)
    assert set(found) <= KNOWN
    assert found["--max-num-seqs"] == str(scenario.batch)
    assert found["--max-model-len"] == str(scenario.context)
    split = "--tensor-parallel-size" if scenario.split == "tensor" else "--pipeline-parallel-size"
    assert found[split] == str(scenario.n_gpus)
    share = Decimal(found["--gpu-memory-utilization"])
    assert 0 < share <= 1
    assert share == 1 - Decimal(repr(scenario.reserve))
    assert found.get("--kv-cache-dtype", "auto") in KV_CACHE_DTYPES
    assert found.get("--dtype", "float16") in DTYPES
    assert found.get("--quantization", "fp8") in QUANTIZATIONS
    assert "nan" not in differs.lower()
    assert "{" not in differs
    assert ("cannot be served" in differs) == scenario.model_spec.is_hypothetical
    assert ("blocks of" in differs) == (scenario.context % BLOCK_TOKENS != 0)


@pytest.mark.parametrize("name", WEIGHT_NAMES)
@pytest.mark.parametrize("slug", ["llama-3-8b", "llama-2-7b", "gpt2-xl", "deepseek-v3", "gpt-oss-20b"])
def test_weight_formats_have_a_flag_or_a_sentence(slug: str, name: str) -> None:
    scenario = Scenario(model=slug, weight_format=name, n_gpus=8)
    _, found, differs = flags(scenario)
    native = models()[slug].native_format
    left_out = "serves the weights as released" in differs
    assert left_out == (
        name not in ("native", "bf16", "fp8", "mxfp4") or (name != "native" and native in ("fp8", "mxfp4"))
    )
    assert ("--quantization" in found) == (name in ("fp8", "mxfp4") and not left_out)
    if left_out:
        released = evaluate(scenario.replace(weight_format="native")).memory.weights_bytes
        asked = evaluate(scenario).memory.weights_bytes
        assert f"{format_bytes(released)} instead of {format_bytes(asked)}" in differs
        assert "--dtype" not in found


@pytest.mark.parametrize(
    ("slug", "gpu", "weights", "dtype"),
    [
        ("llama-3-8b", "h100-sxm", "native", None),
        ("llama-3-8b", "h100-sxm", "bf16", "bfloat16"),
        ("llama-3-8b", "t4", "native", "float16"),  # no BF16 there
        ("llama-3-8b", "t4", "bf16", "float16"),
        ("llama-2-7b", "t4", "native", None),
        ("llama-2-7b", "h100-sxm", "bf16", "float16"),
        ("gpt2-xl", "h100-sxm", "native", "float32"),  # left to itself vLLM takes it down to 16 bits
        ("gpt2-xl", "h100-sxm", "bf16", "bfloat16"),
    ],
)
def test_dtype_keeps_the_width_that_is_counted(slug: str, gpu: str, weights: str, dtype: str | None) -> None:
    _, found, differs = flags(Scenario(model=slug, gpu=gpu, weight_format=weights, context=512))
    assert found.get("--dtype") == dtype
    assert ("twice the" in differs) == (dtype == "float32")


@pytest.mark.parametrize("name", CACHE_NAMES)
@pytest.mark.parametrize("slug", ["llama-3-8b", "deepseek-v3.2"])
def test_cache_formats_have_a_flag_or_a_sentence(slug: str, name: str) -> None:
    scenario = Scenario(model=slug, cache_format=name, n_gpus=16)
    _, found, differs = flags(scenario)
    sixteen = "bfloat16" if slug == "deepseek-v3.2" else "auto"  # whose default is FP8
    assert found.get("--kv-cache-dtype") == {"bf16": sixteen, "fp8": "fp8"}.get(name)
    left_out = name not in ("bf16", "fp8")
    kept, words = ("fp8", "FP8, vLLM's default") if slug == "deepseek-v3.2" else ("bf16", "16 bits")
    assert (f"leaves the cache in {words}" in differs) == left_out
    if left_out:
        default = evaluate(scenario.replace(cache_format=kept)).memory.kv_bytes
        assert f"{format_bytes(default)} instead of {format_bytes(evaluate(scenario).memory.kv_bytes)}" in differs
    assert ("a layout of its own" in differs) == (slug == "deepseek-v3.2" and name != "bf16")


def test_blocks_are_computed() -> None:
    scenario = Scenario(batch=32, context=8001)
    held = blocks_needed(tokens=8001, block=16) * 16
    assert held == 8016
    _, _, differs = flags(scenario)
    taken = evaluate(scenario.replace(context=held)).memory.kv_bytes
    more = taken - evaluate(scenario).memory.kv_bytes
    assert (
        f"8,001 tokens hold 8,016 slots, and the cache takes {format_bytes(taken)}, {format_bytes(more)} more"
        in differs
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "a cap, not a promise"),
        ({}, "prompt and output together"),
        ({}, "for weights, activations and cache together"),
        ({"reserve": 0}, "A share of 1 leaves nothing"),
        ({"batch": 64}, "Memory holds 56 sequences"),
        ({"model": "llama-3-70b"}, "refuse to start"),
        ({"batch": 5000, "context": 16}, "--max-num-batched-tokens"),
        ({"context": 9000}, "VLLM_ALLOW_LONG_MAX_MODEL_LEN"),
        ({"model": "gemma-3-27b"}, "window or chunks"),
        ({"model": "qwen3-next-80b-a3b", "n_gpus": 4}, "pads a recurrent layer's state"),
        ({"kv_heads": 4}, "4 KV heads cannot be served"),
        ({"model": "palm-8b"}, f"in place of {ANY_MODEL}"),
        ({"model": "deepseek-v3", "n_gpus": 16}, "MLA's latent on each of the 16 GPUs"),
        ({"n_gpus": 16}, "repeats the heads"),
        ({"n_gpus": 3}, "do not divide evenly"),
        ({"n_gpus": 64, "split": "layer"}, "cannot make 64 stages of 32 layers"),
        ({"gpu": "mi250x"}, "as 2 devices"),
        ({"gpu": "apple-m4-max"}, "a plugin or a build of its own"),
        ({"gpu": "apple-m4-max"}, "shares its memory with the CPU"),
        ({"model": "deepseek-v3.2", "n_gpus": 16, "cache_format": "fp8"}, "a layout of its own"),
        ({"weight_format": "mxfp4"}, "only in recent versions"),
    ],
)
def test_what_differs_is_said(changes: dict[str, Any], words: str) -> None:
    assert words in flags(Scenario(**changes))[2]


@pytest.mark.parametrize(("native", "asked", "said"), [("int4_g128", "int4", False), ("fp8", "fp8", True)])
def test_a_checkpoint_in_the_format_asked_for(native: str, asked: str, said: bool) -> None:
    """Its bytes are counted as its own; where they come out the same there is nothing to say."""
    own = models()["llama-3-8b"].model_copy(update={"slug": "own", "native_format": native})
    _, found, differs = flags(Scenario(model=own, weight_format=asked))
    assert "--quantization" not in found
    assert ("already, in a mix of its own" in differs) == said


def test_a_gpu_of_one_s_own_needs_no_plugin() -> None:
    own = gpus()["h100-sxm"].model_copy(update={"slug": "own", "vendor": "custom", "category": "custom"})
    assert "plugin" not in flags(Scenario(gpu=own))[2]


def test_what_does_not_differ_is_not_said() -> None:
    _, _, differs = flags(Scenario(batch=32))
    assert len(vllm_flags(evaluate(Scenario(batch=32))).differs) == 3
    for words in ("instead of", "refuse", "path/to", "blocks", "GPUs"):
        assert words not in differs


def test_the_share_is_never_above_what_the_reserve_leaves() -> None:
    for reserve in (0.1, 0.3, 0.123456, 1e-06, 0.9, 0.07, 0.58):
        share = flags(Scenario(reserve=reserve))[1]["--gpu-memory-utilization"]
        assert Decimal(share) + Decimal(repr(reserve)) == 1
        assert "e" not in share.lower()


def test_only_latent_models_speak_of_latents() -> None:
    for model in models().values():
        latent = any(isinstance(group.attention, LatentAttention) for group in model.groups)
        assert ("MLA" in flags(Scenario(model=model, n_gpus=2))[2]) == latent


def named(hf_id: str) -> Scenario:
    return Scenario(model=models()["llama-3-8b"].model_copy(update={"slug": "own", "hf_id": hf_id}))


@pytest.mark.parametrize(
    "hf_id", ["x; rm -rf /", "$(reboot)", "`id`", "a'b", 'a"b', "a\\b", "a b", "a&b", "a|b", "~root", "*", "a#b", "é"]
)
def test_a_hostile_name_stays_one_word(hf_id: str) -> None:
    assert flags(named(hf_id))[0] == hf_id


@pytest.mark.parametrize(
    "hf_id", ["--trust-remote-code", "-x", "a\nreboot", "a\rb", "a\x03b", "a\x1b[2Jb", "a\u202eb", "\x00"]
)
def test_a_name_that_quotes_do_not_tame_is_replaced(hf_id: str) -> None:
    model, _, differs = flags(named(hf_id))
    assert model == ANY_MODEL
    assert "cannot be typed safely" in differs


@given(st.text(min_size=1))
@settings(max_examples=100, deadline=None)
def test_no_name_ever_breaks_out(hf_id: str) -> None:
    try:
        scenario = named(hf_id)
    except ValueError:  # what the model itself refuses
        return
    command = vllm_flags(evaluate(scenario)).command
    assert command.isprintable()
    words = shlex.split(command)
    assert words[2] in (hf_id, ANY_MODEL)
    assert not words[2].startswith("-")
    assert words[3:] == shlex.split(vllm_flags(evaluate(Scenario())).command)[3:]
