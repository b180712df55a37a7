"""Latent attention, hybrids of attention and recurrent layers, and recurrent models."""

from __future__ import annotations

from dataclasses import replace

from core.hf.experts import PER_TOKEN, deepseek_ffn, granite_moe, qwen_moe
from core.hf.keys import COUNT_MAX, LAYERS_MAX, TOKENS_MAX, Keys
from core.hf.shape import UNKNOWN_CONTEXT, Dims, Layer, Shape, check_heads, max_context, routed, tied
from core.hf.softmax import LLAMA, Plan, softmax
from core.hf.spans import plain
from core.hf.text import ConfigError
from core.model import (
    Attention,
    DenseFfn,
    Ffn,
    Indexer,
    LatentAttention,
    LinearAttention,
    Mamba2Mixer,
    MambaMixer,
    MoeFfn,
    ShortConv,
    SoftmaxAttention,
)

# ------------------------------------------------------------------ latent attention


def latent(k: Keys, *, indexed: bool = False, correction: bool | None = None) -> Shape:
    """DeepSeek's MLA: the KV-head and head-dim keys of these files are decoys, the latent's widths decide."""
    layers = k.whole("number of layers", "num_hidden_layers", high=LAYERS_MAX)
    d_model = k.whole("hidden size", "hidden_size")
    n_q = k.whole("number of query heads", "num_attention_heads", high=COUNT_MAX)
    k.refuse_if_on("the biases of MLA's projections are not counted", "attention_bias")
    rank = k.maybe("rank of the query", "q_lora_rank")
    if rank is None and not k.present("q_lora_rank"):
        raise k.missing("rank of the query", "q_lora_rank")
    common = {
        "n_q": n_q,
        "q_lora_rank": rank,
        "kv_lora_rank": k.whole("rank of the latent", "kv_lora_rank"),
        "d_rope": k.whole("rope key", "qk_rope_head_dim"),
        "d_nope": k.whole("key dim without rope", "qk_nope_head_dim"),
        "d_v": k.whole("value dim", "v_head_dim"),
    }
    k.note("KV heads", "num_key_value_heads", "not used: one latent serves all heads")
    indexers: list[Indexer | None] = [None] * layers
    if indexed:
        whole = Indexer(
            n_heads=k.whole("heads of the indexer", "index_n_heads", high=COUNT_MAX),
            head_dim=k.whole("key of the indexer", "index_head_dim"),
            top_k=k.whole("tokens the indexer selects", "index_topk", high=TOKENS_MAX),
        )
        indexers = [whole] * layers
        kinds = k.words("indexers", "indexer_types", {"full": "", "shared": ""}, layers)
        if kinds is None:
            k.refuse_if_on("this way to share indexers is not counted", "index_topk_pattern")
            every = k.whole("period of whole indexers", "index_topk_freq", default=1, high=LAYERS_MAX)
            offset = k.whole("layers with whole indexers at first", "index_skip_topk_offset", default=2, low=0)
            if not k.has("index_topk_freq"):
                k.assume("indexers", "one in every layer", "indexer_types is absent: what this model type does")
            kinds = ["full" if max(i - offset + 1, 0) % every == 0 else "shared" for i in range(layers)]
        if "shared" in kinds:
            shared = whole.model_copy(update={"shared": True})
            indexers = [whole if kind == "full" else shared for kind in kinds]
    elif k.has("index_topk", "index_head_dim"):
        raise ConfigError(f"{k.name('index_topk')} needs a model type with a sparse-attention indexer.")
    attentions = [LatentAttention.model_validate(common | {"indexer": i}) for i in dict.fromkeys(indexers)]
    by_indexer = dict(zip(dict.fromkeys(indexers), attentions, strict=True))
    ffns = deepseek_ffn(k, Dims(layers, d_model, n_q, n_q, 1), correction=correction)
    made: list[Layer] = [(by_indexer[i], f, 2) for i, f in zip(indexers, ffns, strict=True)]
    return Shape(
        d_model=d_model,
        vocab=k.whole("vocabulary", "vocab_size"),
        tied=tied(k, False),
        layers=made,
        max_context=max_context(k, "max_position_embeddings"),
    )


