"""Speculation for a scenario: which draft models exist, what a round costs, what it brings. Formula 14."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from core import decode, speculation
from core.catalog import models
from core.decode import tokens_on_one_gpu
from core.evaluate import (
    DecodeStep,
    attention_flops_per_token,
    bandwidth_bytes_per_s,
    costs,
    evaluate,
    peak_flops_per_s,
)
from core.model import ModelSpec
from core.scenario import Scenario

VOCABULARY_SLACK = 0.001  # one tokenizer, padded differently: Gemma 3 has 262,144 and 262,208
LARGEST_DRAFT = 0.5  # of the target's parameters


def draft_models(target: ModelSpec) -> list[ModelSpec]:
    """Catalog models that can draft for a target: its family's tokenizer, at most half its size, smallest first.

    >>> [m.slug for m in draft_models(models()["llama-3-70b"])]
    ['llama-3.2-1b', 'llama-3.2-3b', 'llama-3-8b', 'llama-3.1-8b']
    """
    family = target.family.split()[0].split("-")[0].rstrip("0123456789.")
    found = [
        m
        for m in models().values()
        if m.family.split()[0].split("-")[0].rstrip("0123456789.") == family
        and abs(m.vocab / target.vocab - 1) <= VOCABULARY_SLACK
        and m.n_params <= LARGEST_DRAFT * target.n_params
    ]
    return sorted(found, key=lambda m: m.n_params)


@dataclass(frozen=True, slots=True)
class Speculation:
    """One round of speculation at its lower bound, beside plain decoding."""

    acceptance: float
    draft_length: int
    target: DecodeStep
    draft: DecodeStep
    verify: DecodeStep
    draft_weights_bytes: int
    draft_kv_bytes: int

    @property
    def expected_tokens(self) -> float:
        """Expected tokens per target pass and user."""
        return speculation.expected_tokens(acceptance=self.acceptance, draft_length=self.draft_length)

    @property
    def round_s(self) -> float:
        """Draft steps and the verify pass."""
        return speculation.round_time_s(
            draft_length=self.draft_length, draft_step_s=self.draft.step_s, verify_step_s=self.verify.step_s
        )

    @property
    def speed_up(self) -> float:
        """Tokens per second with speculation over without."""
        return speculation.speed_up(
            acceptance=self.acceptance,
            draft_length=self.draft_length,
            target_step_s=self.target.step_s,
            draft_step_s=self.draft.step_s,
            verify_step_s=self.verify.step_s,
        )

    @property
    def tokens_per_s(self) -> float:
        """System tokens per second with speculation."""
        return self.target.tokens_per_s * self.speed_up

    @property
    def bytes_read(self) -> float:
        """Bytes read in one round."""
        return self.draft_length * self.draft.bytes_read + self.verify.bytes_read


def verify_step(scenario: Scenario, draft_length: int) -> DecodeStep:
    """The target's pass over g + 1 tokens of each user: its bytes once, g + 1 times its FLOPs.

    An MoE pass touches experts for B (g + 1) tokens: the expected number, as for plain decoding beside it.

    >>> plain = evaluate(Scenario(batch=8)).decode
    >>> wide = verify_step(Scenario(batch=8), 4)
    >>> wide.bytes_read == plain.bytes_read, wide.flops == 5 * plain.flops
    (True, True)
    """
    s = scenario
    cost = costs(s)
    width = draft_length + 1
    tokens = tokens_on_one_gpu(batch=s.batch, n_gpus=s.n_gpus, split=s.split)
    plain = evaluate(s).decode
    at_tokens = tokens * width if s.model_spec.moe else None
    weights_read = cost.weights.read_bytes(skip_embedding=s.skip_embedding, tokens=at_tokens)
    attention = attention_flops_per_token(s.model_spec, s.context)
    flops = width * tokens * (2 * (cost.body_params + cost.head_params) + attention)
    touched = cost.weights.experts[0].touched(tokens * width) if s.model_spec.moe else None
    return DecodeStep(
        batch=s.batch,
        weights_read_bytes=weights_read,
        kv_read_bytes=plain.kv_read_bytes,
        flops=flops,
        memory_s=decode.memory_time_s(
            bytes_read=weights_read + plain.kv_read_bytes, bandwidth_bytes_per_s=bandwidth_bytes_per_s(s)
        ),
        compute_s=decode.compute_time_s(flops=flops, peak_flops_per_s=peak_flops_per_s(s)),
        experts_touched=touched,
    )


@lru_cache(maxsize=256)
def _drafting(scenario: Scenario, draft: ModelSpec) -> Scenario:
    return scenario.replace(model=draft, kv_heads=None)


def speculate(scenario: Scenario, draft: ModelSpec, *, draft_length: int, acceptance: float) -> Speculation:
    """A round of speculation with a draft model on the same GPUs, formats and load as the target.

    >>> found = speculate(Scenario(model="llama-3-70b", n_gpus=4), models()["llama-3.2-1b"], draft_length=4,
    ...     acceptance=0.7)
    >>> round(found.expected_tokens, 3), round(found.speed_up, 2)
    (2.773, 2.58)
    """
    drafting = _drafting(scenario, draft)
    target, small = evaluate(scenario), evaluate(drafting)
    return Speculation(
        acceptance=acceptance,
        draft_length=draft_length,
        target=target.decode.expected or target.decode,
        draft=small.decode.expected or small.decode,
        verify=verify_step(scenario, draft_length),
        draft_weights_bytes=small.memory.weights_bytes,
        draft_kv_bytes=small.memory.kv_bytes,
    )
