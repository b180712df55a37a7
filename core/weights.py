"""Parameters tensor by tensor, and the bytes they take in each number format. Formulas 1, 2 and 7."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal, get_args

from core.formats import (
    BF16_BITS,
    BIT_STEPS,
    BYTE_STEPS,
    FP8_BLOCK,
    FP8_BLOCK_SCALE_BYTES,
    FP32_BITS,
    Q4_0_BITS,
    Q4_K_BITS,
    Q5_0_BITS,
    Q5_1_BITS,
    Q5_K_BITS,
    Q6_K_BITS,
    Q8_0_BITS,
    WeightFormat,
    steps,
)

Component = Literal[
    "embedding",
    "positions",
    "attention",
    "dense_ffn",
    "shared_experts",
    "experts",
    "router",
    "norms",
    "lm_head",
]
COMPONENTS: tuple[Component, ...] = get_args(Component)

# linear: multiplied, takes the format; unquantized: multiplied, stays in 16 bits (routers and other small gates);
# table: looked up; vector: norms, biases, convolution taps, never multiplied as a matrix.
Kind = Literal["linear", "unquantized", "table", "vector"]
NormKind = Literal["rmsnorm", "layernorm", "layernorm_no_bias"]
QkNorm = Literal["none", "per_head", "full_width"]
RouterBias = Literal["none", "linear", "correction"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """`copies` equal matrices of `rows` outputs and `cols` inputs; `experts` is (E, k) when only k of E are active."""

    name: str
    component: Component
    kind: Kind
    rows: int
    cols: int
    copies: int = 1
    experts: tuple[int, int] | None = None

    @property
    def n_params(self) -> int:
        """Parameters in all copies."""
        return self.rows * self.cols * self.copies


def linear(name: str, component: Component, rows: int, cols: int, *, bias: bool = False) -> list[Tensor]:
    """A weight matrix, and its bias where the model has one.

    >>> sum(t.n_params for t in linear("attn_q", "attention", 4096, 4096, bias=True))
    16781312
    """
    made = [Tensor(name, component, "linear", rows, cols)]
    if bias:
        made.append(Tensor(f"{name}_bias", component, "vector", rows, 1))
    return made


def softmax_attention_tensors(
    *,
    d_model: int,
    n_q: int,
    n_kv: int,
    d_k: int,
    d_v: int,
    qkv_bias: bool = False,
    o_bias: bool = False,
    qk_norm: QkNorm = "none",
    output_gate: bool = False,
    v_from_k: bool = False,
    sinks: bool = False,
) -> list[Tensor]:
    """One MHA, GQA or MQA layer: d x n_q x d_k (twice with an output gate), d x n_kv x (d_k + d_v), n_q x d_v x d.

    `qk_norm` adds a weight per head dim or over the full width, `sinks` one logit per query head; with `v_from_k`
    the layer has no V projection. Source: Llama 3 8B's 1,342,177,280 attention parameters are 32 such layers.

    >>> sum(t.n_params for t in softmax_attention_tensors(d_model=4096, n_q=32, n_kv=8, d_k=128, d_v=128)) * 32
    1342177280
    """
    made = linear("attn_q", "attention", n_q * d_k * (2 if output_gate else 1), d_model, bias=qkv_bias)
    made += linear("attn_k", "attention", n_kv * d_k, d_model, bias=qkv_bias)
    if not v_from_k:
        made += linear("attn_v", "attention", n_kv * d_v, d_model, bias=qkv_bias)
    made += linear("attn_o", "attention", d_model, n_q * d_v, bias=o_bias)
    if qk_norm != "none":
        heads = (n_q, n_kv) if qk_norm == "full_width" else (1, 1)
        made.append(Tensor("attn_qk_norm", "attention", "vector", d_k * sum(heads), 1))
    if sinks:
        made.append(Tensor("attn_sinks", "attention", "vector", n_q, 1))
    return made


def latent_attention_tensors(
    *, d_model: int, n_q: int, q_lora_rank: int | None, kv_lora_rank: int, d_nope: int, d_rope: int, d_v: int
) -> list[Tensor]:
    """One MLA layer: low-rank query (or a full one), latent and rope key, up-projection, output, two norms.

    Source: DeepSeek-V2 (arXiv:2405.04434) section 2.1; DeepSeek-V3's 11,413,547,008 are 61 such layers.

    >>> sum(t.n_params for t in latent_attention_tensors(d_model=7168, n_q=128, q_lora_rank=1536, kv_lora_rank=512,
    ...     d_nope=128, d_rope=64, d_v=128)) * 61
    11413547008
    """
    if q_lora_rank is None:
        made = linear("attn_q", "attention", n_q * (d_nope + d_rope), d_model)
    else:
        made = linear("attn_q_a", "attention", q_lora_rank, d_model)
        made.append(Tensor("attn_q_a_norm", "attention", "vector", q_lora_rank, 1))
        made += linear("attn_q_b", "attention", n_q * (d_nope + d_rope), q_lora_rank)
    made += linear("attn_kv_a", "attention", kv_lora_rank + d_rope, d_model)
    made.append(Tensor("attn_kv_a_norm", "attention", "vector", kv_lora_rank, 1))
    made += linear("attn_kv_b", "attention", n_q * (d_nope + d_v), kv_lora_rank)
    made += linear("attn_o", "attention", d_model, n_q * d_v)
    return made


def indexer_tensors(*, d_model: int, q_lora_rank: int, n_heads: int, head_dim: int) -> list[Tensor]:
    """The sparse-attention indexer of a layer: queries from the low-rank query, one key, a weight per head, a norm.

    Source: DeepSeek-V3.2's checkpoint, 13,959,424 parameters a layer more than DeepSeek-V3.

    >>> sum(t.n_params for t in indexer_tensors(d_model=7168, q_lora_rank=1536, n_heads=64, head_dim=128))
    13959424
    """
    return [
        *linear("indexer_q", "attention", n_heads * head_dim, q_lora_rank),
        *linear("indexer_k", "attention", head_dim, d_model),
        Tensor("indexer_weights", "attention", "unquantized", n_heads, d_model),
        Tensor("indexer_k_norm", "attention", "vector", 2 * head_dim, 1),
    ]


def delta_net_tensors(
    *, d_model: int, n_k_heads: int, n_v_heads: int, d_k: int, d_v: int, conv_kernel: int
) -> list[Tensor]:
    """One gated DeltaNet layer: q, k, v and gate projections, two scalars per value head, convolution, norm, output.

    Source: Qwen3-Next's checkpoint, 33,718,464 parameters a layer.

    >>> sum(t.n_params for t in delta_net_tensors(d_model=2048, n_k_heads=16, n_v_heads=32, d_k=128, d_v=128,
    ...     conv_kernel=4))
    33718464
    """
    keys, values = n_k_heads * d_k, n_v_heads * d_v
    return [
        *linear("delta_qkvz", "attention", 2 * keys + 2 * values, d_model),
        *linear("delta_ba", "attention", 2 * n_v_heads, d_model),
        Tensor("delta_conv", "attention", "vector", 2 * keys + values, conv_kernel),
        Tensor("delta_decay", "attention", "vector", 2 * n_v_heads, 1),
        Tensor("delta_norm", "attention", "vector", d_v, 1),
        *linear("delta_out", "attention", d_model, values),
    ]


def mamba_tensors(
    *,
    d_model: int,
    d_inner: int,
    d_state: int,
    conv_kernel: int,
    dt_rank: int,
    bias: bool = False,
    conv_bias: bool = True,
    inner_norms: bool = False,
) -> list[Tensor]:
    """One Mamba layer: input and gate projection, convolution, projections to dt, B and C, A and D, output.

    Source: Gu & Dao (arXiv:2312.00752) section 3; mamba-130m's 129,135,360 parameters hold 24 such layers.
    With `inner_norms` (Jamba) dt, B and C pass a norm each.

    >>> sum(t.n_params for t in mamba_tensors(d_model=768, d_inner=1536, d_state=16, conv_kernel=4, dt_rank=48))
    3770880
    """
    made = linear("mamba_in", "attention", 2 * d_inner, d_model, bias=bias)
    made.append(Tensor("mamba_conv", "attention", "vector", d_inner, conv_kernel))
    if conv_bias:
        made.append(Tensor("mamba_conv_bias", "attention", "vector", d_inner, 1))
    made += linear("mamba_x", "attention", dt_rank + 2 * d_state, d_inner)
    made += linear("mamba_dt", "attention", d_inner, dt_rank, bias=True)
    made.append(Tensor("mamba_a_d", "attention", "vector", d_inner, d_state + 1))
    if inner_norms:
        made.append(Tensor("mamba_norms", "attention", "vector", dt_rank + 2 * d_state, 1))
    return made + linear("mamba_out", "attention", d_model, d_inner, bias=bias)


def mamba2_tensors(
    *,
    d_model: int,
    n_heads: int,
    head_dim: int,
    n_groups: int,
    d_state: int,
    conv_kernel: int,
    bias: bool = False,
    conv_bias: bool = True,
) -> list[Tensor]:
    """One Mamba-2 layer: one projection to gate, x, B, C and dt, convolution, A, D and dt's bias, gated norm, output.

    Source: Dao & Gu (arXiv:2405.21060) section 7; mamba2-130m's 128,989,632 parameters hold 24 such layers.

    >>> sum(t.n_params for t in mamba2_tensors(d_model=768, n_heads=24, head_dim=64, n_groups=1, d_state=128,
    ...     conv_kernel=4))
    3764552
    """
    d_inner = n_heads * head_dim
    channels = d_inner + 2 * n_groups * d_state
    made = linear("mamba_in", "attention", d_inner + channels + n_heads, d_model, bias=bias)
    made.append(Tensor("mamba_conv", "attention", "vector", channels, conv_kernel))
    if conv_bias:
        made.append(Tensor("mamba_conv_bias", "attention", "vector", channels, 1))
    made.append(Tensor("mamba_a_d_dt", "attention", "vector", 3 * n_heads, 1))
    made.append(Tensor("mamba_norm", "attention", "vector", d_inner, 1))
    return made + linear("mamba_out", "attention", d_model, d_inner, bias=bias)


def short_conv_tensors(*, d_model: int, channels: int, conv_kernel: int, bias: bool = False) -> list[Tensor]:
    """One gated short convolution: a projection to two gates and x, the convolution, the output projection.

    >>> sum(t.n_params for t in short_conv_tensors(d_model=8, channels=8, conv_kernel=3))
    280
    """
    made = linear("conv_in", "attention", 3 * channels, d_model, bias=bias)
    made.append(Tensor("conv", "attention", "vector", channels, conv_kernel))
    if bias:
        made.append(Tensor("conv_bias", "attention", "vector", channels, 1))
    return made + linear("conv_out", "attention", d_model, channels, bias=bias)


def ffn_tensors(
    *, d_model: int, d_ff: int, n_matrices: int, bias: bool = False, component: Component = "dense_ffn"
) -> list[Tensor]:
    """A feed-forward block: up (and gate when it has three matrices), then down.

    >>> sum(t.n_params for t in ffn_tensors(d_model=4096, d_ff=14336, n_matrices=3)) * 32
    5637144576
    """
    made: list[Tensor] = []
    for name in ("ffn_gate", "ffn_up")[3 - n_matrices :]:
        made += linear(name, component, d_ff, d_model, bias=bias)
    return made + linear("ffn_down", component, d_model, d_ff, bias=bias)


def moe_tensors(
    *,
    d_model: int,
    n_experts: int,
    n_active: int,
    d_expert: int,
    n_matrices: int,
    expert_bias: bool = False,
    router_bias: RouterBias = "none",
    router_extra: int = 0,
    d_shared: int = 0,
    shared_gate: bool = False,
) -> list[Tensor]:
    """A mixture-of-experts block: E experts of which k are active, the router, and what every token passes.

    Source: Mixtral 8x7B's 45,098,205,184 are 32 such layers.

    >>> sum(t.n_params for t in moe_tensors(d_model=4096, n_experts=8, n_active=2, d_expert=14336, n_matrices=3)) * 32
    45098205184
    """
    expert = ffn_tensors(d_model=d_model, d_ff=d_expert, n_matrices=n_matrices, bias=expert_bias, component="experts")
    made = [replace(t, copies=n_experts, experts=(n_experts, n_active)) for t in expert]
    made.append(Tensor("router", "router", "unquantized", n_experts, d_model))
    if router_bias != "none":
        made.append(Tensor(f"router_bias_{router_bias}", "router", "vector", n_experts, 1))
    if router_extra:
        made.append(Tensor("router_scales", "router", "vector", router_extra, 1))
    if d_shared:
        made += ffn_tensors(d_model=d_model, d_ff=d_shared, n_matrices=n_matrices, component="shared_experts")
    if shared_gate:
        made.append(Tensor("shared_gate", "router", "unquantized", 1, d_model))
    return made


def norm_values(*, kind: NormKind, d_model: int) -> int:
    """Parameters of one norm: d, or 2 d when it has a bias too.

    >>> norm_values(kind="layernorm", d_model=768)
    1536
    """
    return 2 * d_model if kind == "layernorm" else d_model


def is_more_bits_layer(layer: int, n_layers: int) -> bool:
    """Whether llama.cpp's Q4_K_M gives this layer's V and down projections six bits.

    Source: `use_more_bits` in llama.cpp's llama-quant.cpp: the first and last eighth and every third between.

    >>> sum(is_more_bits_layer(i, 32) for i in range(32))
    16
    """
    eighth = n_layers // 8
    return layer < eighth or layer >= 7 * n_layers // 8 or (layer - eighth) % 3 == 2


@cache
def _more_bits_layers(n_layers: int) -> int:
    return sum(is_more_bits_layer(i, n_layers) for i in range(n_layers))


def _k_quant(bits: float, cols: int) -> float:
    """llama.cpp's fallbacks when a row is no multiple of a K-quant's 256 values, or of 32."""
    if cols % 32:
        return BF16_BITS
    if cols % 256 and bits in (Q4_K_BITS, Q5_K_BITS, Q6_K_BITS):
        return {Q4_K_BITS: Q5_0_BITS, Q5_K_BITS: Q5_1_BITS, Q6_K_BITS: Q8_0_BITS}[bits]
    return bits


def _llama_cpp_bits(tensor: Tensor, fmt: WeightFormat, shape: ModelShape) -> float | Fraction:
    """Average bits per parameter of one tensor in a llama.cpp file.

    Q4_K_M gives V and down projections six bits in some layers; where a model has unequal layers, that share is
    spread evenly over them, which is exact for models of one layer group.
    """
    if tensor.kind in ("vector", "unquantized"):
        return FP32_BITS
    is_head = tensor.component == "lm_head" or (tensor.component == "embedding" and shape.tied)
    if fmt.slug == "q8_0":
        return _k_quant(Q8_0_BITS, tensor.cols)
    if is_head:
        return _k_quant(Q6_K_BITS, tensor.cols)
    if shape.n_experts == 8 and tensor.name in ("attn_k", "attn_v"):  # llama.cpp's own rule for Mixtral
        return _k_quant(Q8_0_BITS, tensor.cols)
    if fmt.slug == "q4_0":
        return _k_quant(Q4_0_BITS, tensor.cols)
    base = Q4_K_BITS
    is_v = tensor.name in ("attn_v", "attn_kv_b")
    if shape.n_experts == 8 and tensor.name == "attn_o":
        base = Q5_K_BITS
    if is_v and shape.n_layers == 80 and shape.group_size == 8:  # llama.cpp's own rule for the 70B shape
        base = Q5_K_BITS
    if is_v or tensor.name == "ffn_down":
        n_more = _more_bits_layers(shape.n_layers)
        more, less = _k_quant(Q6_K_BITS, tensor.cols), _k_quant(base, tensor.cols)
        share = Fraction(n_more, shape.n_layers)
        return share * Fraction(more) + (1 - share) * Fraction(less)
    return _k_quant(base, tensor.cols)


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What a format needs to know of the whole model."""

    n_layers: int
    tied: bool
    n_experts: int = 0
    group_size: float = 1


