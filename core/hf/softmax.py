"""The plan of a softmax family: its key names, what the architecture fixes, what an absent key means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.hf.keys import COUNT_MAX, LAYERS_MAX, WIDTH_MAX, Keys
from core.hf.shape import Dims, FfnMaker, Layer, Shape, SpanMaker, check_heads, max_context, tied
from core.hf.spans import no_spans
from core.hf.text import ConfigError
from core.model import CONTEXT_MAX, DenseFfn, SoftmaxAttention
from core.weights import NormKind, QkNorm

Switch = bool | tuple[str, bool]  # fixed by the architecture, or (key, value when the key is absent)


@dataclass(frozen=True, slots=True)
class Plan:
    """A softmax family: key names, what is fixed, and what an absent key means."""

    layers: tuple[str, ...] = ("num_hidden_layers",)
    hidden: tuple[str, ...] = ("hidden_size",)
    heads: tuple[str, ...] = ("num_attention_heads",)
    kv_heads: tuple[str, ...] = ("num_key_value_heads",)
    kv_absent: Literal["heads", "refuse"] = "heads"
    head_dim: tuple[str, ...] = ("head_dim",)
    head_dim_absent: Literal["derive", "refuse"] = "derive"
    class_defaults: dict[str, int] = field(default_factory=dict[str, int])  # published files leave these keys out
    vocab: tuple[str, ...] = ("vocab_size",)
    positions: tuple[str, ...] = ("max_position_embeddings",)
    learned: int | None = None  # rows of the position table beyond the positions; None: no table
    d_ff: tuple[str, ...] = ("intermediate_size",)
    d_ff_times: int | None = None  # d_ff = this x hidden when the key is absent
    matrices: Literal[2, 3] = 3
    norm: NormKind = "rmsnorm"
    n_norms: int = 2
    n_outer_norms: int = 1
    tied: bool = False
    qkv_bias: Switch = False
    o_bias: Switch = False
    ffn_bias: Switch = False
    lm_head_bias: Switch = False
    qk_norm: QkNorm = "none"
    output_gate: bool = False
    sinks: bool = False
    ffn: FfnMaker | None = None
    spans: SpanMaker | None = None
    refuse: tuple[tuple[str, str], ...] = ()  # switches whose sizes are not counted, and what they do


GPT = Plan(
    layers=("n_layer", "num_hidden_layers", "n_layers"),
    hidden=("n_embd", "hidden_size", "d_model"),
    heads=("n_head", "num_attention_heads", "n_heads"),
    kv_heads=("n_head_kv", "num_key_value_heads"),
    head_dim=(),
    positions=("n_positions", "max_position_embeddings", "seq_length"),
    d_ff=("n_inner", "intermediate_size"),
    d_ff_times=4,
    matrices=2,
    norm="layernorm",
    ffn_bias=True,
)
GPT2 = replace(GPT, learned=0, tied=True, qkv_bias=True, o_bias=True)
BIASED = Plan(qkv_bias=("attention_bias", False), o_bias=("attention_bias", False))
LLAMA = replace(BIASED, ffn_bias=("mlp_bias", False))


def _on(k: Keys, switch: Switch, meaning: str) -> bool:
    return switch if isinstance(switch, bool) else k.flag(meaning, switch[0], default=switch[1])


def _dims(k: Keys, plan: Plan) -> Dims:
    layers = _sized(k, plan, "number of layers", plan.layers, LAYERS_MAX)
    d_model = _sized(k, plan, "hidden size", plan.hidden, WIDTH_MAX)
    n_q = _sized(k, plan, "number of query heads", plan.heads, COUNT_MAX)
    n_kv = _kv_heads(k, plan, n_q)
    check_heads(k, n_q, n_kv, k.raw(*plan.heads)[0], k.raw(*plan.kv_heads)[0] if plan.kv_heads else plan.heads[0])
    return Dims(layers, d_model, n_q, n_kv, _head_dim(k, plan, d_model, n_q))


def _sized(k: Keys, plan: Plan, meaning: str, names: tuple[str, ...], high: int) -> int:
    default = _class_default(k, plan, names)
    if default is not None and not k.has(*names):
        k.assume(meaning, f"{default:,}", f"{k.name(names[0])} is absent: the library's own value for this model type")
        return default
    return k.whole(meaning, *names, high=high)


def _class_default(k: Keys, plan: Plan, names: tuple[str, ...]) -> int | None:
    # Only inside a wrapper: there published files leave out what equals the library's own value.
    return plan.class_defaults.get(names[0]) if k.path and names else None


def _kv_heads(k: Keys, plan: Plan, n_q: int) -> int:
    names = plan.kv_heads
    if k.has(*names):
        return k.whole("number of KV heads", *names, high=COUNT_MAX)
    if not names:
        k.assume("number of KV heads", f"{n_q:,}", "this model type has as many as query heads")
        return n_q
    if _class_default(k, plan, names) is not None:
        return _sized(k, plan, "number of KV heads", names, COUNT_MAX)
    if plan.kv_absent == "refuse" and not k.present(*names):
        raise k.missing("number of KV heads", *names)
    state = "null" if k.present(*names) else "absent"
    k.assume("number of KV heads", f"{n_q:,}", f"{k.name(names[0])} is {state}: as many as query heads")
    return n_q


def _head_dim(k: Keys, plan: Plan, d_model: int, n_q: int) -> int:
    if k.has(*plan.head_dim):
        return k.whole("head dim", *plan.head_dim)
    if _class_default(k, plan, plan.head_dim) is not None:
        return _sized(k, plan, "head dim", plan.head_dim, WIDTH_MAX)
    if plan.head_dim_absent == "refuse":
        raise k.missing("head dim", *plan.head_dim)
    if d_model % n_q:
        key = k.name(plan.head_dim[0] if plan.head_dim else plan.heads[0])
        raise ConfigError(f"{key} is missing, and the hidden size {d_model:,} is no multiple of {n_q:,} heads.")
    k.assume("head dim", f"{d_model // n_q:,}", f"hidden size / heads = {d_model:,} / {n_q:,}")
    return d_model // n_q


def _d_ff(k: Keys, plan: Plan, d_model: int) -> int:
    if not k.has(*plan.d_ff) and plan.d_ff_times is not None:
        wide = k.product(plan.d_ff_times * d_model, plan.d_ff_times, plan.hidden[0])
        key = f"{k.name(plan.d_ff[0])} is absent" if plan.d_ff else "what this model type does"
        why = f"{key}: {plan.d_ff_times} × hidden size"
        k.assume("feed-forward width", f"{wide:,}", why)
        return wide
    return k.whole("feed-forward width", *plan.d_ff)


def softmax(k: Keys, plan: Plan) -> Shape:
    """A model of softmax layers by its family's plan."""
    for key, why in plan.refuse:
        k.refuse_if_on(why, key)
    d = _dims(k, plan)
    spans = (plan.spans or no_spans)(k, d.layers)
    limit, table = _positions(k, plan)
    attention = {
        "n_q": d.n_q,
        "n_kv": d.n_kv,
        "d_k": d.head_dim,
        "d_v": d.head_dim,
        "qkv_bias": _on(k, plan.qkv_bias, "bias of Q, K, V"),
        "o_bias": _on(k, plan.o_bias, "bias of the attention output"),
        "qk_norm": plan.qk_norm,
        "output_gate": plan.output_gate,
        "sinks": plan.sinks,
    }
    if plan.ffn is not None:
        ffns = plan.ffn(k, d)
    else:
        bias = _on(k, plan.ffn_bias, "bias of the feed-forward block")
        ffns = [DenseFfn(d_ff=_d_ff(k, plan, d.d_model), n_matrices=plan.matrices, bias=bias)] * d.layers
    made: dict[tuple[int | None, int | None], SoftmaxAttention] = {}
    layers: list[Layer] = []
    for (window, chunk), ffn in zip(spans, ffns, strict=True):
        reach = None if window is not None and window >= limit else window  # above the model's limit: no effect
        if (reach, chunk) not in made:
            made[reach, chunk] = SoftmaxAttention.model_validate(attention | {"window": reach, "chunk": chunk})
        layers.append((made[reach, chunk], ffn, plan.n_norms))
    return Shape(
        d_model=d.d_model,
        vocab=_sized(k, plan, "vocabulary", plan.vocab, WIDTH_MAX),
        tied=tied(k, plan.tied),
        layers=layers,
        max_context=limit,
        norm=plan.norm,
        learned_positions=table,
        n_outer_norms=plan.n_outer_norms,
        lm_head_bias=_on(k, plan.lm_head_bias, "bias of the output head"),
    )


def _positions(k: Keys, plan: Plan) -> tuple[int, int]:
    if plan.learned is None:
        return max_context(k, *plan.positions), 0
    rows = k.whole("positions learned", *plan.positions, high=CONTEXT_MAX)
    return rows, rows + plan.learned


def planned(base: Plan | None = None, **changes: Any) -> Callable[[Keys], Shape]:
    """The reader of a plan, with some of it changed."""
    plan = replace(base or Plan(), **changes)
    return lambda k: softmax(k, plan)
