"""Money and energy per million tokens. Formula 16; pure numbers, and blank (None) wherever a figure is unknown."""

from __future__ import annotations

SECONDS_PER_HOUR = 3600
MILLION = 10**6


def dollars_per_million_tokens(
    *, price_per_gpu_hour: float | None, n_gpus: int, tokens_per_s: float | None
) -> float | None:
    """Dollars per million tokens: price per GPU-hour x n / 3600 / tokens/s x 1e6. Formula 16.

    At a ceiling it is a lower bound: a real system makes fewer tokens, waits for users, and pays for more than GPUs.

    Args:
        price_per_gpu_hour: dollars for one GPU for one hour; None where unknown.
        n_gpus: GPUs paid for.
        tokens_per_s: tokens of all users together; None where there is no such rate.

    Returns:
        Dollars per 10^6 tokens; None where either figure is unknown.

    Source: GMI Cloud, "Cost Per Million Tokens Explained" (28 May 2026): "$2.00 / (85 x 3,600) x 1,000,000 = $6.54".

    >>> round(dollars_per_million_tokens(price_per_gpu_hour=2.00, n_gpus=1, tokens_per_s=85), 2)
    6.54
    """
    if price_per_gpu_hour is None or tokens_per_s is None:
        return None
    return price_per_gpu_hour * n_gpus / SECONDS_PER_HOUR / tokens_per_s * MILLION


def joules_per_million_tokens(*, tdp_w: float | None, n_gpus: int, tokens_per_s: float | None) -> float | None:
    """Joules per million tokens: TDP x n / tokens/s x 1e6. Formula 16.

    An indication, not a bound: a GPU that waits for memory draws less than its TDP, a real system makes fewer tokens,
    and hosts, network and cooling are left out.

    Args:
        tdp_w: thermal design power of one GPU in watts; None where unknown.
        n_gpus: GPUs powered.
        tokens_per_s: tokens of all users together; None where there is no such rate.

    Returns:
        Joules per 10^6 tokens; None where either figure is unknown.

    Source: clune.org, "Another look at per token energy costs": a node of 3.0 kW at 41.8 tokens/s, 72 J a token.

    >>> round(joules_per_million_tokens(tdp_w=750, n_gpus=4, tokens_per_s=41.8) / 1e6)
    72
    """
    if tdp_w is None or tokens_per_s is None:
        return None
    return tdp_w * n_gpus / tokens_per_s * MILLION