def tensor_bits(tensor: Tensor, fmt: WeightFormat, shape: ModelShape) -> float | Fraction:
    """Bits per parameter of one tensor in a format, block scales not included. Formula 2.

    >>> from core.formats import WEIGHT_FORMATS
    >>> head = Tensor("lm_head", "lm_head", "table", 128256, 4096)
    >>> tensor_bits(head, WEIGHT_FORMATS["int4"], ModelShape(32, tied=False))
    16.0
    """
    if fmt.scheme == "plain":
        return fmt.linear_bits
    if fmt.scheme == "llama_cpp":
        return _llama_cpp_bits(tensor, fmt, shape)
    if fmt.scheme == "fp8_block" and tensor.name == "router_bias_correction":
        return FP32_BITS  # as DeepSeek-V3 and Kimi K2 store it
    if fmt.scheme == "experts_only":
        return fmt.linear_bits if tensor.component == "experts" and tensor.kind == "linear" else BF16_BITS
    takes = tensor.kind == "linear" and tensor.component != "lm_head" and tensor.component not in fmt.wide
    return fmt.linear_bits if takes else BF16_BITS


def tensor_bytes(tensor: Tensor, fmt: WeightFormat, shape: ModelShape) -> Fraction:
    """Bytes of one tensor with its scales, exactly: parameters x bits / 8, plus one fp32 per FP8 block.

    Source: AWQ's 11008 x 4096 layer in int4, group 128, takes 23,425,024 bytes.

    >>> from core.formats import WEIGHT_FORMATS
    >>> layer = Tensor("ffn_up", "dense_ffn", "linear", 11008, 4096)
    >>> int(tensor_bytes(layer, WEIGHT_FORMATS["int4"], ModelShape(32, tied=False)))
    23425024
    """
    return Fraction(_scaled_bytes(tensor, fmt, shape), _scale(shape))


