"""A Hugging Face `config.json` -> `ModelSpec`, or a refusal in one sentence that names the key.

It fails closed: a model type that is not listed in `core.hf.families`, an encoder, a diffusion model, an adapter, or an
absent dimension is refused, never filled in. What the file leaves to the library's own rule is taken so and listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from core.catalog import explain
from core.custom import CUSTOM
from core.hf.families import ALIASES, FAMILIES, OWN_WIDTHS, Shape
from core.hf.keys import Assumption, Entry, Keys, Log
from core.hf.quant import Stored, stored
from core.hf.text import ConfigError, as_text, parse, printable
from core.model import ModelSpec

__all__ = ["ConfigError", "Reading", "read_config", "read_hf_config"]

NAME_CHARS = 80

# Sections under which a model with several inputs keeps its language model.
TEXT_SECTIONS = ("text_config", "thinker_config", "llm_config", "language_config", "language_model")

# fmt: off
ENCODERS = frozenset((
    "bert", "roberta", "distilbert", "albert", "electra", "deberta", "deberta-v2", "xlm-roberta", "xlm-roberta-xl",
    "modernbert", "camembert", "mpnet", "nomic_bert", "new", "gte", "jina_embeddings_v3", "ernie", "megatron-bert",
    "roformer", "longformer", "big_bird", "fnet", "funnel", "eurobert", "clip", "siglip", "siglip2", "vit",
    "dinov2", "swin", "convnext", "resnet", "beit", "deit", "wav2vec2", "hubert", "wavlm", "data2vec-text", "esm",
    "layoutlm", "layoutlmv3", "clap"
))
# fmt: on
# fmt: off
ENCODER_DECODERS = frozenset((
    "t5", "mt5", "umt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "nllb-moe", "whisper", "blenderbot",
    "blenderbot-small", "prophetnet", "led", "longt5", "bigbird_pegasus", "speech_to_text", "switch_transformers",
    "t5gemma", "t5gemma2", "encoder-decoder", "vision-encoder-decoder", "seamless_m4t", "moonshine", "florence2",
    "pix2struct", "udop", "fsmt", "plbart"
))
# fmt: on
NOT_SUPPORTED: dict[str, str] = {
    "rwkv": "RWKV's state is not modelled",
    "recurrent_gemma": "its recurrent blocks are not modelled",
    "mllama": "its cross-attention layers are not modelled",
    "gemma3n": "its per-layer inputs and shared caches are not modelled",
    "gemma3n_text": "its per-layer inputs and shared caches are not modelled",
    "zamba": "its shared attention blocks are not modelled",
    "zamba2": "its shared attention blocks are not modelled",
    "falcon_h1": "its parallel attention and Mamba heads are not modelled",
    "deepseek_v4": "its compressed attention is not modelled",
    "minimax": "its lightning attention is not modelled",
    "kimi_linear": "its delta attention is not modelled",
    "xlnet": "its two-stream attention is not modelled",
    "timm_wrapper": "it is a vision model, not a text generator",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A model that was read: its spec, what came from which key, and what was assumed and why."""

    spec: ModelSpec
    read: tuple[Entry, ...]
    assumed: tuple[Assumption, ...]


def read_hf_config(source: Mapping[str, Any] | str | bytes) -> ModelSpec:
    """The model that a `config.json` describes.

    Args:
        source: the file's bytes or text, or its content as a dictionary.

    Raises:
        ConfigError: not a config, not a text generator, an unknown architecture, a missing or impossible dimension;
            one sentence that names the key.

    Source: the key names of each family in Hugging Face transformers 5.

    >>> spec = read_hf_config({"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024,
    ...     "vocab_size": 50257})
    >>> spec.n_params, spec.kv_bytes_per_token()
    (124439808, 36864)
    >>> read_hf_config({"model_type": "bert", "num_hidden_layers": 12})
    Traceback (most recent call last):
    core.hf.text.ConfigError: model_type "bert" is an encoder, not a text generator: it keeps no KV cache.
    """
    return read_config(source).spec


def read_config(source: Mapping[str, Any] | str | bytes, *, name: str | None = None) -> Reading:
    """`read_hf_config` with what was read and assumed; `name` is what to call the model if the file does not say.

    >>> reading = read_config({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 100,
    ...     "num_attention_heads": 4, "intermediate_size": 96})
    >>> [(a.field, a.value) for a in reading.assumed][:2]
    [('number of KV heads', '4'), ('head dim', '16')]
    """
    data = parse(source) if isinstance(source, str | bytes) else _dictionary(source)
    _refuse_other_files(data)
    log = Log()
    top = Keys(data, log)
    keys, model_type = _language_model(top)
    shape = _shape(keys, model_type)
    weights = stored(
        _first_section(keys, top, "quantization_config"), _dtype(keys, top), log, shape.groups, _absent(model_type)
    )
    spec = _spec(shape, weights, _name(data, keys, name, model_type), model_type)
    return Reading(spec, tuple(log.read), tuple(log.assumed))


def _dictionary(source: object) -> dict[str, Any]:
    if not isinstance(source, Mapping):
        raise ConfigError(f"A config is a dictionary, a text or bytes, got {type(source).__name__}.")
    return {str(key): value for key, value in cast("Mapping[Any, Any]", source).items()}


