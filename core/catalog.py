"""Reads `data/`: validates every record, looks up by slug, parses each file once."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast

from pydantic import ValidationError

from core.gpu import GpuSpec
from core.model import ModelSpec
from core.query import shown

DATA = Path(__file__).resolve().parent.parent / "data"


class Validated(Protocol):
    """A record type: validates a row of TOML, and has a name of its own."""

    @property
    def slug(self) -> str:
        """The name, unique within its table."""
        ...

    @classmethod
    def model_validate(cls, obj: Any) -> Self:
        """The record of a row; raises pydantic's ValidationError."""
        ...


Record = TypeVar("Record", bound=Validated)


class CatalogError(ValueError):
    """A catalog file that cannot be used; the message names file, record and key."""


def explain(error: ValidationError) -> str:
    """The first fault of a record or scenario as `key: reason, got value`.

    >>> try:
    ...     GpuSpec.model_validate({})
    ... except ValidationError as fault:
    ...     print(explain(fault))
    slug: Field required
    """
    fault = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(str(part) for part in fault["loc"]) or "record"
    message = fault["msg"].removeprefix("Value error, ")
    own = fault["type"] == "value_error"  # our own messages quote the value already
    given = "" if own or isinstance(fault["input"], dict) else f", got {shown(str(fault['input']))}"
    return f"{key}: {message}{given}"


def read_records(path: Path, table: str, record_type: type[Record]) -> dict[str, Record]:
    """Validated records of one TOML file by slug, in the file's order.

    Raises CatalogError naming file, record and key: not readable, not TOML, an unknown or missing key, a bad
    value, a slug twice.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(f"{path.name}: {error}") from error
    rows = content.get(table)
    if not isinstance(rows, list) or not rows:
        raise CatalogError(f"{path.name}: no [[{table}]] record")
    found: dict[str, Record] = {}
    for number, row in enumerate(cast("list[object]", rows), start=1):
        slug = cast("dict[str, object]", row).get("slug", f"#{number}") if isinstance(row, dict) else f"#{number}"
        try:
            record = record_type.model_validate(row)
        except ValidationError as error:
            raise CatalogError(f"{path.name}: {table} {slug}: {explain(error)}") from error
        if record.slug in found:
            raise CatalogError(f"{path.name}: {table} {slug}: slug: appears twice")
        found[record.slug] = record
    return found


@lru_cache(maxsize=1)
def models() -> dict[str, ModelSpec]:
    """All models by slug, in the order a menu shows them.

    >>> models()["llama-3-8b"].n_params
    8030261248
    """
    return read_records(DATA / "models.toml", "model", ModelSpec)


@lru_cache(maxsize=1)
def gpus() -> dict[str, GpuSpec]:
    """All devices by slug, in the order a menu shows them.

    >>> gpus()["h100-sxm"].bandwidth_gb_per_s
    3350.0
    """
    return read_records(DATA / "gpus.toml", "gpu", GpuSpec)
