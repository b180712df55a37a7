"""A finished figure enlarged for a projector: words, marks and margins grow, the data stay."""

from __future__ import annotations

from typing import Any, cast

from ui.charts.base import Figure

SCALE = 1.5
# Heights of pictures in CSS pixels, so that a page ends at 720: beneath a legend, by itself, with many rows, alone.
LOW, MIDDLE, TALL, HIGH = 290, 330, 350, 370
SENTENCE = 50  # what one more line of words takes
SHORT = 260  # a lower picture goes without the titles of its axes
TWO_LINES = 230  # characters
_GROW = frozenset({"l", "r", "t", "b", "ax", "ay", "xshift", "yshift", "standoff"})


def enlarged(figure: Figure, height: int) -> Figure:
    """The figure at `height` CSS pixels with everything that is read half as large again.

    >>> enlarged({"data": [], "layout": {"font": {"size": 14}, "height": 100}}, 200)["layout"]
    {'font': {'size': 21}, 'height': 200}
    """
    grown = cast("Figure", _grown(figure, ()))
    grown["layout"]["height"] = height
    if height < SHORT:
        for name in [name for name in grown["layout"] if name[1:5] == "axis"]:
            grown["layout"][name].pop("title", None)
    return grown


def _grown(part: Any, path: tuple[str, ...]) -> Any:
    if isinstance(part, dict):
        items = cast("dict[str, Any]", part).items()
        return {key: _grown(value, (*path, key)) for key, value in items}
    if isinstance(part, list) and path[-1] in ("annotations", "shapes", "data"):
        return [_grown(item, path) for item in cast("list[Any]", part)]
    if isinstance(part, int | float) and not isinstance(part, bool) and _is_read(path):
        return round(part * SCALE)
    if isinstance(part, list) and path[-2:] == ("marker", "size"):
        return [round(size * SCALE) for size in cast("list[float]", part)]
    return part


def _is_read(path: tuple[str, ...]) -> bool:
    name = path[-1]
    if name == "size":
        return any(word.endswith("font") or word == "marker" for word in path[:-1])
    if name == "minsize":
        return True
    if name == "width":
        return "line" in path
    return name in _GROW and ("margin" in path or "annotations" in path)
