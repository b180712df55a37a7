"""Speculative decoding: expected tokens per target pass, and the speed-up. Formula 14; pure numbers."""

from __future__ import annotations

ACCEPTANCES = (0.5, 0.7, 0.9)  # drawn beside the chosen one, for comparison


def expected_tokens(*, acceptance: float, draft_length: int) -> float:
    """Expected tokens per target pass: (1 - a^(g+1)) / (1 - a), which is g + 1 when every token is accepted.

    Assumes that each draft token is accepted independently with probability a. Source: Leviathan et al. 2022
    (arXiv:2211.17192), equation 1; Table 1 gives 3.69 for a = 0.8, g = 5.

    >>> round(expected_tokens(acceptance=0.8, draft_length=5), 2)
    3.69
    >>> [expected_tokens(acceptance=a, draft_length=g) for a, g in ((0.0, 5), (1.0, 5), (0.8, 0))]
    [1.0, 6.0, 1.0]
    """
    return sum(acceptance**i for i in range(draft_length + 1))


def round_time_s(*, draft_length: int, draft_step_s: float, verify_step_s: float) -> float:
    """Time of one round: g draft steps, then the target verifies g + 1 tokens in one pass.

    >>> round(round_time_s(draft_length=4, draft_step_s=0.001, verify_step_s=0.005), 6)
    0.009
    """
    return draft_length * draft_step_s + verify_step_s


def speed_up(
    *, acceptance: float, draft_length: int, target_step_s: float, draft_step_s: float, verify_step_s: float
) -> float:
    """Tokens per second with speculation over without: expected tokens x target step / round time.

    With verify = target it is Leviathan et al.'s theorem 3.8, (1 - a^(g+1)) / ((1 - a) (g c + 1)), c = draft / target.

    >>> round(speed_up(acceptance=0.8, draft_length=5, target_step_s=1.0, draft_step_s=0.02, verify_step_s=1.0), 2)
    3.35
    """
    tokens = expected_tokens(acceptance=acceptance, draft_length=draft_length)
    time = round_time_s(draft_length=draft_length, draft_step_s=draft_step_s, verify_step_s=verify_step_s)
    return tokens * target_step_s / time
