"""`ModelSpec`: a model as a list of layer groups, each with one attention kind and one FFN kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from core import kv_cache, weights
from core.formats import NativeFormatName
from core.kv_cache import CacheCurve, CacheTerm
from core.weights import ModelShape, NormKind, QkNorm, RouterBias, Tensor

# Sizes past these are typing errors, and the limits keep every product far inside a float.
Width = Annotated[int, Field(gt=0, le=2**24)]
Count = Annotated[int, Field(gt=0, le=2**20)]
CONTEXT_MAX = 2**24  # tokens; no slider and no link goes further
BF16_BYTES = 2
FP32_BYTES = 4


class Frozen(BaseModel):
    """Immutable, and strict about unknown keys, so that a typing error in a record is found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A validated copy; pydantic's own would not validate and would keep cached properties of the original."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate(fields | dict(update or {}))


class SoftmaxAttention(Frozen):
    """MHA, GQA or MQA; `window` keeps the last tokens, `chunk` the present chunk, neither keeps all."""

    kind: Literal["softmax"] = "softmax"
    n_q: Count
    n_kv: Count
    d_k: Width
    d_v: Width
    window: PositiveInt | None = None
    chunk: PositiveInt | None = None
    qkv_bias: bool = False
    o_bias: bool = False
    qk_norm: QkNorm = "none"
    output_gate: bool = False
    v_from_k: bool = False
    sinks: bool = False

    @model_validator(mode="after")
    def _heads_divide(self) -> SoftmaxAttention:
        if self.n_q % self.n_kv:
            raise ValueError(f"n_kv must divide n_q, got n_kv={self.n_kv} and n_q={self.n_q}")
        if self.window and self.chunk:
            raise ValueError("window and chunk exclude each other")
        return self

    @property
    def span(self) -> int | None:
        """Most tokens the layer keeps; None when it keeps all."""
        return self.window or self.chunk

    def tensors(self, d_model: int) -> list[Tensor]:
        """The layer's attention weights."""
        return weights.softmax_attention_tensors(
            d_model=d_model,
            n_q=self.n_q,
            n_kv=self.n_kv,
            d_k=self.d_k,
            d_v=self.d_v,
            qkv_bias=self.qkv_bias,
            o_bias=self.o_bias,
            qk_norm=self.qk_norm,
            output_gate=self.output_gate,
            v_from_k=self.v_from_k,
            sinks=self.sinks,
        )

    @property
    def values_per_token(self) -> int:
        """Cached values per token."""
        return kv_cache.softmax_values_per_token(n_kv=self.n_kv, d_k=self.d_k, d_v=self.d_v)


class Indexer(Frozen):
    """A sparse-attention indexer: it keeps one key per token and lets attention read only `top_k` tokens.

    A `shared` indexer reuses another layer's selection: no weights and no key of its own.
    """

    n_heads: Count
    head_dim: Width
    top_k: PositiveInt
    shared: bool = False


class LatentAttention(Frozen):
    """MLA: one latent and one rope key per token, shared by all heads."""

    kind: Literal["mla"] = "mla"
    n_q: Count
    q_lora_rank: Width | None = None
    kv_lora_rank: Width
    d_nope: Width
    d_rope: Width
    d_v: Width
    indexer: Indexer | None = None

    @model_validator(mode="after")
    def _indexer_needs_low_rank_query(self) -> LatentAttention:
        if self.indexer and not self.indexer.shared and self.q_lora_rank is None:
            raise ValueError("indexer needs q_lora_rank")
        return self

    def tensors(self, d_model: int) -> list[Tensor]:
        """The layer's attention weights."""
        made = weights.latent_attention_tensors(
            d_model=d_model,
            n_q=self.n_q,
            q_lora_rank=self.q_lora_rank,
            kv_lora_rank=self.kv_lora_rank,
            d_nope=self.d_nope,
            d_rope=self.d_rope,
            d_v=self.d_v,
        )
        if self.indexer and not self.indexer.shared:
            made += weights.indexer_tensors(
                d_model=d_model,
                q_lora_rank=self.q_lora_rank or 0,
                n_heads=self.indexer.n_heads,
                head_dim=self.indexer.head_dim,
            )
        return made

    @property
    def latent_values_per_token(self) -> int:
        """Cached latent and rope values per token."""
        return kv_cache.latent_values_per_token(kv_lora_rank=self.kv_lora_rank, d_rope=self.d_rope)

    @property
    def index_values_per_token(self) -> int:
        """Cached indexer values per token."""
        return self.indexer.head_dim if self.indexer and not self.indexer.shared else 0

    @property
    def values_per_token(self) -> int:
        """Cached values per token."""
        return self.latent_values_per_token + self.index_values_per_token


