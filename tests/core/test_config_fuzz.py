"""No config.json, however broken, gives anything but a model that evaluates or a refusal of one line."""

import copy
import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.evaluate import evaluate
from core.hf_config import ConfigError, read_config, read_hf_config
from core.model import ModelSpec
from core.scenario import Scenario

Config = dict[str, Any]

# New examples each run: these laws hold for any input, and a failure prints the input.
LONG = 10**5000
FUZZ = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

SLIDING, FULL, LINEAR = "sliding_attention", "full_attention", "linear_attention"
MOE = {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
MLA = {
    "kv_lora_rank": 32, "q_lora_rank": 48, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "first_k_dense_replace": 1, "n_routed_experts": 8, "n_shared_experts": 1, "moe_layer_freq": 1,
}  # fmt: skip
DELTA_NET = {
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}  # fmt: skip


def decoder(model_type: str, **more: Any) -> Config:
    """A small model with the key names that most families share."""
    return {
        "model_type": model_type, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 4096,
        "torch_dtype": "bfloat16",
    } | more  # fmt: skip


# Small models of many families, each with the keys that the family's published files use.
VALID: dict[str, Config] = {
    "llama": decoder("llama", architectures=["LlamaForCausalLM"], tie_word_embeddings=False, rope_scaling=None),
    "mistral": decoder("mistral", sliding_window=1024, head_dim=32),
    "qwen2": decoder(
        "qwen2", sliding_window=2048, use_sliding_window=True, max_window_layers=2, tie_word_embeddings=True
    ),
    "qwen3_moe": decoder("qwen3_moe", head_dim=32, num_experts=8, decoder_sparse_step=2, mlp_only_layers=[1], **MOE),
    "gemma2": decoder("gemma2", head_dim=32, sliding_window=512),
    "gemma3_text": decoder("gemma3_text", head_dim=32, sliding_window=512, sliding_window_pattern=2),
    "gemma3": {
        "model_type": "gemma3", "torch_dtype": "bfloat16",
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 7,
            "sliding_window": 1024,
        },
        "vision_config": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    },
    "gemma4": {
        "model_type": "gemma4",
        "text_config": decoder(
            "gemma4_text", head_dim=16, global_head_dim=32, num_global_key_value_heads=1, sliding_window=512,
            layer_types=[SLIDING, SLIDING, SLIDING, FULL], attention_k_eq_v=True, num_kv_shared_layers=0,
            hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=8, top_k_experts=2,
            moe_intermediate_size=32, use_double_wide_mlp=False,
        ),
    },
    "gpt2": {
        "model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 64, "n_positions": 1024, "n_ctx": 1024,
        "n_inner": None, "vocab_size": 1000,
    },
    "gpt_bigcode": {
        "model_type": "gpt_bigcode", "n_layer": 4, "n_head": 4, "n_embd": 64, "n_inner": 256, "n_positions": 2048,
        "multi_query": True, "vocab_size": 1000,
    },
    "falcon": {
        "model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
        "multi_query": True, "new_decoder_architecture": False, "parallel_attn": True, "bias": False, "alibi": False,
        "vocab_size": 1000, "torch_dtype": "bfloat16",
    },
    "falcon_new": {
        "model_type": "falcon", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_kv_heads": 2, "new_decoder_architecture": True, "parallel_attn": True, "bias": False,
        "vocab_size": 1000, "torch_dtype": "bfloat16",
    },
    "mpt": {
        "model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 4, "expansion_ratio": 4, "max_seq_len": 2048,
        "vocab_size": 1000, "no_bias": True, "attn_config": {"attn_type": "multihead_attention", "alibi": True},
        "torch_dtype": "bfloat16",
    },
    "gpt_neox": {
        "model_type": "gpt_neox", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 4,
        "num_attention_heads": 4, "max_position_embeddings": 2048, "vocab_size": 1000,
        "use_parallel_residual": True, "tie_word_embeddings": False, "torch_dtype": "float16",
    },
    "opt": {
        "model_type": "opt", "hidden_size": 64, "ffn_dim": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
        "max_position_embeddings": 2048, "vocab_size": 1000, "word_embed_proj_dim": 64,
        "do_layer_norm_before": True, "torch_dtype": "float16",
    },
    "bloom": {
        "model_type": "bloom", "n_layer": 4, "n_head": 4, "hidden_size": 64, "vocab_size": 1000,
        "seq_length": 2048, "torch_dtype": "bfloat16",
    },
    "chatglm": {
        "model_type": "chatglm", "num_layers": 4, "hidden_size": 64, "ffn_hidden_size": 160,
        "num_attention_heads": 4, "kv_channels": 16, "multi_query_attention": True, "multi_query_group_num": 2,
        "padded_vocab_size": 1000, "seq_length": 8192, "add_qkv_bias": True, "add_bias_linear": False,
        "rmsnorm": True, "torch_dtype": "bfloat16",
    },
    "cohere": decoder("cohere", use_qk_norm=True, logit_scale=0.0625, tie_word_embeddings=True),
    "deepseek_v3": decoder(
        "deepseek_v3", topk_method="noaux_tc",
        quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]}, **MLA, **MOE,
    ),
    "deepseek_v2": decoder("deepseek_v2", **(MLA | {"q_lora_rank": None}), **MOE),
    "glm_moe_dsa": decoder(
        "glm_moe_dsa", index_head_dim=16, index_n_heads=4, index_topk=64,
        indexer_types=["full", "full", "shared", "full"], mlp_layer_types=["dense", "sparse", "sparse", "sparse"],
        **MLA, **MOE,
    ),
    "glm4_moe": decoder(
        "glm4_moe", head_dim=32, attention_bias=True, use_qk_norm=True, n_routed_experts=8, n_shared_experts=1,
        first_k_dense_replace=1, **MOE,
    ),
    "gpt_oss": decoder(
        "gpt_oss", head_dim=16, sliding_window=128, layer_types=[SLIDING, FULL, SLIDING, FULL], num_local_experts=8,
        num_experts_per_tok=2, attention_bias=True, quantization_config={"quant_method": "mxfp4"},
    ),
    "llama4": {
        "model_type": "llama4",
        "text_config": decoder(
            "llama4_text", head_dim=16, intermediate_size_mlp=320, num_local_experts=4, num_experts_per_tok=1,
            interleave_moe_layer_step=2, attention_chunk_size=1024, no_rope_layers=[1, 1, 1, 0],
        ),
        "vision_config": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    },
    "qwen3_next": decoder(
        "qwen3_next", head_dim=32, full_attention_interval=4, num_experts=8, shared_expert_intermediate_size=32,
        decoder_sparse_step=1, mlp_only_layers=[], **DELTA_NET, **MOE,
    ),
    "qwen3_5": {
        "model_type": "qwen3_5", "tie_word_embeddings": False,
        "text_config": decoder(
            "qwen3_5_text", head_dim=32, full_attention_interval=4, layer_types=[LINEAR, LINEAR, LINEAR, FULL],
            **DELTA_NET,
        ),
    },
    "jamba": decoder(
        "jamba", attn_layer_period=4, attn_layer_offset=2, expert_layer_period=2, expert_layer_offset=1,
        num_experts=4, num_experts_per_tok=2, mamba_d_state=16, mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=8,
        mamba_conv_bias=True, mamba_proj_bias=False,
    ),
    "mamba2": {
        "model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 4, "num_heads": 8, "head_dim": 16,
        "state_size": 32, "expand": 2, "n_groups": 2, "conv_kernel": 4, "vocab_size": 1000, "use_bias": False,
        "use_conv_bias": True, "time_step_limit": [0.0, float("inf")], "torch_dtype": "bfloat16",
    },
    "mixtral": decoder(
        "mixtral", num_local_experts=8, num_experts_per_tok=2, sliding_window=None,
        quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "desc_act": False},
    ),
}  # fmt: skip


