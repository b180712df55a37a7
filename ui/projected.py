"""What a projected page holds beside its picture: how many characters a line takes, and how high lines are."""

from __future__ import annotations

from collections.abc import Sequence

from ui import charts

LINE, SMALL_LINE = 105, 120  # characters
LINE_PX, SMALL_LINE_PX = 32, 22  # CSS pixels


def first(lines: Sequence[str], beside: str = "") -> Sequence[str]:
    """The first sentences that fit into two lines, one at least; `beside` a headline in letters half as large again.

    >>> [len(said) for said in first(["a" * 100, "b" * 100, "c" * 40])]
    [100, 100]
    >>> [len(said) for said in first(["a" * 100, "b" * 100, "c" * 40], "d" * 40)]
    [100]
    """
    room = charts.TWO_LINES - len(beside) * 3 // 2
    return [said for n, said in enumerate(lines) if not n or len(" ".join(lines[: n + 1])) <= room]


def taken_px(looked_at: str, against_pin: str) -> int:
    """What is taken from the picture by words that most views do without: a second small line, and those on a pin.

    >>> taken_px("a" * 40, ""), taken_px("a" * 140, ""), taken_px("a" * 40, "b" * 200)
    (0, 22, 82)
    """
    small = SMALL_LINE_PX if len(looked_at) > SMALL_LINE else 0
    lines = -(-len(against_pin) // LINE)
    return small + (charts.SENTENCE + (lines - 1) * LINE_PX if lines else 0)
