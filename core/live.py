"""What the live picture shows while its own slider is dragged: frames, each of them one `evaluate()`.

A reel is all frames of one quantity: users, context, KV heads, or conversations that grow token by token. The
frames are worked out beforehand, so that a drag needs no server; nothing here knows how they are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, get_args

from core.evaluate import DecodeStep, Memory, at_loads, costs, evaluate
from core.report import Cell, Rowset
from core.scenario import BATCH_MAX, CONTEXT_MAX, RELEASED, Scenario
from core.stops import BATCH_STOPS, context_stops
from core.units import Unit, format_bytes, format_rate, integer, plural
from core.verdict import cache_against_weights, headline

Quantity = Literal["users", "context", "kv_heads", "story"]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
LABELS: dict[Quantity, str] = {
    "users": "Users",
    "context": "Context",
    "kv_heads": "KV heads",
    "story": "Conversation",
}
# What a frame changes in the scenario, and what its values count.
FIELDS: dict[Quantity, str] = {"users": "batch", "context": "context", "kv_heads": "kv_heads", "story": "context"}
COUNTED: dict[Quantity, str] = {"users": "users", "context": "tokens", "kv_heads": "KV heads", "story": "tokens"}

FINE_MOST = 56  # values between the sliders' stops; with the special ones a reel stays near sixty frames
STORY_STEPS = 48
STORY_PROMPT = 128  # tokens; at most a sixteenth of where the story ends
STORY_REACH = 4  # times the model's limit: how far past it the story may go to find the end of memory


class Frame(NamedTuple):
    """One value of the quantity, and what the formulas say there; `value` None is the released mix of KV heads."""

    value: int | None
    label: str
    memory: Memory
    tokens_per_s: float
    tokens_per_s_per_user: float
    verdict: str
    words: str


@dataclass(frozen=True)
class Reel:
    """The frames of one quantity, least memory first, and the one that the scenario itself is at."""

    scenario: Scenario
    quantity: Quantity
    unit: Unit

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """One frame a value; each equals `evaluate()` there."""
        return tuple(_frame(self, *there) for there in _swept(self.scenario, self.quantity))

    @cached_property
    def opening(self) -> int:
        """Index of the frame to open with: the scenario's own, in the story its first."""
        own = None if self.quantity == "story" else own_value(self.scenario, self.quantity)
        return next((i for i, frame in enumerate(self.frames) if frame.value == own), 0)

    @cached_property
    def n_fitting(self) -> int:
        """How many frames fit: they come first."""
        return sum(frame.memory.fits for frame in self.frames)

    @cached_property
    def edge(self) -> int | None:
        """Largest value that memory allows, 0 where it allows none, None where it never ends; not for KV heads."""
        memory = evaluate(self.scenario).memory
        if self.quantity == "kv_heads":
            return None
        return memory.max_batch if self.quantity == "users" else memory.max_context

    @cached_property
    def limit(self) -> int | None:
        """The model's own limit of the quantity, where it has one."""
        return self.scenario.released_model.max_context if self.quantity in ("context", "story") else None

    @cached_property
    def ending(self) -> tuple[int, bool]:
        """Where the story ends, and whether memory ends it."""
        return story_end(self.scenario)

    @cached_property
    def values(self) -> tuple[int | None, ...]:
        """Values of the frames, least memory first."""
        return tuple(value for value, _, _ in _swept(self.scenario, self.quantity))


@lru_cache(maxsize=16)
def _swept(scenario: Scenario, quantity: Quantity) -> tuple[tuple[int | None, Memory, DecodeStep], ...]:
    """The values in any unit, with what memory holds and a step takes there."""
    if quantity == "kv_heads":
        return _by_heads(scenario)
    values = _VALUES[quantity](Reel(scenario, quantity, "GB"))
    if FIELDS[quantity] == "batch":
        loads = [(scenario.context, batch) for batch in values]
    else:
        loads = [(context, scenario.batch) for context in values]
    return tuple((value, *there) for value, there in zip(values, at_loads(scenario, loads), strict=True))


