"""Large tables: what they hold, and which are kept."""

import subprocess
import sys

import numpy as np
import pandas
import pytest

from core.columns import Column
from core.compare import OVERS, Choice, compare
from core.compare_report import comparison_columns, comparison_rows
from core.custom import custom_gpu
from core.scenario import Scenario
from tests.harness import ROOT
from ui.tables import KEPT_ROWS, frame, frame_of

HEADER = ("model", "weights (bytes)", "price")
ROWS = (("Llama", 16, 1.5), ("GPT", 3, None))


def test_a_frame_holds_the_rows_in_order() -> None:
    found = frame(HEADER, ROWS)
    assert tuple(found.columns) == HEADER
    assert found["model"].tolist() == ["Llama", "GPT"]
    assert found["weights (bytes)"].tolist() == [16, 3]
    assert found["price"].isna().tolist() == [False, True]


def test_without_rows_the_header_stays() -> None:
    assert tuple(frame(HEADER, ()).columns) == HEADER
    assert len(frame(HEADER, ())) == 0


def test_small_tables_are_kept_and_large_ones_are_not() -> None:
    assert frame(HEADER, ROWS) is frame(HEADER, (*ROWS[:1], *ROWS[1:]))
    large = ROWS[:1] * (KEPT_ROWS + 1)
    assert frame(HEADER, large) is not frame(HEADER, large)
    assert len(frame(HEADER, large)) == KEPT_ROWS + 1


NAN = float("nan")


@pytest.mark.parametrize(
    "columns",
    [
        {"words": Column(np.array([1, 0, 1]), ("a", "b")), "numbers": Column(np.array([0.5, NAN, 2.0]))},
        {"some": Column(np.array([1, 0, 3]), is_blank=np.array([False, True, False]))},
        {"all": Column(np.array([1, 2]), is_blank=np.zeros(2, dtype=bool)), "none": Column(np.array([NAN, NAN]))},
        {"none": Column(np.array([0, 0]), is_blank=np.ones(2, dtype=bool))},
        {"large": Column(np.array([10**30, 1], dtype=object), is_blank=np.array([False, True]))},
        {"words": Column(np.array([], dtype=int), ("a",)), "numbers": Column(np.array([]))},
    ],
    ids="-".join,
)
def test_columns_make_the_frame_of_their_cells(columns: dict[str, Column]) -> None:
    rows = tuple(zip(*(column.cells() for column in columns.values()), strict=True))
    pandas.testing.assert_frame_equal(frame_of(columns), frame(tuple(columns), rows))


@pytest.mark.parametrize("over", OVERS)
@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(),
        Scenario(model="mixtral-8x7b", gpu="t4", context=30_000),
        Scenario(model="gpt-3-175b", context=2**24),
        Scenario(gpu=custom_gpu(memory_gb=1e6, bandwidth_gb_per_s=1.0, bf16_tflops=1.0), cache_format="int4"),
    ],
    ids=["usual", "experts", "hardly any", "huge"],
)
def test_the_comparison_s_frame_is_that_of_its_rows(scenario: Scenario, over: str) -> None:
    for at_most in (1, None):
        found = compare(scenario, Choice(over=over, at_most=at_most))
        header, rows = comparison_rows(found)
        pandas.testing.assert_frame_equal(frame_of(comparison_columns(found)), frame(header, tuple(rows)))


def test_small_frames_of_equal_columns_are_one() -> None:
    def made(n_rows: int, last: float = 1.0) -> pandas.DataFrame:
        return frame_of(
            {"a": Column(np.append(np.arange(n_rows - 1.0), last)), "b": Column(np.zeros(n_rows, dtype=int), ("x",))}
        )

    assert made(8) is made(8)
    assert made(8) is not made(8, 2.0)
    assert made(KEPT_ROWS + 1) is not made(KEPT_ROWS + 1)


def test_what_all_pages_import_leaves_numpy_and_pandas_out() -> None:
    """They cost 80 MB and half a second, which only pages with a large table pay."""
    code = "import sys, ui.blocks, ui.controls, ui.lesson; print({'numpy', 'pandas', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "set()"
