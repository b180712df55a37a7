"""Predict, then reveal: claims about a case, of which the formulas make exactly one true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from core.drafting import Speculation, speculate
from core.evaluate import Result, evaluate
from core.formats import WEIGHT_FORMATS
from core.levers import LEVERS, Lever, Plan, plan, strength
from core.paging import Served
from core.pool import Pool, pool
from core.scenario import BATCH_MAX, CONTEXT_MAX, Scenario
from core.units import (
    Unit,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    integer,
    plural,
    significant,
    trimmed,
)
from core.view import View

# What the claims call "hardly" and "twice". Whatever lies between is "less than".
HARDLY = 1.1
TWICE = 1.9
NEARLY_ALL = 0.9
QUARTER = 0.26
HALF = 0.5
FOUR_TIMES = 4.0
SLOWER = 0.95
AWAKE_BATCH = 16


class Case(Protocol):
    """What a prediction is about: figures before and after, to be shown at the reveal."""

    def rows(self, unit: Unit) -> list[tuple[str, ...]]:
        """Figure, before, after, factor."""
        ...


AnyCase = TypeVar("AnyCase", bound=Case)


def factor_row(name: str, show: Callable[[float], str], before: float, after: float) -> tuple[str, ...]:
    """One line of a reveal.

    >>> factor_row("users", integer, 2, 8)
    ('users', '2', '8', '× 4.00')
    """
    return name, show(before), show(after), f"× {format_ratio(after / before, 3)}" if before else ""


@dataclass(frozen=True, slots=True)
class Change:
    """The results before and after, and how their figures compare."""

    before: Result
    after: Result

    def rows(self, unit: Unit) -> list[tuple[str, ...]]:
        """Figure, before, after, factor."""

        def size(value: float) -> str:
            return format_bytes(value, unit)

        def row(name: str, show: Callable[[float], str], value: Callable[[Result], float]) -> tuple[str, ...]:
            return factor_row(name, show, value(self.before), value(self.after))

        return [
            row("weights", size, lambda r: r.memory.weights_bytes),
            row("KV cache", size, lambda r: r.memory.kv_bytes),
            row("together", format_rate, lambda r: r.decode.tokens_per_s),
            row("each user", format_rate, lambda r: r.decode.tokens_per_s_per_user),
            row("time to first token", format_seconds, lambda r: r.prefill.ttft_s),
        ]

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
class Claim(Generic[AnyCase]):
    """One answer to choose, and whether it holds."""

    text: str
    holds: Callable[[AnyCase], bool]


@dataclass(frozen=True, slots=True)
class Prediction(Generic[AnyCase]):
    """A question about a view; `case` is None where the view leaves nothing to ask, and `nothing` says why."""

    slug: str
    case: Callable[[View], AnyCase | None]
    question: Callable[[AnyCase], str]
    claims: tuple[Claim[AnyCase], ...]
    why: Callable[[AnyCase, Unit], str]
    header: tuple[str, ...] = ("", "before", "after", "factor")
    nothing: Callable[[View], str] = lambda view: f"{view.scenario.released_model.name} leaves nothing to predict here."


@dataclass(frozen=True)
class Asked:
    """A prediction put to one view; what explains the answer is worked out when it is asked for."""

    question: str
    claims: tuple[str, ...]
    right: int
    header: tuple[str, ...]
    explain: Callable[[], tuple[str, list[tuple[str, ...]]]]

    @cached_property
    def _explained(self) -> tuple[str, list[tuple[str, ...]]]:
        return self.explain()

    @property
    def why(self) -> str:
        """Why the right claim holds, in sentences."""
        return self._explained[0]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The figures that it rests on, under `header`."""
        return self._explained[1]


def ask(prediction: Prediction[Any], view: View) -> Asked | None:
    """Put a prediction to a view; the right claim is the one that holds for the evaluated case.

    >>> asked = ask(MORE_CONTEXT, View(Scenario(batch=32)))
    >>> asked.claims[asked.right]
    'The cache doubles; tokens/s fall, but stay above half.'
    """
    case = prediction.case(view)
    if case is None:
        return None
    holding = [number for number, claim in enumerate(prediction.claims) if claim.holds(case)]
    if len(holding) != 1:
        raise AssertionError(f"{prediction.slug}: {len(holding)} claims hold for {view!r}")

    def explain() -> tuple[str, list[tuple[str, ...]]]:
        why = prediction.why(case, view.unit) + (what_if(case) if isinstance(case, Change) else "")
        return why, case.rows(view.unit)

    return Asked(
        question=prediction.question(case),
        claims=tuple(claim.text for claim in prediction.claims),
        right=holding[0],
        header=prediction.header,
        explain=explain,
    )


