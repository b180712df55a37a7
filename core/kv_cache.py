"""KV cache: values per token, tokens kept, bytes. Formula 3 of the model; pure numbers, no specs."""

from __future__ import annotations

from dataclasses import dataclass

from core.formats import BYTE_STEPS, steps


def softmax_values_per_token(*, n_kv: int, d_k: int, d_v: int) -> int:
    """Cached values per token and layer of MHA, GQA or MQA: n_kv x (d_k + d_v), which is 2 x n_kv x d_h.

    Source: Shazeer 2019 (arXiv:1911.02150) for what is kept; Llama 3 8B keeps 2 x 8 x 128.

    >>> softmax_values_per_token(n_kv=8, d_k=128, d_v=128)
    2048
    """
    return n_kv * (d_k + d_v)


def latent_values_per_token(*, kv_lora_rank: int, d_rope: int) -> int:
    """Cached values per token and layer of MLA: kv_lora_rank + rope dim, once: no factor 2, no heads.

    Source: DeepSeek-V2 (arXiv:2405.04434) section 2.1; DeepSeek-V3 keeps (512 + 64) values in each of 61 layers,
    which is 70.272 kB per token in 16 bits (arXiv:2505.09343, Table 1).

    >>> latent_values_per_token(kv_lora_rank=512, d_rope=64) * 61 * 2
    70272
    """
    return kv_lora_rank + d_rope


def tokens_kept(*, context: int, span: int | None = None) -> int:
    """Tokens whose keys and values a layer still needs: S, or min(S, span) for a window or a chunk of `span`.

    A chunked layer holds at most one chunk; just past a chunk's edge it needs less, so this is its maximum.

    >>> tokens_kept(context=131_072), tokens_kept(context=131_072, span=1_024)
    (131072, 1024)
    """
    return context if span is None else min(context, span)


def delta_net_state_values(*, n_v_heads: int, d_k: int, d_v: int) -> int:
    """Recurrent state of a gated DeltaNet layer: one d_k x d_v matrix per value head, whatever the context.

    Source: Qwen3-Next's configuration (32 value heads, 128 x 128).

    >>> delta_net_state_values(n_v_heads=32, d_k=128, d_v=128)
    524288
    """
    return n_v_heads * d_k * d_v


def conv_state_values(*, channels: int, kernel: int) -> int:
    """Tail that a causal convolution keeps: channels x (kernel - 1) values.

    >>> conv_state_values(channels=8192, kernel=4)
    24576
    """
    return channels * (kernel - 1)


@dataclass(frozen=True, slots=True)
class CacheTerm:
    """Values that some layers add per token, up to `span` tokens (None: for ever), in `copies` copies of `out_of`.

    `copies / out_of` is the replication over GPUs (formula 15): n / n_kv when there are more GPUs than KV heads.
    """

    values: int
    span: int | None = None
    copies: int = 1
    out_of: int = 1


class CacheCurve:
    """Cache bytes of one sequence against context: a constant plus terms that grow until their span is full.

    Exact: everything is an integer number of 1/256 byte over one common denominator.

    >>> curve = CacheCurve((CacheTerm(values=32 * 2048),), bits=16)
    >>> curve.bytes(8192), curve.per_token_bytes()
    (1073741824, 131072)
    """

    __slots__ = ("constant", "denominator", "endless", "spans")

    def __init__(self, terms: tuple[CacheTerm, ...], *, bits: float, state_bytes: int = 0) -> None:
        self.denominator = BYTE_STEPS
        for term in terms:
            if self.denominator % (BYTE_STEPS * term.out_of):
                self.denominator *= term.out_of
        unit = steps(bits) * self.denominator // BYTE_STEPS
        self.constant = state_bytes * self.denominator
        self.endless = 0
        spans: dict[int, int] = {}
        for term in terms:
            slope = term.values * unit * term.copies // term.out_of
            if term.span is None:
                self.endless += slope
            else:
                spans[term.span] = spans.get(term.span, 0) + slope
        self.spans = tuple(sorted(spans.items()))

    def scaled(self, context: float) -> float:
        """Bytes x `denominator`, exact for whole contexts."""
        total = self.constant + self.endless * context
        for span, slope in self.spans:
            total += slope * (context if context < span else span)
        return total

    def bytes(self, context: int, batch: int = 1) -> int:
        """Bytes of `batch` sequences at `context` tokens, rounded up to a whole byte."""
        return int(-(-self.scaled(context) * batch // self.denominator))

    def exact_bytes(self, context: float) -> float:
        """Bytes of one sequence, not rounded."""
        return self.scaled(context) / self.denominator

    def per_token_bytes(self, context: int = 0) -> float:
        """Bytes that one more token adds at `context` tokens."""
        slope = self.endless + sum(s for span, s in self.spans if context < span)
        value = slope / self.denominator
        return int(value) if value == int(value) else value

    def largest_batch(self, room_bytes: int, context: int) -> int | None:
        """Most sequences of `context` tokens that fit in `room_bytes`; None when a sequence takes no bytes.

        >>> CacheCurve((CacheTerm(values=32 * 2048),), bits=16).largest_batch(60 * 10**9, 8192)
        55
        """
        if room_bytes < 0:
            return 0
        per_sequence = self.scaled(context)
        return int(room_bytes * self.denominator // per_sequence) if per_sequence else None

    def longest_context(self, room_bytes: int, batch: int) -> int | None:
        """Longest context at which `batch` sequences fit in `room_bytes`; 0 for none, None when memory never ends it.

        >>> CacheCurve((CacheTerm(values=32 * 2048),), bits=16).longest_context(60 * 10**9, 32)
        14305
        """
        if room_bytes < 0:
            return 0
        # In whole 1/denominator bytes per sequence: bytes() rounds up, so B x cost <= room x denominator is exact.
        room = room_bytes * self.denominator // batch
        return self.context_at(room)

    def context_at(self, scaled_bytes: float) -> int | None:
        """Largest whole context whose `scaled()` is at most `scaled_bytes`; 0 for none, None when all are."""
        left = scaled_bytes - self.constant
        if left < 0:
            return 0
        slope = self.endless + sum(s for _, s in self.spans)
        start = 0
        for span, span_slope in self.spans:
            cost = slope * (span - start)
            if cost > left:
                break
            left -= cost
            start = span
            slope -= span_slope
        return start + int(left // slope) if slope else None

    def crossing(self, target_bytes: float) -> float | None:
        """Context, not rounded, at which one sequence's bytes reach `target_bytes`; None when they never do."""
        left = target_bytes * self.denominator - self.constant
        if left < 0:
            return None
        slope = self.endless + sum(s for _, s in self.spans)
        start = 0.0
        for span, span_slope in self.spans:
            cost = slope * (span - start)
            if cost >= left:
                break
            left -= cost
            start = span
            slope -= span_slope
        return start + left / slope if slope else None