def check_spec(spec: ModelSpec) -> None:
    assert spec.n_params > 0
    assert 0 < spec.n_active_params <= spec.n_params
    assert spec.kv_bytes_per_token() >= 0
    assert spec.kv_bytes(100_000) >= 0
    assert spec.state_bytes >= 0
    assert spec.name.isprintable()
    result = evaluate(Scenario(model=spec))
    assert result.memory.weights_bytes > 0
    assert result.decode.step_s > 0


def check_message(message: str) -> None:
    assert message.isprintable()
    assert len(message) <= 300
    assert re.fullmatch(r"\S.*[a-z]{3}.*\.", message)  # one sentence


def check(source: Config | str | bytes) -> ModelSpec | None:
    """The law: a model that evaluates, or a refusal of one line that says something; nothing else is raised."""
    try:
        spec = read_hf_config(source)
    except ConfigError as refusal:
        check_message(str(refusal))
        return None
    check_spec(spec)
    return spec


@pytest.mark.parametrize("family", VALID)
def test_the_table_is_valid(family):
    spec = check(VALID[family])
    assert spec is not None
    assert spec.n_layers == (7 if family == "gemma3" else 4)


# ---------------------------------------------------------------- one dimension missing

NESTED = {"gemma3", "gemma4", "llama4", "qwen3_5"}
REQUIRED = {
    family: ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"] for family in VALID
} | {
    # Google's own files leave out what equals the library's default of the class: heads and vocabulary
    "gemma3": ["hidden_size", "num_hidden_layers"],
    "gemma3_text": ["hidden_size", "num_hidden_layers"],
    "gpt2": ["n_embd", "n_layer", "n_head", "vocab_size"],
    "gpt_bigcode": ["n_embd", "n_layer", "n_head", "vocab_size"],
    "mpt": ["d_model", "n_layers", "n_heads", "vocab_size"],
    "bloom": ["hidden_size", "n_layer", "n_head", "vocab_size"],
    "chatglm": ["hidden_size", "num_layers", "num_attention_heads", "padded_vocab_size"],
    "mamba2": ["hidden_size", "num_hidden_layers", "vocab_size"],
}  # fmt: skip


