"""What every figure shares: layout, bars, lines, rules, key. Figures are whole dictionaries; no streamlit here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ui import palette

Figure = dict[str, Any]

FONT_SIZE = 14
PINNED = "pinned"
CONFIG = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg"},
    "responsive": True,
}
_AXIS = {"fixedrange": True, "gridcolor": palette.GRID, "zeroline": False, "automargin": True}


def axis(**changes: Any) -> dict[str, Any]:
    """A locked axis."""
    return _AXIS | changes


def layout(**changes: Any) -> dict[str, Any]:
    """Our template: transparent, no legend, locked axes; further axes are given whole."""
    base: dict[str, Any] = {
        "font": {"size": FONT_SIZE, "family": "'Source Sans', sans-serif"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hoverlabel": {"align": "left", "namelength": -1},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": palette.RESERVE, "activecolor": palette.WEIGHTS},
    }
    return base | changes


def hatch(shape: str) -> dict[str, Any]:
    """A pattern over the fill colour (without overlay the fill would vanish), faint enough to read through."""
    opacity = 0.14 if shape in ".x" else 0.2
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": palette.INK, "fgopacity": opacity, "size": 9}
    return {"pattern": pattern}


def bars(
    name: str, x: Sequence[float], y: Sequence[str], text: Sequence[str], fill: str, **changes: Any
) -> dict[str, Any]:
    """Horizontal bars of one role, labelled inside; `pattern` names the hatch."""
    pattern = changes.pop("pattern", None)
    base: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": list(x),
        "y": list(y),
        "text": list(text),
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": palette.ON_FILL[fill], "size": FONT_SIZE + 1},
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "color": fill,
            "line": {"color": palette.INK, "width": 1},
            **(hatch(pattern) if pattern else {}),
        },
    }
    return base | changes


def line(
    name: str, x: Sequence[float], y: Sequence[float], color: str, dash: str = "solid", **changes: Any
) -> dict[str, Any]:
    """A curve."""
    base: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": color, "width": 3, "dash": dash},
    }
    return base | changes


def dot(name: str, x: float, y: float, color: str, **changes: Any) -> dict[str, Any]:
    """One marked point."""
    base: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [x],
        "y": [y],
        "cliponaxis": False,
        "marker": {"size": 13, "color": color, "line": {"color": palette.PAPER, "width": 2}},
    }
    return base | changes


def rule(
    direction: str, at: float, dash: str = "dash", color: str = palette.RESERVE, width: float = 2, **changes: Any
) -> dict[str, Any]:
    """A line across the whole plot: "x" for an upright one, "y" for a level one."""
    other = "y" if direction == "x" else "x"
    base: dict[str, Any] = {
        "type": "line",
        f"{direction}0": at,
        f"{direction}1": at,
        f"{other}ref": "paper",
        f"{other}0": 0,
        f"{other}1": 1,
        "line": {"color": color, "width": width, "dash": dash},
    }
    return base | changes


def capacity_lines(at: Sequence[float]) -> list[dict[str, Any]]:
    """The capacity, in the key by name, and the pinned scenario's where it is another."""
    words = f"capacity, {PINNED} dotted" if at[1:] else "capacity"
    lines = [rule("x", at[0], color=palette.OVER, showlegend=True, name=words)]
    return lines + [rule("x", other, "dot", palette.OVER, 1.5) for other in at[1:]]


def shade(x0: float, x1: float) -> dict[str, Any]:
    """The region where memory has ended."""
    return {
        "type": "rect",
        "x0": x0,
        "x1": x1,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "fillcolor": palette.SHADE,
        "line": {"width": 0},
        "layer": "below",
    }


def note(x: float, y: float, text: str, **changes: Any) -> dict[str, Any]:
    """Text on the picture; on a log axis positions are the logarithms."""
    return {"x": x, "y": y, "text": text, "showarrow": False} | changes


CAMERA = 34  # of the margin at the right: where a key at the top must end before the button that saves the picture


def key(*, top: bool = False, title: str = "") -> dict[str, Any]:
    """The key, for a layout: one row where there is room, more on a phone. The browser wraps it, the server cannot."""
    place = {"y": 1, "yanchor": "top", "xref": "paper"} if top else {"y": 0, "yanchor": "bottom", "xref": "container"}
    legend = {
        "orientation": "h",
        "x": 0,
        "yref": "container",
        "font": {"size": FONT_SIZE, "color": palette.RESERVE},  # the page's style gives it the theme's ink
        "traceorder": "normal",
        "itemclick": False,
        "itemdoubleclick": False,
        "bgcolor": "rgba(0,0,0,0)",
    }
    if title:
        legend["title"] = {
            "text": f"<b>{title}</b> ",
            "side": "left",
            "font": {"size": FONT_SIZE, "color": palette.RESERVE},
        }
    return {"showlegend": True, "legend": legend | place}


