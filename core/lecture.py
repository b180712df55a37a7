"""The lecture plan as data: fifteen minutes, ten steps, each a ready link with what to ask, show and conclude."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import urlencode

from core import presets
from core.drafting import speculate
from core.evaluate import Result, bandwidth_bytes_per_s, crossing_context, evaluate, intensities, limits
from core.lessons import lesson, page
from core.pool import pool
from core.units import (
    Unit,
    format_bandwidth,
    format_bytes,
    format_rate,
    format_ratio,
    format_seconds,
    integer,
    plural,
    shortest,
    significant,
    trimmed,
)
from core.view import View

MINUTES = 15
LECTURE = {"view": "lecture"}  # what a link of the plan adds: the page laid out for a projector


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the plan: the chapter's line that it teaches, its link, and the answer computed from it."""

    minutes: int
    page: str
    view: View
    line: str
    ask: str
    show: str
    said: Callable[[View, Unit], str]

    def answer(self, unit: Unit = "GB") -> str:
        """The answer in one sentence, formatted from the result of this step's view."""
        return self.said(self.view, unit)

    def query(self, unit: Unit = "GB") -> dict[str, str]:
        """The link's parameters: the whole view, for a projector."""
        return self.view.replace(unit=unit).to_query() | LECTURE

    def path(self) -> str:
        """Where the page is, from the app's address on.

        >>> PLAN[0].path(), PLAN[1].path()
        ('', 'two_phases')
        """
        return "" if self.page == "home" else PurePath(page(self.page).file).stem


def _result(view: View) -> Result:
    return evaluate(view.scenario)


# The answers' figures have the digits with which the page shows them: what is said is what is read.


def _tiny(view: View, unit: Unit) -> str:
    r = _result(view)
    d = r.decode
    read = shortest(d.bytes_read, format_bytes)
    bandwidth = shortest(bandwidth_bytes_per_s(r.scenario), format_bandwidth)
    return (
        f"{read} / {bandwidth} = {format_seconds(d.step_s, 4)}, so no more than {format_rate(d.tokens_per_s, 4)}: "
        "every token waits for all the weights."
    )


def _phases(view: View, unit: Unit) -> str:
    r = _result(view)
    p, d = r.prefill, r.decode
    return (
        f"The first token waits at least {format_seconds(p.ttft_s, 4)} for all {plural(r.scenario.batch, 'prompt')} "
        f"({p.bound_by}-bound), each token after it {format_seconds(d.step_s, 4)} ({d.bound_by}-bound: its arithmetic "
        f"alone would take {format_seconds(d.compute_s, 4)})."
    )


def _intensity(view: View, unit: Unit) -> str:
    r = _result(view)
    found, edge = intensities(r.scenario, r), limits(r.scenario).compute_bound_batch or 0
    return (
        f"A weight matrix does as many FLOPs a byte in 16 bits as there are users, here "
        f"{trimmed(found.decode_weights, 4)}; {r.scenario.gpu_spec.name} needs {significant(found.ridge, 4)}, and "
        f"since there is a little cache to read too, arithmetic sets the pace from {plural(math.ceil(edge), 'user')} "
        "on."
    )


def _users(view: View, unit: Unit) -> str:
    r = _result(view)
    one = evaluate(r.scenario.replace(batch=1)).decode
    m = r.memory
    return (
        f"Together {format_ratio(r.decode.tokens_per_s / one.tokens_per_s)} times the tokens/s of one, not "
        f"{integer(r.scenario.batch)} times: the caches take {format_ratio(m.kv_bytes / m.weights_bytes)} times the "
        "weights, and nobody shares one."
    )


def _domination(view: View, unit: Unit) -> str:
    m, s = _result(view).memory, view.scenario
    crossing = crossing_context(s) or 0
    return (
        f"{format_bytes(m.kv_bytes, unit)} of cache against {format_bytes(m.weights_bytes, unit)} of weights; with "
        f"{plural(s.batch, 'user')} it is the larger part from {significant(crossing, 4)} tokens on."
    )