# ------------------------------------------------------------------ hybrids and recurrent models


def _delta_net(k: Keys) -> LinearAttention:
    return LinearAttention(
        n_k_heads=k.whole("key heads of linear layers", "linear_num_key_heads", high=COUNT_MAX),
        n_v_heads=k.whole("value heads of linear layers", "linear_num_value_heads", high=COUNT_MAX),
        d_k=k.whole("key dim of linear layers", "linear_key_head_dim"),
        d_v=k.whole("value dim of linear layers", "linear_value_head_dim"),
        conv_kernel=k.whole("convolution of linear layers", "linear_conv_kernel_dim", high=1024),
    )


def qwen_hybrid(k: Keys, *, moe: bool) -> Shape:
    """Qwen3-Next and Qwen3.5: gated DeltaNet layers with every n-th layer full attention."""
    plan = Plan(
        kv_absent="refuse",
        head_dim_absent="refuse",
        qkv_bias=("attention_bias", False),
        o_bias=("attention_bias", False),
        qk_norm="per_head",
        output_gate=True,
        ffn=qwen_moe if moe else None,
        spans=plain,
    )
    shape = softmax(k, plan)
    n = len(shape.layers)
    kinds = k.words("layer kinds", "layer_types", {"linear_attention": "", "full_attention": ""}, n)
    if kinds is None:
        every = k.whole("period of full layers", "full_attention_interval", high=LAYERS_MAX)
        kinds = ["full_attention" if (i + 1) % every == 0 else "linear_attention" for i in range(n)]
    if "linear_attention" in kinds:
        linear = _delta_net(k)
        pairs = zip(kinds, shape.layers, strict=True)
        shape.layers = [(linear if kind == "linear_attention" else a, f, norms) for kind, (a, f, norms) in pairs]
    return shape