IMPOSSIBLE = (None, 0, -1, 1.5, True, "", "12", [], {}, 10**30, float("nan"), float("inf"))


@pytest.mark.parametrize("family", REQUIRED)
def test_a_missing_or_impossible_dimension_is_refused_by_name(family):
    config = copy.deepcopy(VALID[family])
    section = config["text_config"] if family in NESTED else config
    for key in REQUIRED[family]:
        valid = section.pop(key)
        with pytest.raises(ConfigError, match=rf"\b{key}\b"):
            read_hf_config(config)
        for value in IMPOSSIBLE:
            section[key] = value
            with pytest.raises(ConfigError, match=rf"\b{key}\b") as caught:
                read_hf_config(config)
            check_message(str(caught.value))
        section[key] = valid


def sizes_of(config: Config) -> Iterator[tuple[Config, str]]:
    """Sections and keys that hold a number or a list."""
    for section in (config, config.get("text_config", {})):
        for key, value in section.items():
            if isinstance(value, int | list) and not isinstance(value, bool):
                yield section, key


@pytest.mark.parametrize("family", VALID)
def test_a_size_left_out_is_refused_or_said(family):
    """Nothing is filled in, or left away, in silence: jranaraki/vllm-fit#33, #27."""
    before = read_config(VALID[family])
    silent: list[str] = []
    for number, (_, key) in enumerate(sizes_of(VALID[family])):
        config = copy.deepcopy(VALID[family])
        section, _ = list(sizes_of(config))[number]
        del section[key]
        try:
            after = read_config(config)
        except ConfigError:
            continue
        if after.spec.groups != before.spec.groups and set(after.assumed) <= set(before.assumed):
            silent.append(key)
    assert not silent