def _heads(view: View, unit: Unit) -> str:
    after = _result(view)
    many = evaluate(view.scenario.replace(kv_heads=view.scenario.released_model.kv_head_options[-1]))
    less = 100 * (1 - after.memory.weights_bytes / many.memory.weights_bytes)
    return (
        f"The cache falls {format_ratio(many.memory.kv_bytes / after.memory.kv_bytes)} times, from "
        f"{format_bytes(many.memory.kv_bytes, unit)} to {format_bytes(after.memory.kv_bytes, unit)}, the weights by "
        f"{significant(less, 2)} %, and all together get "
        f"{format_ratio(after.decode.tokens_per_s / many.decode.tokens_per_s, 3)} times the tokens/s."
    )


def _bits(view: View, unit: Unit) -> str:
    after = _result(view).memory
    wide = evaluate(view.scenario.replace(weight_format="bf16")).memory
    share = f"{significant(100 * after.weights_bytes / wide.weights_bytes)} %"
    return (
        f"The weights fall from {format_bytes(wide.weights_bytes, unit)} to "
        f"{format_bytes(after.weights_bytes, unit)}, {share}; the cache stays at {format_bytes(after.kv_bytes, unit)}."
    )


def _experts(view: View, unit: Unit) -> str:
    r = _result(view)
    moe, expected = r.scenario.released_model.moe, r.decode.expected
    if moe is None or expected is None:
        return "A dense model reads all its weights for every token."
    one = evaluate(r.scenario.replace(batch=1)).decode
    return (
        f"One user reads {format_bytes(one.weights_read_bytes, unit)} of the "
        f"{format_bytes(r.memory.weights_bytes, unit)} in memory; {plural(r.scenario.batch, 'user')} are expected to "
        f"wake {trimmed(expected.experts_touched or 0)} of {moe.n_experts} experts a layer and to read "
        f"{format_bytes(expected.weights_read_bytes, unit)}: the saving melts."
    )


def _paging(view: View, unit: Unit) -> str:
    found = pool(view)
    if found is None:
        return "Not one request fits."
    return (
        f"Reserved, {significant(100 * found.reserved.used_share)} % of the slots hold a token and "
        f"{plural(found.reserved.n_served, 'user')} fit; in blocks {significant(100 * found.paged.used_share)} % "
        f"and {plural(found.paged.n_served, 'user')}."
    )


def _speculation(view: View, unit: Unit) -> str:
    draft = view.draft_model or view.scenario.released_model
    scenarios = (view.scenario, presets.DRAFT_CROWD.scenario)
    one, crowd = (speculate(s, draft, draft_length=view.draft_length, acceptance=view.accepted) for s in scenarios)
    return (
        f"A pass yields {significant(one.expected_tokens)} tokens for little more than the time of one: "
        f"× {format_ratio(one.speed_up, 3)}; for {plural(scenarios[1].batch, 'user')} "
        f"of {plural(scenarios[1].context, 'token')} × {format_ratio(crowd.speed_up, 3)}, since checking then costs "
        "arithmetic."
    )


def _of(preset: presets.Preset) -> View:
    return View(preset.scenario)


def _against_one(preset: presets.Preset) -> View:
    """The preset beside the same for one user, pinned."""
    return View(preset.scenario, pins=(preset.scenario.replace(batch=1),))


def _key(slug: str, preset: presets.Preset) -> str:
    """The key that opens a lesson's preset, and its title.

    >>> _key("speculation", presets.DRAFT_CROWD)
    '2 (“The same for a crowd”)'
    """
    return f"{lesson(slug).presets.index(preset) + 1} (“{preset.title}”)"


