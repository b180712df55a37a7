"""A scenario's cache memory shared out among requests of different lengths, reserved or in blocks. Formula 13."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from core.evaluate import costs, evaluate
from core.paging import Served, request_lengths, serve_paged, serve_reserved
from core.units import Unit, integer
from core.view import View

FIRST_REQUESTS, MOST_REQUESTS = 400, 5000


@dataclass(frozen=True, slots=True)
class Pool:
    """The same requests, in the same order, served both ways from the same memory."""

    pool_tokens: int
    longest: int
    block: int
    bytes_per_token: float
    reserved: Served
    paged: Served
    is_cut: bool  # more requests would fit than are drawn

    @property
    def gain(self) -> float:
        """Users served in blocks over users served with reservations."""
        return self.paged.n_served / max(1, self.reserved.n_served)

    def rows(self, unit: Unit) -> list[tuple[str, ...]]:
        """Figure, reserved, in blocks, factor."""

        def row(name: str, before: int, after: int) -> tuple[str, ...]:
            factor = f"× {after / before:,.2f}" if before else ""
            return name, integer(before), integer(after), factor

        return [
            row("users served", self.reserved.n_served, self.paged.n_served),
            row("tokens held", self.reserved.used_tokens, self.paged.used_tokens),
            row("slots wasted", self.reserved.wasted_tokens, self.paged.wasted_tokens),
            row("slots free", self.reserved.free_tokens, self.paged.free_tokens),
        ]


@lru_cache(maxsize=256)
def pool(view: View) -> Pool | None:
    """The cache memory of a view's GPUs, filled with requests both ways; None when not one request fits.

    The longest request is the scenario's context; lengths are drawn about a share of it. Memory counts in slots of
    one token, at the bytes a token adds while no window is full.

    >>> from core.scenario import Scenario
    >>> found = pool(View(Scenario(context=8192)))
    >>> found.reserved.n_served, found.paged.n_served > 3 * found.reserved.n_served
    (56, True)
    """
    s = view.scenario
    m = evaluate(s).memory
    per_token = costs(s).stored.per_token_bytes()
    room = m.capacity_bytes - m.reserve_bytes - m.weights_bytes
    if room <= 0 or not per_token:
        return None
    pool_tokens = int(room // per_token)
    # Most pools are full after a few hundred requests; the first n are the same however many are drawn.
    for n in (FIRST_REQUESTS, MOST_REQUESTS):
        lengths = request_lengths(
            n=n,
            mean=max(1.0, s.context * view.mean / 100),
            spread=view.spread / 100,
            longest=s.context,
            seed=view.seed,
        )
        reserved = serve_reserved(lengths, pool_tokens=pool_tokens, longest=s.context)
        paged = serve_paged(lengths, pool_tokens=pool_tokens, block=view.block)
        if reserved.n_served < n and paged.n_served < n:
            break
    if not reserved.n_served or not paged.n_served:
        return None
    return Pool(
        pool_tokens=pool_tokens,
        longest=s.context,
        block=view.block,
        bytes_per_token=per_token,
        reserved=reserved,
        paged=paged,
        is_cut=paged.n_served == MOST_REQUESTS,
    )