def what_if(change: Change) -> str:
    """Why the figures after, or already those before, are a what-if; empty where the system can hold them.

    >>> what_if(Change(evaluate(Scenario(batch=32)), evaluate(Scenario(batch=64))))
    ' A what-if: 64 users of 8,192 tokens do not fit, at most 56 fit.'
    """
    said: list[str] = []
    for result in (change.before, change.after):
        s, m = result.scenario, result.memory
        stops = s.released_model.max_context
        load = f"{plural(s.batch, 'user')} of {plural(s.context, 'token')}"
        if not m.fits:
            room = f", at most {integer(m.max_batch)} fit" if m.max_batch else ""
            said.append(f" A what-if: {load} {'does' if s.batch == 1 else 'do'} not fit{room}.")
        if s.context > stops:
            said.append(f" A what-if: {s.released_model.name} stops at {plural(stops, 'token')}.")
    return "".join(dict.fromkeys(said))


def _changed(change: Callable[[Scenario], tuple[Scenario, Scenario] | None]) -> Callable[[View], Change | None]:
    def case(view: View) -> Change | None:
        pair = change(view.scenario)
        return None if pair is None else Change(evaluate(pair[0]), evaluate(pair[1]))

    return case


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
    weights = change.before.memory.weights_bytes / change.after.memory.weights_bytes
    shrunk = (
        f"The cache shrinks {format_ratio(change.cache_shrink)} times, the weights {format_ratio(weights, 3)} times. "
        f"Before, {_shares(change.before, unit)}; after, {_shares(change.after, unit)}."
    )
    if change.after.decode.bound_by == "compute":
        return f"{shrunk} With so little to read arithmetic sets the pace, and fewer KV heads leave it as it is."
    return f"{shrunk} The larger the cache's share of the step, the more of the shrinking arrives as speed."


