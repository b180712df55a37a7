"""Softmax families whose keys or shapes need more than a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from core.hf.keys import COUNT_MAX, LAYERS_MAX, TOKENS_MAX, Keys
from core.hf.shape import Layer, Shape, Span, check_heads, max_context, routed, tied
from core.hf.softmax import GPT2, Plan, softmax
from core.hf.spans import LAYER_KINDS, by_kind
from core.hf.text import ConfigError, as_text, printable
from core.model import CONTEXT_MAX, DenseFfn, Ffn, MoeFfn, SoftmaxAttention


def falcon(k: Keys) -> Shape:
    """Falcon old and new: `multi_query` or `num_kv_heads`, one norm or two in parallel layers, biases by a switch."""
    new = k.flag("new decoder", "new_decoder_architecture", default=False)
    parallel = k.flag("attention and feed-forward in parallel", "parallel_attn", default=True)
    multi_query = k.flag("multi-query", "multi_query", default=True)
    bias = k.flag("bias", "bias", default=False)
    layers = k.whole("number of layers", "num_hidden_layers", "n_layer", high=LAYERS_MAX)
    d_model = k.whole("hidden size", "hidden_size", "n_embed")
    n_q = k.whole("number of query heads", "num_attention_heads", "n_head", high=COUNT_MAX)
    if d_model % n_q:
        raise ConfigError(f"{k.name('hidden_size')} must be a multiple of {n_q:,} heads, got {d_model:,}.")
    if new:
        n_kv = k.whole("number of KV heads", "num_kv_heads", "n_head_kv", high=COUNT_MAX)
        check_heads(k, n_q, n_kv, "num_attention_heads", "num_kv_heads")
    else:
        n_kv = 1 if multi_query else n_q
        k.assume("number of KV heads", n_kv, f"multi_query is {str(multi_query).lower()}")
    d_ff = k.product(k.whole("feed-forward width", "ffn_hidden_size", default=4 * d_model), 4, "hidden_size")
    if not k.has("ffn_hidden_size"):
        k.assume("feed-forward width", f"{d_ff:,}", "ffn_hidden_size is absent: 4 × hidden size")
    norms_in_parallel = k.whole("norms of a layer", "num_ln_in_parallel_attn", default=2, low=1, high=2)
    n_norms = norms_in_parallel if new else 1 if parallel else 2
    attention = SoftmaxAttention(n_q=n_q, n_kv=n_kv, d_k=d_model // n_q, d_v=d_model // n_q, qkv_bias=bias, o_bias=bias)
    ffn = DenseFfn(d_ff=d_ff, n_matrices=2, bias=bias)
    return Shape(
        d_model=d_model,
        vocab=k.whole("vocabulary", "vocab_size"),
        tied=tied(k, True),
        layers=[(attention, ffn, n_norms)] * layers,
        max_context=_falcon_limit(k),
        norm="layernorm",
    )


def _falcon_limit(k: Keys) -> int:
    if not k.has("max_position_embeddings"):
        k.assume("context limit", "2,048", "max_position_embeddings is absent: the library's own value")
    return k.whole("context limit", "max_position_embeddings", default=2048, high=CONTEXT_MAX)


def mpt(k: Keys) -> Shape:
    """MPT: a nested `attn_config`, positions by ALiBi, rotary or a table, no biases unless `no_bias` is false."""
    inner = k.section("attn_config") or Keys({}, k.log, "attn_config.")
    n_q = k.whole("number of query heads", "n_heads", high=COUNT_MAX)
    d_model = k.whole("hidden size", "d_model")
    if d_model % n_q:
        raise ConfigError(f"{k.name('d_model')} must be a multiple of {n_q:,} heads, got {d_model:,}.")
    kind = inner.text("attention", "attn_type") or "multihead_attention"
    known = {"multihead_attention": n_q, "multiquery_attention": 1, "grouped_query_attention": None}
    if kind not in known:
        raise inner.bad("attn_type", f"one of {', '.join(known)}", kind)
    fixed = known[kind]
    if kind == "grouped_query_attention":
        fixed = inner.whole("number of KV heads", "kv_n_heads", high=COUNT_MAX)
        check_heads(k, n_q, fixed, "n_heads", "attn_config.kv_n_heads")
    inner.refuse_if_on("its norms of Q and K are not counted", "qk_ln", "qk_gn")
    bias = not k.flag("no biases", "no_bias", default=True)
    alibi = inner.flag("ALiBi positions", "alibi", default=True)
    rope = inner.flag("rotary positions", "rope", default=False)
    learned = k.flag("learned positions", "learned_pos_emb", default=True) and not alibi and not rope
    limit = k.whole("context limit", "max_seq_len", high=CONTEXT_MAX)
    times = k.whole("feed-forward width over hidden size", "expansion_ratio", default=4, high=64)
    d_ff = k.product(times * d_model, "expansion_ratio", "d_model")
    attention = SoftmaxAttention(
        n_q=n_q, n_kv=fixed or n_q, d_k=d_model // n_q, d_v=d_model // n_q, qkv_bias=bias, o_bias=bias
    )
    ffn = DenseFfn(d_ff=d_ff, n_matrices=2, bias=bias)
    return Shape(
        d_model=d_model,
        vocab=k.whole("vocabulary", "vocab_size"),
        tied=tied(k, True),
        layers=[(attention, ffn, 2)] * k.whole("number of layers", "n_layers", high=LAYERS_MAX),
        max_context=limit,
        norm="layernorm" if bias else "layernorm_no_bias",
        learned_positions=limit if learned else 0,
    )


def gpt_bigcode(k: Keys) -> Shape:
    """GPTBigCode: GPT-2's keys with one KV head unless `multi_query` is false."""
    multi_query = k.flag("multi-query", "multi_query", default=True)
    shape = softmax(k, replace(GPT2, kv_heads=()))
    if not multi_query:
        return shape
    k.log.assumed = [a for a in k.log.assumed if a.field != "number of KV heads"]
    k.assume("number of KV heads", 1, "multi_query is not false")
    shape.layers = [
        (a.model_copy(update={"n_kv": 1}) if isinstance(a, SoftmaxAttention) else a, f, n) for a, f, n in shape.layers
    ]
    return shape