def quantities(scenario: Scenario) -> tuple[Quantity, ...]:
    """What can be dragged: KV heads only where the model leaves a choice.

    >>> quantities(Scenario(model="deepseek-v3"))
    ('users', 'context', 'story')
    """
    has_heads = len(scenario.released_model.kv_head_options) > 1
    return tuple(q for q in QUANTITIES if q != "kv_heads" or has_heads)


def reel(scenario: Scenario, quantity: Quantity, unit: Unit = "GB") -> Reel:
    """All there is to draw of one quantity.

    >>> found = reel(Scenario(batch=32), "users")
    >>> found.edge, found.frames[found.opening].verdict
    (56, 'Fits, with 26.5 GB free.')
    """
    if quantity not in quantities(scenario):
        allowed = ", ".join(quantities(scenario))
        raise ValueError(f"quantity must be one of {allowed} for {scenario.released_model.name}, got {quantity!r}")
    return Reel(scenario, quantity, unit)


def frames(scenario: Scenario, quantity: Quantity, unit: Unit = "GB") -> tuple[Frame, ...]:
    """The frames alone.

    >>> [frame.value for frame in frames(Scenario(), "kv_heads")]
    [1, 2, 4, 8, 16, 32]
    """
    return reel(scenario, quantity, unit).frames


def own_value(scenario: Scenario, quantity: Quantity) -> int | None:
    """The scenario's own value of a quantity; None for a released mix of KV heads.

    >>> own_value(Scenario(batch=32), "users"), own_value(Scenario(), "kv_heads")
    (32, 8)
    """
    if quantity != "kv_heads":
        return scenario.batch if quantity == "users" else scenario.context
    released = scenario.released_model.released_kv_heads
    return released[0] if scenario.kv_heads is None and len(released) == 1 else scenario.kv_heads