# ---------------------------------------------------------------- mutated configs

KEYS = sorted({key for config in VALID.values() for key in {**config, **config.get("text_config", {})}})
Path = tuple[str | int, ...]


def paths(value: Any, prefix: Path = ()) -> Iterator[Path]:
    """Where a config can be changed: every key, every item of a list, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*prefix, key)
        yield from paths(inner, (*prefix, key))


# `...` stands for deleting the key.
ODD_NUMBERS = [0, -1, 1, 2, 3, 1.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), 2**24 + 1, 10**30, 10**5000]
ODD_VALUES = [
    ..., None, True, False, "", "12", "auto", "float32", "full_attention", "\ud800", "a\nb\x1b[0m", "x" * 5000,
    [], [None], [0], [[]], ["full_attention"], [1] * 100, {}, {"": {}}, {"text_config": {}}, {"quant_method": None},
    {"quant_method": "awq", "bits": 0}, {"quant_method": ["fp8"]}, {"model_type": "llama"}, *ODD_NUMBERS,
]  # fmt: skip
garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
sizes = st.integers(1, 300) | st.sampled_from([4096, 2**16, 2**20, 2**24])


def place(config: Any, path: Path) -> Any:
    for key in path[:-1]:
        config = config[key]
    return config


@st.composite
def mutated(draw: st.DrawFn) -> Config:
    """A valid config with one to four places changed."""
    config: Config = copy.deepcopy(VALID[draw(st.sampled_from(sorted(VALID)))])
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3, 4]))):
        how = draw(st.sampled_from(["value", "value", "size", "garbage", "add", "rename", "length", "nest"]))
        everywhere = list(paths(config))
        if not everywhere:
            break
        path = draw(st.sampled_from(everywhere))
        inside, key = place(config, path), path[-1]
        if how in ("value", "size", "garbage"):
            new = draw({"value": st.sampled_from(ODD_VALUES), "size": sizes, "garbage": garbage}[how])
            if new is ...:
                del inside[key]
            else:
                inside[key] = copy.deepcopy(new)
        elif how == "add" and isinstance(inside, dict):
            inside[draw(st.sampled_from(KEYS))] = copy.deepcopy(draw(st.sampled_from(ODD_VALUES[1:]) | sizes))
        elif how == "rename" and isinstance(inside, dict):
            inside[draw(st.sampled_from(KEYS) | st.text(max_size=8))] = inside.pop(key)
        elif how == "length" and isinstance(inside[key], list):
            inside[key] = inside[key][: draw(st.integers(0, 5))] * draw(st.integers(0, 3))
        elif how == "nest":
            shell = copy.deepcopy(config)
            name = draw(
                st.sampled_from(["text_config", "llm_config", "quantization_config", "language_config", "model"])
            )
            config = {name: shell} if draw(st.booleans()) else config | {name: shell}
    return config


@settings(max_examples=800, **FUZZ)
@given(mutated())
@example({})
@example({"model_type": "llama"})
@example({"model_type": "llama", "text_config": {"text_config": {"text_config": {}}}})
def test_any_mutated_config_gives_a_model_or_a_refusal(config):
    check(config)


@pytest.mark.parametrize(
    "config",
    [
        VALID["llama"] | {"hidden_size": LONG},
        VALID["llama"] | {"quantization_config": {"quant_method": "fp8", "weight_block_size": LONG}},
        VALID["llama"] | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [LONG, 128]}},
        {"architectures": [LONG]},
        {"model_type": "gpt_neo", "num_layers": 1, "attention_types": [[[LONG], 1]]},
    ],
)
def test_a_number_too_long_to_print_is_refused(config):
    """Python prints whole numbers of up to 4,300 digits only."""
    with pytest.raises(ConfigError) as refused:
        read_hf_config(config)
    check_message(str(refused.value))


@settings(max_examples=300, **FUZZ)
@given(mutated())
@example(VALID["llama"] | {"num_key_value_heads": 3})
@example({key: value for key, value in VALID["mpt"].items() if key != "model_type"})
@example(VALID["jamba"] | {"hidden_size": 2**24})
@example(VALID["falcon"] | {"hidden_size": 2**24})
@example(VALID["deepseek_v3"] | {"moe_intermediate_size": 2**24, "n_shared_experts": 2})
def test_a_refusal_names_a_key(config):
    try:
        read_hf_config(config)
    except ConfigError as refusal:
        words = re.findall(r"\w+", str(refusal))
        names = {*KEYS, *(key for path in paths(config) for key in path)}
        assert names.intersection(words), str(refusal)  # noqa: PT017


@settings(max_examples=300, **FUZZ)
@given(mutated())
def test_the_reading_agrees_with_itself(config):
    try:
        reading = read_config(config)
    except ConfigError as refusal:
        with pytest.raises(ConfigError, match=f"^{re.escape(str(refusal))}$"):
            read_hf_config(config)
        return
    assert reading.spec == read_hf_config(config)
    assert all(entry.value.isprintable() for entry in (*reading.read, *reading.assumed))


def test_configs_are_left_as_they_were():
    for config in VALID.values():
        before = copy.deepcopy(config)
        check(config)
        assert config == before


# ---------------------------------------------------------------- mutated files

TEXTS = {family: json.dumps(config, indent=1) for family, config in VALID.items()}


@st.composite
def broken_bytes(draw: st.DrawFn) -> bytes:
    """A valid file cut, overwritten, doubled, or with bytes put in."""
    content = TEXTS[draw(st.sampled_from(sorted(TEXTS)))].encode()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        how = draw(st.sampled_from(["cut", "insert", "overwrite", "tail", "double", "key", "encode"]))
        if how == "cut":
            content = content[:at]
        elif how == "insert":
            content = content[:at] + draw(st.binary(max_size=6)) + content[at:]
        elif how == "overwrite":
            new = draw(st.sampled_from(list(b'{}[]",:0-.eNnt\\ \n\x00\xff')) | st.integers(0, 255))
            content = content[:at] + bytes([new]) + content[at + 1 :]
        elif how == "tail":
            content = content[at:]
        elif how == "double":
            content += content[:at]
        elif how == "key":
            key, value = draw(st.sampled_from(KEYS)), draw(st.sampled_from(["null", "7", '"\\ud800"', "1e999", "{}"]))
            content = content.replace(b"{", f'{{"{key}": {value}, '.encode(), 1)
        else:
            into = draw(st.sampled_from(["utf-8-sig", "utf-16", "utf-32", "latin-1", "utf-7"]))
            content = content.decode("latin-1").encode(into)
    return content


@settings(max_examples=500, **FUZZ)
@given(broken_bytes())
def test_any_broken_file_gives_a_model_or_a_refusal(content):
    check(content)


@settings(max_examples=300, **FUZZ)
@given(st.binary(max_size=64) | st.text(max_size=64) | garbage.map(json.dumps))
@example("null")
@example("true")
@example("1")
@example('"config"')
@example("NaN")
@example("[]")
@example("\ud800")
@example('{"model_type": "\ud800"}')
@example('{"model_type": "\\ud800\\n"}')
@example(b"\xff\xfe{\x00}\x00")
@example(b"\x00")
@example(b"GGUF\x03\x00\x00\x00")
@example(b"\x89PNG\r\n\x1a\n")
@example(b"PK\x03\x04")
def test_any_bytes_and_text_give_a_model_or_a_refusal(content):
    check(content)


LLAMA_TEXT = TEXTS["llama"]
HUGE = {
    "nested lists": "[" * 100_000,
    "nested objects": '{"a":' * 100_000,
    "nested and closed": '{"a":' + "[" * 50_000 + "]" * 50_000 + "}",
    "nested in a key": LLAMA_TEXT.replace("{", '{"extra":' + "[" * 20_000 + "]" * 20_000 + ",", 1),
    "megabytes of blanks": " " * 5_000_000 + LLAMA_TEXT,
    "a long value": LLAMA_TEXT.replace("{", '{"_name_or_path":"' + "x" * 3_000_000 + '",', 1),
    "a long list": LLAMA_TEXT.replace("{", '{"layer_types":[' + "0," * 300_000 + "0],", 1),
    "a long number": LLAMA_TEXT.replace('"hidden_size": 64', '"hidden_size": ' + "6" * 100_000),
    "a long fraction": LLAMA_TEXT.replace('"hidden_size": 64', '"hidden_size": 64.' + "0" * 100_000),
    "a large exponent": LLAMA_TEXT.replace('"hidden_size": 64', '"hidden_size": 64e999999999'),
    "many keys, the last twice": "{" + "".join(f'"{n}":1,' for n in range(30_000)) + '"29999":1}',
    "many keys": "{" + "".join(f'"{n}":1,' for n in range(90_000)) + LLAMA_TEXT[1:],
    "a key twice": LLAMA_TEXT.replace("{", '{"hidden_size": 64,', 1),
    "a key twice, one null": LLAMA_TEXT.replace("{", '{"hidden_size": null,', 1),
    "a long key": "{" + f'"{"k" * 500_000}": 1,' + LLAMA_TEXT[1:],
    "a million layers": LLAMA_TEXT.replace('"num_hidden_layers": 4', '"num_hidden_layers": 1000000'),
}


SOON_S = 5


class TooSlowError(BaseException):
    """Not an Exception, so that nothing on its way takes it for its own."""


@contextmanager
def answered_soon() -> Iterator[None]:
    """Fails what takes longer; where the system has alarms, without waiting for its end."""

    def stop(*_: Any) -> None:
        raise TooSlowError

    can_alarm = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGALRM, stop) if can_alarm else None
    before = perf_counter()
    try:
        if can_alarm:
            signal.setitimer(signal.ITIMER_REAL, SOON_S)
        yield
    except TooSlowError:
        pass
    finally:
        if can_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
    if perf_counter() - before >= SOON_S:
        pytest.fail(f"no answer within {SOON_S} s", pytrace=False)


@pytest.mark.parametrize("content", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("as_bytes", [False, True], ids=["text", "bytes"])
def test_large_and_deep_files_are_answered_soon(content, as_bytes):
    with answered_soon():
        check(content.encode() if as_bytes else content)


# Lists of exceptions in a quantized file hold patterns, and a stranger's pattern must not keep the page busy.
SLOW = {
    "an expression that backtracks": ["re:(.+)+!"],
    "an expression of a page": ["re:" + "(" * 200 + "x" + ")*" * 200],
    "thirty stars": ["*" * 30 + "z"],
    "stars and letters": ["*o" * 20 + "z"],
    "an expression that is none": ["re:(", "re:[", "re:\\"],
    "thousands of names": [f"model.layers.{n}.x" for n in range(20_000)],
    "thousands of stars": [f"*.{n}.x" for n in range(20_000)],
    "no names": [None, 1, {}, [], ""],
}


@pytest.mark.parametrize("exceptions", SLOW.values(), ids=SLOW)
def test_exceptions_of_a_quantized_file_are_answered_soon(exceptions):
    quantization = {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": exceptions}
    with answered_soon():
        check(VALID["llama"] | {"num_hidden_layers": 256, "quantization_config": quantization})


def test_deep_dictionaries_are_answered():
    deep: Any = {}
    for _ in range(5_000):
        deep = {"text_config": deep}
    check(VALID["llama"] | {"text_config": deep})
    check({"model_type": "llava", "text_config": deep})
