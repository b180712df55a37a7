"""One decode step: bytes, FLOPs, time, ceilings, asymptote, crossovers. Formulas 6 to 10; pure numbers."""

from __future__ import annotations

from collections.abc import Callable


def tokens_on_one_gpu(*, batch: int, n_gpus: int, split: str) -> float:
    """Sequences that pass one GPU's memory and arithmetic per step: B, or max(1, B/n) when layers are split.

    With layers split over GPUs a token passes the stages in turn, so the batch is cut into n groups that follow each
    other; a single user never gets more than one GPU's bandwidth. Formula 15.

    >>> tokens_on_one_gpu(batch=8, n_gpus=2, split="layer"), tokens_on_one_gpu(batch=8, n_gpus=2, split="tensor")
    (4, 8)
    """
    if split == "tensor":
        return batch
    share = max(1.0, batch / n_gpus)
    return int(share) if share == int(share) else share


def group_rate(*, one: float, n_gpus: int, split: str) -> float:
    """Bandwidth or peak that one step draws on: n times one GPU's, or one GPU's when layers are split. Formula 15.

    >>> group_rate(one=3.35e12, n_gpus=2, split="tensor"), group_rate(one=3.35e12, n_gpus=2, split="layer")
    (6700000000000.0, 3350000000000.0)
    """
    return one * n_gpus if split == "tensor" else one


def attention_flops_per_token(*, n_q: int, d_k: int, d_v: int, tokens: float) -> float:
    """Attention FLOPs of one new token in one layer: 2 n_q (d_k + d_v) x tokens attended, 4 n_q d_h S when equal.

    Formula 8: one multiply and one add per value for the scores, the same for the weighted sum.

    >>> attention_flops_per_token(n_q=32, d_k=128, d_v=128, tokens=8192)
    134217728
    """
    return 2 * n_q * (d_k + d_v) * tokens


def latent_attention_flops_per_token(*, n_q: int, kv_lora_rank: int, d_rope: int, tokens: float) -> float:
    """Absorbed MLA: 2 n_q (2 kv_lora + rope) x tokens attended. Formula 8; an indexer's own scores are left out.

    >>> latent_attention_flops_per_token(n_q=128, kv_lora_rank=512, d_rope=64, tokens=1)
    278528
    """
    return 2 * n_q * (2 * kv_lora_rank + d_rope) * tokens


def memory_time_s(*, bytes_read: float, bandwidth_bytes_per_s: float) -> float:
    """Seconds to read the bytes once: bytes / BW.

    Source: the chapter's tiny calculation, 16 GB over 3.35 TB/s is 4.8 ms.

    >>> round(memory_time_s(bytes_read=16_060_522_496, bandwidth_bytes_per_s=3.35e12) * 1e3, 3)
    4.794
    """
    return bytes_read / bandwidth_bytes_per_s


def compute_time_s(*, flops: float, peak_flops_per_s: float) -> float:
    """Seconds to do the arithmetic at the dense peak: FLOPs / C.

    >>> compute_time_s(flops=989.4e12, peak_flops_per_s=989.4e12)
    1.0
    """
    return flops / peak_flops_per_s


def step_time_s(*, memory_s: float, compute_s: float) -> float:
    """Least time of a step: max(bytes / BW, FLOPs / C). Formula 9, the roofline's assumption of perfect overlap.

    >>> step_time_s(memory_s=0.015, compute_s=0.001)
    0.015
    """
    return max(memory_s, compute_s)


def system_tokens_per_s(*, batch: int, step_s: float) -> float:
    """Ceiling of the whole system: B / step.

    >>> round(system_tokens_per_s(batch=32, step_s=0.0150509), 1)
    2126.1
    """
    return batch / step_s


def asymptote_tokens_per_s(
    *, bandwidth_bytes_per_s: float, cache_bytes_per_sequence: float, n_stages: int = 1
) -> float:
    """Ceiling of the system for a batch without limit: BW / c (x n stages when layers are split).

    Source: Llama 3.1 8B at 8,192 tokens on an H100: 3,120 tokens/s.

    >>> round(asymptote_tokens_per_s(bandwidth_bytes_per_s=3.35e12, cache_bytes_per_sequence=8192 * 131072))
    3120
    """
    return n_stages * bandwidth_bytes_per_s / cache_bytes_per_sequence


def crossover_batch(*, weights_read_bytes: float, cache_bytes_per_sequence: float) -> float:
    """Batch at which the cache read equals the weights read: W / c. Below 1 the cache leads even for one user.

    >>> round(crossover_batch(weights_read_bytes=16_060_522_496, cache_bytes_per_sequence=8192 * 131072), 1)
    15.0
    """
    return weights_read_bytes / cache_bytes_per_sequence


def compute_bound_batch(
    *,
    weights_read_bytes: float,
    cache_bytes_per_sequence: float,
    flops_per_sequence: float,
    bandwidth_bytes_per_s: float,
    peak_flops_per_s: float,
) -> float | None:
    """Batch at which the step turns compute-bound: B f / C = (W + B c) / BW; None when no batch does. Formula 10.

    Each sequence adds f / C seconds of arithmetic and c / BW seconds of reading; only if the first is larger does
    arithmetic ever catch up with the head start W / BW.

    >>> compute_bound_batch(weights_read_bytes=16e9, cache_bytes_per_sequence=1e9, flops_per_sequence=15e9,
    ...     bandwidth_bytes_per_s=3.35e12, peak_flops_per_s=989.4e12) is None
    True
    """
    gain = flops_per_sequence / peak_flops_per_s - cache_bytes_per_sequence / bandwidth_bytes_per_s
    return weights_read_bytes / bandwidth_bytes_per_s / gain if gain > 0 else None


def last_true(condition: Callable[[int], bool], *, low: int, high: int) -> int | None:
    """Largest whole number in [low, high] for which a condition that turns false once still holds; None if none.

    >>> last_true(lambda s: s <= 393, low=1, high=10**6)
    393
    """
    if not condition(low):
        return None
    if condition(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if condition(middle) else (low, middle)
    return low


def sum_of_larger(at: Callable[[int], tuple[float, float]], low: int, high: int) -> float:
    """Sum of max(a, b) over whole numbers in [low, high), where `at` gives (a, b), both linear there.

    >>> sum_of_larger(lambda s: (10.0, float(s)), 8, 13) == 10 + 10 + 10 + 11 + 12
    True
    """
    n = high - low
    if n <= 0:
        return 0.0
    first, last = at(low), at(high - 1)
    if (first[0] >= first[1]) == (last[0] >= last[1]):
        return n * (max(first) + max(last)) / 2
    leads = 0 if first[0] >= first[1] else 1
    swap = last_true(lambda s: at(s)[leads] >= at(s)[1 - leads], low=low, high=high - 1) or low
    return sum_of_larger(at, low, swap + 1) + sum_of_larger(at, swap + 1, high)
