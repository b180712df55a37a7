"""Mixtures of experts: which layers are sparse, how many experts, how wide, what every token passes."""

from __future__ import annotations

from core.hf.keys import LAYERS_MAX, Keys
from core.hf.shape import Dims, routed
from core.model import DenseFfn, Ffn, MoeFfn

MIXTRAL_EXPERTS = ("num_local_experts", "num_experts")
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token")


def mixtral(k: Keys, d: Dims) -> list[Ffn]:
    """Mixtral: every layer sparse, `intermediate_size` is an expert's width."""
    return [MoeFfn(**routed(k, experts=MIXTRAL_EXPERTS, active=PER_TOKEN, width=("intermediate_size",)))] * d.layers


def olmoe(k: Keys, d: Dims) -> list[Ffn]:
    """OLMoE: as Mixtral, under `num_experts`."""
    return [MoeFfn(**routed(k, experts=("num_experts",), active=PER_TOKEN, width=("intermediate_size",)))] * d.layers


def gpt_oss(k: Keys, d: Dims) -> list[Ffn]:
    """gpt-oss: as Mixtral, with biases in experts and router."""
    found = routed(k, experts=MIXTRAL_EXPERTS, active=PER_TOKEN, width=("intermediate_size",))
    return [MoeFfn(**found, expert_bias=True, router_bias="linear")] * d.layers


def minimax(k: Keys, d: Dims) -> list[Ffn]:
    """MiniMax M2: as Mixtral, with a correction bias in the router."""
    found = routed(k, experts=MIXTRAL_EXPERTS, active=PER_TOKEN, width=("intermediate_size",))
    bias = k.flag("routing bias", "use_routing_bias", default=True)
    shared = k.maybe("width of the shared expert", "shared_intermediate_size", low=0) or 0
    return [MoeFfn(**found, router_bias="correction" if bias else "none", d_shared=shared)] * d.layers


def qwen_moe(k: Keys, d: Dims, *, has_shared: bool = True) -> list[Ffn]:
    """Qwen: some layers dense by `decoder_sparse_step` and `mlp_only_layers`, a gated shared expert in some types."""
    names = ("num_experts", "num_local_experts")
    found = routed(k, experts=names, active=PER_TOKEN, width=("moe_intermediate_size",))
    shared = 0
    if has_shared:
        shared = k.whole("width of the shared expert", "shared_expert_intermediate_size", low=0)
    moe = MoeFfn(**found, d_shared=shared, shared_gate=shared > 0)
    step = k.whole("period of sparse layers", "decoder_sparse_step", default=1, high=LAYERS_MAX)
    if not k.has("decoder_sparse_step"):
        k.assume("period of sparse layers", "every layer sparse", "decoder_sparse_step is absent")
    if not k.has("mlp_only_layers"):
        k.assume("dense layers", "none", "mlp_only_layers is absent")
    dense_layers = set(k.indices("dense layers", "mlp_only_layers", d.layers) or ())
    sparse = [i not in dense_layers and (i + 1) % step == 0 for i in range(d.layers)]
    return _mixed(k, sparse, moe)


def qwen3_moe(k: Keys, d: Dims) -> list[Ffn]:
    """Qwen 3: as Qwen 2, without a shared expert."""
    return qwen_moe(k, d, has_shared=False)


def _mixed(k: Keys, sparse: list[bool], moe: MoeFfn, key: tuple[str, ...] = ("intermediate_size",)) -> list[Ffn]:
    if all(sparse):
        return [moe] * len(sparse)
    dense = DenseFfn(d_ff=k.whole("feed-forward width of dense layers", *key))
    return [moe if s else dense for s in sparse]


