"""Values of unknown origin."""

import pytest

from core.query import QueryReader, decimal, whole


@pytest.mark.parametrize("text", ["", " ", "1.0", "1e3", "٣", "1_000", "0x10", "--1", "1" * 26, "+1", "\u00b2"])
def test_not_whole(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        whole(text)


@pytest.mark.parametrize("text", ["", "nan", "inf", "-inf", "1_0", "ten", "1" * 26, "1e999"])
def test_not_decimal(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        decimal(text)


def test_each_change_is_one_note() -> None:
    read = QueryReader({"a": "9", "b": "x", "c": "maybe"}, {"a": "1", "b": "2", "c": "0"})
    assert read.whole("a", 1, 5, 1) == 5
    assert read.choice("b", ("2", "3"), "2") == "2"
    assert read.flag("c", False) is False
    assert read.decimal("d", 0, 1, 0.5) == 0.5
    assert [note.split()[0] for note in read.notes] == ["a", "b", "c"]
    assert '"9" became 5' in read.notes[0]