class LinearAttention(Frozen):
    """Gated DeltaNet: a constant recurrent state in fp32 and a convolution tail in 16 bits, no growing cache."""

    kind: Literal["linear"] = "linear"
    n_k_heads: Count
    n_v_heads: Count
    d_k: Width
    d_v: Width
    conv_kernel: PositiveInt

    def tensors(self, d_model: int) -> list[Tensor]:
        """The layer's token-mixing weights."""
        return weights.delta_net_tensors(
            d_model=d_model,
            n_k_heads=self.n_k_heads,
            n_v_heads=self.n_v_heads,
            d_k=self.d_k,
            d_v=self.d_v,
            conv_kernel=self.conv_kernel,
        )

    @property
    def state_bytes(self) -> int:
        """Constant state of one sequence, in its own dtypes whatever the cache format."""
        recurrent = kv_cache.delta_net_state_values(n_v_heads=self.n_v_heads, d_k=self.d_k, d_v=self.d_v)
        channels = 2 * self.n_k_heads * self.d_k + self.n_v_heads * self.d_v
        conv = kv_cache.conv_state_values(channels=channels, kernel=self.conv_kernel)
        return recurrent * FP32_BYTES + conv * BF16_BYTES


class MambaMixer(Frozen):
    """Mamba (selective SSM): a constant state per channel in fp32 and a convolution tail in 16 bits."""

    kind: Literal["mamba"] = "mamba"
    d_inner: Width
    d_state: Width
    conv_kernel: PositiveInt
    dt_rank: Width
    bias: bool = False
    conv_bias: bool = True
    inner_norms: bool = False

    def tensors(self, d_model: int) -> list[Tensor]:
        """The layer's token-mixing weights."""
        return weights.mamba_tensors(
            d_model=d_model,
            d_inner=self.d_inner,
            d_state=self.d_state,
            conv_kernel=self.conv_kernel,
            dt_rank=self.dt_rank,
            bias=self.bias,
            conv_bias=self.conv_bias,
            inner_norms=self.inner_norms,
        )

    @property
    def state_bytes(self) -> int:
        """Constant state of one sequence."""
        conv = kv_cache.conv_state_values(channels=self.d_inner, kernel=self.conv_kernel)
        return self.d_inner * self.d_state * FP32_BYTES + conv * BF16_BYTES


class Mamba2Mixer(Frozen):
    """Mamba-2 (SSD): one head_dim x d_state matrix per head in fp32 and a convolution tail in 16 bits."""

    kind: Literal["mamba2"] = "mamba2"
    n_heads: Count
    head_dim: Width
    n_groups: Count
    d_state: Width
    conv_kernel: PositiveInt
    bias: bool = False
    conv_bias: bool = True

    @property
    def channels(self) -> int:
        """Channels that pass the convolution: x, B and C."""
        return self.n_heads * self.head_dim + 2 * self.n_groups * self.d_state

    def tensors(self, d_model: int) -> list[Tensor]:
        """The layer's token-mixing weights."""
        return weights.mamba2_tensors(
            d_model=d_model,
            n_heads=self.n_heads,
            head_dim=self.head_dim,
            n_groups=self.n_groups,
            d_state=self.d_state,
            conv_kernel=self.conv_kernel,
            bias=self.bias,
            conv_bias=self.conv_bias,
        )

    @property
    def state_bytes(self) -> int:
        """Constant state of one sequence."""
        conv = kv_cache.conv_state_values(channels=self.channels, kernel=self.conv_kernel)
        return self.n_heads * self.head_dim * self.d_state * FP32_BYTES + conv * BF16_BYTES


class ShortConv(Frozen):
    """A gated short convolution (LFM2): its tail is all that it keeps."""

    kind: Literal["conv"] = "conv"
    channels: Width
    conv_kernel: PositiveInt
    bias: bool = False

    def tensors(self, d_model: int) -> list[Tensor]:
        """The layer's token-mixing weights."""
        return weights.short_conv_tensors(
            d_model=d_model, channels=self.channels, conv_kernel=self.conv_kernel, bias=self.bias
        )

    @property
    def state_bytes(self) -> int:
        """Constant state of one sequence."""
        return kv_cache.conv_state_values(channels=self.channels, kernel=self.conv_kernel) * BF16_BYTES


