"""Blocks against an allocator that hands them out one by one."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.paging import (
    block_waste_tokens,
    blocks_needed,
    request_lengths,
    reserved_waste_tokens,
    serve_paged,
    serve_reserved,
)
from core.pool import pool
from core.presets import OPT_13B
from core.scenario import Scenario
from core.view import View


class Allocator:
    """A free list of blocks; each request asks for one more when its last is full, as an engine does."""

    def __init__(self, pool_tokens: int, block: int) -> None:
        self.free = list(range(pool_tokens // block))
        self.block = block
        self.tables: list[list[int]] = []
        self.written: list[int] = []

    def admit(self, tokens: int) -> bool:
        table: list[int] = []
        for position in range(tokens):
            if position % self.block == 0:
                if not self.free:
                    self.free += table
                    return False
                table.append(self.free.pop())
        self.tables.append(table)
        self.written.append(tokens)
        return True


@given(st.lists(st.integers(1, 300), max_size=40), st.integers(0, 3000), st.integers(1, 64))
@settings(deadline=None)
def test_the_arithmetic_is_what_an_allocator_does(lengths: list[int], pool_tokens: int, block: int) -> None:
    engine = Allocator(pool_tokens, block)
    for tokens in lengths:
        if not engine.admit(tokens):
            break
    served = serve_paged(lengths, pool_tokens=pool_tokens, block=block)
    assert served.n_served == len(engine.tables)
    assert list(served.lengths) == engine.written  # no request loses a token
    assert [held // block for held in served.held] == [len(table) for table in engine.tables]
    handed_out = [b for table in engine.tables for b in table]
    assert len(handed_out) == len(set(handed_out))  # no block belongs to two
    assert sum(served.held) <= pool_tokens  # never more blocks than the pool has
    assert all(0 <= held - tokens < block for held, tokens in zip(served.held, served.lengths, strict=True))
    assert served.used_tokens + served.wasted_tokens + served.free_tokens == pool_tokens


@given(st.integers(1, 10**6), st.integers(1, 512))
def test_a_request_wastes_less_than_a_block(tokens: int, block: int) -> None:
    assert 0 <= block_waste_tokens(tokens=tokens, block=block) < block
    assert (blocks_needed(tokens=tokens, block=block) - 1) * block < tokens


@pytest.mark.parametrize(
    ("pool_blocks", "tokens", "fits"), [(1952, 20_000, True), (1478, 29_000, False), (229, 4096, False)]
)
def test_logged_by_an_engine(pool_blocks: int, tokens: int, fits: bool) -> None:
    """vLLM issues 10517 and 2418: which requests start with the blocks of 16 that were logged."""
    served = serve_paged([tokens], pool_tokens=pool_blocks * 16, block=16)
    assert (served.n_served == 1) is fits


def test_reserved_requests_hold_the_longest() -> None:
    served = serve_reserved([10, 20, 30], pool_tokens=250, longest=100)
    assert served.n_served == 2
    assert served.wasted_tokens == sum(reserved_waste_tokens(tokens=t, longest=100) for t in (10, 20))


def test_lengths_are_seeded_and_in_range() -> None:
    draw = [request_lengths(n=2000, mean=300, spread=0.6, longest=2048, seed=s) for s in (1, 1, 2)]
    assert draw[0] == draw[1] != draw[2]
    assert all(1 <= tokens <= 2048 for tokens in draw[0])
    assert sum(draw[0]) / 2000 == pytest.approx(300, rel=0.05)
    state = random.getstate()
    request_lengths(n=3, mean=10, spread=1, longest=20, seed=1)
    assert random.getstate() == state  # nobody else's random numbers are touched


def test_the_paper_s_setting_falls_into_its_range() -> None:
    """Kwon et al.: reserving systems used 20.4 to 38.2 % of the memory; 15.7K slots in 12 GiB for OPT-13B."""
    found = pool(View(OPT_13B.scenario))
    assert found is not None
    assert found.bytes_per_token == 800 * 1024
    assert 12 * 2**30 // found.bytes_per_token == pytest.approx(15_700, rel=0.005)
    assert 0.15 < found.reserved.used_share < 0.40
    assert found.paged.used_share > 0.96  # the paper: "near-zero waste", under 4 %


def test_thousands_of_requests_are_capped_and_said() -> None:
    found = pool(View(Scenario(model="falcon-7b", gpu="h200-sxm", context=128), mean=1, spread=0))
    assert found is not None
    assert found.is_cut
    assert found.paged.n_served == 5000


def test_nothing_fits() -> None:
    assert pool(View(Scenario(model="llama-3.1-405b"))) is None
