"""A model or a GPU that is not in the catalog, and its form in a link."""

from __future__ import annotations

import base64
import binascii
import json
import unicodedata
import zlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from core.gpu import GpuSpec, Price
from core.model import ModelSpec
from core.query import QueryReader
from core.units import GB

CUSTOM = "custom"  # what a link and a menu call it
PACKED_CHARS = 6000  # longer links break in mail and chat; a model of hundreds of unequal layers may need more
UNPACKED_BYTES = 1 << 17
NAME_CHARS = 80
TEXT_CHARS = 200
LEFT_TO_RIGHT = "\u200e"  # a mark without width

OWN_MODEL_KEY = "custom_model"
# Figures of a custom GPU in a link: key -> (field, least, most); the first two must be given, and one 16-bit peak.
GPU_FIGURES: dict[str, tuple[str, float, float]] = {
    "gpu_memory": ("memory_gb", 0.001, 1e6),
    "gpu_bandwidth": ("bandwidth_gb_per_s", 0.001, 1e6),
    "gpu_bf16": ("bf16_tflops", 0.001, 1e6),
    "gpu_fp16": ("fp16_tflops", 0.001, 1e6),
    "gpu_fp8": ("fp8_tflops", 0.001, 1e6),
    "gpu_int8": ("int8_tflops", 0.001, 1e6),
    "gpu_fp4": ("fp4_tflops", 0.001, 1e6),
    "gpu_price": ("price_per_hour", 0.0001, 1e6),
    "gpu_power": ("tdp_w", 0.001, 1e6),
}
OWN_GPU_KEYS = ("gpu_name", *GPU_FIGURES)
OWN_KEYS = (OWN_MODEL_KEY, *OWN_GPU_KEYS)
GIVEN = "given by the user"


def one_line(text: str, longest: int = NAME_CHARS) -> str:
    r"""Text of unknown origin without line breaks and control characters, cut.

    Text that runs from right to left ends in a mark, so that what follows it stays in its place.

    >>> one_line(" a\nb ")
    'a b'
    """
    clean = "".join(c if c.isprintable() else " " * c.isspace() for c in text)
    cut = " ".join(clean.split())[:longest].strip()
    backwards = any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in cut)
    return f"{cut}{LEFT_TO_RIGHT}" if backwards else cut


