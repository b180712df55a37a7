"""Windows and chunks: which layers keep how many tokens."""

from __future__ import annotations

from core.hf.keys import LAYERS_MAX, TOKENS_MAX, Keys
from core.hf.shape import Span, SpanMaker

LAYER_KINDS = {"full_attention": "full", "sliding_attention": "sliding", "chunked_attention": "chunked"}


def by_kind(k: Keys, kinds: list[str]) -> list[Span]:
    """(window, chunk) of each layer from its kind."""
    window = k.whole("window", "sliding_window", high=TOKENS_MAX) if "sliding_attention" in kinds else None
    chunk = k.whole("chunk", "attention_chunk_size", high=TOKENS_MAX) if "chunked_attention" in kinds else None
    return [
        (window if kind == "sliding_attention" else None, chunk if kind == "chunked_attention" else None)
        for kind in kinds
    ]


def _listed(k: Keys, n: int) -> list[str] | None:
    return k.words("layer kinds", "layer_types", LAYER_KINDS, n)


def plain(_k: Keys, n: int) -> list[Span]:
    """No windows: for families whose `layer_types` names other kinds of layers."""
    return [(None, None)] * n


def no_spans(k: Keys, n: int) -> list[Span]:
    """No windows unless `layer_types` says so."""
    kinds = _listed(k, n)
    return by_kind(k, kinds) if kinds else [(None, None)] * n


def every_layer(k: Keys, n: int) -> list[Span]:
    """One window for all layers, unless `layer_types` tells them apart."""
    kinds = _listed(k, n)
    if kinds:
        return by_kind(k, kinds)
    window = k.maybe("window", "sliding_window", high=TOKENS_MAX)
    if not k.present("sliding_window"):
        k.assume("window", "none", f"{k.name('sliding_window')} is absent")
    return [(window, None)] * n


def switched(k: Keys, n: int) -> list[Span]:
    """Qwen 2 and 3: the window is off unless `use_sliding_window`, and then starts at `max_window_layers`."""
    if not k.flag("windows in use", "use_sliding_window", default=False):
        if k.has("sliding_window"):
            k.assume("window", "none", f"{k.name('use_sliding_window')} is not true, so the window is ignored")
        return [(None, None)] * n
    kinds = _listed(k, n)
    if kinds is None:
        first = k.whole("first layer with a window", "max_window_layers", low=0, high=LAYERS_MAX)
        kinds = ["sliding_attention" if i >= first else "full_attention" for i in range(n)]
    return by_kind(k, kinds)


def switched_list(k: Keys, n: int) -> list[Span]:
    """SmolLM 3: the list of layer kinds counts only while windows are in use."""
    return no_spans(k, n) if k.flag("windows in use", "use_sliding_window", default=False) else [(None, None)] * n


def patterned(default: int, *, when_absent: str = "refuse") -> SpanMaker:
    """Every n-th layer full, the others sliding, unless the file lists the layers."""

    def make(k: Keys, n: int) -> list[Span]:
        kinds = _listed(k, n)
        if kinds is None:
            if not k.has("sliding_window"):
                if when_absent == "full":
                    return [(None, None)] * n
                raise k.missing("window", "sliding_window")
            names = ("sliding_window_pattern", "_sliding_window_pattern")
            _, value = k.raw(*names)
            if isinstance(value, str):  # "LLLG": one letter a layer of the period
                every = _letters(k, value)
            else:
                found = k.maybe("period of full layers", *names, high=LAYERS_MAX)
                every = [*(["L"] * ((found or default) - 1)), "G"]
                if found is None:
                    why = f"{k.name(names[0])} is absent: what this model type does"
                    k.assume("period of full layers", f"every {default}th full", why)
            kinds = ["sliding_attention" if every[i % len(every)] == "L" else "full_attention" for i in range(n)]
        return by_kind(k, kinds)

    return make


def _letters(k: Keys, value: str) -> list[str]:
    if not value or len(value) > LAYERS_MAX or set(value) - {"L", "G"}:
        raise k.bad("sliding_window_pattern", "a number or letters L and G", value)
    k.note("period of full layers", "sliding_window_pattern", value)
    return list(value)


def alternating(k: Keys, n: int) -> list[Span]:
    """Gemma 2 and gpt-oss: layers 0, 2, 4, ... slide."""
    kinds = _listed(k, n)
    if kinds is None:
        k.assume("layer kinds", "sliding, full, sliding, ...", "layer_types is absent: what this model type does")
        kinds = ["sliding_attention" if i % 2 == 0 else "full_attention" for i in range(n)]
    return by_kind(k, kinds)


def rope_chunks(k: Keys, n: int) -> list[Span]:
    """Llama 4: layers with rotary positions attend within chunks, the others (every 4th) to everything."""
    kinds = _listed(k, n)
    if kinds is None:
        rope = k.items("layers with rotary positions", "no_rope_layers", n) if k.data.get("no_rope_layers") else None
        if rope is None:
            every = k.whole("period of full layers", "no_rope_layer_interval", default=4, high=LAYERS_MAX)
            if not k.has("no_rope_layer_interval"):
                why = "no_rope_layers is absent: what this model type does"
                k.assume("period of full layers", "every 4th full", why)
            rope = [int((i + 1) % every != 0) for i in range(n)]
        elif any(isinstance(x, bool) or x not in (0, 1) for x in rope):
            raise k.bad("no_rope_layers", "a list of 0 and 1", rope)
        if not k.has("attention_chunk_size"):
            if not k.present("attention_chunk_size"):
                raise k.missing("chunk", "attention_chunk_size")
            return [(None, None)] * n
        kinds = ["chunked_attention" if r else "full_attention" for r in rope]
    return by_kind(k, kinds)
