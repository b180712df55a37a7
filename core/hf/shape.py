"""What a family's keys say of a model, and the few keys that all families share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from core.hf.keys import COUNT_MAX, TOKENS_MAX, Keys
from core.hf.text import ConfigError
from core.model import CONTEXT_MAX, Attention, Ffn, LayerGroup
from core.weights import NormKind

Layer = tuple[Attention | None, Ffn | None, int]
UNKNOWN_CONTEXT = 131_072


@dataclass(slots=True)
class Shape:
    """What a family's keys say of a model."""

    d_model: int
    vocab: int
    tied: bool
    layers: list[Layer]
    max_context: int
    norm: NormKind = "rmsnorm"
    learned_positions: int = 0
    n_outer_norms: int = 1
    lm_head_bias: bool = False

    @property
    def groups(self) -> tuple[LayerGroup, ...]:
        """Equal layers counted, in the order of their first."""
        counts: dict[Layer, int] = {}
        for layer in self.layers:
            counts[layer] = counts.get(layer, 0) + 1
        return tuple(LayerGroup(count=n, attention=a, ffn=f, n_norms=norms) for (a, f, norms), n in counts.items())


@dataclass(frozen=True, slots=True)
class Dims:
    """The widths every softmax family has."""

    layers: int
    d_model: int
    n_q: int
    n_kv: int
    head_dim: int


Span = tuple[int | None, int | None]  # (window, chunk) of a layer
SpanMaker = Callable[[Keys, int], list[Span]]
FfnMaker = Callable[[Keys, Dims], list[Ffn]]


def check_heads(k: Keys, n_q: int, n_kv: int, heads: str, kv_heads: str) -> None:
    """Refuse a number of KV heads that shares the query heads unevenly; the last two name the keys."""
    if n_q % n_kv:
        raise ConfigError(f"{k.name(kv_heads)} must divide {k.name(heads)}, got {n_kv:,} and {n_q:,}.")


def max_context(k: Keys, *names: str) -> int:
    """The model's own context limit; no size depends on it, so an absent one only sets where a slider ends."""
    found = k.maybe("context limit", *names, high=TOKENS_MAX)
    if found is None:
        why = f"{k.name(names[0])} is absent: only where the slider ends, no size depends on it"
        k.assume("context limit", f"{UNKNOWN_CONTEXT:,}", why)
    elif found > CONTEXT_MAX:
        k.assume("context limit", f"{CONTEXT_MAX:,}", f"{found:,} is further than any slider here goes")
    return min(found or UNKNOWN_CONTEXT, CONTEXT_MAX)


def tied(k: Keys, default: bool) -> bool:
    """Whether the output head is the input table; a wrapper's own key wins, since it is the one the library obeys."""
    key = "tie_word_embeddings"
    outer = k.outer.get(key)
    value = outer if isinstance(outer, bool) else k.data.get(key)
    if value is None:
        word = "tied" if default else "a matrix of its own"
        k.assume("output head", word, f"{k.name(key)} is absent: what this model type does")
        return default
    if not isinstance(value, bool):
        raise k.bad(key, "true or false", value)
    k.note("output head tied to the input table", key, str(value).lower())
    return value


class Routed(TypedDict):
    """The three figures of every mixture of experts."""

    n_experts: int
    n_active: int
    d_expert: int


def routed(k: Keys, *, experts: tuple[str, ...], active: tuple[str, ...], width: tuple[str, ...]) -> Routed:
    """How many experts, how many for a token, how wide."""
    n = k.whole("experts", *experts, high=COUNT_MAX)
    at_once = k.whole("experts per token", *active, high=COUNT_MAX)
    if at_once > n:
        raise ConfigError(f"{k.name(active[0])} must be at most the {n:,} experts, got {at_once:,}.")
    return {"n_experts": n, "n_active": at_once, "d_expert": k.whole("width of an expert", *width)}