def opt(k: Keys) -> Shape:
    """OPT: `ffn_dim`, a position table with two rows more, biases and final norm by switches."""
    narrow = k.maybe("width of the table", "word_embed_proj_dim")
    hidden = k.whole("hidden size", "hidden_size")
    if narrow is not None and narrow != hidden:
        raise ConfigError(f"{k.name('word_embed_proj_dim')} differs from the hidden size, which is not counted here.")
    bias = k.flag("bias", "enable_bias", default=True)
    has_norms = k.flag("weights in norms", "layer_norm_elementwise_affine", default=True)
    before = k.flag("norm before each block", "do_layer_norm_before", default=True)
    final = before and not k.flag("no final norm", "_remove_final_layer_norm", default=False)
    plan = Plan(
        kv_heads=(),
        head_dim=(),
        learned=2,
        d_ff=("ffn_dim",),
        matrices=2,
        norm="layernorm",
        n_norms=2 if has_norms else 0,
        n_outer_norms=1 if final and has_norms else 0,
        tied=True,
        qkv_bias=bias,
        o_bias=bias,
        ffn_bias=bias,
    )
    return softmax(k, plan)


def chatglm(k: Keys) -> Shape:
    """ChatGLM 2 and 3, GLM-4 9B: `multi_query_group_num`, `kv_channels`, `padded_vocab_size`."""
    grouped = k.flag("grouped KV heads", "multi_query_attention", default=False)
    rms = k.flag("RMS norms", "rmsnorm", default=True)
    post = k.flag("final norm", "post_layer_norm", default=True)
    plan = Plan(
        layers=("num_layers", "num_hidden_layers"),
        kv_heads=("multi_query_group_num",) if grouped else (),
        kv_absent="refuse" if grouped else "heads",
        head_dim=("kv_channels",),
        head_dim_absent="refuse",
        vocab=("padded_vocab_size", "vocab_size"),
        positions=("seq_length", "max_sequence_length"),
        d_ff=("ffn_hidden_size",),
        norm="rmsnorm" if rms else "layernorm",
        n_outer_norms=1 if post else 0,
        qkv_bias=_chatglm_bias(k),
        o_bias=("add_bias_linear", False),
        ffn_bias=("add_bias_linear", False),
    )
    return softmax(k, plan)


