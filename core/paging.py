"""Paged attention: what reserving the maximum length wastes, and what blocks waste. Formula 13; pure numbers.

Source: Kwon et al. 2023 (arXiv:2309.06180): systems that reserve contiguous memory for the longest possible request
used 20.4 to 38.2 % of their cache memory for tokens.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache


def blocks_needed(*, tokens: int, block: int) -> int:
    """Blocks of `block` tokens that hold `tokens` tokens: ceil(S / b).

    Source: vLLM issue 10517: 29,000 tokens in blocks of 16 take 1,813.

    >>> blocks_needed(tokens=29_000, block=16)
    1813
    """
    return -(-tokens // block)


def block_waste_tokens(*, tokens: int, block: int) -> int:
    """Slots left empty in the last block: ceil(S / b) b - S, always fewer than b.

    >>> block_waste_tokens(tokens=29_000, block=16)
    8
    """
    return blocks_needed(tokens=tokens, block=block) * block - tokens


def reserved_waste_tokens(*, tokens: int, longest: int) -> int:
    """Slots reserved and never used when every request holds room for the longest: S_max - S.

    >>> reserved_waste_tokens(tokens=500, longest=2048)
    1548
    """
    return longest - tokens


@lru_cache(maxsize=16)
def _normals(seed: int, n: int) -> tuple[float, ...]:
    """Draws that mean and spread only stretch, as `random.lognormvariate` does."""
    draw = random.Random(seed)
    return tuple(draw.normalvariate(0.0, 1.0) for _ in range(n))


def request_lengths(*, n: int, mean: float, spread: float, longest: int, seed: int) -> list[int]:
    """Lengths of `n` requests, the same for the same seed: log-normal about `mean`, kept within 1 and `longest`.

    `spread` is the standard deviation of the logarithm: 0 makes all equal, 1 mixes short chats with long documents.

    >>> request_lengths(n=3, mean=500, spread=0.0, longest=2048, seed=1)
    [500, 500, 500]
    """
    mu = -spread * spread / 2
    return [max(1, min(longest, round(mean * math.exp(mu + z * spread)))) for z in _normals(seed, n)]


@dataclass(frozen=True, slots=True)
class Served:
    """Requests admitted into a pool, in order of arrival, until the next does not fit."""

    lengths: tuple[int, ...]
    held: tuple[int, ...]  # slots each request holds
    pool_tokens: int

    @property
    def n_served(self) -> int:
        """Requests that fit together."""
        return len(self.lengths)

    @property
    def used_tokens(self) -> int:
        """Slots that hold a token."""
        return sum(self.lengths)

    @property
    def wasted_tokens(self) -> int:
        """Slots held without a token."""
        return sum(self.held) - self.used_tokens

    @property
    def free_tokens(self) -> int:
        """Slots that nobody holds."""
        return self.pool_tokens - sum(self.held)

    @property
    def used_share(self) -> float:
        """Share of the held slots that hold a token; 1 when nothing is held."""
        held = sum(self.held)
        return self.used_tokens / held if held else 1.0


def _serve(lengths: Sequence[int], pool_tokens: int, held_by: Callable[[int], int]) -> Served:
    admitted: list[int] = []
    held: list[int] = []
    left = pool_tokens
    for tokens in lengths:
        needs = held_by(tokens)
        if needs > left:
            break
        admitted.append(tokens)
        held.append(needs)
        left -= needs
    return Served(tuple(admitted), tuple(held), pool_tokens)


def serve_reserved(lengths: Sequence[int], *, pool_tokens: int, longest: int) -> Served:
    """Every request reserves the longest possible length.

    >>> serve_reserved([500, 700, 900], pool_tokens=4096, longest=2048).n_served
    2
    """
    return _serve(lengths, pool_tokens, lambda tokens: longest)


def serve_paged(lengths: Sequence[int], *, pool_tokens: int, block: int) -> Served:
    """Every request holds the blocks it needs; the pool holds whole blocks.

    >>> served = serve_paged([500, 700, 900], pool_tokens=4096, block=16)
    >>> served.n_served, served.wasted_tokens
    (3, 28)
    """
    whole = pool_tokens // block * block
    found = _serve(lengths, whole, lambda tokens: blocks_needed(tokens=tokens, block=block) * block)
    return Served(found.lengths, found.held, pool_tokens)