PLAN: tuple[Step, ...] = (
    Step(
        2,
        "home",
        _of(presets.TINY_CALCULATION),
        "The tiny calculation: weights over bandwidth is the least time of a token.",
        "One user, one token at a time: how fast can this GPU be at most?",
        "The weights in the bar, and a cache too thin to see; most of the memory is free. Read the arithmetic aloud: "
        "bytes, bandwidth, time.",
        _tiny,
    ),
    Step(
        2,
        "two-phases",
        _of(presets.CLASS_OF_32),
        "Prefill reads the prompt in one parallel pass and is compute-bound; decode makes one token a pass and is "
        "bandwidth-bound.",
        "Which of the two waits for the memory, and which for the arithmetic?",
        "The dots on the roofline: prefill right of the ridge, decode left of it; beneath, the time of a first token, "
        "and of a step its memory time and its compute time.",
        _phases,
    ),
    Step(
        1,
        "more-users",
        _of(presets.EMPTY_CHATS),
        "Arithmetic intensity is FLOPs over bytes; of a 16-bit weight matrix in decode it is the batch.",
        "How many users keep the arithmetic units busy?",
        "Almost empty chats: tokens/s together rise with the users until the curve bends at the arithmetic; beneath, "
        "the intensity of the weights, and the ridge that it must reach.",
        _intensity,
    ),
    Step(
        2,
        "home",
        _against_one(presets.CLASS_OF_32),
        "Users share one reading of the weights, so throughput rises with them, until the KV caches take over.",
        "A class of users instead of one: as many times the tokens/s?",
        "The thin bar is one user, pinned, and the line beneath compares the two. Drag Users up from one: together "
        "rises, each falls, and the hatched cache pushes towards the edge.",
        _users,
    ),
    Step(
        1,
        "longer-context",
        _of(presets.THREE_TERABYTES),
        "Small batch and short context: the weights dominate. Large batch and long context: the cache (Pope et al.).",
        "What is the larger part of memory here, the weights or the cache?",
        "The crossing of the two lines. Drag the context to the left and the weights win.",
        _domination,
    ),
    Step(
        2,
        "fewer-kv-heads",
        _of(presets.CLASS_OF_32),
        "First lever: grouped-query attention shrinks the cache that is read.",
        "Four query heads share a KV head: what becomes of the cache, of the weights, of the speed?",
        "From MHA to the heads as released, which is GQA, the cache bars shrink and the weights hardly move. Drag KV "
        "heads to one for MQA.",
        _heads,
    ),
    Step(
        1,
        "fewer-bits",
        _of(presets.FOUR_BITS),
        "Second lever: quantization shrinks the bytes of a weight.",
        "Four bits instead of sixteen: a quarter of the memory?",
        "The bar of the format in bold beside that of 16 bits: embedding, output head and norms stay wide. At the "
        "right the cache, which has a format of its own.",
        _bits,
    ),
    Step(
        1,
        "experts",
        _of(presets.MIXTRAL_CROWD),
        "Third lever: a mixture of experts touches fewer weights.",
        "How many experts does this class wake?",
        "The dot is what is expected, in the band between the least and all experts; “Together” beneath is the bound, "
        "with the least. Drag Users down to one.",
        _experts,
    ),
    Step(
        1,
        "paged-cache",
        _of(presets.OPT_13B),
        "Fourth lever: batching shares the weight reads, and paged attention makes room for the batch.",
        "What does a reservation for the longest request waste?",
        "The memory's slots, reserved beside blocks: what holds a token, what is held without one.",
        _paging,
    ),
    Step(
        2,
        "speculation",
        _of(presets.DRAFT_FOR_70B),
        "Fifth lever: speculative decoding needs fewer passes of the target for a token.",
        "Can a pass of the large model yield more than one token?",
        "Speed-up against the draft length, with a best length; then against users, where it falls. Then press "
        f"{_key('speculation', presets.DRAFT_CROWD)}: many short chats, and the dot is below “no gain”.",
        _speculation,
    ),
)


def links(base: str = "", unit: Unit = "GB") -> tuple[str, ...]:
    """The ten addresses, beneath the address of the app.

    >>> links("https://example.org/")[1][:52]
    'https://example.org/two_phases?model=llama-3-8b&gpu='
    """
    root = base.rstrip("/")
    return tuple(f"{root}/{step.path()}?{urlencode(step.query(unit))}" for step in PLAN)


def times() -> tuple[tuple[int, int], ...]:
    """Start and end of each step in minutes.

    >>> times()[0], times()[-1][1] == MINUTES
    ((0, 2), True)
    """
    ends = [sum(step.minutes for step in PLAN[: n + 1]) for n in range(len(PLAN))]
    return tuple(zip([0, *ends], ends, strict=False))


# The misconceptions that these steps confront, in their order.
EXPECT: tuple[str, ...] = (
    "cache-is-small",
    "cache-saves-memory",
    "more-flops",
    "batching-is-free",
    "attention-becomes-compute-bound",
    "one-speed",
    "memory-is-constant",
    "gqa-shrinks-the-model",
    "four-bits-quarter",
    "ceiling-is-the-speed",
)
