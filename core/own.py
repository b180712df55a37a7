"""The reader's own model as tables and sentences: what was read, what was assumed, layers, counts, growth."""

from __future__ import annotations

from core.hf_config import Reading
from core.kv_cache import tokens_kept
from core.model import LatentAttention, LayerGroup, ModelSpec, MoeFfn, Recurrent, SoftmaxAttention
from core.report import Cell, Rowset
from core.stops import context_stops
from core.units import Unit, format_bytes, integer, plural, significant


def read_rows(reading: Reading) -> Rowset:
    """Every figure that was read, with the key it stands under."""
    return ("what", "key in the file", "value"), [(e.field, e.key, e.value) for e in reading.read]


def assumed_rows(reading: Reading) -> Rowset:
    """Every figure that the file leaves open."""
    return ("what", "taken as", "why"), [(a.field, a.value, a.why) for a in reading.assumed]


def attention_words(group: LayerGroup) -> str:
    """What a layer keeps of a token, as arithmetic in values.

    >>> from core.catalog import models
    >>> attention_words(models()["llama-3-8b"].groups[0])
    '2 × 8 KV heads × 128 = 2,048'
    """
    a = group.attention
    if isinstance(a, SoftmaxAttention):
        if a.d_k == a.d_v:
            return f"2 × {plural(a.n_kv, 'KV head')} × {a.d_k} = {integer(a.values_per_token)}"
        return f"{plural(a.n_kv, 'KV head')} × ({a.d_k} + {a.d_v}) = {integer(a.values_per_token)}"
    if isinstance(a, LatentAttention):
        index = f" + {a.index_values_per_token} of the indexer" if a.index_values_per_token else ""
        return f"{a.kv_lora_rank} + {a.d_rope}{index} = {integer(a.values_per_token)}"
    if isinstance(a, Recurrent):
        return f"none: a state of {integer(a.state_bytes)} bytes"
    return "none"


def ffn_words(group: LayerGroup) -> str:
    """The feed-forward block of a layer in words.

    >>> from core.catalog import models
    >>> ffn_words(models()["mixtral-8x7b"].groups[0])
    '2 of 8 experts of width 14,336'
    """
    f = group.ffn
    if f is None:
        return "none"
    if isinstance(f, MoeFfn):
        shared = f", and {integer(f.d_shared)} for every token" if f.d_shared else ""
        return f"{f.n_active} of {plural(f.n_experts, 'expert')} of width {integer(f.d_expert)}{shared}"
    return f"{f.n_matrices} matrices of width {integer(f.d_ff)}"


def group_rows(model: ModelSpec) -> Rowset:
    """Layer groups: how many layers, what each keeps of a token and for how long, its feed-forward block, its size."""
    header = ("layers", "attention", "values kept of a token", "tokens kept", "feed-forward", "parameters")
    rows: list[tuple[Cell, ...]] = []
    for g in model.groups:
        span = g.attention.span if isinstance(g.attention, SoftmaxAttention) else None
        keeps = isinstance(g.attention, SoftmaxAttention | LatentAttention)
        kept = ("all" if span is None else f"at most {integer(span)}") if keeps else "none"
        size = g.count * sum(t.n_params for t in g.tensors(model.d_model))
        rows.append((g.count, g.label, attention_words(g), kept, ffn_words(g), integer(size)))
    return header, rows


def growth_rows(model: ModelSpec, unit: Unit) -> Rowset:
    """Cache of one sequence against context, and what one more token adds there."""
    header = (
        "context (tokens)",
        "cache of one sequence, 16 bits",
        "one more token adds",
        "layers whose window is full",
    )
    curve = model.cache_curve(bits=16)
    rows: list[tuple[Cell, ...]] = []
    for tokens in context_stops(model, min(8192, model.max_context)):
        full = sum(
            g.count
            for g in model.groups
            if isinstance(g.attention, SoftmaxAttention)
            and g.attention.span is not None
            and tokens_kept(context=tokens + 1, span=g.attention.span) <= tokens
        )
        adds = curve.per_token_bytes(tokens)
        rows.append((integer(tokens), format_bytes(curve.bytes(tokens), unit), format_bytes(adds, unit), full))
    return header, rows


def summary(model: ModelSpec) -> list[str]:
    """The model in a few sentences."""
    a = model.softmax
    heads = f", {plural(a.n_q, 'query head')} and {plural(a.n_kv, 'KV head')}" if a else ""
    found = [
        f"{model.name}: {integer(model.n_params)} parameters, "
        f"{plural(model.n_layers, 'layer')}, hidden size {integer(model.d_model)}{heads}, "
        f"stored as {model.native_format}."
    ]
    if model.moe is not None:
        found.append(f"One token uses {integer(model.n_active_params)} of them.")
    per_token = model.kv_bytes_per_token()
    if per_token:
        spans = [s for s, _ in model.cache_curve(bits=16).spans]
        until = f" until the first window is full at {plural(min(spans), 'token')}" if spans else ", at any context"
        found.append(f"One more token adds {format_bytes(per_token, 'GB')} of cache in 16 bits{until}.")
    if model.state_bytes:
        found.append(f"Recurrent layers keep {format_bytes(model.state_bytes, 'GB')} a sequence, whatever its length.")
    return found


def count_sentence(model: ModelSpec, published: int) -> str:
    """Our count beside the one that the Hub reports, and why they may differ.

    >>> from core.catalog import models
    >>> count_sentence(models()["llama-3-8b"], 8_030_261_248)
    'The Hub counts 8,030,261,248 stored values: the same number.'
    """
    if published == model.n_params:
        return f"The Hub counts {integer(published)} stored values: the same number."
    off = published / model.n_params - 1
    said = f"The Hub counts {integer(published)} stored values, {significant(abs(100 * off), 2)} % "
    if off > 0:
        return (
            said + "more: a vision tower, extra prediction layers, a stored copy of a tied table or scales of a "
            "quantized file are not part of the language model counted here."
        )
    return said + "fewer: a quantized file packs several weights into one stored value."
