"""The pinned scenario in a picture: thin bars, faint dashed curves and hollow marks, and a free place for their label.

Sizes are those of a page 1280 CSS pixels wide; on other screens labels keep their distance from their points.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ui import palette
from ui.charts.base import PINNED, THIN, THIN_AT, Figure, dot, line, note

# Plot widths in pixels: a picture across the page, three fifths of it, half, a third.
WIDE, THREE_FIFTHS, HALF, THIRD = 1130.0, 640.0, 530.0, 350.0
# A picture in lecture view: its height, how much larger its words are, and what the sentence on the pin takes of it.
LECTURE_PX, LECTURE_SCALE = 280.0, 1.5

Segment = tuple[float, float, float, float]


def capacity_mark(x: float, row: int = 0) -> dict[str, Any]:
    """Where the pinned scenario's own memory ends, across its bar alone."""
    reach = THIN * 0.9
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": row + THIN_AT - reach,
        "y1": row + THIN_AT + reach,
        "line": {"color": palette.OVER, "width": 3},
    }


def ghost(name: str, x: Sequence[float], y: Sequence[float], color: str, **changes: Any) -> dict[str, Any]:
    """A curve as the pin's: thin and dashed."""
    curve = line(f"{PINNED}: {name}", x, y, color, **changes)
    return curve | {"line": {"color": color, "width": 1.5, "dash": "6px,4px"}, "opacity": 0.8}