def _scale(shape: ModelShape) -> int:
    """What makes all byte counts of a model whole: widths go by 1/32 bit, some are the mean over all layers."""
    return BYTE_STEPS * shape.n_layers


def _scaled_bytes(tensor: Tensor, fmt: WeightFormat, shape: ModelShape) -> int:
    """Bytes of one tensor x `_scale`."""
    bits = tensor_bits(tensor, fmt, shape)
    if isinstance(bits, Fraction):
        value, rest = divmod(tensor.n_params * bits.numerator * _scale(shape), 8 * bits.denominator)
        if rest:
            raise ValueError(f"bits must be a multiple of 1/{BIT_STEPS} on the mean of all layers, got {bits}")
    else:
        value = tensor.n_params * steps(bits) * shape.n_layers
    if fmt.scheme == "fp8_block" and bits == fmt.linear_bits:
        blocks = -(-tensor.rows // FP8_BLOCK) * -(-tensor.cols // FP8_BLOCK)
        value += blocks * tensor.copies * FP8_BLOCK_SCALE_BYTES * _scale(shape)
    return value


@dataclass(frozen=True, slots=True)
class ExpertBytes:
    """Bytes of all routed experts of the layers that share (E, k)."""

    n_experts: int
    n_active: int
    stored_bytes: float

    def touched(self, tokens: float) -> float:
        """Expected distinct experts a step of `tokens` tokens touches in one layer; see `expected_experts`."""
        return expected_experts(n_experts=self.n_experts, n_active=self.n_active, tokens=tokens)


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Weight bytes by component in one format, split into what every step reads and what routing decides."""

    by_component: tuple[tuple[Component, int], ...]
    every_step_bytes: int  # all but routed experts, every weight read
    lookup_bytes: int  # untied input embedding and learned positions: looked up, not streamed
    matrix_bytes: int  # of every_step_bytes, what is multiplied
    least_expert_bytes: int  # k experts in each MoE layer
    experts: tuple[ExpertBytes, ...]

    @property
    def stored_bytes(self) -> int:
        """All weights."""
        return sum(n for _, n in self.by_component)

    def expert_bytes(self, tokens: float | None = None) -> float:
        """Expert bytes a step reads: with `tokens` None the least (k a layer), else those expected for them."""
        if tokens is None:
            return self.least_expert_bytes
        total: float = 0  # no sum(): from Python 3.12 on it adds floats in another way than it adds columns
        for g in self.experts:
            total += g.stored_bytes * g.touched(tokens) / g.n_experts
        return total

    def read_bytes(self, *, skip_embedding: bool, tokens: float | None = None) -> float:
        """Weight bytes one decode step reads. Formulas 6 and 7."""
        return self.every_step_bytes - (self.lookup_bytes if skip_embedding else 0) + self.expert_bytes(tokens)


def weight_bytes(tensors: Iterable[Tensor], fmt: WeightFormat, shape: ModelShape) -> WeightBytes:
    """Sum tensors into bytes by component, each rounded up to a whole byte."""
    components: dict[Component, int] = {}
    lookup = matrices = shared = 0
    experts: dict[tuple[int, int], int] = {}
    for tensor in tensors:
        value, component = _scaled_bytes(tensor, fmt, shape), tensor.component
        components[component] = components.get(component, 0) + value
        if tensor.experts:
            experts[tensor.experts] = experts.get(tensor.experts, 0) + value
        else:
            shared += value
            if tensor.kind in ("linear", "unquantized") or (component == "embedding" and shape.tied):
                matrices += value
        if component == "positions" or (component == "embedding" and not shape.tied):
            lookup += value
    scale = _scale(shape)
    least = sum((Fraction(stored * k, e) for (e, k), stored in experts.items()), Fraction(0))
    return WeightBytes(
        by_component=tuple((c, -(-components[c] // scale)) for c in COMPONENTS if c in components),
        every_step_bytes=-(-shared // scale),
        lookup_bytes=lookup // scale,
        matrix_bytes=-(-matrices // scale),
        least_expert_bytes=math.ceil(least / scale),
        experts=tuple(ExpertBytes(e, k, stored / scale) for (e, k), stored in experts.items()),
    )


def expected_experts(*, n_experts: int, n_active: int, tokens: float) -> float:
    """Expected distinct experts that `tokens` tokens touch in one layer: E (1 - (1 - k/E)^tokens). Formula 7.

    An estimate: it assumes uniform, independent routing, and measured systems have beaten it. At least k experts
    are touched, at most min(E, k x tokens).

    >>> [round(expected_experts(n_experts=8, n_active=2, tokens=b), 2) for b in (1, 4, 32)]
    [2.0, 5.47, 8.0]
    """
    return n_experts * -_expm1(tokens * math.log1p(-n_active / n_experts)) if n_active < n_experts else n_experts


def _expm1(value: Any) -> Any:
    """math.expm1 of a number or, one by one, of a column (core.grid): numpy's own differs in the last digit."""
    if isinstance(value, float):
        return math.expm1(value)
    found = value.copy()
    found[:] = [math.expm1(one) for one in value.tolist()]
    return found


def matmul_params(tensors: Iterable[Tensor], *, tied: bool) -> tuple[int, int]:
    """Parameters one token multiplies by: (all but the output head, the output head). Formula 8.

    Projections, router, active experts; no norms, biases or lookups; a tied table counts once, as the head.
    """
    body = head = 0
    for tensor in tensors:
        if tensor.component == "lm_head" or (tensor.component == "embedding" and tied):
            head += tensor.n_params
        elif tensor.kind in ("linear", "unquantized"):
            e, k = tensor.experts or (1, 1)
            body += tensor.n_params * k // e
    return body, head
