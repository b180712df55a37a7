"""What an engineer carries off: a result as JSON, the vLLM line that comes closest, and the lines that reproduce it.

Nothing here computes a figure of its own: every number is an attribute of a `Result` or of what belongs to it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from core.derivation import (
    Derivation,
    intensity_derivations,
    memory_derivations,
    prefill_derivations,
    speed_derivations,
)
from core.evaluate import (
    DecodeStep,
    Limits,
    Result,
    bandwidth_bytes_per_s,
    costs,
    evaluate,
    intensities,
    limits,
    peak_flops_per_s,
)
from core.formats import CACHE_FORMATS
from core.lessons import NOT_MODELLED
from core.model import LatentAttention, LinearAttention, SoftmaxAttention
from core.paging import blocks_needed
from core.scenario import Scenario
from core.units import Unit, format_bytes, integer, plural, trimmed
from core.verdict import setting, verdict

# Raise it whenever a key changes its name or meaning, or goes.
SCHEMA = 1

Json = dict[str, Any]


def link(scenario: Scenario, **more: str) -> str:
    """The query string of a scenario's link, further fields behind it; an address of the app takes it after "?".

    >>> link(Scenario(batch=32))[:43]
    'model=llama-3-8b&gpu=h100-sxm&gpus=1&split='
    """
    return urlencode({**scenario.to_query(), **more})


def can_be_linked(scenario: Scenario) -> bool:
    """Whether a link carries the whole scenario: false for a model of one's own that is too long for one.

    >>> can_be_linked(Scenario())
    True
    """
    return Scenario.from_query(scenario.to_query()) == (scenario, [])


def command_line(scenario: Scenario, unit: Unit = "GB") -> str:
    """The line for a shell in this repository that prints the scenario's result.

    A query string has no quote, dollar sign, backquote or backslash left in it: double quotes hold it in any shell.

    >>> command_line(Scenario())[:43]
    'python -m core "model=llama-3-8b&gpu=h100-s'
    """
    return f'python -m core "{link(scenario, unit=unit)}"'


def notebook_lines(scenario: Scenario) -> str:
    """The lines of Python that give the scenario's `Result`, for a notebook that is started in this repository.

    >>> print(notebook_lines(Scenario(batch=32)).splitlines()[-1])
    result = evaluate(scenario)
    """
    return "\n".join(
        (
            "from core.evaluate import evaluate",
            "from core.scenario import Scenario",
            "",
            f"scenario, notes = Scenario.from_query({scenario.to_query()!r})",
            "result = evaluate(scenario)",
        )
    )


# ---------------------------------------------------------------- JSON


def as_json(result: Result, unit: Unit = "GB") -> Json:
    """Everything a page says of a result, as plain dictionaries, lists, texts and numbers.

    Figures are in base units, each key naming its own (bytes, s, flops, users, tokens); whole numbers stay whole, none
    is NaN or infinite, and null means "never" or "no limit". `unit` (GB or GiB) is that of the sentences alone.

    >>> found = as_json(evaluate(Scenario(batch=32)))
    >>> found["schema"], found["memory"]["kv_bytes"], round(found["decode"]["tokens_per_s"], 1)
    (1, 34359738368, 2126.1)
    """
    s, m, p = result.scenario, result.memory, result.prefill
    said = verdict(result, unit)
    found = intensities(s, result)
    line = vllm_flags(result, unit)
    return {
        "schema": SCHEMA,
        "scenario": {
            "setting": setting(s),
            "link": link(s),
            "query": s.to_query(),
            # `ModelSpec.model_validate` and `GpuSpec.model_validate` take these two back.
            "model": s.model_spec.model_dump(mode="json"),
            "device": s.gpu_spec.model_dump(mode="json"),
            "model_figures": _model_figures(s),
            "device_figures": _device_figures(s),
            "formats": _formats(s),
        },
        "memory": {
            "weights_bytes": m.weights_bytes,
            "kv_bytes": m.kv_bytes,
            "reserve_bytes": m.reserve_bytes,
            "total_bytes": m.total_bytes,
            "capacity_bytes": m.capacity_bytes,
            "free_bytes": m.free_bytes,
            "over_by_bytes": m.over_by_bytes,
            "fits": m.fits,
            "max_batch_users": m.max_batch,
            "max_context_tokens": m.max_context,
        },
        "decode": _step(result.decode)
        | {"expected": None if result.decode.expected is None else _step(result.decode.expected)},
        "prefill": {
            "linear_flops": p.linear_flops,
            "attention_flops": p.attention_flops,
            "flops": p.flops,
            "weights_read_bytes": p.weights_read_bytes,
            "compute_s": p.compute_s,
            "memory_s": p.memory_s,
            "ttft_s": p.ttft_s,
            "bound_by": p.bound_by,
        },
        "limits": _limits(limits(s)),
        "intensities": {
            "decode_weights_flops_per_byte": found.decode_weights,
            "decode_attention_flops_per_byte": found.decode_attention,
            "decode_step_flops_per_byte": found.decode_step,
            "prefill_flops_per_byte": found.prefill,
            "ridge_flops_per_byte": found.ridge,
        },
        "verdict": [said.headline, *said.memory, *said.speed],
        "assumptions": assumptions(result),
        "derivations": {
            "memory": _lines(memory_derivations(result, unit)),
            "decode": _lines(speed_derivations(result, unit)),
            "prefill": _lines(prefill_derivations(result)),
            "intensities": _lines(intensity_derivations(result)),
        },
        "vllm": {"command": line.command, "differs": list(line.differs)},
    }


def json_text(result: Result, unit: Unit = "GB") -> str:
    """`as_json` as text: ASCII, indented, ending in a line break.

    Raises ValueError if a number were not finite, rather than write what no JSON parser takes.

    >>> json.loads(json_text(evaluate(Scenario()))) == as_json(evaluate(Scenario()))
    True
    """
    return json.dumps(as_json(result, unit), indent=2, allow_nan=False) + "\n"


def assumptions(result: Result) -> list[str]:
    """What the numbers rest on, in words: the readings chosen, where the capacity is from, and what is left out.

    >>> assumptions(evaluate(Scenario()))[1]
    'Every weight is read at each step, the input-embedding table too.'
    """
    s = result.scenario
    model, gpu = s.model_spec, s.gpu_spec
    found = ["A ceiling is a bound, never a forecast: measured systems stay below it."]
    if s.skip_embedding:
        found.append("Tables that are only looked up, the untied input embedding and learned positions, are not read.")
    else:
        found.append("Every weight is read at each step, the input-embedding table too.")
    if model.moe is not None:
        found.append(
            "The bound reads the fewest experts a step can touch; `expected` assumes uniform, independent routing and "
            "is an estimate. Memory holds every expert."
        )
    found += [
        f"{trimmed(100 * s.reserve)} % of the capacity is kept for activations and the runtime.",
        f"Capacity of one {gpu.name}: {_capacity_source(s)}.",
        "Peaks are dense, never with sparsity.",
        f"Prefill is one prompt of {plural(s.context, 'token')} for each of {plural(s.batch, 'user')}.",
    ]
    if not gpu.ridge_comparable:
        found.append(f"The ridge of {gpu.name} does not come from a data sheet.")
    if s.n_gpus > 1 and s.split == "tensor":
        found.append("Every layer is on all GPUs; a cache with fewer KV heads than GPUs is repeated.")
    elif s.n_gpus > 1:
        found.append("Layers are shared out among the GPUs: capacity adds, and a token passes them in turn.")
    found += verdict(result).cautions
    return found + [f"{what}: {sentence}" for what, sentence in NOT_MODELLED]


def _capacity_source(scenario: Scenario) -> str:
    gpu = scenario.gpu_spec
    if gpu.driver_memory_bytes:
        return "as its driver reports"
    return f"{gpu.marketed_memory:g} {gpu.marketed_unit} as marketed"


def _model_figures(scenario: Scenario) -> Json:
    spec = scenario.model_spec
    body, head = spec.matmul_params
    return {
        "n_params": spec.n_params,
        "n_active_params": spec.n_active_params,
        "n_layers": spec.n_layers,
        "n_matmul_params": body + head,
        "params_by_component": spec.params_by_component,
        "kv_bytes_per_token": spec.kv_bytes_per_token(scenario.cache_bits),
        "state_bytes": spec.state_bytes,
    }


def _device_figures(scenario: Scenario) -> Json:
    gpu = scenario.gpu_spec
    return {
        "memory_bytes": gpu.memory_bytes,
        "memory_from": _capacity_source(scenario),
        "bandwidth_bytes_per_s": gpu.bandwidth_bytes_per_s,
        "peak_flops_per_s": gpu.peak_flops_per_s(scenario.weight_format_spec.peak),
        # What one step draws on: all GPUs, or one where layers are shared out.
        "step_bandwidth_bytes_per_s": bandwidth_bytes_per_s(scenario),
        "step_peak_flops_per_s": peak_flops_per_s(scenario),
    }


def _formats(scenario: Scenario) -> Json:
    weights = scenario.weight_format_spec
    return {
        "weights": weights.label,
        "weights_linear_bits": weights.linear_bits,
        "cache": CACHE_FORMATS[scenario.cache_format].label,
        "cache_bits": scenario.cache_bits,
    }


def _step(step: DecodeStep) -> Json:
    return {
        "batch_users": step.batch,
        "weights_read_bytes": step.weights_read_bytes,
        "kv_read_bytes": step.kv_read_bytes,
        "bytes_read": step.bytes_read,
        "flops": step.flops,
        "memory_s": step.memory_s,
        "compute_s": step.compute_s,
        "step_s": step.step_s,
        "tokens_per_s": step.tokens_per_s,
        "tokens_per_s_per_user": step.tokens_per_s_per_user,
        "bound_by": step.bound_by,
        "experts_touched_per_layer": step.experts_touched,
    }


def _limits(edge: Limits) -> Json:
    return {
        "asymptote_tokens_per_s": edge.asymptote_tokens_per_s,
        "compute_cap_tokens_per_s": edge.compute_cap_tokens_per_s,
        "cap_tokens_per_s": edge.cap_tokens_per_s,
        "crossover_batch_users": edge.crossover_batch,
        "crossover_context_tokens": edge.crossover_context,
        "compute_bound_batch_users": edge.compute_bound_batch,
        "compute_bound_context_tokens": edge.compute_bound_context,
    }


def _lines(derivations: Sequence[Derivation]) -> list[str]:
    return [f"{d.title}: {d.symbols}; that is, {d.words}; {d.numbers}" for d in derivations]


# ---------------------------------------------------------------- vLLM

BLOCK_TOKENS = 16  # CacheConfig.DEFAULT_BLOCK_SIZE
BATCHED_TOKENS = 2048  # SchedulerConfig.DEFAULT_MAX_NUM_BATCHED_TOKENS
ANY_MODEL = "path/to/model"
HOME_VENDORS = ("NVIDIA", "AMD", "custom")
LLAMA_CPP = ("q8_0", "q4_0", "q4_k_m")
WIDE = ("bf16", "fp16", "fp32")  # checkpoints that vLLM can quantize while it loads them


@dataclass(frozen=True, slots=True)
class VllmLine:
    """A `vllm serve` command, and in sentences what differs between it and the scenario."""

    command: str
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Flags:
    """Flags of one part of the line, what differs there, and the format that the line really serves."""

    flags: tuple[str, ...]
    serves: str
    differs: tuple[str, ...] = ()


def vllm_flags(result: Result, unit: Unit = "GB") -> VllmLine:
    """The `vllm serve` line that comes closest to a scenario, shell-quoted, and what differs.

    `--gpu-memory-utilization` is exactly 1 - reserve. A format without a flag leaves the flag out and is named; so is
    whatever else the line cannot say. `unit` is that of the sentences.

    Source: vLLM's documentation. Utilisation, cache formats and block size:
    https://docs.vllm.ai/en/v0.29.0/api/vllm/config/cache/ ("bfloat16" is for models whose default is FP8);
    `max_num_seqs` and `max_num_batched_tokens`: https://docs.vllm.ai/en/stable/configuration/optimization/; FP8 and
    MXFP4 made while loading: https://docs.vllm.ai/en/stable/features/quantization/fp8/ and
    https://docs.vllm.ai/en/v0.29.0/features/quantization/online/; GGUF by a plugin of its own:
    https://docs.vllm.ai/en/latest/features/quantization/gguf/; windows and states:
    https://docs.vllm.ai/en/latest/design/hybrid_kv_cache_manager/. Heads must divide evenly: vLLM issue 2652;
    contexts beyond the model's: pull request 7080.

    >>> print(vllm_flags(evaluate(Scenario(batch=32))).command.replace(" --", chr(10) + "--"))
    vllm serve meta-llama/Meta-Llama-3-8B
    --max-num-seqs 32
    --max-model-len 8192
    --kv-cache-dtype auto
    --tensor-parallel-size 1
    --gpu-memory-utilization 0.9
    """
    s = result.scenario
    weights, cache = _weights(s), _cache(s)
    # What the line serves where it cannot say what was asked.
    served = evaluate(s.replace(weight_format=weights.serves, cache_format=cache.serves, kv_heads=None))
    same_weights = served.memory.weights_bytes == result.memory.weights_bytes
    formats = (*(() if weights.serves != s.weight_format and same_weights else weights.differs), *cache.differs)
    share = Decimal(1) - Decimal(repr(s.reserve))
    name, name_differs = _name(s)
    split = "--tensor-parallel-size" if s.split == "tensor" else "--pipeline-parallel-size"
    command = [
        *("vllm", "serve", name),
        *("--max-num-seqs", str(s.batch)),
        *("--max-model-len", str(s.context)),
        *cache.flags,
        *(split, str(s.n_gpus)),
        *("--gpu-memory-utilization", f"{share.normalize():f}"),
        *weights.flags,
    ]
    differs = [
        *name_differs,
        *_heads(s),
        *(sentence.format(**_instead(result, served, unit)) for sentence in formats),
        *_caps(served),
        *_share(served, f"{share.normalize():f}", unit),
        *_pages(served, unit),
        *_group(s),
    ]
    return VllmLine(shlex.join(command), tuple(differs))


def _name(scenario: Scenario) -> tuple[str, list[str]]:
    model = scenario.released_model
    if not model.hf_id:
        return ANY_MODEL, [f"{model.name} names no checkpoint to load: put yours in place of {ANY_MODEL}."]
    # Quotes hold a name together in a shell, but not a control character pasted into a terminal, nor what the command
    # itself would take for a flag.
    if not model.hf_id.isprintable() or model.hf_id.startswith("-"):
        return ANY_MODEL, [f"The checkpoint's name cannot be typed safely: put it in place of {ANY_MODEL}."]
    return model.hf_id, []


def _heads(scenario: Scenario) -> list[str]:
    if not scenario.model_spec.is_hypothetical:
        return []
    model = scenario.released_model
    asked = plural(scenario.kv_heads or 0, "KV head")
    released = " and ".join(map(str, model.released_kv_heads))
    return [f"{model.name} with {asked} cannot be served, nobody trained it: the line serves the released {released}."]


LOADED_AS: dict[str, str] = {"fp8": "fp8", "mxfp4": "mxfp4"}  # formats that vLLM makes of a wide checkpoint


def _weights(scenario: Scenario) -> _Flags:
    """`--dtype` and `--quantization`."""
    asked, native = scenario.weight_format, scenario.released_model.native_format
    why = _no_weight_flag(asked, native, scenario.weight_format_spec.label.partition(" (")[0])
    if why:
        rest = "so the line serves the weights as released: {released} instead of {asked}."
        return _Flags((), "native", (f"{why}, {rest}",))
    if asked in LOADED_AS:
        recent = "vLLM makes MXFP4 weights while loading only in recent versions (0.29 documents it, 0.20 does not)."
        return _Flags(("--quantization", LOADED_AS[asked]), asked, (recent,) if asked == "mxfp4" else ())
    no_bf16 = scenario.gpu_spec.bf16_tflops is None
    if asked == "native":
        # Left to itself vLLM would take FP32 checkpoints down to 16 bits, and refuse BF16 where there is none.
        dtype = "float32" if native == "fp32" else "float16" if native == "bf16" and no_bf16 else None
    else:
        dtype = "float16" if native == "fp16" or no_bf16 else "bfloat16"
    return _Flags(("--dtype", dtype) if dtype else (), asked)


def _no_weight_flag(asked: str, native: str, label: str) -> str | None:
    """Why no flag gives the weights this format; None where one does."""
    if asked in LLAMA_CPP:
        # A plugin of vLLM's reads such files too, but the name of the file is nobody's to guess.
        return f"{label.removeprefix('llama.cpp ')} is a weight format of llama.cpp's"
    if asked == "native" or (native in WIDE and asked in ("bf16", *LOADED_AS)):
        return None
    if asked == native.partition("_")[0]:
        return f"The checkpoint is {asked.upper()} already, in a mix of its own"
    name = {"int4": "INT4 (AWQ or GPTQ)", "bf16": "16-bit"}.get(asked, asked.upper())
    return f"{name} weights need a checkpoint of their own"


def _cache(scenario: Scenario) -> _Flags:
    """`--kv-cache-dtype`."""
    asked = scenario.cache_format
    # These models default to FP8, and only they take the word for 16 bits.
    own_fp8 = any(isinstance(g.attention, LatentAttention) and g.attention.indexer for g in scenario.model_spec.groups)
    layout = (
        "vLLM's FP8 cache of a model with an indexer is a layout of its own, with scales and a 16-bit rope key: it "
        "takes more than is counted here."
    )
    follows = scenario.weight_format == "native" and scenario.released_model.native_format == "fp32"
    doubled = ("The cache follows --dtype float32: twice the {default_cache} that 16 bits take.",) if follows else ()
    if asked == "fp8":
        return _Flags(("--kv-cache-dtype", "fp8"), asked, (layout,) if own_fp8 else ())
    if asked == "bf16":
        return _Flags(("--kv-cache-dtype", "bfloat16" if own_fp8 else "auto"), asked, doubled)
    label = CACHE_FORMATS[asked].label.partition(" (")[0].removeprefix("llama.cpp ")
    if asked in LLAMA_CPP:
        why = f"{label} is a cache format of llama.cpp's"
    else:
        why = f"A cache in {label}, has no flag (vLLM's own 4-bit caches keep other scales)"
    kept = "FP8, vLLM's default for this model" if own_fp8 else "16 bits"
    left = f"{why}, so the line leaves the cache in {kept}: {{default_cache}} instead of {{cache}}."
    return _Flags((), "fp8" if own_fp8 else "bf16", (left, *((layout,) if own_fp8 else doubled)))


def _instead(result: Result, served: Result, unit: Unit) -> dict[str, str]:
    return {
        "asked": format_bytes(result.memory.weights_bytes, unit),
        "released": format_bytes(served.memory.weights_bytes, unit),
        "cache": format_bytes(result.memory.kv_bytes, unit),
        "default_cache": format_bytes(served.memory.kv_bytes, unit),
    }


def _caps(served: Result) -> list[str]:
    s, most = served.scenario, served.memory.max_batch
    found = ["--max-num-seqs is a cap, not a promise: vLLM lets requests wait while the cache is full."]
    if most == 0:
        found.append("vLLM will refuse to start: its memory holds not one sequence of --max-model-len.")
    elif most is not None and most < s.batch:
        found.append(f"Memory holds {integer(most)} sequences of --max-model-len, so the others would wait.")
    if s.batch > BATCHED_TOKENS:
        found.append("vLLM also wants --max-num-batched-tokens to be no smaller than --max-num-seqs.")
    found.append("--max-model-len counts prompt and output together.")
    if s.context > s.released_model.max_context:
        found.append(
            f"{s.released_model.name} stops at {integer(s.released_model.max_context)} tokens: vLLM refuses a longer "
            "--max-model-len unless VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set."
        )
    return found


def _share(served: Result, share: str, unit: Unit) -> list[str]:
    m = served.memory
    usable, needed = m.capacity_bytes - m.reserve_bytes, m.weights_bytes + m.kv_bytes
    found = [
        f"--gpu-memory-utilization {share} is vLLM's share of the memory, {format_bytes(usable, unit)} for weights, "
        f"activations and cache together; what weights and activations leave of it becomes cache. Here weights and "
        f"cache take {format_bytes(needed, unit)}."
    ]
    if not served.scenario.reserve:
        found.append("A share of 1 leaves nothing to anybody else on the GPU, so vLLM may fail to start.")
    return found


def _pages(served: Result, unit: Unit) -> list[str]:
    s = served.scenario
    found: list[str] = []
    held = blocks_needed(tokens=s.context, block=BLOCK_TOKENS) * BLOCK_TOKENS
    if held != s.context:
        taken = costs(s).stored.bytes(held, s.batch)
        more = format_bytes(taken - served.memory.kv_bytes, unit)
        found.append(
            f"vLLM keeps the cache in blocks of {BLOCK_TOKENS} tokens or more: {integer(s.context)} tokens hold "
            f"{integer(held)} slots, and the cache takes {format_bytes(taken, unit)}, {more} more than counted."
        )
    groups = s.model_spec.groups
    if any(isinstance(g.attention, SoftmaxAttention) and g.attention.span for g in groups):
        found.append("Layers with a window or chunks share pages with full ones: vLLM may reserve more than counted.")
    if any(isinstance(g.attention, LinearAttention) for g in groups):
        found.append("vLLM pads a recurrent layer's state to a page and makes all pages as large, which takes more.")
    return found


def _group(scenario: Scenario) -> list[str]:
    s = scenario
    n, gpu, groups = s.n_gpus, s.gpu_spec, s.model_spec.groups
    found: list[str] = []
    if n > 1 and s.split == "tensor":
        latent = [g.attention for g in groups if isinstance(g.attention, LatentAttention)]
        heads = [g.attention for g in groups if isinstance(g.attention, SoftmaxAttention)]
        uneven = any(a.n_q % n for a in (*latent, *heads)) or any(a.n_kv % n and n % a.n_kv for a in heads)
        if uneven:
            found.append(f"vLLM refuses a --tensor-parallel-size of {integer(n)}: the heads do not divide evenly.")
        if latent:
            found.append(
                f"Tensor parallel keeps MLA's latent on each of the {integer(n)} GPUs, as counted here; with "
                "--data-parallel-size each keeps the latents of its own requests."
            )
        elif any(a.n_kv < n for a in heads):
            found.append("With more GPUs than KV heads vLLM repeats the heads, as counted here.")
    if n > s.model_spec.n_layers and s.split == "layer":
        found.append(f"vLLM cannot make {integer(n)} stages of {plural(s.model_spec.n_layers, 'layer')}.")
    if gpu.devices_seen > 1:
        found.append(f"Software sees the {gpu.name} as {gpu.devices_seen} devices: count each in the parallel size.")
    if gpu.unified_memory:
        found.append(f"{gpu.name} shares its memory with the CPU: the share counts what the system uses too.")
    if gpu.vendor not in HOME_VENDORS:
        found.append(f"On {gpu.name} vLLM needs a plugin or a build of its own, whose flags may differ.")
    return found
