"""Large tables in the form that Streamlit takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

    from core.columns import Column

Row = tuple[object, ...]

KEPT_ROWS = 100  # those of thousands of rows take megabytes


def frame(header: tuple[str, ...], rows: tuple[Row, ...]) -> pandas.DataFrame:
    """Rows as a frame; made once for as long as they stay the same, unless they are very many."""
    make = _frame if len(rows) <= KEPT_ROWS else _frame.__wrapped__
    return make(header, rows)


@lru_cache(maxsize=8)
def _frame(header: tuple[str, ...], rows: tuple[Row, ...]) -> pandas.DataFrame:
    import pandas  # noqa: PLC0415 - 80 MB that most sessions do without

    return pandas.DataFrame(dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else [], columns=header)


def frame_of(columns: Mapping[str, Column]) -> pandas.DataFrame:
    """Columns as a frame, the same as `frame` makes of their cells: what is blank is missing. Kept as there."""
    names, values = tuple(columns), tuple(columns.values())
    n_rows = len(values[0])
    if not n_rows:
        return frame(names, ())
    make = _frame_of if n_rows <= KEPT_ROWS else _frame_of.__wrapped__
    return make(names, values)


@lru_cache(maxsize=8)
def _frame_of(names: tuple[str, ...], columns: tuple[Column, ...]) -> pandas.DataFrame:
    import pandas  # noqa: PLC0415

    made = pandas.DataFrame({place: _values(column) for place, column in enumerate(columns)})
    made.columns = _header(names)
    return made


@lru_cache(maxsize=16)
def _header(names: tuple[str, ...]) -> pandas.Index:
    """One header for all frames that have it: it holds what pandas finds out about its names."""
    import pandas  # noqa: PLC0415

    return pandas.Index(names)


def _values(column: Column) -> Any:
    """What a frame holds of a column: words as text, numbers with NaN where blank, and nothing but None alone."""
    if column.words is not None:
        return _text(column.words, len(column) > KEPT_ROWS).take(column.values)
    if column.values.dtype == object:
        return column.cells()  # numbers past int64
    is_blank = column.values != column.values if column.is_blank is None else column.is_blank
    if is_blank.all():
        return [None] * is_blank.size
    if column.is_blank is None or not is_blank.any():
        return column.values
    values = column.values.astype(float)
    values[is_blank] = float("nan")
    return values


@lru_cache(maxsize=32)
def _text(words: tuple[str, ...], is_large: bool) -> Any:
    """Words to take from; of few rows pandas makes text sooner by itself."""
    import numpy as np  # noqa: PLC0415
    import pandas  # noqa: PLC0415

    return pandas.array(words, dtype="str") if is_large else np.array(words, dtype=object)
