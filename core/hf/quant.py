"""`quantization_config` and `dtype` of a `config.json` -> the checkpoint's own number format, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from core.formats import NATIVE_PATTERN
from core.hf.keys import Assumption, Keys, Log
from core.hf.text import ConfigError, as_text, printable
from core.model import DenseFfn, LayerGroup, MoeFfn
from core.weights import Component

DTYPES = {"bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16", "half": "fp16", "float32": "fp32"}

# A name of each kind of linear layer as checkpoints spell it, to see what a list of exceptions leaves wide.
_MODULES: dict[Component, tuple[str, ...]] = {
    "attention": ("self_attn.q_proj", "self_attn.o_proj"),
    "dense_ffn": ("mlp.gate_proj", "mlp.down_proj"),
    "shared_experts": ("mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj"),
    "experts": ("mlp.experts.0.down_proj", "mlp.experts.0.w2"),
}


@dataclass(frozen=True, slots=True)
class Stored:
    """The native format, and components that it leaves in 16 bits."""

    native_format: str
    wide: tuple[Component, ...] = ()


def stored(
    quantization: Keys | None,
    dtype: tuple[Keys, str | None],
    log: Log,
    groups: Sequence[LayerGroup],
    absent: str = "bf16",
) -> Stored:
    """The format a checkpoint is stored in.

    Raises ConfigError for a method or a type this reader does not know: never 16 bits in silence.

    >>> stored(Keys({"quant_method": "awq", "bits": 4, "group_size": 128}, Log()), (Keys({}, Log()), None), Log(), ())
    Stored(native_format='int4_g128', wide=())
    """
    plain = _plain(*dtype, log, absent)
    if quantization is None:
        return Stored(plain)
    k = quantization
    method = k.text("quantization", "quant_method")
    if method is None:
        if k.flag("8 bits", "load_in_8bit", default=False) or k.flag("4 bits", "load_in_4bit", default=False):
            method = "bitsandbytes"
        else:
            raise k.missing("number format", "quant_method")
    known = {
        "fp8": _fp8,
        "fbgemm_fp8": _row_fp8,
        "mxfp4": _mxfp4,
        "awq": _grouped,
        "gptq": _grouped,
        "gptqmodel": _grouped,
        "bitsandbytes": _bitsandbytes,
        "compressed-tensors": _compressed,
        "modelopt": _modelopt,
    }
    if method.lower() not in known:
        raise k.bad("quant_method", f"one of {', '.join(known)}", method)
    name = known[method.lower()](k)
    if not re.match(NATIVE_PATTERN, name):
        raise ConfigError(f"{k.name('quant_method')} {printable(method, 40)} with {name} bits is not counted here.")
    return Stored(name, _wide(k, groups))


def _plain(section: Keys, dtype: str | None, log: Log, absent: str) -> str:
    if dtype is None or dtype == "auto":
        bits = 32 if absent == "fp32" else 16
        log.assumed.append(Assumption("number format", absent, f"dtype is absent: {bits} bits, as this model type has"))
        return absent
    found = DTYPES.get(dtype.removeprefix("torch."))
    if found is None:
        key = "dtype" if section.has("dtype") else "torch_dtype"
        raise section.bad(key, "bfloat16, float16 or float32", dtype)
    return found


def _fp8(k: Keys) -> str:
    block = k.data.get("weight_block_size")
    if block is None:
        return "fp8_tensor"
    if block != [128, 128]:
        raise k.bad("weight_block_size", "[128, 128]", as_text(cast("object", block)))
    k.note("block of one scale", "weight_block_size", "128 × 128")
    return "fp8"


def _row_fp8(_k: Keys) -> str:
    return "fp8_tensor"


def _mxfp4(_k: Keys) -> str:
    return "mxfp4"


def _grouped(k: Keys) -> str:
    bits = k.whole("bits a weight", "bits", "w_bit", low=2, high=8)
    return _group_name(k, bits, symmetric=k.flag("no zero points", "sym", default=False))


def _group_name(k: Keys, bits: int, *, symmetric: bool) -> str:
    _, size = k.raw("group_size", "q_group_size")
    if size in (-1, None):
        k.note("group of one scale", "group_size", "a row")
        return f"int{bits}_g0"
    size = k.whole("group of one scale", "group_size", "q_group_size", low=16, high=256)
    return f"int{bits}_g{size}{'_sym' if symmetric else ''}"


def _bitsandbytes(k: Keys) -> str:
    if k.flag("8 bits", "load_in_8bit", default=False):
        return "int8"
    if not k.flag("4 bits", "load_in_4bit", default=False):
        raise k.missing("number format", "load_in_4bit", "load_in_8bit")
    return "nf4_double" if k.flag("scales quantized", "bnb_4bit_use_double_quant", default=False) else "nf4"


def _compressed(k: Keys) -> str:
    groups = k.section("config_groups")
    if groups is None:
        raise k.missing("number format", "config_groups")
    found: set[str] = set()
    for name in groups.data:
        group = groups.section(name)
        weights = group.section("weights") if group else None
        if weights is None:
            raise groups.missing("number format", name)
        found.add(_compressed_group(weights))
    if len(found) != 1:
        raise ConfigError(f"{k.name('config_groups')} must hold one number format, got {len(found)} of them.")
    return found.pop()


def _compressed_group(weights: Keys) -> str:
    bits = weights.whole("bits a weight", "num_bits", low=2, high=16)
    kind = weights.text("kind of number", "type") or "int"
    _, strategy = weights.raw("strategy")
    if kind == "float" and bits == 8:
        if strategy == "block":
            return "fp8"
        return "fp8_tensor"
    if kind == "float" and bits == 4:
        size = weights.whole("group of one scale", "group_size", low=16, high=32)
        if size == 16:
            return "nvfp4"
        raise weights.bad("group_size", "16 for 4-bit floats", size)
    if kind != "int":
        raise weights.bad("type", "int or float", kind)
    if bits == 8 and strategy in ("channel", "tensor"):
        return "int8"
    return _group_name(weights, bits, symmetric=weights.flag("no zero points", "symmetric", default=False))


def _modelopt(k: Keys) -> str:
    algorithm = k.text("number format", "quant_algo")
    if algorithm is None:
        return _compressed(k)
    names = {"FP8": "fp8_tensor", "NVFP4": "nvfp4", "W4A16_AWQ": "int4_g128_sym"}
    if algorithm.upper() not in names:
        raise k.bad("quant_algo", f"one of {', '.join(names)}", algorithm)
    return names[algorithm.upper()]


def _wide(k: Keys, groups: Sequence[LayerGroup]) -> tuple[Component, ...]:
    """Components that a list of exceptions keeps in 16 bits in every layer; a part of the layers is only said."""
    exceptions = _exceptions(k)
    if not exceptions:
        return ()
    n_layers = sum(g.count for g in groups)
    n_dense = sum(g.count for g in groups if isinstance(g.ffn, DenseFfn))
    n_moe = sum(g.count for g in groups if isinstance(g.ffn, MoeFfn))
    holders: dict[Component, int] = {
        "attention": sum(g.count for g in groups if g.attention is not None),
        "dense_ffn": n_dense,
        "shared_experts": n_moe,
        "experts": n_moe,
    }
    wide: list[Component] = []
    for component, modules in _MODULES.items():
        holding = holders[component]
        if not holding:
            continue
        names = ([f"model.layers.{i}.{module}" for module in modules] for i in range(n_layers))
        kept = sum(any(map(exceptions.cover, layer)) for layer in names)
        if kept >= holding:
            wide.append(component)
            k.note("left in 16 bits", "exceptions", component)
        elif kept:
            said = f"the file leaves it in 16 bits in {kept} of {holding} layers, so this counts a little less"
            k.assume(component, "quantized in every layer", said)
    return tuple(wide)


@dataclass(frozen=True, slots=True)
class _Exceptions:
    """Names of modules that stay wide: paths or pieces of them, and patterns with stars."""

    pieces: frozenset[str]
    globs: tuple[tuple[str, ...], ...]  # what stands between the stars

    def cover(self, module: str) -> bool:
        """Whether the module, something around it, or a piece of its path is named."""
        parts = module.split(".")
        spans = (".".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1))
        return any(span in self.pieces for span in spans) or any(_fits(glob, module) for glob in self.globs)


GLOBS_MAX = 64
PATTERN_CHARS = 200


def _exceptions(k: Keys) -> _Exceptions | None:
    found: list[str] = []
    for name in ("modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "llm_int8_skip_modules"):
        value = k.data.get(name)
        if isinstance(value, list):
            found = [item for item in cast("list[Any]", value) if isinstance(item, str)]
            break
    pieces: set[str] = set()
    globs: dict[tuple[str, ...], None] = {}
    for pattern in found:
        if pattern.startswith("re:"):
            made = _globs_of(pattern[3:])
            if made is None:
                k.assume("exceptions", pattern, "this expression is not followed: what it names counts as quantized")
            globs |= dict.fromkeys(made or ())
        elif "*" in pattern:
            globs[tuple(pattern[:PATTERN_CHARS].split("*"))] = None
        else:
            pieces.add(pattern.removeprefix("language_model.").strip("."))
    return _Exceptions(frozenset(pieces), tuple(globs)[:GLOBS_MAX]) if found else None


def _globs_of(expression: str) -> list[tuple[str, ...]] | None:
    r"""A regular expression of letters, dots, `.*` and (a|b) as patterns with stars; None for anything richer.

    Foreign expressions are never run: some take for ever.

    >>> _globs_of(r".*mlp\.(gate|up)_proj")
    [('', 'mlp.gate_proj', ''), ('', 'mlp.up_proj', '')]
    """
    if len(expression) > PATTERN_CHARS:
        return None
    end = expression.endswith("$")
    text = expression.removeprefix("^").removesuffix("$").replace(".*", "*").replace(r"\.", ".")
    parts = re.split(r"\(([\w.*|-]*)\)", text)
    if any(set(part) - _PLAIN for part in parts[::2]):
        return None
    made = [""]
    for number, part in enumerate(parts):
        choices = part.split("|") if number % 2 else [part]
        made = [start + choice for start in made for choice in choices]
        if len(made) > GLOBS_MAX:
            return None
    return [tuple((glob if end else f"{glob}*").split("*")) for glob in made]


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-*")


def _fits(glob: tuple[str, ...], text: str) -> bool:
    """Whether a text starts and ends as the pattern does and holds the middle pieces in order."""
    if len(glob) == 1:
        return glob[0] == text
    first, *middle, last = glob
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True
