"""Money and energy per million tokens: by hand, against published figures, and their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cost import dollars_per_million_tokens, joules_per_million_tokens

positive = st.floats(1e-3, 1e9)
counts = st.integers(1, 1024)


def test_by_hand() -> None:
    # 3.60 $ an hour is 0.1 cent a second; 1,000 tokens in it; a million tokens are 1,000 such seconds
    assert dollars_per_million_tokens(price_per_gpu_hour=3.60, n_gpus=1, tokens_per_s=1000) == pytest.approx(1.0)
    assert dollars_per_million_tokens(price_per_gpu_hour=3.60, n_gpus=8, tokens_per_s=1000) == pytest.approx(8.0)
    # 700 W for 1,000 seconds
    assert joules_per_million_tokens(tdp_w=700, n_gpus=1, tokens_per_s=1000) == pytest.approx(700_000)


@pytest.mark.parametrize(
    ("price", "tokens_per_s", "printed"),
    [(2.00, 85, 6.54), (2.60, 140, 5.16), (2.00, 120, 4.63), (2.00, 400, 1.39)],
)
def test_gmi_cloud(price: float, tokens_per_s: float, printed: float) -> None:
    """Cost Per Million Tokens Explained, gmicloud.ai, 28 May 2026.

    Its table of "Four Worked Examples on H100 and H200" at "around $2.00 per GPU-hour" and "$2.60 per GPU-hour":
    85 TPS "~$6.54", 140 TPS "~$5.16", 120 TPS "~$4.63", 400 TPS "~$1.39".
    """
    dollars = dollars_per_million_tokens(price_per_gpu_hour=price, n_gpus=1, tokens_per_s=tokens_per_s)
    assert dollars == pytest.approx(printed, abs=0.005)


@pytest.mark.parametrize(
    ("node_w", "tokens_per_s", "printed"),
    [
        (1500, 41.8, 36),
        (3000, 41.8, 72),
        (1500, 53.9, 27.8),
        (3000, 53.9, 55.6),
        (1500, 182.5, 8.2),
        (3000, 319.8, 9.4),
    ],
)
def test_joules_per_token(node_w: float, tokens_per_s: float, printed: float) -> None:
    """Another look at per token energy costs, clune.org.

    Nodes of "1.5 kW" and "3.0 kW": "36J" and "72J" a token at 41.8 t/s, "27.8 J" and "55.6 J" at 53.9, "8.2 J" at
    182.5, "9.4 J" at 319.8.
    """
    joules = joules_per_million_tokens(tdp_w=node_w / 4, n_gpus=4, tokens_per_s=tokens_per_s)
    assert joules is not None
    assert joules / 1e6 == pytest.approx(printed, rel=0.005)


def test_unknown_stays_unknown() -> None:
    assert dollars_per_million_tokens(price_per_gpu_hour=None, n_gpus=1, tokens_per_s=1) is None
    assert dollars_per_million_tokens(price_per_gpu_hour=1, n_gpus=1, tokens_per_s=None) is None
    assert joules_per_million_tokens(tdp_w=None, n_gpus=1, tokens_per_s=1) is None
    assert joules_per_million_tokens(tdp_w=1, n_gpus=1, tokens_per_s=None) is None


def test_nothing_costs_nothing() -> None:
    assert dollars_per_million_tokens(price_per_gpu_hour=0, n_gpus=8, tokens_per_s=10) == 0
    assert joules_per_million_tokens(tdp_w=0, n_gpus=8, tokens_per_s=10) == 0


@given(positive, counts, positive)
def test_proportional_to_price_and_gpus_and_inverse_to_speed(rate: float, n: int, tokens_per_s: float) -> None:
    dollars = dollars_per_million_tokens(price_per_gpu_hour=rate, n_gpus=n, tokens_per_s=tokens_per_s) or 0
    joules = joules_per_million_tokens(tdp_w=rate, n_gpus=n, tokens_per_s=tokens_per_s) or 0
    assert joules == pytest.approx(3600 * dollars)
    for more in (
        dollars_per_million_tokens(price_per_gpu_hour=2 * rate, n_gpus=n, tokens_per_s=tokens_per_s),
        dollars_per_million_tokens(price_per_gpu_hour=rate, n_gpus=2 * n, tokens_per_s=tokens_per_s),
        dollars_per_million_tokens(price_per_gpu_hour=rate, n_gpus=n, tokens_per_s=tokens_per_s / 2),
    ):
        assert more == pytest.approx(2 * dollars)
