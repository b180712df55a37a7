"""Published measurements that a lesson sets beside our figures; each with its source."""

from __future__ import annotations

from dataclasses import dataclass

from core.units import significant


@dataclass(frozen=True, slots=True)
class Pair:
    """A measured time without and with shared keys and values, in microseconds per token."""

    what: str
    multi_head_us: float
    multi_query_us: float

    @property
    def factor(self) -> float:
        """How many times faster."""
        return self.multi_head_us / self.multi_query_us

    def row(self) -> tuple[str, str, str, str]:
        """What, without, with, factor: as text.

        >>> SHAZEER_DECODER.row()
        ('decoder', '46.0', '3.80', '12.1')
        """
        return self.what, significant(self.multi_head_us), significant(self.multi_query_us), significant(self.factor)


# Shazeer 2019 (arXiv:1911.02150), Table 2: TPU v2, 1,024 sequences of 128 tokens, six-layer encoder and decoder.
SHAZEER_DECODER = Pair("decoder", 46.0, 3.8)
SHAZEER_ENCODER = Pair("encoder", 1.7, 1.5)
SHAZEER_SOURCE = "Shazeer 2019, arXiv:1911.02150, Table 2"
