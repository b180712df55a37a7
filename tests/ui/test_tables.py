"""Large tables: what they hold, and which are kept."""

from ui.tables import KEPT_ROWS, frame

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