Recurrent = LinearAttention | MambaMixer | Mamba2Mixer | ShortConv
RECURRENT_LABELS = {"linear": "linear (gated DeltaNet)", "mamba": "Mamba", "mamba2": "Mamba-2", "conv": "short conv"}
Attention = Annotated[SoftmaxAttention | LatentAttention | Recurrent, Field(discriminator="kind")]


class DenseFfn(Frozen):
    """A dense feed-forward block of two or three matrices."""

    kind: Literal["dense"] = "dense"
    d_ff: Width
    n_matrices: Literal[2, 3] = 3
    bias: bool = False

    def tensors(self, d_model: int) -> list[Tensor]:
        """The block's weights."""
        return weights.ffn_tensors(d_model=d_model, d_ff=self.d_ff, n_matrices=self.n_matrices, bias=self.bias)


class MoeFfn(Frozen):
    """Routed experts, and the shared expert of total width `d_shared` that every token passes."""

    kind: Literal["moe"] = "moe"
    n_experts: Count
    n_active: Count
    d_expert: Width
    n_matrices: Literal[2, 3] = 3
    expert_bias: bool = False
    router_bias: RouterBias = "none"
    router_extra: int = Field(default=0, ge=0)
    d_shared: int = Field(default=0, ge=0, le=2**24)
    shared_gate: bool = False

    @model_validator(mode="after")
    def _active_at_most_all(self) -> MoeFfn:
        if self.n_active > self.n_experts:
            raise ValueError(f"n_active must be at most n_experts={self.n_experts}, got {self.n_active}")
        return self

    def tensors(self, d_model: int) -> list[Tensor]:
        """The block's weights."""
        return weights.moe_tensors(
            d_model=d_model,
            n_experts=self.n_experts,
            n_active=self.n_active,
            d_expert=self.d_expert,
            n_matrices=self.n_matrices,
            expert_bias=self.expert_bias,
            router_bias=self.router_bias,
            router_extra=self.router_extra,
            d_shared=self.d_shared,
            shared_gate=self.shared_gate,
        )


Ffn = Annotated[DenseFfn | MoeFfn, Field(discriminator="kind")]


class LayerGroup(Frozen):
    """`count` identical layers; some hybrids have layers of a mixer alone or a feed-forward block alone."""

    count: Count
    attention: Attention | None
    ffn: Ffn | None
    n_norms: int = Field(default=2, ge=0, le=16)

    @model_validator(mode="after")
    def _not_empty(self) -> LayerGroup:
        if self.attention is None and self.ffn is None:
            raise ValueError("attention or ffn must be given")
        return self

    def tensors(self, d_model: int) -> list[Tensor]:
        """The weights of one layer, norms left out."""
        return [t for part in (self.attention, self.ffn) if part is not None for t in part.tensors(d_model)]

    @property
    def label(self) -> str:
        """What kind of layer this is, in the field's words."""
        a = self.attention
        if a is None:
            return "feed-forward alone"
        if isinstance(a, Recurrent):
            return RECURRENT_LABELS[a.kind]
        if isinstance(a, LatentAttention):
            return "MLA" if a.indexer is None else "MLA, sparse reads"
        name = "MQA" if a.n_kv == 1 < a.n_q else "MHA" if a.n_kv == a.n_q else "GQA"
        if a.window:
            return f"{name}, window {a.window:,}"
        return f"{name}, chunks of {a.chunk:,}" if a.chunk else name


def cache_curve(
    groups: tuple[LayerGroup, ...], *, bits: float, n_copies: int = 1, read: bool = False, with_state: bool = True
) -> CacheCurve:
    """Cache bytes that some layer groups keep for one sequence, against context. Formulas 3, 6 and 15.

    `n_copies` is the number of GPUs that split the layers' heads (tensor parallelism): a layer with fewer KV
    heads than that repeats them, and MLA's latent is on every GPU. With `read`, what a decode step reads:
    indexer models read `top_k` latents and all indexer keys.
    """
    terms: list[CacheTerm] = []
    state = 0
    for group in groups:
        a = group.attention
        if isinstance(a, SoftmaxAttention):
            copies = max(n_copies, a.n_kv)
            terms.append(CacheTerm(group.count * a.values_per_token, a.span, copies, a.n_kv))
        elif isinstance(a, LatentAttention):
            span = a.indexer.top_k if read and a.indexer else None
            terms.append(CacheTerm(group.count * a.latent_values_per_token, span, n_copies))
            if a.index_values_per_token:
                terms.append(CacheTerm(group.count * a.index_values_per_token, None, n_copies))
        elif a is not None and with_state:
            state += group.count * a.state_bytes
    return CacheCurve(tuple(terms), bits=bits, state_bytes=state)