def _refuse_other_files(data: Mapping[str, Any]) -> None:
    def has(*keys: str) -> bool:
        return any(key in data for key in keys)

    if has("peft_type", "base_model_name_or_path") and not has("hidden_size", "n_embd"):
        raise ConfigError("peft_type: this is a LoRA or other adapter; its base model's config.json is needed.")
    if has("_class_name", "_diffusers_version"):
        raise ConfigError("_class_name: this is part of a diffusion model, not a language model.")
    if has("weight_map"):
        raise ConfigError("weight_map: this is the index of a checkpoint, not its config.json.")
    if not has("model_type", "architectures"):
        if has("tokenizer_class", "added_tokens_decoder"):
            raise ConfigError("tokenizer_class: this is a tokenizer's file; the model's config.json is needed.")
        if has("dim") and has("n_layers"):
            raise ConfigError("dim: this is a params.json; the config.json of the same model is needed.")
    if data.get("is_encoder_decoder") is True:
        raise ConfigError("is_encoder_decoder is true: this is an encoder-decoder, and only decoders are modelled.")


def _chain(top: Keys) -> Iterator[Keys]:
    """The config and the sections inside it that lead to the language model, outermost first."""
    keys: Keys | None = top
    for _ in range(3):
        if keys is None:
            return
        yield keys
        keys = next((found for name in TEXT_SECTIONS if (found := keys.section(name)) is not None), None)


def _language_model(top: Keys) -> tuple[Keys, str]:
    """The section that holds the language model's dimensions, and its family."""
    found: tuple[Keys, str] | None = None
    for keys in _chain(top):
        named = _model_type(keys)
        if named is None:
            if found is None:
                raise ConfigError(
                    "model_type is missing (and architectures names no known model), so the architecture is not known."
                )
            found = (keys, found[1])
        else:
            found = (keys, named)
    if found is None:
        raise ConfigError("model_type is missing, so the architecture is not known.")
    keys, family = found
    keys.note("architecture", "model_type", family)
    return keys, family


def _model_type(keys: Keys) -> str | None:
    """The family of one section, by `model_type`, else by the name of its class."""
    _, value = keys.raw("model_type")
    if value is not None and not isinstance(value, str):
        raise keys.bad("model_type", "a text", value)
    if value is None:
        _, classes = keys.raw("architectures")
        named = list(cast("list[Any]", classes)) if isinstance(classes, list) else []
        for one in named:
            found = _BY_CLASS.get(as_text(one).lower())
            if found is not None:
                return found
        if named:
            raise ConfigError(
                f'architectures: "{printable(as_text(named[0]), 60)}" is no architecture this reader knows.'
            )
        return None
    return _family(keys, value)


def _family(keys: Keys, value: str) -> str:
    low = value.lower()
    named = f'{keys.name("model_type")} "{printable(value, 60)}"'
    if low in ENCODERS:
        raise ConfigError(f"{named} is an encoder, not a text generator: it keeps no KV cache.")
    if low in ENCODER_DECODERS:
        raise ConfigError(f"{named} is an encoder-decoder, and only decoders are modelled.")
    if low in NOT_SUPPORTED:
        raise ConfigError(f"{named} cannot be read: {NOT_SUPPORTED[low]}.")
    family = ALIASES.get(low, low)
    if family not in FAMILIES:
        raise ConfigError(f"{named} is no architecture this reader knows.")
    return family


_BY_CLASS = {
    f"{name.replace('_', '').replace('text', '')}{suffix}": family
    for name, family in [*((f, f) for f in FAMILIES), *ALIASES.items()]
    for suffix in ("forcausallm", "forconditionalgeneration", "lmheadmodel")
} | {"gptneoxforcausallm": "gpt_neox", "rwforcausallm": "falcon", "phi3smallforcausallm": ""}


def _shape(keys: Keys, family: str) -> Shape:
    if family not in OWN_WIDTHS:
        keys.refuse_if_on("layers of different shapes are not counted here", "per_layer_config", "block_configs")
    try:
        return FAMILIES[family](keys)
    except ValidationError as error:
        raise ConfigError(_said(error)) from None


def _said(error: ValidationError) -> str:
    return f"The dimensions do not go together: {printable(explain(error), 200)}."


def _first_section(keys: Keys, top: Keys, name: str) -> Keys | None:
    return keys.section(name) or top.section(name)


def _dtype(keys: Keys, top: Keys) -> tuple[Keys, str | None]:
    for section in (keys, top):
        found = section.text("number format", "dtype", "torch_dtype")
        if found is not None:
            return section, found
    return keys, None


def _absent(family: str) -> str:
    # GPT-2's files are older than the key, and its checkpoints hold 32 bits.
    return "fp32" if family == "gpt2" else "bf16"


def _name(data: Mapping[str, Any], keys: Keys, name: str | None, family: str) -> str:
    for said in (name, data.get("_name_or_path"), data.get("name_or_path")):
        if isinstance(said, str) and said.strip():
            return printable(" ".join(said.split()), NAME_CHARS)
    return f"custom {family}"


def _spec(shape: Shape, weights: Stored, name: str, family: str) -> ModelSpec:
    try:
        return ModelSpec(
            slug=CUSTOM,
            name=name,
            family=family,
            d_model=shape.d_model,
            vocab=shape.vocab,
            tied_embeddings=shape.tied,
            norm=shape.norm,
            learned_positions=shape.learned_positions,
            n_outer_norms=shape.n_outer_norms,
            lm_head_bias=shape.lm_head_bias,
            groups=shape.groups,
            max_context=shape.max_context,
            native_format=weights.native_format,
            native_wide=weights.wide,
            source="a config.json given by the user",
        )
    except ValidationError as error:
        raise ConfigError(_said(error)) from None