def _lean(value: object) -> Any:
    """A spec as plain data without what its defaults say already; `kind` stays, since it picks the type."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        parts = {name: getattr(value, name) for name in fields}
        return {n: _lean(part) for n, part in parts.items() if n == "kind" or part != fields[n].default}
    if isinstance(value, tuple):
        return [_lean(item) for item in cast("tuple[object, ...]", value)]
    return value


def pack(model: ModelSpec) -> str | None:
    """A model for a link: its dimensions as JSON, deflated, in the alphabet of addresses; None when it is too long.

    >>> from core.catalog import models
    >>> packed = pack(models()["gpt2-small"])
    >>> unpack(packed) == models()["gpt2-small"]
    True
    """
    text = json.dumps(_lean(model), separators=(",", ":"), ensure_ascii=False).encode()
    packed = base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")
    return packed if len(packed) <= PACKED_CHARS and len(text) <= UNPACKED_BYTES else None


def unpack(packed: str) -> ModelSpec:
    """The model that `pack` put into a link.

    Raises ValueError for anything that `pack` did not make; never more than a bounded number of bytes is inflated.
    """
    if len(packed) > PACKED_CHARS or not packed.isascii():
        raise ValueError("too long")
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        inflate = zlib.decompressobj()
        text = inflate.decompress(raw, UNPACKED_BYTES)
        if not inflate.eof:
            raise ValueError("too long")
        data: object = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("no object")
        record = {key: _clean(value) for key, value in cast("dict[str, object]", data).items()}
        record["name"] = one_line(str(record.get("name", "")), TEXT_CHARS) or "Custom model"
        return ModelSpec.model_validate(record)
    except (binascii.Error, zlib.error, UnicodeDecodeError, RecursionError, ValidationError) as error:
        raise ValueError(f"not a packed model: {type(error).__name__}") from error


def _clean(value: object) -> object:
    if isinstance(value, list):
        return [_clean(item) for item in cast("list[object]", value)]
    return one_line(value, UNPACKED_BYTES) if isinstance(value, str) else value


def custom_gpu(
    *,
    memory_gb: float,
    bandwidth_gb_per_s: float,
    name: str = "",
    bf16_tflops: float | None = None,
    fp16_tflops: float | None = None,
    fp8_tflops: float | None = None,
    int8_tflops: float | None = None,
    fp4_tflops: float | None = None,
    price_per_hour: float | None = None,
    tdp_w: float | None = None,
) -> GpuSpec:
    """A device from its data sheet: memory in GB (1e9 bytes), bandwidth in GB/s, dense peaks in TFLOP/s, W, dollars.

    Raises pydantic's ValidationError naming field and value.

    >>> custom_gpu(memory_gb=80, bandwidth_gb_per_s=3350, bf16_tflops=989.4).memory_bytes
    80000000000
    """
    memory_bytes = round(memory_gb * GB)
    price = None if price_per_hour is None else Price(low=price_per_hour, high=price_per_hour, month="", source=GIVEN)
    return GpuSpec(
        slug=CUSTOM,
        name=one_line(name) or "Custom GPU",
        vendor="custom",
        year=0,
        category="custom",
        arch="custom",
        marketed_memory=memory_bytes / GB,  # as the link has it
        marketed_unit="GB",
        driver_memory_bytes=memory_bytes,
        memory_type="custom",
        bandwidth_gb_per_s=bandwidth_gb_per_s,
        bf16_tflops=bf16_tflops,
        fp16_tflops=fp16_tflops,
        fp8_tflops=fp8_tflops,
        int8_tflops=int8_tflops,
        fp4_tflops=fp4_tflops,
        tdp_w=tdp_w,
        price=price,
        source=(GIVEN,),
        confidence=GIVEN,
    )


def _plain(value: float) -> str:
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def gpu_figures(gpu: GpuSpec) -> dict[str, float | None]:
    """The figures that a custom GPU is made of, by the name of `custom_gpu`'s parameter."""
    return {
        "memory_gb": gpu.memory_bytes / GB,
        "bandwidth_gb_per_s": gpu.bandwidth_gb_per_s,
        "bf16_tflops": gpu.bf16_tflops,
        "fp16_tflops": gpu.fp16_tflops,
        "fp8_tflops": gpu.fp8_tflops,
        "int8_tflops": gpu.int8_tflops,
        "fp4_tflops": gpu.fp4_tflops,
        "price_per_hour": gpu.price.low if gpu.price else None,
        "tdp_w": gpu.tdp_w,
    }


def gpu_query(gpu: GpuSpec) -> dict[str, str]:
    """A device as plain numbers for a link; what is unknown is left out.

    >>> gpu_query(custom_gpu(memory_gb=80, bandwidth_gb_per_s=3350, bf16_tflops=989.4))["gpu_bf16"]
    '989.4'
    """
    figures = gpu_figures(gpu)
    given = {key: figures[field] for key, (field, _, _) in GPU_FIGURES.items()}
    return {"gpu_name": gpu.name, **{key: _plain(value) for key, value in given.items() if value is not None}}


def read_gpu(query: Mapping[str, str], notes: list[str]) -> GpuSpec | None:
    """The custom GPU of a link; None when the figures it needs are absent or useless, which is said in `notes`.

    >>> said = []
    >>> read_gpu({"gpu_memory": "80"}, said) is None, said
    (True, ['A custom GPU needs gpu_memory, gpu_bandwidth and gpu_bf16 or gpu_fp16 as numbers in the link.'])
    """
    read = QueryReader(query, dict.fromkeys(GPU_FIGURES, "nothing"))
    figures: dict[str, float] = {}
    for key, (field, low, high) in GPU_FIGURES.items():
        value = read.decimal(key, low, high, 0.0)
        if value:
            figures[field] = value
    notes += read.notes
    has_peak = "bf16_tflops" in figures or "fp16_tflops" in figures
    if not has_peak or "memory_gb" not in figures or "bandwidth_gb_per_s" not in figures:
        notes.append("A custom GPU needs gpu_memory, gpu_bandwidth and gpu_bf16 or gpu_fp16 as numbers in the link.")
        return None
    return custom_gpu(name=str(query.get("gpu_name", "")), **figures)