def ring(name: str, x: float, y: float, color: str, symbol: str = "circle", **changes: Any) -> dict[str, Any]:
    """A mark as the pin's: hollow, and large enough to show around a filled one."""
    marker = {"size": 18, "symbol": f"{symbol}-open", "color": color, "line": {"width": 2, "color": color}}
    return dot(f"{PINNED}: {name}", x, y, color, marker=marker, hoverinfo="skip", **changes)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, y upwards."""

    x0: float
    y0: float
    x1: float
    y1: float

    def overlap(self, other: Box) -> float:
        """Share of this box that the other covers."""
        if self.x1 <= other.x0 or other.x1 <= self.x0 or self.y1 <= other.y0 or other.y1 <= self.y0:
            return 0.0
        width = min(self.x1, other.x1) - max(self.x0, other.x0)
        height = min(self.y1, other.y1) - max(self.y0, other.y0)
        return width * height / ((self.x1 - self.x0) * (self.y1 - self.y0))

    def wider(self, by: float) -> Box:
        """The box with a margin around it."""
        return Box(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def holds(self, x: float, y: float) -> bool:
        """Whether a point lies within."""
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1

    def crosses(self, x0: float, y0: float, x1: float, y1: float) -> bool:
        """Whether a line from one point to another passes through."""
        if max(x0, x1) < self.x0 or min(x0, x1) > self.x1 or max(y0, y1) < self.y0 or min(y0, y1) > self.y1:
            return False
        dx, dy = x1 - x0, y1 - y0
        start, end = 0.0, 1.0
        for step, low, high in ((dx, self.x0 - x0, self.x1 - x0), (dy, self.y0 - y0, self.y1 - y0)):
            if not step:
                if low > 0 or high < 0:
                    return False
                continue
            first, last = sorted((low / step, high / step))
            start, end = max(start, first), min(end, last)
        return start < end


_CHAR_PX, _BOLD_PX, _LINE_PX = 6.9, 7.4, 18.0
_TAGS = re.compile(r"<[^>]*>")
_X_SHARE = {"left": 0.0, "center": 0.5, "right": 1.0}
_Y_SHARE = {"bottom": 0.0, "middle": 0.5, "top": 1.0}
# Where a label may go, best first: anchor, shift right and shift up from its point.
_PLACES = [
    (anchor, dx, dy)
    for reach in (0, 16, 34)
    for anchor, dx, dy in (
        ("left", 13.0, -14.0 - reach),
        ("right", -13.0, -14.0 - reach),
        ("left", 13.0, 14.0 + reach),
        ("right", -13.0, 14.0 + reach),
        ("center", 0.0, -22.0 - reach),
        ("center", 0.0, 22.0 + reach),
        ("left", 15.0 + reach / 2, 0.0),
        ("right", -15.0 - reach / 2, 0.0),
    )
]


class Canvas:
    """A finished figure of curves, in pixels: it knows what is where, and finds room for one label more.

    A place is judged as the page shows the figure and, counting less, as enlarged for a projector.
    """

    def __init__(self, figure: Figure, width: float, *, lecture: bool = True) -> None:
        self._layout: dict[str, Any] = figure["layout"]
        self._labels: list[dict[str, Any]] = self._layout["annotations"]
        page = _Sheet(figure, width, self._layout["height"], 1.0, 1.0)
        self._sheets = [page, _Sheet(figure, width, LECTURE_PX, LECTURE_SCALE, 0.25)] if lecture else [page]
        for number, label in enumerate(self._labels):
            if "paper" not in (label.get("xref"), label.get("yref")) and page.is_in_the_way(label):
                others = [other for other in self._labels if other is not label]
                self._labels[number] = self._placed(label, others)[1]

    @property
    def inside(self) -> Box:
        """The frame as the page shows it, with the margin above."""
        return self._sheets[0].inside

    def box(self, label: dict[str, Any]) -> Box:
        """Where a label is on the page."""
        return self._sheets[0].box(label)

    def label(self, x: float, y: float, text: str, yref: str = "y", or_x: float | None = None) -> None:
        """Add a label beside a point, clear of labels, marks and frame, and where it can be of curves.

        On a level line `or_x` is another place on it that will do.
        """
        places = [x] if or_x is None else [x, or_x]
        at = [note(_scaled(self._layout, x, "x"), _scaled(self._layout, y, yref), text, yref=yref) for x in places]
        self._labels.append(min((self._placed(label, self._labels) for label in at), key=lambda pair: pair[0])[1])

    def _placed(self, label: dict[str, Any], others: Sequence[dict[str, Any]]) -> tuple[float, dict[str, Any]]:
        """The label at the best place beside its point, and how good that is; least is best."""
        _, height = _size(label["text"])
        taken = [(sheet, *sheet.near(label, others)) for sheet in self._sheets]
        places: list[tuple[float, int, dict[str, Any]]] = []
        for number, (anchor, dx, dy) in enumerate(_PLACES):
            rise = math.copysign((height - _LINE_PX) / 2, dy) if dy else 0.0
            found = label | {"xanchor": anchor, "yanchor": "middle", "xshift": dx, "yshift": dy + rise}
            cost = sum(sheet.weight * sheet.overlap(found, boxes) for sheet, boxes, _ in taken)
            places.append((cost + (abs(dx) + abs(dy)) / 8, number, found))
        best: tuple[float, dict[str, Any]] | None = None
        for cost, _, found in sorted(places, key=lambda place: place[:2]):
            if best and cost >= best[0]:
                break
            whole = cost + sum(8 * sheet.weight * sheet.crossings(found, lines) for sheet, _, lines in taken)
            if best is None or whole < best[0]:
                best = whole, found
        assert best
        return best


class _Sheet:
    """The figure at one size, and how much that size counts."""

    def __init__(self, figure: Figure, width: float, height: float, scale: float, weight: float) -> None:
        self.weight = weight
        self._layout: dict[str, Any] = figure["layout"]
        self._scale = scale
        margin = self._layout["margin"]
        below = 46 if self._layout["xaxis"].get("title") else 26
        self._width, self._height = width, height - scale * (margin["t"] + margin["b"] + below)
        self.inside = Box(0, 0, width, self._height + scale * margin["t"] - 2)
        marks = [(trace, self._points(trace)) for trace in figure["data"] if trace.get("mode") == "markers"]
        self._marks = [_around(*at, scale) for _, points in marks for at in points]
        self._rings = [_around(*at, scale) for trace, points in marks if trace["name"][:6] == PINNED for at in points]
        self._lines = [
            [(*start, *end) for start, end in itertools.pairwise(self._points(trace))]
            for trace in figure["data"]
            if trace.get("mode") != "markers"
        ]
        self._lines += [[self._rule(shape)] for shape in self._layout.get("shapes", ()) if shape["type"] == "line"]

    def is_in_the_way(self, label: dict[str, Any]) -> bool:
        """Whether a label lies on a ring, or has left the frame that the pin has widened."""
        box = self.box(label)
        return any(ring.overlap(box) for ring in self._rings) or box.overlap(self.inside) < 0.9

    def near(self, label: dict[str, Any], others: Sequence[dict[str, Any]]) -> tuple[list[Box], list[list[Segment]]]:
        """The marks and labels, and the lines, that a label beside this point can touch."""
        width, height = (self._scale * (size + 110) for size in _size(label["text"]))
        at_x, at_y = self._x(label["x"], "x"), self._y(label["y"], label.get("yref", "y"))
        around = Box(at_x - width, at_y - height, at_x + width, at_y + height)
        boxes = [*self._marks, *(self.box(other) for other in others)]
        # Close to another ring a label would be read as that one's.
        boxes += [ring.wider(12 * self._scale) for ring in self._rings if not ring.holds(at_x, at_y)]
        return (
            [box for box in boxes if around.overlap(box)],
            [[segment for segment in line if around.crosses(*segment)] for line in self._lines],
        )

    def overlap(self, label: dict[str, Any], boxes: Sequence[Box]) -> float:
        """How much of a label is outside the frame or on marks and labels."""
        box = self.box(label)
        return 300 * (1 - box.overlap(self.inside)) + 200 * sum(box.overlap(other) for other in boxes)

    def crossings(self, label: dict[str, Any], lines: Sequence[Sequence[Segment]]) -> int:
        """How many lines pass through a label."""
        box = self.box(label)
        return sum(any(box.crosses(*segment) for segment in line) for line in lines)

    def _share(self, at: float, ref: str) -> float:
        if ref == "paper":
            return at
        along = _axis(self._layout, ref)
        (low, high), (start, end) = along["range"], along.get("domain", (0.0, 1.0))
        return start + (at - low) / (high - low) * (end - start)

    def _x(self, at: float, ref: str) -> float:
        return self._share(at, ref) * self._width

    def _y(self, at: float, ref: str) -> float:
        return self._share(at, ref) * self._height

    def box(self, label: dict[str, Any]) -> Box:
        """Where a label is."""
        width, height = (self._scale * size for size in _size(label["text"]))
        xref, yref = label.get("xref", "x"), label.get("yref", "y")
        x = self._x(label["x"], xref) + self._scale * label.get("xshift", 0)
        y = self._y(label["y"], yref) + self._scale * label.get("yshift", 0)
        x -= width * _X_SHARE[label.get("xanchor") or "center"]
        anchor = label.get("yanchor") or ("middle" if yref != "paper" else _nearest(label["y"]))
        y -= height * _Y_SHARE[anchor]
        return Box(x, y, x + width, y + height)

    def _points(self, trace: dict[str, Any]) -> list[tuple[float, float]]:
        yref = trace.get("yaxis", "y")
        low = 1e-300 if _axis(self._layout, yref).get("type") == "log" else -math.inf
        return [
            (self._x(_scaled(self._layout, x, "x"), "x"), self._y(_scaled(self._layout, max(y, low), yref), yref))
            for x, y in zip(trace["x"], trace["y"], strict=True)
        ]

    def _rule(self, shape: dict[str, Any]) -> Segment:
        xref, yref = shape.get("xref", "x"), shape.get("yref", "y")
        ends: list[float] = []
        for number in "01":
            x, y = shape[f"x{number}"], shape[f"y{number}"]
            ends.append(self._x(x if xref == "paper" else _scaled(self._layout, x, xref), xref))
            ends.append(self._y(y if yref == "paper" else _scaled(self._layout, y, yref), yref))
        return ends[0], ends[1], ends[2], ends[3]


def _axis(layout: dict[str, Any], ref: str) -> dict[str, Any]:
    return layout[f"{ref[0]}axis{ref[1:]}"]


def _scaled(layout: dict[str, Any], value: float, ref: str) -> float:
    """A value as annotations and ranges count it."""
    return math.log10(value) if _axis(layout, ref).get("type") == "log" else value


def _around(x: float, y: float, scale: float) -> Box:
    """A mark's own place."""
    reach = 9 * scale
    return Box(x - reach, y - reach, x + reach, y + reach)


@lru_cache(maxsize=256)
def _size(text: str) -> tuple[float, float]:
    """Width and height of a text in pixels, roughly."""
    lines = text.split("<br>")
    wide = _BOLD_PX if "<b>" in text else _CHAR_PX
    return max(len(_TAGS.sub("", part)) for part in lines) * wide + 4, _LINE_PX * len(lines)


def _nearest(share: float) -> str:
    return "bottom" if share < 1 / 3 else "top" if share > 2 / 3 else "middle"
