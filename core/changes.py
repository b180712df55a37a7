"""What changed against the pinned scenario, and by what factor: two results as one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from core.custom import CUSTOM
from core.drafting import Speculation, speculate
from core.evaluate import Result, evaluate
from core.model import ModelSpec
from core.scenario import SPLIT_LABELS, Scenario
from core.units import Unit, format_ratio, integer
from core.variants import Variant
from core.verdict import key_line, setting
from core.view import View

SAME = "The pin is the same scenario: change something, and every picture shows both."
BRIEF = ("cache", "weights", "tokens/s together")
BRIEF_NAMED = 3  # of many differences, where there is little room
MOST_DIGITS = 5  # of a factor so close to one that fewer would read as one


def _heads(scenario: Scenario) -> str:
    if scenario.kv_heads is not None:
        return integer(scenario.kv_heads)
    released = scenario.released_model.released_kv_heads
    return f"{' and '.join(map(str, released))} (released)" if released else "none"


def _format(name: str) -> str:
    return "as released" if name == "native" else name.upper()


def _model(scenario: Scenario) -> str:
    return scenario.released_model.name + (" (yours)" if scenario.model_key == CUSTOM else "")


def _gpu(scenario: Scenario) -> str:
    return scenario.gpu_spec.name + (" (yours)" if scenario.gpu_key == CUSTOM else "")


# Field -> what goes before both values, a value in words, what goes after. A test holds it against `Scenario`.
WORDS: dict[str, tuple[str, Callable[[Scenario], str], str]] = {
    "model": ("", _model, ""),
    "gpu": ("", _gpu, ""),
    "n_gpus": ("GPUs ", lambda s: integer(s.n_gpus), ""),
    "split": ("", lambda s: SPLIT_LABELS[s.split].partition(":")[0], ""),
    "batch": ("users ", lambda s: integer(s.batch), ""),
    "context": ("context ", lambda s: integer(s.context), " tokens"),
    "kv_heads": ("KV heads ", _heads, ""),
    "weight_format": ("weights ", lambda s: _format(s.weight_format), ""),
    "cache_format": ("cache ", lambda s: _format(s.cache_format), ""),
    "reserve": ("reserve ", lambda s: s.to_query()["reserve"], " %"),
    "skip_embedding": ("input embedding ", lambda s: "skipped" if s.skip_embedding else "read", ""),
}


def _value(scenario: Scenario, field: str) -> object:
    """A field for comparing: a slug and the spec it stands for are the same."""
    specs = {"model": scenario.released_model, "gpu": scenario.gpu_spec}
    return specs[field] if field in specs else getattr(scenario, field)


def differing(before: Scenario, after: Scenario) -> tuple[str, ...]:
    """The fields in which two scenarios differ.

    >>> differing(Scenario(batch=8), Scenario(batch=16, context=128))
    ('batch', 'context')
    """
    return tuple(field for field in WORDS if _value(before, field) != _value(after, field))


def _difference(field: str, before: Scenario, after: Scenario) -> str:
    label, show, tail = WORDS[field]
    was, now = show(before), show(after)
    return f"{label}another {now}" if was == now else f"{label}{was} to {now}{tail}"


def factor(before: float, after: float) -> Fraction | None:
    """After over before, exactly; None where there was nothing before.

    >>> factor(8, 16), factor(0, 1)
    (Fraction(2, 1), None)
    """
    return Fraction(after) / Fraction(before) if before else None


@dataclass(frozen=True, slots=True)
class Factor:
    """One figure before and after."""

    name: str
    before: float
    after: float

    @property
    def value(self) -> Fraction | None:
        """After over before; None where there was nothing before."""
        return factor(self.before, self.after)

    @property
    def text(self) -> str:
        """In words; "×1" only where nothing changed, but for the rounding of floating-point numbers.

        >>> Factor("cache", 8, 16).text, Factor("cache", 8, 1).text, Factor("cache", 3, 1).text
        ('cache ×2.0', 'cache ×0.125', 'cache ×0.33')
        >>> Factor("weights", 5, 5).text, Factor("weights", 1000, 1004).text
        ('weights ×1', 'weights ×1.004')
        >>> Factor("cache", 0, 16).text, Factor("cache", 16, 0).text, Factor("cache", 0, 0).text
        ('cache from nothing', 'cache to nothing', 'no cache before or after')
        """
        value = self.value
        if value is None:
            return f"{self.name} from nothing" if self.after else f"no {self.name} before or after"
        if not value:
            return f"{self.name} to nothing"
        counts = isinstance(self.before, int) and isinstance(self.after, int)
        if value == 1 or (not counts and math.isclose(value, 1, rel_tol=1e-12)):
            return f"{self.name} ×1"
        shown = {digits: format_ratio(float(value), digits) for digits in range(2, MOST_DIGITS + 1)}
        read = {digits: Fraction(text.replace(",", "")) for digits, text in shown.items()}
        exact = [digits for digits in read if read[digits] == value]
        near = [digits for digits in read if read[digits] != 1 and (digits > 2 or not 1 < value < Fraction(11, 10))]
        if not near:
            return f"{self.name} just {'over' if value > 1 else 'under'} ×1"
        return f"{self.name} ×{shown[(exact or near)[0]]}"


@dataclass(frozen=True, slots=True)
class Change:
    """From the pinned scenario to the present one."""

    before: Result
    after: Result
    differences: tuple[str, ...]
    factors: tuple[Factor, ...]

    @property
    def fits(self) -> str:
        """Whether that changed what fits; empty where it did not."""
        was, now = self.before.memory.fits, self.after.memory.fits
        if was == now:
            return ""
        return "it fits, before it did not" if now else "it does not fit, before it did"

    def what(self, *, brief: bool = False) -> str:
        """The first half of the sentence: the fields that differ, or where there is little room the first of many.

        >>> pin = Scenario(batch=8, context=1024, n_gpus=2, reserve=0, cache_format="fp8")
        >>> changes(pin, Scenario(batch=16)).what(brief=True)
        'Against the pin, GPUs 2 to 1, users 8 to 16, context 1,024 to 8,192 tokens and 2 more'
        """
        named = self.differences
        rest = len(named) - BRIEF_NAMED
        if brief and rest > 1:
            return f"Against the pin, {', '.join(named[:BRIEF_NAMED])} and {rest} more"
        return f"Against the pin, {', '.join(named)}"

    def figures(self, *, brief: bool = False) -> str:
        """The second half: the factors, or where there is little room those of cache, weights and tokens/s; the fit.

        >>> changes(Scenario(batch=8), Scenario(batch=16)).figures(brief=True)
        'cache ×2.0, weights ×1, tokens/s together ×1.5.'
        """
        fits = f"; {self.fits}" if self.fits else ""
        shown = [f.text for f in self.factors if not brief or f.name in BRIEF]
        return f"{', '.join(shown)}{fits}."

    @property
    def sentence(self) -> str:
        """What changed, and by what factor each figure did.

        >>> changes(Scenario(batch=8), Scenario(batch=16)).sentence.partition(", memory")[0]
        'Against the pin, users 8 to 16: cache ×2.0, weights ×1'
        """
        return f"{self.what()}: {self.figures()}" if self.differences else SAME

    @property
    def alt(self) -> str:
        """For pictures that show both: what the pin is, then the sentence."""
        pinned = setting(self.before.scenario)
        return f"Beside it, thin, dashed or hollow, the pinned scenario: {pinned} {self.sentence}"


def changes(before: Scenario, after: Scenario) -> Change:
    """What differs between two scenarios, in words, and the factors of the figures that the pages show.

    tokens/s is the bound: a mixture of experts counts the fewest experts a step can touch.

    >>> changes(Scenario(kv_heads=1), Scenario()).differences
    ('KV heads 1 to 8 (released)',)
    """
    a, b = evaluate(before), evaluate(after)
    figures: tuple[tuple[str, float, float], ...] = (
        ("cache", a.memory.kv_bytes, b.memory.kv_bytes),
        ("weights", a.memory.weights_bytes, b.memory.weights_bytes),
        ("memory in all", a.memory.total_bytes, b.memory.total_bytes),
        ("tokens/s together", a.decode.tokens_per_s, b.decode.tokens_per_s),
        ("tokens/s each", a.decode.tokens_per_s_per_user, b.decode.tokens_per_s_per_user),
        ("time to first token", a.prefill.ttft_s, b.prefill.ttft_s),
    )
    return Change(
        before=a,
        after=b,
        differences=tuple(_difference(field, before, after) for field in differing(before, after)),
        factors=tuple(Factor(*figure) for figure in figures),
    )


def baseline(view: View) -> Scenario | None:
    """What the pictures show beside the present scenario: the last pin; None where it is the present one itself.

    >>> baseline(View(Scenario(batch=16), pins=(Scenario(batch=8),))).batch
    8
    """
    if not view.pins or not differing(view.pins[-1], view.scenario):
        return None
    return view.pins[-1]


def changed(view: View) -> Change | None:
    """From the baseline to the present scenario; None without one."""
    before = baseline(view)
    return None if before is None else changes(before, view.scenario)


def pinned_view(view: View) -> View | None:
    """The view with the baseline as its scenario, for pages that ask for more than a scenario; None without one."""
    before = baseline(view)
    return None if before is None else view.replace(scenario=before)


@dataclass(frozen=True, slots=True)
class Drafted:
    """A scenario with a draft model, and what a round of speculation brings."""

    scenario: Scenario
    draft: ModelSpec
    found: Speculation


def drafted(view: View | None) -> Drafted | None:
    """The speculation that a view asks for; None where there is no view or no model to draft.

    >>> round(drafted(View(Scenario(model="llama-3-70b", n_gpus=4))).found.speed_up, 2)
    2.58
    """
    draft = view.draft_model if view else None
    if view is None or draft is None:
        return None
    found = speculate(view.scenario, draft, draft_length=view.draft_length, acceptance=view.accepted)
    return Drafted(view.scenario, draft, found)


def key_lines(result: Result, before: Result | None, unit: Unit) -> list[str]:
    """All numbers of the memory bar, and of the pinned one beneath it.

    >>> key_lines(evaluate(Scenario()), evaluate(Scenario(batch=8)), "GB")[1].partition(" · ")[0]
    'Pinned: weights 16.1 GB'
    """
    found = [key_line(result, unit)]
    return found if before is None else [f"{found[0]}.", f"Pinned: {key_line(before, unit)}."]


def told(words: str, change: Change | None) -> str:
    """A picture's alt text, with the pin where there is one.

    >>> told("A bar.", None)
    'A bar.'
    """
    return words if change is None else f"{words} {change.alt}"


@dataclass(frozen=True, slots=True)
class Pair:
    """One number of KV heads, now and as pinned; None where that model cannot have it."""

    label: str
    now: Result | None
    pinned: Result | None
    is_pin: bool = False  # the pinned scenario itself, not the same with other heads


def _same_heads(label: str, scenario: Scenario, before: Scenario) -> Scenario | None:
    """The pinned scenario with the KV heads that a row means."""
    options = before.released_model.kv_head_options
    if "released" in label:
        return before.replace(kv_heads=None)
    if not options:
        return None
    if "MHA" in label:
        return before.replace(kv_heads=options[-1])
    if "MQA" in label:
        return before.replace(kv_heads=options[0])
    return before.replace(kv_heads=scenario.kv_heads) if scenario.kv_heads in options else None


def paired(variants: Sequence[Variant], scenario: Scenario, before: Scenario) -> list[Pair]:
    """A page's variants of KV heads, each with the pinned scenario's, and a row for the pin where none is its own.

    >>> from core.variants import kv_variants
    >>> [p.label for p in paired(kv_variants(Scenario()), Scenario(), Scenario(kv_heads=4, batch=2))]
    ['MHA, 32', 'released, 8', 'pinned, 4', 'MQA, 1']
    """
    found: list[Pair] = []
    for variant in variants:
        same = _same_heads(variant.label, variant.result.scenario, before)
        is_pin = same is not None and same.model_spec == before.model_spec and not any(p.is_pin for p in found)
        found.append(Pair(variant.label, variant.result, evaluate(same) if same else None, is_pin))
    heads = before.kv_heads
    if heads is not None and not any(p.is_pin for p in found):
        can_have = heads in scenario.released_model.kv_head_options
        now = evaluate(scenario.replace(kv_heads=heads)) if can_have else None
        fewer = [i for i, p in enumerate(found) if p.now and 0 < (p.now.scenario.kv_heads or 0) < heads]
        found.insert(fewer[0] if fewer else len(found), Pair(f"pinned, {heads}", now, evaluate(before), is_pin=True))
    return found
