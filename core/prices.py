"""What one GPU costs an hour and draws: the catalog's dated figures, or the reader's own."""

from __future__ import annotations

from dataclasses import dataclass

from core.gpu import GpuSpec

PRICE_MAX = 1000.0  # dollars per GPU-hour
POWER_MAX = 100_000.0  # watts per GPU


@dataclass(frozen=True, slots=True)
class Edit:
    """A reader's own price per GPU-hour or power of a device; None leaves the catalog's figure."""

    price_per_gpu_hour: float | None = None
    power_w: float | None = None


Edits = tuple[tuple[str, Edit], ...]  # by the device's slug


@dataclass(frozen=True, slots=True)
class Terms:
    """What one GPU costs an hour and draws; None where unknown."""

    low: float | None
    high: float | None
    dated: str
    source: str
    power_w: float | None


def terms(gpu: GpuSpec, edit: Edit | None = None) -> Terms:
    """The catalog's dated price range and TDP of a device, or the reader's own figures.

    >>> from core.catalog import gpus
    >>> found = terms(gpus()["h100-sxm"])
    >>> found.low, found.high, found.dated, found.power_w
    (1.99, 5.0, '2026-05', 700.0)
    >>> terms(gpus()["h100-sxm"], Edit(price_per_gpu_hour=3)).dated
    'yours'
    """
    edit = edit or Edit()
    price = gpu.price
    own = edit.price_per_gpu_hour
    return Terms(
        low=own if own is not None else price.low if price else None,
        high=own if own is not None else price.high if price else None,
        dated="yours" if own is not None else price.month if price else "",
        source="" if own is not None or price is None else price.source,
        power_w=edit.power_w if edit.power_w is not None else gpu.tdp_w,
    )
