"""The five levers on bytes per generated token: each alone, and all together as a waterfall.

Everything starts from one reading: one user, multi-head attention, 16 bits everywhere, every expert read, one token
a pass. A lever the scenario has not pulled is shown with a usual setting, and its label says which. Bytes are exact
fractions, so that the steps add up to the total without a remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from core.evaluate import capacity_bytes, costs, evaluate
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.model import ModelSpec
from core.scenario import Scenario
from core.speculation import expected_tokens
from core.units import plural

Lever = Literal["heads", "bits", "experts", "batch", "speculation"]
LEVERS: tuple[Lever, ...] = ("heads", "bits", "experts", "batch", "speculation")

USUAL_BATCH = 32
USUAL_WEIGHT_FORMAT = "int4"
USUAL_CACHE_FORMAT = "fp8"


@dataclass(frozen=True, slots=True)
class Plan:
    """What each lever is set to when it is pulled."""

    scenario: Scenario  # with every lever pulled, except speculation
    draft: ModelSpec | None
    draft_length: int
    acceptance: float

    def label(self, lever: Lever) -> str:
        """The lever with its setting."""
        s = self.scenario
        if lever == "heads":
            heads = s.kv_heads or " and ".join(map(str, s.released_model.released_kv_heads))
            return f"{heads} KV heads" if heads else "no KV heads to share"
        if lever == "bits":
            weight = "as released" if s.weight_format == "native" else WEIGHT_FORMATS[s.weight_format].slug
            return f"weights {weight}, cache {CACHE_FORMATS[s.cache_format].slug}"
        if lever == "experts":
            moe = s.released_model.moe
            return f"experts: {moe.n_active} of {moe.n_experts} a token" if moe else "dense: no experts to skip"
        if lever == "batch":
            return plural(s.batch, "user")
        return f"{plural(self.draft_length, 'draft token')} of {self.draft.name}" if self.draft else "no draft model"


def plan(scenario: Scenario, *, draft: ModelSpec | None, draft_length: int, acceptance: float) -> Plan:
    """The scenario with the usual setting for each lever that it has not pulled.

    >>> plan(Scenario(), draft=None, draft_length=4, acceptance=0.7).label("bits")
    'weights int4, cache fp8'
    """
    plain_weights = scenario.weight_format == "bf16" or (
        scenario.weight_format == "native" and scenario.released_model.native_format in ("bf16", "fp16", "fp32")
    )
    pulled = scenario.replace(
        batch=scenario.batch if scenario.batch > 1 else USUAL_BATCH,
        weight_format=USUAL_WEIGHT_FORMAT if plain_weights else scenario.weight_format,
        cache_format=USUAL_CACHE_FORMAT if scenario.cache_format == "bf16" else scenario.cache_format,
    )
    return Plan(pulled, draft, draft_length, acceptance)


def _pulled(the_plan: Plan, levers: frozenset[Lever]) -> Scenario:
    """The scenario with just these levers pulled."""
    s = the_plan.scenario
    options = s.released_model.kv_head_options
    changes: dict[str, object] = {}
    if "heads" not in levers and options:
        changes["kv_heads"] = options[-1]
    if "bits" not in levers:
        changes |= {"weight_format": "bf16", "cache_format": "bf16"}
    if "batch" not in levers:
        changes["batch"] = 1
    return s.replace(**changes)


def bytes_per_token(the_plan: Plan, levers: frozenset[Lever]) -> Fraction:
    """Bytes read per generated token with some levers pulled.

    (weights + B x cache) / B per pass; with speculation the round's bytes (g draft steps and one pass) over B x
    expected tokens. Without the experts lever a step reads every expert, with it the expected number.
    """
    s = _pulled(the_plan, levers)
    cost = costs(s)
    spec = "speculation" in levers and the_plan.draft is not None
    width = the_plan.draft_length + 1 if spec else 1
    if "experts" in levers and cost.weights.experts:
        weights = Fraction(cost.weights.read_bytes(skip_embedding=s.skip_embedding, tokens=s.batch * width))
    else:
        lookup = cost.weights.lookup_bytes if s.skip_embedding else 0
        weights = Fraction(cost.weights.stored_bytes - lookup)
    total = weights + cost.read.bytes(s.context, s.batch)
    tokens = Fraction(s.batch)
    if spec and the_plan.draft is not None:
        drafting = evaluate(s.replace(model=the_plan.draft, kv_heads=None)).decode
        total += the_plan.draft_length * Fraction((drafting.expected or drafting).bytes_read)
        tokens *= Fraction(expected_tokens(acceptance=the_plan.acceptance, draft_length=the_plan.draft_length))
    return total / tokens


def memory_bytes(the_plan: Plan, levers: frozenset[Lever]) -> int:
    """Memory with some levers pulled: weights, cache and reserve, the draft model's too."""
    s = _pulled(the_plan, levers)
    total = evaluate(s).memory.total_bytes
    if "speculation" in levers and the_plan.draft is not None:
        m = evaluate(s.replace(model=the_plan.draft, kv_heads=None)).memory
        total += m.weights_bytes + m.kv_bytes
    return total


@dataclass(frozen=True, slots=True)
class Step:
    """One bar of the waterfall."""

    lever: Lever
    label: str
    alone_bytes: Fraction  # what the lever saves when it is the only one
    saved_bytes: Fraction  # what it saves after those before it; negative when it costs
    after_bytes: Fraction
    memory_bytes: int  # in total, with this lever and those before it

    @property
    def factor(self) -> float:
        """How many times fewer bytes with this lever alone."""
        whole = self.after_bytes + self.saved_bytes
        return float(whole / self.after_bytes)


@dataclass(frozen=True, slots=True)
class Waterfall:
    """From the plain start to all levers, the strongest first or in the order asked for."""

    start_bytes: Fraction
    start_memory_bytes: int
    capacity_bytes: int
    steps: tuple[Step, ...]

    @property
    def end_bytes(self) -> Fraction:
        """Bytes per token with every lever pulled."""
        return self.steps[-1].after_bytes


def strength(the_plan: Plan, lever: Lever) -> float:
    """How many times fewer bytes per token the lever alone makes."""
    none = frozenset[Lever]()
    return float(bytes_per_token(the_plan, none) / bytes_per_token(the_plan, frozenset((lever,))))


def waterfall(the_plan: Plan, order: Sequence[Lever] = ()) -> Waterfall:
    """Pull the levers one after the other, in this order or ordered by what each does alone.

    >>> from core.drafting import draft_models
    >>> fall = waterfall(plan(Scenario(), draft=draft_models(Scenario().released_model)[0], draft_length=4,
    ...     acceptance=0.7))
    >>> fall.start_bytes - sum(step.saved_bytes for step in fall.steps) == fall.end_bytes
    True
    """
    none: frozenset[Lever] = frozenset()
    start = bytes_per_token(the_plan, none)
    order = order or sorted(LEVERS, key=lambda lever: (-strength(the_plan, lever), LEVERS.index(lever)))
    steps: list[Step] = []
    pulled = none
    before = start
    for lever in order:
        pulled = pulled | frozenset[Lever]((lever,))
        after = bytes_per_token(the_plan, pulled)
        steps.append(
            Step(
                lever=lever,
                label=the_plan.label(lever),
                alone_bytes=start - bytes_per_token(the_plan, frozenset((lever,))),
                saved_bytes=before - after,
                after_bytes=after,
                memory_bytes=memory_bytes(the_plan, pulled),
            )
        )
        before = after
    return Waterfall(start, memory_bytes(the_plan, none), capacity_bytes(the_plan.scenario), tuple(steps))
