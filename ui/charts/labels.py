"""Words in a picture whose width the server does not know: they must fit the narrowest, and stay clear of its curves.

Sizes are pixels at the page's size of print; in lecture view words, shifts and margins grow together.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from ui.charts.base import note

NARROW = 250.0  # of a plot: a phone's, or half a projector's
CHARACTER, BOLD, LINE = 6.5, 7.6, 18.0
AWAY = 5.0  # of a word from its line
LEAST, DRAWN = 0.3, 0.4  # of an axis: as a logarithm a factor of two; what is drawn has this share of it
CLEAR = 4.0  # between a number and what is above or beneath it
UP = 14.0  # of a number from its mark

Curve = tuple[Sequence[float], Sequence[float]]  # positions and heights as the axes count them
# A height as the axis counts it, and the pixels to keep free beneath and above it.
Room = tuple[float, float, float]


def broken(text: str, most: int = 40) -> list[str]:
    """A text in lines that a phone can show, broken at spaces.

    >>> broken("one two three four", 9)
    ['one two', 'three', 'four']
    """
    lines: list[str] = []
    while len(text) > most:
        at = text.rfind(" ", 1, most + 1)
        at = at if at > 0 else text.find(" ", 1)
        if at < 0:
            break
        lines.append(text[:at])
        text = text[at + 1 :]
    return [*lines, text]


def logarithms(x: Sequence[float], y: Sequence[float]) -> Curve:
    """A curve on two logarithmic axes."""
    return [math.log10(value) for value in x], [math.log10(max(value, 1e-300)) for value in y]


def spanned(rooms: Iterable[Room], plot_px: float) -> list[float]:
    """The shortest range of an axis `plot_px` long that leaves every height its room.

    Where that would press what is drawn into less than about two fifths of it, the room is less.

    >>> spanned([(0.0, 0, 0), (10.0, 0, 20)], 100)
    [0.0, 12.5]
    """
    rooms = list(rooms)
    first, last = min(at for at, _, _ in rooms), max(at for at, _, _ in rooms)
    if last - first < LEAST:
        first, last = (first + last - LEAST) / 2, (first + last + LEAST) / 2
    beneath = [(first, 0.0), *((at, below) for at, below, _ in rooms if below)]
    above = [(last, 0.0), *((at, over) for at, _, over in rooms if over)]
    low, high = first, last
    most = (last - first) / DRAWN / plot_px  # of the axis a pixel
    unit = 0.0
    for _ in range(6):  # which height decides at either end changes a few times at most
        lower, below = min(beneath, key=lambda room: room[0] - room[1] * unit)
        upper, over = max(above, key=lambda room: room[0] + room[1] * unit)
        kept = plot_px - below - over
        found = min(most, (upper - lower) / kept) if kept > 0 else most
        low, high = lower - below * found, upper + over * found
        if found == unit:
            break
        unit = found
    return [round(low, 6), round(high, 6)]


def extent(curve: Curve, left: float, right: float) -> tuple[float, float] | None:
    """The lowest and the highest that a curve comes between two places; None where it is not.

    >>> extent(([0, 2, 4], [0, 4.0, 0]), 1, 3)
    (2.0, 4.0)
    """
    xs, ys = curve
    left, right = max(left, xs[0]), min(right, xs[-1])
    if left > right:
        return None
    first, last = bisect_right(xs, left), bisect_left(xs, right)

    def at(x: float, n: int) -> float:
        n = min(max(n, 1), len(xs) - 1)
        return ys[n - 1] + (ys[n] - ys[n - 1]) * (x - xs[n - 1]) / (xs[n] - xs[n - 1])

    heights = [at(left, first), at(right, last), *ys[first:last]]
    return min(heights), max(heights)


def lowest(curves: Sequence[Curve], left: float, right: float) -> float:
    """The lowest that any of the curves comes between two places; infinity where none is.

    >>> lowest([([0, 2], [0, 4])], 1, 2)
    2.0
    """
    found = [between[0] for curve in curves if (between := extent(curve, left, right))]
    return min(found, default=math.inf)


def feet(
    lines: Sequence[tuple[float, str]], x_range: Sequence[float], curves: Sequence[Curve], yref: str = "paper"
) -> tuple[list[dict[str, Any]], list[Room]]:
    """Names of upright lines at the foot of a picture, each in a row of its own where two would meet.

    A name stands on the side of its line where it is whole and the curves are higher. With the names comes the room
    that the curves must leave them.
    """
    length = x_range[1] - x_range[0]
    rows: list[list[tuple[float, float]]] = []
    notes: list[dict[str, Any]] = []
    rooms: list[Room] = []

    def place(start: float, end: float) -> tuple[float, float]:
        cut = max(0.0, -start) + max(0.0, end - NARROW)
        height = lowest(curves, x_range[0] + start / NARROW * length, x_range[0] + end / NARROW * length)
        return -cut, height

    for at, text in sorted(lines):
        x = (at - x_range[0]) / length * NARROW
        width = CHARACTER * len(text) + 2 * AWAY
        start, end = max(((x, x + width), (x - width, x)), key=lambda ends: place(*ends))
        row = next((n for n, taken in enumerate(rows) if all(end <= a or b <= start for a, b in taken)), len(rows))
        rows += [[]] if row == len(rows) else []
        rows[row].append((start, end))
        side = {"xanchor": "left", "xshift": AWAY} if start == x else {"xanchor": "right", "xshift": -AWAY}
        notes.append(note(at, 0, text, yref=yref, yanchor="bottom", yshift=2 + LINE * row) | side)
        height = place(start, end)[1]
        if height < math.inf:
            rooms.append((height, LINE * (row + 1) + 6, 0))
    return notes, rooms


_TAGS = re.compile(r"<[^>]*>")
_SHARE = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "top": 1.0}
Box = tuple[float, float, float, float]  # left, bottom, right, top in pixels


class Sheet:
    """A picture of curves at its narrowest, in pixels: where a number beside a mark crosses least."""

    _PLACES = ((-1, 1), (1, -1), (-1, -1), (1, 1))

    def __init__(
        self,
        x_range: Sequence[float],
        y_range: Sequence[float],
        plot_px: float,
        curves: Sequence[Curve],
        lines: Sequence[float] = (),
    ) -> None:
        """The ranges of both axes, the height of the plot, its curves, and the places of its upright lines."""
        self._curves, self._taken = curves, list[Box]()
        self._x0, self._x_unit = x_range[0], (x_range[1] - x_range[0]) / NARROW
        self._y0, self._y_unit = y_range[0], (y_range[1] - y_range[0]) / plot_px
        self._height = plot_px
        self._lines = [(at - self._x0) / self._x_unit for at in lines]

    def avoid(self, labels: Iterable[dict[str, Any]]) -> None:
        """Labels that are there already: single lines at the foot or the top of the picture, or at a height."""
        for label in labels:
            text = _TAGS.sub("", label["text"])
            width = CHARACTER * len(text)
            start = (label["x"] - self._x0) / self._x_unit + label.get("xshift", 0) - width * _SHARE[label["xanchor"]]
            height = label["y"] * self._height if "yref" in label else (label["y"] - self._y0) / self._y_unit
            bottom = height + label.get("yshift", 0) - LINE * _SHARE[label["yanchor"]]
            self._taken.append((start, bottom, start + width, bottom + LINE))

    def number(self, x: float, y: float, text: str, **changes: Any) -> dict[str, Any]:
        """A short bold number at a mark, left or right of it and above or beneath, where it is whole and clear."""
        width = BOLD * len(text)
        at, height = (x - self._x0) / self._x_unit, (y - self._y0) / self._y_unit

        def box(side: int, up: int) -> Box:
            start = at + 6 if side > 0 else at - 6 - width
            return start, height + UP * up - LINE / 2, start + width, height + UP * up + LINE / 2

        side, up = min(self._PLACES, key=lambda place: self._in_the_way(box(*place)))
        self._taken.append(box(side, up))
        anchor = {"xanchor": "left", "xshift": 6} if side > 0 else {"xanchor": "right", "xshift": -6}
        return note(x, y, f"<b>{text}</b>", yshift=UP * up) | anchor | changes

    def _in_the_way(self, box: Box) -> float:
        left, bottom, right, top = box
        cut = (left < -6) + (right > NARROW)
        on = sum(left < b[2] and b[0] < right and bottom < b[3] + CLEAR and b[1] < top + CLEAR for b in self._taken)
        through = sum(left < line < right for line in self._lines)
        for curve in self._curves:
            between = extent(curve, self._x0 + left * self._x_unit, self._x0 + right * self._x_unit)
            if between and between[0] < self._y0 + top * self._y_unit and between[1] > self._y0 + bottom * self._y_unit:
                through += 1
        outside = (bottom < -4) + (top > self._height + 4)
        return 10 * cut + 10 * on + 3 * outside + through


def round_numbers(low: float, high: float, most: int = 10) -> list[float]:
    """Round numbers between two logarithms, at most so many: powers of ten, where those are few with more between.

    >>> round_numbers(1.6, 2.4), round_numbers(-0.5, 3.7), round_numbers(2.1, 3.8, 4)
    ([50.0, 100.0, 200.0], [1.0, 10.0, 100.0, 1000.0], [200.0, 1000.0, 5000.0])
    """
    found: list[float] = []
    for least, steps in ((3, (1,)), (2, (1, 2, 5)), (1, (1, 1.5, 2, 3, 4, 5, 7))):
        powers = range(math.floor(low), math.ceil(high) + 1)
        found = [step * 10.0**power for power in powers for step in steps]
        found = [tick for tick in found if low <= math.log10(tick) <= high]
        if len(found) >= least:
            break
    return found[:: -(-len(found) // most) or 1]