def _chatglm_bias(k: Keys) -> bool:
    everywhere = k.flag("bias", "add_bias_linear", default=False)
    return k.flag("bias of Q, K, V", "add_qkv_bias", default=False) or everywhere


def qwen1(k: Keys) -> Shape:
    """Qwen 1: multi-head, and `intermediate_size` counts gate and up together."""
    whole = k.whole("feed-forward width, gate and up together", "intermediate_size")
    if whole % 2:
        raise k.bad("intermediate_size", "an even number", whole)
    half = Keys({**k.data, "intermediate_size": whole // 2}, k.log, k.path, k.outer)
    bias = not k.flag("no biases", "no_bias", default=True)
    plan = Plan(
        kv_heads=(),
        head_dim=("kv_channels",),
        positions=("seq_length", "max_position_embeddings"),
        qkv_bias=True,
        o_bias=bias,
        ffn_bias=bias,
    )
    return softmax(half, plan)


def dbrx(k: Keys) -> Shape:
    """DBRX: nested `attn_config` and `ffn_config`."""
    attn, ffn = k.section("attn_config"), k.section("ffn_config")
    if attn is None:
        raise k.missing("number of KV heads", "attn_config")
    if ffn is None:
        raise k.missing("experts", "ffn_config")
    d_model = k.whole("hidden size", "d_model")
    n_q = k.whole("number of query heads", "n_heads", high=COUNT_MAX)
    if d_model % n_q:
        raise ConfigError(f"{k.name('d_model')} must be a multiple of {n_q:,} heads, got {d_model:,}.")
    n_kv = attn.whole("number of KV heads", "kv_n_heads", high=COUNT_MAX)
    check_heads(k, n_q, n_kv, "n_heads", "attn_config.kv_n_heads")
    found = routed(ffn, experts=("moe_num_experts",), active=("moe_top_k",), width=("ffn_hidden_size",))
    attention = SoftmaxAttention(n_q=n_q, n_kv=n_kv, d_k=d_model // n_q, d_v=d_model // n_q)
    return Shape(
        d_model=d_model,
        vocab=k.whole("vocabulary", "vocab_size"),
        tied=tied(k, False),
        layers=[(attention, MoeFfn(**found), 2)] * k.whole("number of layers", "n_layers", high=LAYERS_MAX),
        max_context=max_context(k, "max_seq_len"),
        norm="layernorm_no_bias",
    )


def gpt_neo(k: Keys) -> Shape:
    """GPT-Neo: global and local layers, listed or as repeated patterns."""
    n = k.whole("number of layers", "num_layers", high=LAYERS_MAX)
    kinds = k.words("layer kinds", "attention_layers", {"global": "", "local": ""}, n)
    if kinds is None:
        kinds = _repeated(k, n)
    window = k.whole("window", "window_size", high=TOKENS_MAX) if "local" in kinds else None
    spans: list[Span] = [(window if kind == "local" else None, None) for kind in kinds]
    plan = Plan(
        layers=("num_layers",),
        heads=("num_heads",),
        kv_heads=(),
        head_dim=(),
        d_ff_times=4,
        learned=0,
        matrices=2,
        norm="layernorm",
        tied=True,
        o_bias=True,
        ffn_bias=True,
        spans=lambda _k, _n: spans,
    )
    return softmax(k, plan)


def _repeated(k: Keys, n: int) -> list[str]:
    value = k.data.get("attention_types")
    kinds: list[str] = []
    for part in cast("list[Any]", value) if isinstance(value, list) else []:
        pair = cast("list[Any]", part) if isinstance(part, list) else []
        times: object = pair[1] if len(pair) == len(("kinds", "times")) else None
        if not isinstance(times, int) or isinstance(times, bool) or not 0 < times <= n or not isinstance(pair[0], list):
            raise k.bad("attention_types", "a list of [[kinds], times]", cast("object", value))
        kinds += [as_text(word) for word in cast("list[Any]", pair[0][:n])] * times
        if len(kinds) > n:
            break
    if len(kinds) != n or set(kinds) - {"global", "local"}:
        raise k.bad(
            "attention_types", f"[[kinds], times] for {n:,} layers, each global or local", cast("object", value)
        )
    k.note("layer kinds", "attention_types", f"{kinds.count('global')} × global, {kinds.count('local')} × local")
    return kinds


def _own_widths(k: Keys, n: int) -> dict[int, tuple[int | None, int | None]]:
    """KV heads and head dim that single layers state for themselves, as transformers 5 writes them."""
    section = k.section("per_layer_config")
    found: dict[int, tuple[int | None, int | None]] = {}
    for name in section.data if section else ():
        layer = section.section(name) if section else None
        if layer is None or not name.isascii() or not name.isdigit() or int(name[:9]) >= n:
            raise k.bad("per_layer_config", f"an object of layer numbers from 0 to {n - 1:,}", name)
        other = next((key for key in layer.data if key not in ("head_dim", "num_key_value_heads")), None)
        if other is not None:
            raise ConfigError(f"{layer.name(printable(other))} is not counted here.")
        heads = layer.maybe("number of KV heads", "num_key_value_heads", high=COUNT_MAX)
        found[int(name)] = (heads, layer.maybe("head dim", "head_dim"))
    return found


def gemma4(k: Keys) -> Shape:
    """Gemma 4: full layers with widths of their own, V taken from K, experts beside a dense block."""
    for key in ("hidden_size_per_layer_input", "num_kv_shared_layers"):
        k.refuse_if_on("per-layer inputs and shared caches are not counted here", key)
    n = k.whole("number of layers", "num_hidden_layers", high=LAYERS_MAX)
    d_model = k.whole("hidden size", "hidden_size")
    n_q = k.whole("number of query heads", "num_attention_heads", high=COUNT_MAX)
    n_kv = k.whole("number of KV heads of sliding layers", "num_key_value_heads", high=COUNT_MAX)
    width = k.whole("head dim of sliding layers", "head_dim")
    wide = k.whole("head dim of full layers", "global_head_dim")
    same = k.flag("V taken from K in full layers", "attention_k_eq_v", default=False)
    if same and not k.has("num_global_key_value_heads"):
        k.assume("number of KV heads of full layers", n_kv, "num_global_key_value_heads is absent: as sliding layers")
    if not k.present("hidden_size_per_layer_input"):
        k.assume("per-layer inputs", "none", "hidden_size_per_layer_input is absent")
    n_global = k.whole("number of KV heads of full layers", "num_global_key_value_heads", default=n_kv, high=COUNT_MAX)
    kinds = k.words("layer kinds", "layer_types", LAYER_KINDS, n)
    if kinds is None:
        k.assume("layer kinds", "every 6th full, the last too", "layer_types is absent: what this model type does")
        kinds = ["sliding_attention" if (i + 1) % 6 else "full_attention" for i in range(n)]
        kinds[-1] = "full_attention"
    check_heads(k, n_q, n_kv, "num_attention_heads", "num_key_value_heads")
    check_heads(k, n_q, n_global, "num_attention_heads", "num_global_key_value_heads")
    spans = by_kind(k, kinds)
    bias = k.flag("bias of attention", "attention_bias", default=False)
    d_ff = k.whole("feed-forward width", "intermediate_size")
    layers: list[Layer] = []
    if k.flag("experts in use", "enable_moe_block", default=False) or k.has("num_experts"):
        found = routed(k, experts=("num_experts",), active=("top_k_experts",), width=("moe_intermediate_size",))
        # Beside the experts runs the dense block; the router scales its input and each expert's output.
        ffn: Ffn = MoeFfn(**found, d_shared=d_ff, router_extra=d_model + found["n_experts"])
        norms = 7
    else:
        ffn, norms = DenseFfn(d_ff=d_ff), 4
    own = _own_widths(k, n)
    for number, (window, chunk) in enumerate(spans):
        is_full = window is None and chunk is None
        heads, dim = own.get(number, (n_global if is_full and same else n_kv, wide if is_full else width))
        attention = SoftmaxAttention(
            n_q=n_q,
            n_kv=heads or n_kv,
            d_k=dim or width,
            d_v=dim or width,
            window=window,
            chunk=chunk,
            qk_norm="per_head",
            qkv_bias=bias,
            o_bias=bias,
            v_from_k=is_full and same,
        )
        layers.append((attention, ffn, norms))
    return Shape(
        d_model=d_model,
        vocab=k.whole("vocabulary", "vocab_size"),
        tied=tied(k, True),
        layers=layers,
        max_context=max_context(k, "max_position_embeddings"),
    )
