"""Predict, then reveal: claims about a change, of which the formulas make exactly one true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.evaluate import Result, evaluate
from core.scenario import BATCH_MAX, CONTEXT_MAX, Scenario
from core.units import Unit, format_bytes, format_rate, format_ratio, format_seconds, integer, plural

# What the claims call "hardly" and "twice". Whatever lies between is "less than".
HARDLY = 1.1
TWICE = 1.9
NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class Change:
    """The results before and after, and how their figures compare (each ratio is 1 or more when things get better)."""

    before: Result
    after: Result

    @property
    def speed(self) -> float:
        """System tokens/s, after over before."""
        return self.after.decode.tokens_per_s / self.before.decode.tokens_per_s

    @property
    def slowdown(self) -> float:
        """System tokens/s, before over after."""
        return 1 / self.speed

    @property
    def cache_growth(self) -> float:
        """Cache bytes, after over before."""
        return self.after.memory.kv_bytes / self.before.memory.kv_bytes

    @property
    def cache_shrink(self) -> float:
        """Cache bytes, before over after."""
        return 1 / self.cache_growth

    @property
    def first_token(self) -> float:
        """Time to first token, before over after."""
        return self.before.prefill.ttft_s / self.after.prefill.ttft_s


@dataclass(frozen=True, slots=True)
class Claim:
    """One answer to choose, and whether it holds."""

    text: str
    holds: Callable[[Change], bool]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question about a change of the scenario; `change` is None where the model leaves nothing to change."""

    slug: str
    question: Callable[[Change], str]
    change: Callable[[Scenario], tuple[Scenario, Scenario] | None]
    claims: tuple[Claim, ...]
    why: Callable[[Change, Unit], str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A prediction put to one scenario."""

    question: str
    claims: tuple[str, ...]
    right: int
    why: str
    change: Change

    def rows(self, unit: Unit) -> list[tuple[str, str, str, str]]:
        """Figure, before, after, factor."""

        def row(name: str, show: Callable[[float], str], value: Callable[[Result], float]) -> tuple[str, str, str, str]:
            before, after = value(self.change.before), value(self.change.after)
            return name, show(before), show(after), f"× {format_ratio(after / before, 3)}"

        def size(value: float) -> str:
            return format_bytes(value, unit)

        return [
            row("weights", size, lambda r: r.memory.weights_bytes),
            row("KV cache", size, lambda r: r.memory.kv_bytes),
            row("together", format_rate, lambda r: r.decode.tokens_per_s),
            row("each user", format_rate, lambda r: r.decode.tokens_per_s_per_user),
            row("time to first token", format_seconds, lambda r: r.prefill.ttft_s),
        ]


def ask(prediction: Prediction, scenario: Scenario, unit: Unit = "GB") -> Asked | None:
    """Put a prediction to a scenario; the right claim is the one that holds for the evaluated change.

    >>> asked = ask(MORE_CONTEXT, Scenario(batch=32))
    >>> asked.claims[asked.right]
    'The cache doubles; tokens/s fall, but stay above half.'
    """
    pair = prediction.change(scenario)
    if pair is None:
        return None
    change = Change(evaluate(pair[0]), evaluate(pair[1]))
    holding = [number for number, claim in enumerate(prediction.claims) if claim.holds(change)]
    if len(holding) != 1:
        raise AssertionError(f"{prediction.slug}: {len(holding)} claims hold for {scenario!r}")
    return Asked(
        question=prediction.question(change),
        claims=tuple(claim.text for claim in prediction.claims),
        right=holding[0],
        why=prediction.why(change, unit),
        change=change,
    )


def _shares(result: Result, unit: Unit) -> str:
    d = result.decode
    return (
        f"a step reads {format_bytes(d.weights_read_bytes, unit)} of weights and "
        f"{format_bytes(d.kv_read_bytes, unit)} of cache"
    )


def _fewer_heads(scenario: Scenario) -> tuple[Scenario, Scenario] | None:
    options = scenario.released_model.kv_head_options
    if len(options) < 2:
        return None
    most = options[-1]
    released = scenario.released_model.released_kv_heads
    chosen = scenario.kv_heads or (released[0] if len(released) == 1 else None)
    fewer = chosen if chosen is not None and chosen != most else options[0]
    return scenario.replace(kv_heads=most), scenario.replace(kv_heads=fewer)


def _why_heads(change: Change, unit: Unit) -> str:
    return (
        f"The cache shrinks {format_ratio(change.cache_shrink)} times, the weights hardly. Before, "
        f"{_shares(change.before, unit)}; after, {_shares(change.after, unit)}. "
        "The larger the cache's share of the step, the more of the shrinking arrives as speed."
    )


FEWER_HEADS = Prediction(
    slug="fewer-kv-heads",
    question=lambda c: (
        f"From {plural(c.before.scenario.kv_heads or 0, 'KV head')} (multi-head attention) to "
        f"{c.after.scenario.kv_heads}: what happens to the ceiling of all users together?"
    ),
    change=_fewer_heads,
    claims=(
        Claim("It hardly changes.", lambda c: c.speed < HARDLY),
        Claim(
            "It rises, but by less than the cache shrinks.",
            lambda c: HARDLY <= c.speed < NEARLY_ALL * c.cache_shrink,
        ),
        Claim(
            "It rises by about the factor the cache shrinks.",
            lambda c: c.speed >= HARDLY and c.speed >= NEARLY_ALL * c.cache_shrink,
        ),
    ),
    why=_why_heads,
)


def _twice_context(scenario: Scenario) -> tuple[Scenario, Scenario] | None:
    context = min(scenario.context, CONTEXT_MAX // 2)
    return scenario.replace(context=context), scenario.replace(context=2 * context)


def _why_context(change: Change, unit: Unit) -> str:
    grown = (
        "The cache grows with every token"
        if change.cache_growth >= TWICE
        else "Windows or a constant state hold part of the cache back"
    )
    return (
        f"The weights do not know the context. {grown}. Before, {_shares(change.before, unit)}; "
        f"after, {_shares(change.after, unit)}."
    )


MORE_CONTEXT = Prediction(
    slug="longer-context",
    question=lambda c: (
        f"From {integer(c.before.scenario.context)} to {integer(c.after.scenario.context)} tokens of context: "
        "what happens to the cache and to tokens/s?"
    ),
    change=_twice_context,
    claims=(
        Claim("The cache doubles; tokens/s hardly change.", lambda c: c.cache_growth >= TWICE and c.slowdown < HARDLY),
        Claim(
            "The cache doubles; tokens/s fall, but stay above half.",
            lambda c: c.cache_growth >= TWICE and HARDLY <= c.slowdown < TWICE,
        ),
        Claim("The cache doubles; tokens/s halve.", lambda c: c.cache_growth >= TWICE and c.slowdown >= TWICE),
        Claim("The cache does not even double.", lambda c: c.cache_growth < TWICE),
    ),
    why=_why_context,
)


def _twice_users(scenario: Scenario) -> tuple[Scenario, Scenario] | None:
    batch = min(scenario.batch, BATCH_MAX // 2)
    return scenario.replace(batch=batch), scenario.replace(batch=2 * batch)


def _why_users(change: Change, unit: Unit) -> str:
    shared = (
        "The weights are read once for everybody, each cache for one user only. "
        f"Before, {_shares(change.before, unit)}; after, {_shares(change.after, unit)}."
    )
    if change.after.decode.bound_by == "compute":
        return f"{shared} The larger batch is bound by arithmetic, which grows with every user."
    return shared


MORE_USERS = Prediction(
    slug="more-users",
    question=lambda c: (
        f"From {integer(c.before.scenario.batch)} to {plural(c.after.scenario.batch, 'user')}: "
        "what happens to tokens/s?"
    ),
    change=_twice_users,
    claims=(
        Claim("Together they double; each user keeps the speed.", lambda c: c.speed >= TWICE),
        Claim("Together they rise by less than double; each user slows down.", lambda c: HARDLY <= c.speed < TWICE),
        Claim("Together they hardly rise; each user's speed halves.", lambda c: c.speed < HARDLY),
    ),
    why=_why_users,
)


def _twice_flops(scenario: Scenario) -> tuple[Scenario, Scenario] | None:
    return scenario, scenario.replace(gpu=scenario.gpu_spec.with_twice_the_flops())


def _why_flops(change: Change, unit: Unit) -> str:
    before = change.before
    prefill = "arithmetic" if before.prefill.bound_by == "compute" else "memory"
    decode = "arithmetic" if before.decode.bound_by == "compute" else "memory"
    return (
        f"Prefill is bound by {prefill}, decode by {decode}: a decode step waits "
        f"{format_seconds(before.decode.memory_s)} for memory and computes for "
        f"{format_seconds(before.decode.compute_s)}. "
        "Only what waits for arithmetic gains from more FLOP/s."
    )


MORE_FLOPS = Prediction(
    slug="two-phases",
    question=lambda c: (
        f"Twice the FLOP/s of the {c.before.scenario.gpu_spec.name} at the same bandwidth: "
        "what happens to the first token and to the tokens after it?"
    ),
    change=_twice_flops,
    claims=(
        Claim(
            "The first token comes twice as soon; tokens/s hardly change.",
            lambda c: c.first_token >= TWICE and c.speed < HARDLY,
        ),
        Claim("Both become twice as fast.", lambda c: c.first_token >= TWICE and c.speed >= TWICE),
        Claim("Neither changes.", lambda c: c.first_token < HARDLY and c.speed < HARDLY),
        Claim(
            "One of them gains, but less than double.",
            lambda c: (
                HARDLY <= c.first_token < TWICE
                or HARDLY <= c.speed < TWICE
                or (c.first_token < HARDLY and c.speed >= TWICE)
            ),
        ),
    ),
    why=_why_flops,
)

PREDICTIONS = (FEWER_HEADS, MORE_CONTEXT, MORE_USERS, MORE_FLOPS)
