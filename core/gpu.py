"""`GpuSpec`: one accelerator's memory, bandwidth and dense peaks."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from core.formats import Peak
from core.model import Frozen
from core.units import GB, GIB, TERA, format_bytes

# Sizes past these are typing errors, and the limits keep every quotient finite.
Size = Annotated[float, Field(ge=1e-3, le=1e9)]
Tflops = Annotated[float, Field(ge=1e-3, le=1e6)]


class Price(Frozen):
    """An on-demand price range in dollars per GPU-hour, with its month and source."""

    low: PositiveFloat
    high: PositiveFloat
    month: str
    source: str


class GpuSpec(Frozen):
    """One device as software sees it. Peaks are dense, in TFLOP/s as vendors print them."""

    model_config = ConfigDict(allow_inf_nan=False)

    slug: str
    name: str
    vendor: str
    year: int
    category: Literal["datacenter", "workstation", "consumer", "edge", "custom"]
    arch: str
    preview: bool = False
    marketed_memory: Size
    marketed_unit: Literal["GB", "GiB"]
    driver_memory_bytes: Annotated[int, Field(gt=0, le=10**18)] | None = None
    unified_memory: bool = False
    devices_seen: PositiveInt = 1
    memory_type: str
    bandwidth_gb_per_s: Size
    bf16_tflops: Tflops | None = None
    fp16_tflops: Tflops | None = None
    fp8_tflops: Tflops | None = None
    int8_tflops: Tflops | None = None
    fp4_tflops: Tflops | None = None
    ridge_comparable: bool = True
    tdp_w: PositiveFloat | None = None
    price: Price | None = None
    source: tuple[str, ...] = Field(min_length=1)
    confidence: str
    weak_fields: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    notes: str = ""

    @cached_property
    def _hash(self) -> int:
        return hash((self.slug, self.marketed_memory, self.driver_memory_bytes, self.bandwidth_gb_per_s))

    def __hash__(self) -> int:
        return self._hash

    @model_validator(mode="after")
    def _has_a_16_bit_peak(self) -> GpuSpec:
        if self.bf16_tflops is None and self.fp16_tflops is None:
            raise ValueError("bf16_tflops or fp16_tflops must be given")
        return self

    @property
    def memory_bytes(self) -> int:
        """Capacity: what the driver reports where known, else the marketed figure in its unit.

        >>> from core.catalog import gpus
        >>> gpus()["h100-sxm"].memory_bytes, gpus()["tpu-v4"].memory_bytes == 32 * 2**30
        (85520809984, True)
        """
        if self.driver_memory_bytes:
            return self.driver_memory_bytes
        return int(self.marketed_memory * (GIB if self.marketed_unit == "GiB" else GB))

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Memory bandwidth."""
        return self.bandwidth_gb_per_s * GB

    def peak_flops_per_s(self, number_format: Peak | None = None) -> float:
        """C: the larger of the 16-bit peak (bf16, else fp16) and the format's own, where the device lists one.

        >>> from core.catalog import gpus
        >>> h100 = gpus()["h100-sxm"]
        >>> round(h100.peak_flops_per_s() / h100.bandwidth_bytes_per_s, 1)  # the ridge
        295.3
        >>> h100.peak_flops_per_s("fp8")
        1978900000000000.0
        """
        base = self.bf16_tflops or self.fp16_tflops or 0.0
        own = {"fp8": self.fp8_tflops, "int8": self.int8_tflops, "fp4": self.fp4_tflops}
        return max(base, (own[number_format] if number_format else None) or 0.0) * TERA

    def with_twice_the_flops(self) -> GpuSpec:
        """A hypothetical device with every peak doubled and the same memory.

        >>> from core.catalog import gpus
        >>> gpus()["h100-sxm"].with_twice_the_flops().peak_flops_per_s() / 1e12
        1978.8
        """
        doubled = {name: 2 * value for name, value in self.model_dump().items() if name.endswith("_tflops") and value}
        changes = {"slug": f"{self.slug}-twice-the-flops", "name": f"{self.name} with twice the FLOP/s"}
        return self.model_copy(update=doubled | changes)

    @property
    def label(self) -> str:
        """Name with its marketed memory, and what a reader should know at once."""
        size = f"{self.marketed_memory:g} GB"
        known = size in self.name or size.replace(" ", "") in self.name
        parts = [self.name if known else f"{self.name}, {size}"]
        if self.preview:
            parts.append("preview")
        return " · ".join(parts)

    @property
    def memory_note(self) -> str | None:
        """One sentence where the capacity needs a caution."""
        if self.unified_memory:
            return f"{self.name} shares {format_bytes(self.memory_bytes)} with the CPU: not all of it is usable."
        if self.devices_seen > 1:
            return f"Software sees the {self.name} as {self.devices_seen} devices."
        return None