class ModelSpec(Frozen):
    """A decoder-only language model: widths, layer groups, and where the figures come from."""

    slug: str
    name: str
    family: str
    d_model: Width
    vocab: Width
    tied_embeddings: bool
    norm: NormKind = "rmsnorm"
    learned_positions: int = Field(default=0, ge=0, le=2**24)
    n_outer_norms: int = Field(default=1, ge=0, le=4)  # beyond the layers': the final one, and BLOOM's of the table
    lm_head_bias: bool = False
    groups: tuple[LayerGroup, ...] = Field(min_length=1)
    max_context: int = Field(gt=0, le=CONTEXT_MAX)
    native_format: NativeFormatName = "bf16"
    native_wide: tuple[weights.Component, ...] = ()  # components that the native format leaves in 16 bits
    source: str
    hf_id: str | None = None
    released: str | None = None
    is_hypothetical: bool = False

    official_params: PositiveInt | None = None
    official_params_kind: str | None = None
    official_params_scope: str | None = None
    reconcile: tuple[tuple[str, int], ...] = ()
    official_active_label: str | None = None
    source_params: str | None = None
    confidence: str | None = None
    recalled_fields: tuple[str, ...] = ()
    max_context_note: str | None = None
    notes: str | None = None

    # Catalog specs are dictionary keys in every cache of this package; the deep hash is worth computing once.
    @cached_property
    def _hash(self) -> int:
        return hash((self.slug, self.d_model, self.vocab, self.groups, self.native_format, self.native_wide))

    def __hash__(self) -> int:
        return self._hash

    @property
    def label(self) -> str:
        """How a menu names the model."""
        return self.name

    @property
    def n_layers(self) -> int:
        """Layers in all groups."""
        return sum(g.count for g in self.groups)

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every weight tensor, layers multiplied out. Formula 1."""
        made = [Tensor("token_embd", "embedding", "table", self.vocab, self.d_model)]
        if self.learned_positions:
            made.append(Tensor("positions", "positions", "table", self.learned_positions, self.d_model))
        n_norms = self.n_outer_norms
        for group in self.groups:
            made += [replace(t, copies=t.copies * group.count) for t in group.tensors(self.d_model)]
            n_norms += group.count * group.n_norms
        norm = weights.norm_values(kind=self.norm, d_model=self.d_model)
        if n_norms:
            made.append(Tensor("norm", "norms", "vector", norm, 1, copies=n_norms))
        if not self.tied_embeddings:
            made.append(Tensor("lm_head", "lm_head", "linear", self.vocab, self.d_model))
        if self.lm_head_bias:
            made.append(Tensor("lm_head_bias", "lm_head", "vector", self.vocab, 1))
        return tuple(made)

    @cached_property
    def params_by_component(self) -> dict[weights.Component, int]:
        """Parameters by component, in the order of `weights.COMPONENTS`."""
        found: dict[weights.Component, int] = {}
        for component in weights.COMPONENTS:
            count = sum(t.n_params for t in self.tensors if t.component == component)
            if count:
                found[component] = count
        return found

    @property
    def n_params(self) -> int:
        """Parameters, counted from the dimensions."""
        return sum(self.params_by_component.values())

    @cached_property
    def matmul_params(self) -> tuple[int, int]:
        """Parameters one token multiplies by: (layers, output head)."""
        return weights.matmul_params(self.tensors, tied=self.tied_embeddings)

    @property
    def shape(self) -> ModelShape:
        """What the weight formats need to know."""
        moe = self.moe
        softmax = self.softmax
        return ModelShape(
            n_layers=self.n_layers,
            tied=self.tied_embeddings,
            n_experts=moe.n_experts if moe else 0,
            group_size=softmax.n_q / softmax.n_kv if softmax else 1,
        )

    @property
    def moe(self) -> MoeFfn | None:
        """The first mixture-of-experts block; None for a dense model."""
        return next((g.ffn for g in self.groups if isinstance(g.ffn, MoeFfn)), None)

    @property
    def softmax(self) -> SoftmaxAttention | None:
        """The first softmax attention (the one with KV heads); None for MLA models."""
        return next((g.attention for g in self.groups if isinstance(g.attention, SoftmaxAttention)), None)

    @property
    def n_active_params(self) -> int:
        """Parameters in use for one token: all but the experts it is not routed to."""
        idle = sum(t.n_params * (t.experts[0] - t.experts[1]) // t.experts[0] for t in self.tensors if t.experts)
        return self.n_params - idle

    @property
    def state_bytes(self) -> int:
        """Constant recurrent state of one sequence; 0 without recurrent layers."""
        return sum(g.count * g.attention.state_bytes for g in self.groups if isinstance(g.attention, Recurrent))

    def cache_curve(self, *, bits: float, n_copies: int = 1, read: bool = False, with_state: bool = True) -> CacheCurve:
        """Cache bytes of one sequence against context; see `cache_curve`."""
        return cache_curve(self.groups, bits=bits, n_copies=n_copies, read=read, with_state=with_state)

    def kv_bytes_per_token(self, bits: float = 16) -> float:
        """Cache bytes that one token adds while no window is full.

        >>> from core.catalog import models
        >>> models()["deepseek-v3"].kv_bytes_per_token()
        70272
        """
        return self.cache_curve(bits=bits, with_state=False).per_token_bytes()

    def kv_bytes(self, context: int, bits: float = 16) -> int:
        """Cache bytes of one sequence, recurrent state not included.

        >>> from core.catalog import models
        >>> models()["gemma-3-27b"].kv_bytes(131_072)
        11173625856
        """
        return self.cache_curve(bits=bits, with_state=False).bytes(context)

    @property
    def released_kv_heads(self) -> tuple[int, ...]:
        """KV heads as released, one entry per distinct softmax width; empty for MLA-only models."""
        found = [g.attention.n_kv for g in self.groups if isinstance(g.attention, SoftmaxAttention)]
        return tuple(dict.fromkeys(found))

    @cached_property
    def kv_head_options(self) -> tuple[int, ...]:
        """Every number of KV heads that divides all query heads; empty when the model has none to set.

        >>> from core.catalog import models
        >>> models()["llama-3-8b"].kv_head_options
        (1, 2, 4, 8, 16, 32)
        """
        heads = {g.attention.n_q for g in self.groups if isinstance(g.attention, SoftmaxAttention)}
        if not heads:
            return ()
        return tuple(n for n in range(1, min(heads) + 1) if all(h % n == 0 for h in heads))

    @property
    def why_no_kv_heads(self) -> str:
        """Why there is no number of KV heads to set; for models without softmax layers."""
        if any(isinstance(g.attention, LatentAttention) for g in self.groups):
            return "MLA keeps one latent for all heads"
        return "its layers keep a constant state, no heads"

    def with_kv_heads(self, n_kv: int) -> ModelSpec:
        """The what-if model with `n_kv` KV heads in every softmax layer; projections, biases and norms follow.

        Raises ValueError when `n_kv` divides no query-head count. It is hypothetical: nobody trained it.

        >>> from core.catalog import models
        >>> models()["llama-3-8b"].with_kv_heads(32).kv_bytes_per_token()
        524288
        """
        if n_kv not in self.kv_head_options:
            allowed = ", ".join(map(str, self.kv_head_options)) or "none, since its cache has no KV heads"
            raise ValueError(f"kv_heads of {self.name} must be one of {allowed}; got {n_kv}")
        if self.released_kv_heads == (n_kv,):
            return self
        groups = tuple(
            LayerGroup(
                count=g.count,
                ffn=g.ffn,
                n_norms=g.n_norms,
                attention=g.attention.model_copy(update={"n_kv": n_kv}),
            )
            if isinstance(g.attention, SoftmaxAttention)
            else g
            for g in self.groups
        )
        return self.model_copy(update={"groups": groups, "is_hypothetical": True})

    def without_windows(self) -> ModelSpec:
        """The hypothetical model whose every layer keeps every token: no windows, no chunks, no constant state.

        A recurrent layer becomes one like the model's first softmax layer.

        >>> from core.catalog import models
        >>> models()["gemma-3-27b"].without_windows().kv_bytes_per_token()
        507904
        """
        softmax = self.softmax
        if softmax is None:
            return self
        full = softmax.model_copy(update={"window": None, "chunk": None})
        groups: list[LayerGroup] = []
        for group in self.groups:
            a = group.attention
            if isinstance(a, SoftmaxAttention):
                kept = a.model_copy(update={"window": None, "chunk": None})
                groups.append(group.model_copy(update={"attention": kept}))
            elif isinstance(a, Recurrent):
                groups.append(group.model_copy(update={"attention": full}))
            else:
                groups.append(group)
        return self.model_copy(update={"groups": tuple(groups), "is_hypothetical": True})