def deepseek_ffn(k: Keys, d: Dims, *, correction: bool | None = None) -> list[Ffn]:
    """DeepSeek's blocks: some dense layers first, then routed experts with shared ones of the same width."""
    if not k.has("n_routed_experts", "num_experts"):
        if not k.present("n_routed_experts"):
            raise k.missing("number of experts", "n_routed_experts")
        k.note("experts", "n_routed_experts", "none")
        return [DenseFfn(d_ff=k.whole("feed-forward width", "intermediate_size"))] * d.layers
    found = routed(
        k,
        experts=("n_routed_experts", "num_experts", "num_local_experts"),
        active=PER_TOKEN,
        width=("moe_intermediate_size",),
    )
    if not k.present("n_shared_experts", "num_shared_experts"):
        raise k.missing("number of shared experts", "n_shared_experts")
    n_shared = k.whole("shared experts", "n_shared_experts", "num_shared_experts", default=0, low=0, high=1024)
    if correction is None:
        correction = k.text("router", "topk_method") == "noaux_tc"
    shared = k.product(n_shared * found["d_expert"], "n_shared_experts", "moe_intermediate_size")
    moe = MoeFfn(**found, d_shared=shared, router_bias="correction" if correction else "none")
    kinds = k.words("feed-forward kinds", "mlp_layer_types", {"dense": "", "sparse": ""}, d.layers)
    if kinds:
        return _mixed(k, [kind == "sparse" for kind in kinds], moe)
    first = k.whole("dense layers at first", "first_k_dense_replace", low=0, high=LAYERS_MAX)
    every = k.whole("period of sparse layers", "moe_layer_freq", default=1, high=LAYERS_MAX)
    return _mixed(k, [i >= first and i % every == 0 for i in range(d.layers)], moe)


def with_correction(k: Keys, d: Dims) -> list[Ffn]:
    """DeepSeek's blocks with the router's correction bias."""
    return deepseek_ffn(k, d, correction=True)


def llama4(k: Keys, d: Dims) -> list[Ffn]:
    """Llama 4: sparse layers by step or list, one shared expert each, dense layers of another width."""
    found = routed(k, experts=("num_local_experts",), active=("num_experts_per_tok",), width=("intermediate_size",))
    shared = found["d_expert"]
    k.assume("width of the shared expert", f"{shared:,}", "one per sparse layer, as wide as an expert: not in the file")
    moe = MoeFfn(**found, d_shared=shared)
    listed = k.indices("sparse layers", "moe_layers", d.layers)
    if listed is None:
        step = k.whole("period of sparse layers", "interleave_moe_layer_step", high=LAYERS_MAX)
        listed = list(range(step - 1, d.layers, step))
    sparse = set(listed)
    return _mixed(k, [i in sparse for i in range(d.layers)], moe, ("intermediate_size_mlp",))


def ernie_moe(k: Keys, d: Dims) -> list[Ffn]:
    """ERNIE 4.5: sparse layers between two indices."""
    k.refuse_if_on("the biases of its experts are not counted", "use_bias")
    found = routed(
        k, experts=("moe_num_experts",), active=("moe_k", "num_experts_per_tok"), width=("moe_intermediate_size",)
    )
    n_shared = k.whole("shared experts", "moe_num_shared_experts", default=0, low=0, high=1024)
    shared = k.product(n_shared * found["d_expert"], "moe_num_shared_experts", "moe_intermediate_size")
    moe = MoeFfn(**found, d_shared=shared, router_bias="correction")
    first = k.whole("first sparse layer", "moe_layer_start_index", default=1, low=0, high=LAYERS_MAX)
    last = k.whole("last sparse layer", "moe_layer_end_index", default=-1, low=-1, high=LAYERS_MAX)
    step = k.whole("period of sparse layers", "moe_layer_interval", default=1, high=LAYERS_MAX)
    last = d.layers - 1 if last == -1 else last
    sparse = [(i + 1) % step == 0 and first <= i <= last for i in range(d.layers)]
    return _mixed(k, sparse, moe)


def granite_moe(k: Keys, d: Dims) -> list[Ffn]:
    """Granite: a shared expert, or a dense block where there are no experts."""
    shared = k.maybe("width of the shared expert", "shared_intermediate_size", low=0) or 0
    if k.data.get("num_local_experts") == 0:
        k.note("experts", "num_local_experts", 0)
        return [DenseFfn(d_ff=shared or k.whole("feed-forward width", "shared_intermediate_size"))] * d.layers
    found = routed(k, experts=("num_local_experts",), active=PER_TOKEN, width=("intermediate_size",))
    return [MoeFfn(**found, d_shared=shared)] * d.layers