def keyed(data: Sequence[dict[str, Any]], *names: str) -> None:
    """Only these traces are in the key, the pinned ones last."""
    for trace in data:
        trace["showlegend"] = trace["name"] in names
        if trace["name"].startswith(PINNED):
            trace["legendrank"] = 1001  # all others have 1000


def panel_titles(titles: Sequence[str], domains: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """A heading above each panel."""
    return [
        note(low, 1, f"<b>{title}</b>", xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=4)
        for title, (low, _) in zip(titles, domains, strict=True)
    ]


def titled_layout(title: str, height: int, annotations: Sequence[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """The layout of a single picture with a heading above it."""
    notes = [*panel_titles((title,), ((0.0, 1.0),)), *annotations]
    return layout(height=height, margin={"l": 8, "r": 8, "t": 34, "b": 8}, annotations=notes, **changes)


# Within a row of height 1: the bar, and the pinned one beneath it.
FEW_ROWS, MANY_ROWS = 4, 8
BAR_AT, BAR, THIN_AT, THIN = -0.14, 0.6, 0.3, 0.17


def thin(trace: dict[str, Any]) -> dict[str, Any]:
    """A bar as the pin's: the same colour and pattern; its numbers appear on pointing at it."""
    return trace | {
        "name": f"{PINNED}: {trace['name']}",
        "showlegend": False,
        "textposition": "none",
        "hovertemplate": f"{PINNED}: %{{text}}<extra></extra>",
    }


def two_rows(
    bars: Sequence[dict[str, Any]],
    pinned: Sequence[dict[str, Any]],
    rows: Sequence[str],
    labelled: Sequence[int],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Bars and beneath each the pinned one, and their axis, which says "pinned" at the rows labelled.

    Many rows leave no room for a line of its own, so there the word follows the row's name.
    """
    place = {row: number for number, row in enumerate(rows)}

    def put(trace: dict[str, Any], at: float, width: float) -> dict[str, Any]:
        return trace | {"y": [place[row] + at for row in trace["y"]], "width": width}

    data = [put(trace, BAR_AT, BAR) for trace in bars]
    data += [put(thin(trace), THIN_AT, THIN) for trace in pinned]
    word = f"<i>{PINNED}</i>"
    if len(rows) > FEW_ROWS:
        ticks = [(n + BAR_AT, f"{row}, {word}" if n in labelled else row) for n, row in enumerate(rows)]
    else:
        ticks = [(n + BAR_AT, row) for n, row in enumerate(rows)] + [(n + THIN_AT, word) for n in labelled]
    y_axis = axis(
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        tickvals=[at for at, _ in ticks],
        ticktext=[text for _, text in ticks],
    )
    if len(rows) > MANY_ROWS:
        y_axis["tickfont"] = {"size": FONT_SIZE - 3}
    return data, y_axis


@dataclass(frozen=True)
class Panel:
    """One picture of horizontal bars, to stand alone or beside others that share its rows."""

    title: str
    traces: Sequence[dict[str, Any]]
    x_axis: dict[str, Any]
    shapes: Sequence[dict[str, Any]] = ()
    pinned: Sequence[dict[str, Any]] = ()  # bars of the pinned scenario, drawn thin beneath the others


# Of two panels the second is wider: on a phone its heading must end before the button that saves the picture.
FIRST, GAP = 0.4, 0.06


def column(rows: Sequence[str], texts: Sequence[str], pinned: bool) -> list[dict[str, Any]]:
    """Numbers at the right end of the rows, where no bar and no line comes."""
    shift = BAR_AT if pinned else 0
    return [
        note(1, number + shift, text, xref="paper", xanchor="right")
        for number, text in enumerate(texts[: len(rows)])
        if text
    ]


def rows_figure(
    panels: Sequence[Panel], height: int, rows: Sequence[str] = (), pinned_at: Sequence[int] = ()
) -> Figure:
    """Panels side by side over the same rows. Few of them: a phone shows all it is given in its width.

    With pinned bars, `rows` names all rows and `pinned_at` numbers those that say "pinned".
    """
    data: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    domains = [(0.0, 1.0)] if len(panels) == 1 else [(0.0, FIRST), (FIRST + GAP, 1.0)]
    y_axis = axis(autorange="reversed", showgrid=False, type="category")
    for number, (panel, domain) in enumerate(zip(panels, domains, strict=True)):
        name = f"x{number + 1}" if number else "x"
        traces = panel.traces
        if rows:
            traces, y_axis = two_rows(traces, panel.pinned, rows, pinned_at)
        data += [trace | {"xaxis": name, "yaxis": "y"} for trace in traces]
        shapes += [shape | {"xref": name} for shape in panel.shapes]
        axes[f"xaxis{name[1:]}"] = panel.x_axis | {"domain": list(domain), "anchor": "y"}
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0.22,
            height=height,
            margin={"l": 8, "r": 8, "t": 34, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 3},
            annotations=panel_titles([panel.title for panel in panels], domains),
            shapes=shapes,
            yaxis=y_axis,
            **axes,
        ),
    }
