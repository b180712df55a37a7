"""`Scenario`: one frozen question (model, GPU, batch, context, ...) and its form in a URL."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from core.catalog import gpus, models
from core.custom import CUSTOM, OWN_GPU_KEYS, OWN_MODEL_KEY, gpu_query, pack, read_gpu, unpack
from core.formats import CACHE_FORMATS, CacheFormatName, WeightFormat, WeightFormatName, resolve_weight_format
from core.gpu import GpuSpec
from core.model import CONTEXT_MAX, Frozen, ModelSpec
from core.query import QueryReader, one_of, shown

BATCH_MAX = 10**15  # far above any batch that memory allows, so no verdict ever rests on it
GPUS_MAX = 1024
LOAD_MAX = {"batch": BATCH_MAX, "context": CONTEXT_MAX}
# What a scenario looks up once, and the fields that it depends on.
LOOKED_UP = {
    "released_model": {"model"},
    "model_key": {"model"},
    "model_spec": {"model", "kv_heads"},
    "weight_format_spec": {"model", "weight_format"},
    "gpu_spec": {"gpu"},
    "gpu_key": {"gpu"},
}
RESERVE_MAX = 0.9

Split = Literal["tensor", "layer"]
SPLITS: tuple[Split, ...] = get_args(Split)
SPLIT_LABELS: dict[Split, str] = {
    "tensor": "tensor parallel: every layer on all GPUs",
    "layer": "pipeline: layers shared out",
}


class Scenario(Frozen):
    """What is asked: model and device (a slug or a spec), load, formats and assumptions.

    Any context from 1 to 2**24 tokens is valid, also beyond the model's own limit (a what-if that the page names).
    Raises pydantic's ValidationError naming field, value and what is allowed.

    >>> Scenario(batch=32).to_query()["batch"]
    '32'
    """

    model: str | ModelSpec = "llama-3-8b"
    gpu: str | GpuSpec = "h100-sxm"
    n_gpus: Annotated[int, Field(ge=1, le=GPUS_MAX)] = 1
    split: Split = "tensor"
    batch: Annotated[int, Field(ge=1, le=BATCH_MAX)] = 1
    context: Annotated[int, Field(ge=1, le=CONTEXT_MAX)] = 8192
    kv_heads: int | None = None
    weight_format: WeightFormatName = "native"
    cache_format: CacheFormatName = "bf16"
    reserve: Annotated[float, Field(ge=0, le=RESERVE_MAX, allow_inf_nan=False)] = 0.10
    skip_embedding: bool = False

    @field_validator("reserve")
    @classmethod
    def _whole_millionths(cls, value: float) -> float:
        # A link carries it as a short decimal, and must give back exactly this number.
        return round(value, 6)

    @field_validator("model")
    @classmethod
    def _known_model(cls, value: str | ModelSpec) -> str | ModelSpec:
        if isinstance(value, str) and value not in models():
            raise ValueError(f"model must be a slug of data/models.toml or a ModelSpec, got {shown(value)}")
        return value

    @field_validator("gpu")
    @classmethod
    def _known_gpu(cls, value: str | GpuSpec) -> str | GpuSpec:
        if isinstance(value, str) and value not in gpus():
            raise ValueError(f"gpu must be a slug of data/gpus.toml or a GpuSpec, got {shown(value)}")
        return value

    @model_validator(mode="after")
    def _kv_heads_divide(self) -> Scenario:
        if self.kv_heads is not None:
            options = self.released_model.kv_head_options
            if self.kv_heads not in options:
                raise ValueError(
                    f"kv_heads must be {one_of(options)} for {self.released_model.name}, got {self.kv_heads}"
                )
        return self

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, name) for name in Scenario.model_fields))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def model_key(self) -> str:
        """The slug of a catalog model, else "custom"."""
        slug = self.released_model.slug
        return slug if models().get(slug) == self.released_model else CUSTOM

    @cached_property
    def gpu_key(self) -> str:
        """The slug of a catalog GPU, else "custom"."""
        slug = self.gpu_spec.slug
        return slug if gpus().get(slug) == self.gpu_spec else CUSTOM

    @cached_property
    def released_model(self) -> ModelSpec:
        """The model as released."""
        return self.model if isinstance(self.model, ModelSpec) else models()[self.model]

    @cached_property
    def model_spec(self) -> ModelSpec:
        """The model that is evaluated: the released one, or the what-if with other KV heads."""
        released = self.released_model
        return released if self.kv_heads is None else _what_if(released, self.kv_heads)

    @cached_property
    def gpu_spec(self) -> GpuSpec:
        """The device."""
        return self.gpu if isinstance(self.gpu, GpuSpec) else gpus()[self.gpu]

    @cached_property
    def weight_format_spec(self) -> WeightFormat:
        """The weight format, "native" resolved for the model."""
        model = self.released_model
        return resolve_weight_format(self.weight_format, model.native_format, model.native_wide)

    @property
    def cache_bits(self) -> float:
        """Bits per cached value."""
        return CACHE_FORMATS[self.cache_format].bits

    def replace(self, **changes: Any) -> Scenario:
        """A validated copy with some fields changed.

        >>> Scenario().replace(batch=64).batch
        64
        """
        for name, value in changes.items():
            if type(value) is not int or not 1 <= value <= LOAD_MAX.get(name, 0):
                break
        else:  # nothing else hangs on the load, so a sweep over it needs no look at the rest
            copy = self.__copy__()
            held = vars(copy)
            held.update(changes)
            held.pop("_hash", None)
            return copy
        held = vars(self)
        copy = self.model_copy(update=changes)
        for name, fields in LOOKED_UP.items():
            if name in held and fields.isdisjoint(changes):
                vars(copy)[name] = held[name]
        return copy

    def to_query(self) -> dict[str, str]:
        """Every field as a plain number or slug, in a fixed order; the inverse of `from_query`.

        A model that is not in the catalog travels as its packed dimensions, a GPU as its figures; a model too long for
        a link (see `core.custom.PACKED_CHARS`) is only named, and such a link cannot be shared.
        """
        base = {
            "model": self.model_key,
            "gpu": self.gpu_key,
            "gpus": str(self.n_gpus),
            "split": self.split,
            "batch": str(self.batch),
            "context": str(self.context),
            "kv_heads": RELEASED if self.kv_heads is None else str(self.kv_heads),
            "weights": self.weight_format,
            "cache": self.cache_format,
            "reserve": format(Decimal(repr(self.reserve)) * 100, "f").rstrip("0").rstrip(".") or "0",
            "skip_embedding": "1" if self.skip_embedding else "0",
        }
        if self.model_key == CUSTOM:
            packed = pack(self.released_model)
            base |= {OWN_MODEL_KEY: packed} if packed else {}
        return base | gpu_query(self.gpu_spec) if self.gpu_key == CUSTOM else base

    @staticmethod
    def from_query(query: Mapping[str, str], default: Scenario | None = None) -> tuple[Scenario, list[str]]:
        """The scenario a link asks for, and one sentence for each value that was missing, changed or replaced.

        A link without any of our keys is no question and gives the default silently. Keys of others are ignored.

        >>> scenario, notes = Scenario.from_query(Scenario(batch=7).to_query())
        >>> scenario.batch, notes
        (7, [])
        >>> Scenario.from_query(Scenario().to_query() | {"batch": "-3"})[1]
        ['batch must be a whole number from 1 to 1,000,000,000,000,000; "-3" became 1.']
        """
        base = default or Scenario()
        if not any(key in query for key in QUERY_KEYS):
            return base, []
        fallback = base.to_query()
        read = QueryReader(query, fallback)
        fields: dict[str, Any] = {
            "model": _read_model(read, base),
            "gpu": _read_gpu(read, base),
            "n_gpus": read.whole("gpus", 1, GPUS_MAX, base.n_gpus),
            "split": read.choice("split", SPLITS, base.split),
            "batch": read.whole("batch", 1, BATCH_MAX, base.batch),
            "context": read.whole("context", 1, CONTEXT_MAX, base.context),
            "weight_format": read.choice("weights", WEIGHT_NAMES, base.weight_format),
            "cache_format": read.choice("cache", CACHE_NAMES, base.cache_format),
            "reserve": read.decimal("reserve", 0, round(RESERVE_MAX * 100), float(fallback["reserve"])) / 100,
            "skip_embedding": read.flag("skip_embedding", base.skip_embedding),
        }
        released = Scenario(model=fields["model"]).released_model
        heads = (RELEASED, *map(str, released.kv_head_options))
        chosen = read.choice("kv_heads", heads, RELEASED, f"{one_of(heads)} for {released.name}")
        kv_heads = None if chosen == RELEASED else int(chosen)
        missing = [f"{key} {fallback[key]}" for key in QUERY_KEYS if key not in query]
        if missing:
            read.notes.append(f"Not in the link, so the default holds: {', '.join(missing)}.")
        return Scenario.model_validate(fields | {"kv_heads": kv_heads}), read.notes


def _read_model(read: QueryReader, base: Scenario) -> str | ModelSpec:
    if read.query.get("model") == CUSTOM:
        packed = read.query.get(OWN_MODEL_KEY)
        if packed is None and base.model_key == CUSTOM:
            return base.model
        try:
            return unpack(packed or "")
        except ValueError:
            read.notes.append(
                f"{OWN_MODEL_KEY} must be the packed model of a link from this page; "
                f"{'it was missing' if packed is None else 'this one cannot be read'}, so {base.released_model.name} "
                "takes its place."
            )
            return base.model
    slug = read.choice("model", models(), base.model_key, "the slug of a model in the catalog")
    return base.model if slug == base.model_key else slug


def _read_gpu(read: QueryReader, base: Scenario) -> str | GpuSpec:
    if read.query.get("gpu") == CUSTOM:
        if base.gpu_key == CUSTOM and not any(key in read.query for key in OWN_GPU_KEYS):
            return base.gpu
        found = read_gpu(read.query, read.notes)
        return base.gpu if found is None else found
    slug = read.choice("gpu", gpus(), base.gpu_key, "the slug of a GPU in the catalog")
    return base.gpu if slug == base.gpu_key else slug


RELEASED = "released"
WEIGHT_NAMES: tuple[str, ...] = get_args(WeightFormatName)
CACHE_NAMES: tuple[str, ...] = get_args(CacheFormatName)
QUERY_KEYS = tuple(Scenario().to_query())


def _what_if(model: ModelSpec, kv_heads: int) -> ModelSpec:
    key = (model, kv_heads)
    found = _WHAT_IFS.get(key)
    if found is None:
        if len(_WHAT_IFS) >= 512:
            _WHAT_IFS.clear()
        found = _WHAT_IFS[key] = model.with_kv_heads(kv_heads)
    return found


_WHAT_IFS: dict[tuple[ModelSpec, int], ModelSpec] = {}