FEWER_HEADS = Prediction(
    slug="fewer-kv-heads",
    question=lambda c: (
        f"From {plural(c.before.scenario.kv_heads or 0, 'KV head')} (multi-head attention) to "
        f"{c.after.scenario.kv_heads}: what happens to the ceiling of all users together?"
    ),
    case=_changed(_fewer_heads),
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
    case=_changed(_twice_context),
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
    case=_changed(_twice_users),
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
    case=_changed(_twice_flops),
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


def _fewer_bits(scenario: Scenario) -> tuple[Scenario, Scenario] | None:
    chosen = scenario.weight_format if scenario.weight_format not in ("native", "bf16") else "int4"
    return scenario.replace(weight_format="bf16"), scenario.replace(weight_format=chosen)


def _memory_left(change: Change) -> float:
    """Weights and cache after, as a share of before."""
    before, after = change.before.memory, change.after.memory
    return (after.weights_bytes + after.kv_bytes) / (before.weights_bytes + before.kv_bytes)


def _why_bits(change: Change, unit: Unit) -> str:
    m = change.after.memory
    share = 100 * m.weights_bytes / change.before.memory.weights_bytes
    return (
        f"The weights fall to {significant(share)} %: what stays wide (tables, head, norms) and the scales take their "
        f"part. The cache of {format_bytes(m.kv_bytes, unit)} has its own format and does not notice."
    )


FEWER_BITS = Prediction(
    slug="fewer-bits",
    case=_changed(_fewer_bits),
    question=lambda c: (
        f"Weights in {WEIGHT_FORMATS[c.after.scenario.weight_format].label} instead of 16 bits, the cache as it is: "
        "what happens to weights and cache together?"
    ),
    claims=(
        Claim("They fall to about a quarter.", lambda c: _memory_left(c) <= QUARTER),
        Claim("They fall to between a quarter and a half.", lambda c: QUARTER < _memory_left(c) <= HALF),
        Claim("They fall, but stay above half.", lambda c: HALF < _memory_left(c) <= NEARLY_ALL),
        Claim("They hardly fall.", lambda c: _memory_left(c) > NEARLY_ALL),
    ),
    why=_why_bits,
)


@dataclass(frozen=True, slots=True)
class Awake:
    """One user and a crowd of a mixture of experts, as a case."""

    one: Result
    crowd: Result
    n_experts: int
    n_active: int

    @property
    def touched(self) -> float:
        """Experts a layer is expected to touch for the crowd."""
        expected = self.crowd.decode.expected
        return 0.0 if expected is None else expected.experts_touched or 0.0

    @property
    def share(self) -> float:
        """The same as a share of all experts."""
        return self.touched / self.n_experts

    def rows(self, unit: Unit) -> list[tuple[str, ...]]:
        """Figure, one user, crowd, factor: at the experts expected, then at the fewest."""
        one, crowd = self.one.decode.expected, self.crowd.decode.expected
        if one is None or crowd is None:
            return []

        def size(value: float) -> str:
            return format_bytes(value, unit)

        least = (self.one.decode, self.crowd.decode)
        return [
            factor_row("experts touched a layer", trimmed, one.experts_touched or 0, crowd.experts_touched or 0),
            factor_row("weights read, expected", size, one.weights_read_bytes, crowd.weights_read_bytes),
            factor_row("together, expected", format_rate, one.tokens_per_s, crowd.tokens_per_s),
            factor_row("weights read, fewest", size, least[0].weights_read_bytes, least[1].weights_read_bytes),
            factor_row("together, fewest", format_rate, least[0].tokens_per_s, least[1].tokens_per_s),
        ]


def _awake(view: View) -> Awake | None:
    moe = view.scenario.released_model.moe
    if moe is None:
        return None
    crowd = view.scenario.batch if view.scenario.batch > 1 else AWAKE_BATCH
    one, many = (evaluate(view.scenario.replace(batch=batch)) for batch in (1, crowd))
    return Awake(one, many, moe.n_experts, moe.n_active)


def _why_awake(case: Awake, unit: Unit) -> str:
    return (
        f"Each of {plural(case.crowd.decode.batch, 'user')} picks {case.n_active} of {case.n_experts} experts. Picked "
        f"uniformly and independently they make {trimmed(case.touched)} different ones a layer. It is an estimate: "
        "measured systems have beaten it, never the bound."
    )


EXPERTS_AWAKE = Prediction(
    slug="experts",
    case=_awake,
    question=lambda c: (
        f"From one to {plural(c.crowd.decode.batch, 'user')}: how many experts does a layer wake, if tokens choose "
        "uniformly?"
    ),
    claims=(
        Claim("At most a quarter of them.", lambda c: c.share <= QUARTER),
        Claim("Up to half of them.", lambda c: QUARTER < c.share <= HALF),
        Claim("More than half, but far from all.", lambda c: HALF < c.share <= NEARLY_ALL),
        Claim("Nearly all of them.", lambda c: c.share > NEARLY_ALL),
    ),
    why=_why_awake,
    header=("", "one user", "the crowd", "factor"),
    nothing=lambda view: (
        f"{view.scenario.released_model.name} has no experts to wake. Choose a mixture of experts above, or open one "
        "of the scenarios below."
    ),
)


def _why_pages(case: Pool, unit: Unit) -> str:
    return (
        f"Reserved for the longest request, {_used(case.reserved)} of the held memory has a token in it; in blocks of "
        f"{integer(case.block)}, {_used(case.paged)}: only the last block of each request has empty slots."
    )


def _used(served: Served) -> str:
    return f"{significant(100 * served.used_share)} %"


PAGES_OF_CACHE = Prediction(
    slug="paged-cache",
    case=pool,
    question=lambda c: (
        f"Blocks of {integer(c.block)} tokens instead of room for {integer(c.longest)} tokens each: "
        "how many users fit together?"
    ),
    claims=(
        Claim("About as many.", lambda c: c.gain < HARDLY),
        Claim("More, but less than twice as many.", lambda c: HARDLY <= c.gain < TWICE),
        Claim("Two to four times as many.", lambda c: TWICE <= c.gain <= FOUR_TIMES),
        Claim("More than four times as many.", lambda c: c.gain > FOUR_TIMES),
    ),
    why=_why_pages,
    header=("", "reserved", "in blocks", "factor"),
    nothing=lambda view: "Not one request fits either way: there is nothing to share out.",
)


@dataclass(frozen=True, slots=True)
class Drafted:
    """A round of speculation as a case."""

    found: Speculation

    def rows(self, unit: Unit) -> list[tuple[str, ...]]:
        """Figure, without, with, factor."""
        f = self.found
        users = f.target.batch

        def size(value: float) -> str:
            return format_bytes(value, unit)

        return [
            factor_row("together", format_rate, f.target.tokens_per_s, f.tokens_per_s),
            factor_row("tokens a pass and user", significant, 1.0, f.expected_tokens),
            factor_row("time of a pass", format_seconds, f.target.step_s, f.round_s),
            factor_row("bytes a token", size, f.target.bytes_read / users, f.bytes_read / users / f.expected_tokens),
        ]


def _drafted(view: View) -> Drafted | None:
    if view.draft_model is None or not view.draft_length:
        return None
    found = speculate(view.scenario, view.draft_model, draft_length=view.draft_length, acceptance=view.accepted)
    return Drafted(found)


def _why_drafted(case: Drafted, unit: Unit) -> str:
    f = case.found
    bound = "memory" if f.verify.bound_by == "memory" else "arithmetic"
    return (
        f"A round yields {significant(f.expected_tokens)} tokens a user and takes {format_seconds(f.round_s)}: "
        f"{plural(f.draft_length, 'draft step')} of {format_seconds(f.draft.step_s)} and one verifying pass of "
        f"{format_seconds(f.verify.step_s)}, bound by {bound}. A plain step takes {format_seconds(f.target.step_s)}."
    )


SPECULATION = Prediction(
    slug="speculation",
    case=_drafted,
    question=lambda c: (
        f"{plural(c.found.draft_length, 'drafted token')} a round, {significant(100 * c.found.acceptance, 2)} % "
        f"accepted, {plural(c.found.target.batch, 'user')}: what happens to tokens/s?"
    ),
    claims=(
        Claim("They fall.", lambda c: c.found.speed_up < SLOWER),
        Claim("They hardly change.", lambda c: SLOWER <= c.found.speed_up < HARDLY),
        Claim("They rise by less than double.", lambda c: HARDLY <= c.found.speed_up < TWICE),
        Claim("They double, or better.", lambda c: c.found.speed_up >= TWICE),
    ),
    why=_why_drafted,
    header=("", "plain", "speculating", "factor"),
    nothing=lambda view: (
        f"Nothing is drafted: set a draft length and a draft model for {view.scenario.released_model.name} "
        "(the catalog may hold none of its family)."
    ),
)


@dataclass(frozen=True, slots=True)
class Pulled:
    """All levers on one model, as a case."""

    the_plan: Plan
    strengths: dict[Lever, float]

    @property
    def strongest(self) -> Lever:
        """The lever that alone cuts most."""
        return max(LEVERS, key=lambda lever: self.strengths[lever])

    def rows(self, unit: Unit) -> list[tuple[str, ...]]:
        """Lever, its setting, what it alone leaves of a token's bytes."""
        return [
            (LEVER_WORDS[lever], self.the_plan.label(lever), f"{significant(100 / self.strengths[lever])} %")
            for lever in sorted(LEVERS, key=lambda lever: -self.strengths[lever])
        ]


LEVER_WORDS: dict[Lever, str] = {
    "heads": "fewer KV heads",
    "bits": "fewer bits",
    "experts": "experts instead of dense",
    "batch": "many users at once",
    "speculation": "speculation",
}


def _why_pulled(case: Pulled, unit: Unit) -> str:
    best = case.strongest
    return (
        f"Alone, {LEVER_WORDS[best]} ({case.the_plan.label(best)}) leaves "
        f"{format_ratio(100 / case.strengths[best], 3)} % of the bytes per token of one user with "
        "multi-head attention, 16 bits and every expert read."
    )


def view_plan(view: View) -> Plan:
    """The levers as a view sets them."""
    return plan(view.scenario, draft=view.draft_model, draft_length=view.draft_length, acceptance=view.accepted)


def _pulled_case(view: View) -> Pulled:
    the_plan = view_plan(view)
    return Pulled(the_plan, {lever: strength(the_plan, lever) for lever in LEVERS})


def _is_strongest(lever: Lever) -> Callable[[Pulled], bool]:
    return lambda case: case.strongest == lever


CUT_THE_BYTES = Prediction(
    slug="cut-the-bytes",
    case=_pulled_case,
    question=lambda c: (
        f"Which lever alone cuts most of the bytes per token of {c.the_plan.scenario.released_model.name}?"
    ),
    claims=tuple(
        Claim(f"{LEVER_WORDS[lever][0].upper()}{LEVER_WORDS[lever][1:]}.", _is_strongest(lever)) for lever in LEVERS
    ),
    why=_why_pulled,
    header=("lever", "setting", "bytes left, alone"),
)

PREDICTIONS: tuple[Prediction[Any], ...] = (
    FEWER_HEADS,
    MORE_CONTEXT,
    MORE_USERS,
    MORE_FLOPS,
    FEWER_BITS,
    EXPERTS_AWAKE,
    PAGES_OF_CACHE,
    SPECULATION,
    CUT_THE_BYTES,
)