def _rank(k: Keys, d_model: int, *names: str) -> int:
    _, value = k.raw(*names)
    if value == "auto" or value is None:
        k.assume("rank of dt", f"{-(-d_model // 16):,}", f"{k.name(names[0])} is auto: hidden size / 16, rounded up")
        return -(-d_model // 16)
    return k.whole("rank of dt", *names)


def _inner(k: Keys, d_model: int, expand: str) -> int:
    hidden, _ = k.raw("hidden_size", "d_model")
    return k.product(k.whole("inner width over hidden size", expand, high=64) * d_model, expand, hidden)


def mamba(k: Keys) -> Shape:
    """Mamba: layers of a mixer alone."""
    d_model = k.whole("hidden size", "hidden_size", "d_model")
    inner = k.maybe("inner width", "intermediate_size", "d_inner")
    if inner is None:
        inner = _inner(k, d_model, "expand")
    mixer = MambaMixer(
        d_inner=inner,
        d_state=k.whole("state of a channel", "state_size", "d_state"),
        conv_kernel=k.whole("convolution", "conv_kernel", "d_conv", high=1024),
        dt_rank=_rank(k, d_model, "time_step_rank", "dt_rank"),
        bias=k.flag("bias", "use_bias", default=False),
        conv_bias=k.flag("bias of the convolution", "use_conv_bias", default=True),
    )
    layers = k.whole("number of layers", "num_hidden_layers", "n_layer", high=LAYERS_MAX)
    return _recurrent(k, d_model, [(mixer, None, 1)] * layers, is_tied=True)


def _recurrent(k: Keys, d_model: int, layers: list[Layer], *, is_tied: bool) -> Shape:
    k.assume("context limit", f"{UNKNOWN_CONTEXT:,}", "a constant state knows no limit: only where the slider ends")
    vocab = k.whole("vocabulary", "vocab_size")
    return Shape(d_model=d_model, vocab=vocab, tied=tied(k, is_tied), layers=layers, max_context=UNKNOWN_CONTEXT)


def mamba2(k: Keys) -> Shape:
    """Mamba-2: layers of a mixer alone."""
    d_model = k.whole("hidden size", "hidden_size", "d_model")
    inner = _inner(k, d_model, "expand")
    n_heads = k.whole("heads", "num_heads", high=COUNT_MAX)
    head_dim = k.whole("head dim", "head_dim")
    if n_heads * head_dim != inner:
        raise ConfigError(
            f"{k.name('num_heads')} × {k.name('head_dim')} must be {inner:,}, that is expand × hidden size, "
            f"got {n_heads:,} × {head_dim:,}."
        )
    mixer = Mamba2Mixer(
        n_heads=n_heads,
        head_dim=head_dim,
        n_groups=k.whole("groups of B and C", "n_groups", high=COUNT_MAX),
        d_state=k.whole("state of a channel", "state_size"),
        conv_kernel=k.whole("convolution", "conv_kernel", high=1024),
        bias=k.flag("bias", "use_bias", default=False),
        conv_bias=k.flag("bias of the convolution", "use_conv_bias", default=True),
    )
    layers = k.whole("number of layers", "num_hidden_layers", high=LAYERS_MAX)
    return _recurrent(k, d_model, [(mixer, None, 1)] * layers, is_tied=False)


def _mamba_heads(k: Keys, d_model: int) -> Mamba2Mixer:
    """Bamba's and Granite 4's Mamba-2 layers."""
    inner = _inner(k, d_model, "mamba_expand")
    n_heads = k.whole("heads of Mamba layers", "mamba_n_heads", high=COUNT_MAX)
    _, width = k.raw("mamba_d_head")
    if width in ("auto", None):
        if inner % n_heads:
            raise ConfigError(f"{k.name('mamba_n_heads')} must divide {inner:,}, got {n_heads:,}.")
        head_dim = inner // n_heads
    else:
        head_dim = k.whole("head dim of Mamba layers", "mamba_d_head")
    if n_heads * head_dim != inner:
        raise ConfigError(
            f"{k.name('mamba_n_heads')} × mamba_d_head must be {inner:,}, got {n_heads:,} × {head_dim:,}."
        )
    return Mamba2Mixer(
        n_heads=n_heads,
        head_dim=head_dim,
        n_groups=k.whole("groups of B and C", "mamba_n_groups", high=COUNT_MAX),
        d_state=k.whole("state of a channel", "mamba_d_state"),
        conv_kernel=k.whole("convolution", "mamba_d_conv", high=1024),
        bias=k.flag("bias of Mamba layers", "mamba_proj_bias", default=False),
        conv_bias=k.flag("bias of the convolution", "mamba_conv_bias", default=True),
    )


def _swapped(shape: Shape, is_mamba: list[bool], mixer: Attention) -> Shape:
    shape.layers = [(mixer if m else a, f, n) for m, (a, f, n) in zip(is_mamba, shape.layers, strict=True)]
    return shape


def jamba(k: Keys) -> Shape:
    """Jamba: Mamba with every n-th layer attention, every m-th sparse."""

    def ffn(keys: Keys, d: Dims) -> list[Ffn]:
        dense = DenseFfn(d_ff=keys.whole("feed-forward width", "intermediate_size"))
        if not keys.present("num_experts"):
            raise keys.missing("number of experts", "num_experts")
        if keys.data["num_experts"] in (1, None):
            return [dense] * d.layers
        every = keys.whole("period of sparse layers", "expert_layer_period", high=LAYERS_MAX)
        offset = keys.whole("first sparse layer", "expert_layer_offset", low=0, high=LAYERS_MAX)
        moe = MoeFfn(**routed(keys, experts=("num_experts",), active=PER_TOKEN, width=("intermediate_size",)))
        return [moe if i % every == offset else dense for i in range(d.layers)]

    shape = softmax(k, Plan(kv_absent="refuse", head_dim=(), tied=False, ffn=ffn, spans=plain))
    n = len(shape.layers)
    every = k.whole("period of attention layers", "attn_layer_period", high=LAYERS_MAX)
    offset = k.whole("first attention layer", "attn_layer_offset", low=0, high=LAYERS_MAX)
    mixer = MambaMixer(
        d_inner=_inner(k, shape.d_model, "mamba_expand"),
        d_state=k.whole("state of a channel", "mamba_d_state"),
        conv_kernel=k.whole("convolution", "mamba_d_conv", high=1024),
        dt_rank=_rank(k, shape.d_model, "mamba_dt_rank"),
        bias=k.flag("bias of Mamba layers", "mamba_proj_bias", default=False),
        conv_bias=k.flag("bias of the convolution", "mamba_conv_bias", default=True),
        inner_norms=True,
    )
    return _swapped(shape, [i % every != offset for i in range(n)], mixer)


def bamba(k: Keys) -> Shape:
    """Bamba: Mamba-2 with attention in listed layers."""
    plan = replace(LLAMA, kv_absent="refuse", head_dim=())
    shape = softmax(k, plan)
    n = len(shape.layers)
    full = set(k.indices("attention layers", "attn_layer_indices", n) or ())
    return _swapped(shape, [i not in full for i in range(n)], _mamba_heads(k, shape.d_model))


def granite_hybrid(k: Keys) -> Shape:
    """Granite 4: Mamba-2 and attention by `layer_types`, with experts."""
    plan = Plan(
        kv_absent="refuse",
        head_dim=(),
        qkv_bias=("attention_bias", False),
        o_bias=("attention_bias", False),
        ffn=granite_moe,
        spans=plain,
    )
    shape = softmax(k, plan)
    n = len(shape.layers)
    words = {"mamba": "", "attention": "", "full_attention": "", "linear_attention": ""}
    kinds = k.words("layer kinds", "layer_types", words, n) or k.words("layer kinds", "layers_block_type", words, n)
    if kinds is None:
        raise k.missing("layer kinds", "layer_types")
    is_mamba = [kind in ("mamba", "linear_attention") for kind in kinds]
    return _swapped(shape, is_mamba, _mamba_heads(k, shape.d_model)) if any(is_mamba) else shape


def nemotron_h(k: Keys) -> Shape:
    """Nemotron-H: layers of a mixer, of attention or of a feed-forward block alone, by a pattern."""
    d_model = k.whole("hidden size", "hidden_size")
    pattern = k.text("layer kinds", "hybrid_override_pattern")
    if pattern is None:
        words = {"mamba": "", "attention": "", "mlp": "", "moe": "", "linear_attention": "", "full_attention": ""}
        value = k.data.get("layers_block_type")
        n = len(value) if isinstance(value, list) else 0  # pyright: ignore[reportUnknownArgumentType]
        listed = k.words("layer kinds", "layers_block_type", words, n)
        if not listed:
            raise k.missing("layer kinds", "hybrid_override_pattern", "layers_block_type")
        letters = {
            "mamba": "M",
            "linear_attention": "M",
            "attention": "*",
            "full_attention": "*",
            "mlp": "-",
            "moe": "E",
        }
        pattern = "".join(letters[word] for word in listed)
    if not pattern or len(pattern) > LAYERS_MAX or set(pattern) - set("M*-E"):
        raise k.bad("hybrid_override_pattern", "one of M, *, - and E for each layer", pattern)
    layers = k.maybe("number of layers", "num_hidden_layers", high=LAYERS_MAX)
    if layers is not None and layers != len(pattern):
        raise ConfigError(f"{k.name('num_hidden_layers')} is {layers:,}, but the pattern has {len(pattern):,} layers.")
    made = {letter: _nemotron_layer(k, letter, d_model) for letter in dict.fromkeys(pattern)}
    return Shape(
        d_model=d_model,
        vocab=k.whole("vocabulary", "vocab_size"),
        tied=tied(k, False),
        layers=[made[letter] for letter in pattern],
        max_context=max_context(k, "max_position_embeddings"),
    )


def _nemotron_layer(k: Keys, letter: str, d_model: int) -> Layer:
    if letter == "M":
        mixer = Mamba2Mixer(
            n_heads=k.whole("heads of Mamba layers", "mamba_num_heads", high=COUNT_MAX),
            head_dim=k.whole("head dim of Mamba layers", "mamba_head_dim"),
            n_groups=k.whole("groups of B and C", "n_groups", high=COUNT_MAX),
            d_state=k.whole("state of a channel", "ssm_state_size"),
            conv_kernel=k.whole("convolution", "conv_kernel", high=1024),
            bias=k.flag("bias of Mamba layers", "mamba_proj_bias", "use_bias", default=False),
            conv_bias=k.flag("bias of the convolution", "use_conv_bias", default=True),
        )
        return mixer, None, 1
    if letter == "*":
        bias = k.flag("bias of attention", "attention_bias", default=False)
        width = k.whole("head dim", "head_dim", "attention_head_dim")
        n_q = k.whole("number of query heads", "num_attention_heads", high=COUNT_MAX)
        n_kv = k.whole("number of KV heads", "num_key_value_heads", high=COUNT_MAX)
        check_heads(k, n_q, n_kv, "num_attention_heads", "num_key_value_heads")
        attention = SoftmaxAttention(n_q=n_q, n_kv=n_kv, d_k=width, d_v=width, qkv_bias=bias, o_bias=bias)
        return attention, None, 1
    if letter == "-":
        bias = k.flag("bias of the feed-forward block", "mlp_bias", default=False)
        return None, DenseFfn(d_ff=k.whole("feed-forward width", "intermediate_size"), n_matrices=2, bias=bias), 1
    k.refuse_if_on("its latent experts are not counted", "moe_latent_size")
    found = routed(k, experts=("n_routed_experts",), active=PER_TOKEN, width=("moe_intermediate_size",))
    shared = k.whole("width of the shared expert", "moe_shared_expert_intermediate_size")
    return None, MoeFfn(**found, n_matrices=2, d_shared=shared, router_bias="correction"), 1


def lfm2(k: Keys) -> Shape:
    """LFM2: short convolutions with some layers of attention."""

    def ffn(keys: Keys, d: Dims) -> list[Ffn]:
        names = ("intermediate_size", "block_ff_dim")
        key, width = keys.raw(*names)[0], keys.whole("feed-forward width", *names)
        if keys.flag("width adjusted", "block_auto_adjust_ff_dim", default=True):
            width = int(2 * width / 3)
            width = int(keys.number("width multiplier", "block_ffn_dim_multiplier", default=1.0, high=64) * width)
            step = keys.whole("width rounded up to", "block_multiple_of", default=256)
            width = keys.product(-(-width // step) * step, "block_ffn_dim_multiplier", key)
            keys.assume("feed-forward width", f"{width:,}", "2/3 of the key, rounded up as block_multiple_of says")
        return [DenseFfn(d_ff=max(width, 1))] * d.layers

    plan = Plan(kv_absent="refuse", head_dim=(), tied=True, qk_norm="per_head", ffn=ffn, spans=plain)
    shape = softmax(k, plan)
    n = len(shape.layers)
    kinds = k.words("layer kinds", "layer_types", {"conv": "", "full_attention": ""}, n)
    if kinds is None:
        full = k.indices("attention layers", "full_attn_idxs", n)
        if full is None:
            raise k.missing("layer kinds", "layer_types", "full_attn_idxs")
        kinds = ["full_attention" if i in set(full) else "conv" for i in range(n)]
    mixer = ShortConv(
        channels=shape.d_model,
        conv_kernel=k.whole("convolution", "conv_L_cache", high=1024),
        bias=k.flag("bias of the convolution", "conv_bias", default=False),
    )
    return _swapped(shape, [kind == "conv" for kind in kinds], mixer)
