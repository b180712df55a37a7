"""Published measurements that a lesson sets beside our figures; each with its source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from core.catalog import models
from core.formats import resolve_weight_format
from core.units import GIB, Unit, format_bytes, signed_percent, significant
from core.weights import ModelShape, Tensor, tensor_bytes, weight_bytes


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


@dataclass(frozen=True, slots=True)
class Size:
    """A published size of weights, and ours in the same format."""

    what: str
    weight_format: str
    published_bytes: float
    source: str
    model: str | None  # slug; None for a single layer
    layer: tuple[int, int] | None = None

    @property
    def ours_bytes(self) -> float:
        """The same from the formulas."""
        return _ours_bytes(self)

    @property
    def difference(self) -> float:
        """Ours over published, less 1."""
        return self.ours_bytes / self.published_bytes - 1

    def row(self, unit: Unit) -> tuple[str, str, str, str, str]:
        """What, published, ours, difference, source: as text."""
        shown = (format_bytes(self.published_bytes, unit), format_bytes(self.ours_bytes, unit))
        return self.what, *shown, signed_percent(self.difference), self.source


@lru_cache(maxsize=64)
def _ours_bytes(size: Size) -> float:
    if size.layer is not None:
        rows, cols = size.layer
        tensor = Tensor("layer", "dense_ffn", "linear", rows, cols)
        fmt = resolve_weight_format(size.weight_format, "bf16")
        return float(tensor_bytes(tensor, fmt, ModelShape(n_layers=1, tied=False)))
    model = models()[size.model or ""]
    fmt = resolve_weight_format(size.weight_format, model.native_format)
    return weight_bytes(model.tensors, fmt, model.shape).stored_bytes


SIZES: tuple[Size, ...] = (
    Size("Llama 2 7B in Q4_0", "q4_0", 3.56 * GIB, "llama.cpp, llama-bench README", "llama-2-7b"),
    Size("Llama 3 8B in Q4_K_M", "q4_k_m", 4.58 * GIB, "GPU-Benchmarks-on-LLM-Inference", "llama-3-8b"),
    Size("Llama 3 70B in Q4_K_M", "q4_k_m", 39.59 * GIB, "GPU-Benchmarks-on-LLM-Inference", "llama-3-70b"),
    Size("Qwen2.5 7B in Q8_0", "q8_0", 7.54 * GIB, "llama.cpp, benches/dgx-spark.md", "qwen2.5-7b"),
    Size("gpt-oss 120B as released, MXFP4", "native", 65_283_502_899, "Hugging Face checkpoint", "gpt-oss-120b"),
    Size("Kimi K2 as released, FP8", "native", 1_029_173_256_720, "Hugging Face checkpoint", "kimi-k2"),
    Size("one AWQ layer, 11008 x 4096", "int4", 23_425_024, "AWQ checkpoint, group 128", None, (11008, 4096)),
)

# Kwon et al. 2023 (arXiv:2309.06180): share of the cache memory that holds tokens in systems that reserve.
RESERVED_USE = (0.204, 0.382)
RESERVED_USE_SOURCE = "Kwon et al. 2023, arXiv:2309.06180"
