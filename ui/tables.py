"""Large tables in the form that Streamlit takes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

Row = tuple[object, ...]

KEPT_ROWS = 100  # the table of all models on all GPUs takes 10 MB


def frame(header: tuple[str, ...], rows: tuple[Row, ...]) -> pandas.DataFrame:
    """Rows as a frame; made once for as long as they stay the same, unless they are very many."""
    make = _frame if len(rows) <= KEPT_ROWS else _frame.__wrapped__
    return make(header, rows)


@lru_cache(maxsize=8)
def _frame(header: tuple[str, ...], rows: tuple[Row, ...]) -> pandas.DataFrame:
    import pandas  # noqa: PLC0415 - 80 MB that most sessions do without

    return pandas.DataFrame(dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else [], columns=header)
