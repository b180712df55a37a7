"""The stops of the sliders: round numbers from the model's own limits, plus the present value."""

from __future__ import annotations

from core.model import ModelSpec

BATCH_STOPS = tuple(2**i for i in range(13))
FIRST_CONTEXT_STOP = 128


def batch_stops(batch: int) -> list[int]:
    """Powers of two to 4,096, and `batch` itself.

    >>> batch_stops(48)[:8]
    [1, 2, 4, 8, 16, 32, 48, 64]
    """
    return sorted({*BATCH_STOPS, batch})


def output_stops(output: int) -> list[int]:
    """Powers of two from 1 to 16,384, and `output` itself.

    >>> output_stops(300)[7:11]
    [128, 256, 300, 512]
    """
    return sorted({*(2**i for i in range(15)), output})


def block_stops(block: int) -> list[int]:
    """Powers of two from 1 to 256, and `block` itself.

    >>> block_stops(16)
    [1, 2, 4, 8, 16, 32, 64, 128, 256]
    """
    return sorted({*(2**i for i in range(9)), block})


def context_stops(model: ModelSpec, context: int) -> list[int]:
    """Powers of two from 128 to the model's limit, the limit, and `context` itself, wherever it lies.

    >>> from core.catalog import models
    >>> context_stops(models()["llama-3-8b"], 8192)
    [128, 256, 512, 1024, 2048, 4096, 8192]
    """
    found = {context, model.max_context}
    stop = FIRST_CONTEXT_STOP
    while stop < model.max_context:
        found.add(stop)
        stop *= 2
    return sorted(found)