def refined(low: int, high: int) -> list[int]:
    """Both ends, the powers of two between them, and as many equal steps within each doubling as stay a drag.

    >>> refined(1, 16)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    >>> len(refined(1, 4096)), len(refined(128, 8192)), len(refined(1, 10**15))
    (44, 49, 51)
    """
    doublings = math.log2(high / low)
    steps = next((n for n in (16, 8, 4, 2) if n * doublings <= FINE_MOST), 1)
    found = {low, high}
    power = 1 << (low.bit_length() - 1)
    while power <= high:
        found |= {power + power * i // steps for i in range(steps) if power * i % steps == 0}
        power *= 2
    return sorted(value for value in found if low <= value <= high)


def _values(stops: list[int], edge: int | None, special: set[int], most: int) -> tuple[int, ...]:
    """The sliders' stops refined, on to where memory ends; a special value takes the place of the nearest fine one.

    >>> _values([128, 256, 512], 403, {403}, CONTEXT_MAX)[-9:]
    (384, 403, 416, 432, 448, 464, 480, 496, 512)
    """
    high = max(stops)
    if edge is not None and high < edge < most:
        high = min(most, 1 << edge.bit_length())
    fine = set(refined(min(stops), high))
    kept = {*stops, high} | {value for value in special if 1 <= value <= most}
    for value in kept - fine:
        nearest = min(fine, key=lambda other: abs(other - value))
        if nearest not in kept and nearest & (nearest - 1):
            fine.remove(nearest)
    return tuple(sorted(fine | kept))


def _user_values(found: Reel) -> tuple[int, ...]:
    """On both sides of the edge: the last user that fits, and the first that does not."""
    edge, batch = found.edge, found.scenario.batch
    return _values([*BATCH_STOPS, batch], edge, set() if edge is None else {edge, edge + 1}, BATCH_MAX)


def _context_values(found: Reel) -> tuple[int, ...]:
    s, edge = found.scenario, found.edge
    return _values(context_stops(s.released_model, s.context), edge, set() if edge is None else {edge}, CONTEXT_MAX)


def _by_heads(scenario: Scenario) -> tuple[tuple[int | None, Memory, DecodeStep], ...]:
    """Every number of KV heads, and the released mix where layers differ; least memory first."""
    model = scenario.released_model
    values: list[int | None] = list(model.kv_head_options)
    if len(model.released_kv_heads) > 1:
        values.append(None)
    results = [evaluate(scenario.replace(kv_heads=value)) for value in values]
    found = [(value, result.memory, result.decode) for value, result in zip(values, results, strict=True)]
    return tuple(sorted(found, key=lambda there: there[1].total_bytes))


def story_end(scenario: Scenario) -> tuple[int, bool]:
    """Context at which the story ends, and whether memory ends it; past four times the model's limit it does not.

    >>> story_end(Scenario(batch=32)), story_end(Scenario(batch=1))
    ((14521, True), (8192, False))
    """
    limit = scenario.released_model.max_context
    room = evaluate(scenario).memory.max_context
    if room is not None and room <= min(STORY_REACH * limit, CONTEXT_MAX):
        return max(1, room), True
    return limit, False


def _story_values(found: Reel) -> tuple[int, ...]:
    """From a short prompt to the end in equal round steps; nothing but the first token where not even that fits.

    The model's limit, and where the cache outweighs the weights, take the place of the nearest step.
    """
    end, _ = found.ending
    start = max(1, min(STORY_PROMPT, end // 16))
    step = _round_step((end - start) / STORY_STEPS)
    steps = set(range(step * (start // step + 1), end, step))
    special = {found.limit, _outweighs(found.scenario)}
    inside = {value for value in special if value is not None and start < value < end}
    for value in inside:
        steps -= {min(steps, key=lambda other: abs(other - value))} if steps else set()
    return tuple(sorted({start, end} | steps | inside))


def _round_step(rough: float) -> int:
    """The smallest round number that is at least `rough`.

    >>> [_round_step(x) for x in (0.2, 3, 101, 295, 21_000)]
    [1, 3, 120, 300, 25000]
    """
    power = 10 ** max(0, math.floor(math.log10(max(1.0, rough))))
    tenths = (power * n for n in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100))
    return next(step // 10 for step in tenths if step >= 10 * rough and step % 10 == 0)


def _outweighs(scenario: Scenario) -> int | None:
    """First context at which all caches take at least as much memory as the weights."""
    cost = costs(scenario)
    crossing = cost.stored.crossing(cost.weights.stored_bytes / scenario.batch)
    return None if crossing is None else math.ceil(crossing)


_VALUES: dict[Quantity, Callable[[Reel], tuple[int, ...]]] = {
    "users": _user_values,
    "context": _context_values,
    "story": _story_values,
}


def _frame(found: Reel, value: int | None, memory: Memory, step: DecodeStep) -> Frame:
    return Frame(
        value,
        RELEASED if value is None else integer(value),
        memory,
        step.tokens_per_s,
        step.tokens_per_s_per_user,
        headline(memory, found.unit),
        _WORDS[found.quantity](found, value, memory),
    )


def _user_words(found: Reel, users: int | None, memory: Memory) -> str:
    return cache_against_weights(memory)


def _context_words(found: Reel, context: int | None, memory: Memory) -> str:
    model = found.scenario.released_model
    if context is not None and context > model.max_context:
        return f"A what-if: the model stops at {integer(model.max_context)}."
    return cache_against_weights(memory)


def _head_words(found: Reel, heads: int | None, memory: Memory) -> str:
    released = found.scenario.released_model.released_kv_heads
    if heads is None or released == (heads,):
        return "As released."
    return f"Hypothetical: released with {' and '.join(map(str, released))}."


def _story_words(found: Reel, context: int | None, memory: Memory) -> str:
    """What happens at this token of the conversation."""
    s, now = found.scenario, context or 0
    model = s.released_model
    end, by_memory = found.ending
    start = found.values[0] or 1
    if found.edge == 0:
        return "Memory ends before the first token."
    if now == end and not by_memory:
        return "The model stops here."
    if now == end and now > model.max_context:
        return f"Memory ends here, past the model's {integer(model.max_context)}: a what-if."
    if now == end:
        return "Memory ends here: the next token does not fit."
    if now == start:
        return "The prompt is read; now token follows token."
    if now > model.max_context:
        what = "past the model's limit, a what-if"
    elif not costs(s).stored.per_token_bytes(now):
        what = "the state keeps its size" if s.model_spec.state_bytes else "the windows are full"
    elif memory.kv_bytes >= memory.weights_bytes:
        what = "the cache outweighs the weights"
    else:
        what = "each one stays in the cache"
    return f"{plural(now - start, 'token')} made: {what}."


_WORDS: dict[Quantity, Callable[[Reel, int | None, Memory], str]] = {
    "users": _user_words,
    "context": _context_words,
    "kv_heads": _head_words,
    "story": _story_words,
}


def setting(found: Reel) -> str:
    """What stays the same while the quantity is dragged, in one line.

    >>> setting(reel(Scenario(batch=32), "users"))
    'Llama 3 8B on NVIDIA H100 SXM5, 8,192 tokens each'
    """
    s, quantity = found.scenario, found.quantity
    devices = s.gpu_spec.name if s.n_gpus == 1 else f"{integer(s.n_gpus)} × {s.gpu_spec.name}"
    hypothetical = s.model_spec.is_hypothetical and quantity != "kv_heads"
    heads = f" with {plural(s.kv_heads or 0, 'KV head')}" if hypothetical else ""
    load = {
        "users": f"{plural(s.context, 'token')} each",
        "context": plural(s.batch, "user"),
        "kv_heads": f"{plural(s.batch, 'user')} of {plural(s.context, 'token')}",
        "story": "one conversation" if s.batch == 1 else f"{integer(s.batch)} conversations that grow alike",
    }
    return f"{s.released_model.name}{heads} on {devices}, {load[quantity]}"


def edge_words(found: Reel) -> str | None:
    """Where memory ends between two frames, for a label on the picture; None where all of them fit.

    >>> edge_words(reel(Scenario(batch=32), "context")), edge_words(reel(Scenario(batch=32), "kv_heads"))
    ('memory ends at 14,521', 'memory ends at 8')
    """
    if found.n_fitting == len(found.frames):
        return None
    return f"memory ends at {found.frames[found.n_fitting - 1].label}" if found.n_fitting else "nothing fits"


def live_alt(found: Reel) -> str:
    """What the picture holds, in words that no drag makes stale."""
    first, last = found.frames[0], found.frames[-1]
    over = f"{first.label} to {last.label} {COUNTED[found.quantity]}"
    edge = edge_words(found)
    return (
        f"Memory bar with its verdict, and the ceiling in tokens per second, for {over}: {setting(found)}. "
        f"{edge[0].upper() + edge[1:] + '. ' if edge else ''}The table beneath lists every value."
    )


def live_rows(found: Reel) -> Rowset:
    """All frames as text."""
    size, unit = format_bytes, found.unit
    header = (COUNTED[found.quantity], "weights", "KV cache", "free", "together at most", "each at most")
    rows: list[tuple[Cell, ...]] = []
    for frame in found.frames:
        m = frame.memory
        free = size(m.free_bytes, unit) if m.fits else f"{size(m.over_by_bytes, unit)} too much"
        speeds = (format_rate(frame.tokens_per_s), format_rate(frame.tokens_per_s_per_user))
        rows.append((frame.label, size(m.weights_bytes, unit), size(m.kv_bytes, unit), free, *speeds))
    return header, rows


def live_exact(found: Reel) -> Rowset:
    """All frames in base units, for CSV."""
    header = (
        COUNTED[found.quantity],
        "weights (bytes)",
        "KV cache (bytes)",
        "reserve (bytes)",
        "capacity (bytes)",
        "fits",
        "over by (bytes)",
        "together at most (tokens/s)",
        "each user at most (tokens/s)",
        "in words",
    )
    rows: list[tuple[Cell, ...]] = []
    for frame in found.frames:
        m = frame.memory
        value = RELEASED if frame.value is None else frame.value
        sizes = (m.weights_bytes, m.kv_bytes, m.reserve_bytes, m.capacity_bytes)
        fits = ("yes" if m.fits else "no", m.over_by_bytes)
        speeds = (frame.tokens_per_s, frame.tokens_per_s_per_user)
        rows.append((value, *sizes, *fits, *speeds, f"{frame.verdict} {frame.words}"))
    return header, rows
