"""Two phases: the roofline with its three dots, and the time of a request."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Request, Result, bandwidth_bytes_per_s, intensities, peak_flops_per_s
from core.roofline import attainable_flops_per_s
from core.units import TERA, format_flop_rate, format_seconds, integer, significant
from ui import palette
from ui.charts import pinned
from ui.charts.base import (
    CAMERA,
    FONT_SIZE,
    PINNED,
    Figure,
    axis,
    bars,
    dot,
    key,
    keyed,
    layout,
    line,
    note,
    rule,
    two_rows,
)
from ui.charts.labels import Sheet, feet, logarithms, spanned

_DOTS = (
    ("prefill", palette.COMPUTE, "diamond"),
    ("decode, weights", palette.WEIGHTS, "square"),
    ("decode, attention", palette.CACHE, "circle"),
)


class _Roof:
    """One scenario's roofline and the intensities of its three dots."""

    def __init__(self, result: Result) -> None:
        s = result.scenario
        found = intensities(s, result)
        self.peak, self._bandwidth, self.ridge = peak_flops_per_s(s), bandwidth_bytes_per_s(s), found.ridge
        self.values = (found.prefill, found.decode_weights, found.decode_attention)
        self.known = [v for v in self.values if v]

    def height(self, intensity: float) -> float:
        """Attainable TFLOP/s."""
        return (
            attainable_flops_per_s(
                intensity_flops_per_byte=intensity, peak_flops_per_s=self.peak, bandwidth_bytes_per_s=self._bandwidth
            )
            / TERA
        )

    def line(self, left: float, right: float) -> tuple[list[float], list[float]]:
        """Slope and level from end to end of the axis."""
        corners = [left, self.ridge, right]
        return corners, [self.height(corner) for corner in corners]


def roofline_figure(result: Result, before: Result | None = None) -> Figure:
    """Attainable FLOP/s against arithmetic intensity; prefill, decode weights and decode attention as dots.

    The pinned scenario's dots are hollow, and its roof is faint where it is another.
    """
    found = _Roof(result)
    then = _Roof(before) if before else None
    roofs = [found, then] if then else [found]
    known = [v for roof in roofs for v in roof.known]
    low, high = min(0.5, *known) / 2, max(*(roof.ridge * 20 for roof in roofs), *known) * 3
    x_range = [math.floor(math.log10(low)), math.ceil(math.log10(high))]
    left, right = 10.0 ** x_range[0], 10.0 ** x_range[1]
    data: list[dict[str, Any]] = []
    shown: list[str] = []
    if then:
        if then.line(left, right) != found.line(left, right):
            data.append(pinned.ghost("roofline", *then.line(left, right), palette.RESERVE, hoverinfo="skip"))
        for (name, color, symbol), value in zip(_DOTS, then.values, strict=True):
            if value:
                words = f"{name} {significant(value)}"
                data.append(pinned.ring(words, value, then.height(value), color, symbol))
    data.append(line("roofline", *found.line(left, right), palette.RESERVE, hoverinfo="skip"))
    ridge = math.log10(found.ridge)
    annotations, _ = feet([(ridge, f"ridge {significant(found.ridge)}")], x_range, [])
    peak = math.log10(found.height(right))
    words = f"peak {format_flop_rate(found.peak)}"
    annotations.append(note(ridge, peak, words, xanchor="left", yanchor="bottom"))
    if then:  # one row above the ridge's name
        words = f"hollow: {PINNED}"
        annotations.append(note(x_range[1], 0, words, yref="paper", xanchor="right", yanchor="bottom", yshift=20))
    if then and then.peak != found.peak:
        words = f"{PINNED} peak {format_flop_rate(then.peak)}"
        at, away = math.log10(then.height(right)), "bottom" if then.peak > found.peak else "top"
        annotations.append(note(x_range[1], at, words, xanchor="right", yanchor=away))
    rooms = [(math.log10(roof.height(end)), 12, 22) for roof in roofs for end in (left, right)]
    marks: list[tuple[float, float, str]] = []
    for (name, color, symbol), value in zip(_DOTS, found.values, strict=True):
        if not value:
            continue
        y = found.height(value)
        words = f"{name} {significant(value)}: {significant(100 * y / found.height(right), 2)} % of peak"
        if name == _DOTS[2][0] and _is_group_size(result):
            words += "<br>the group size: no batch moves it"
        data.append(
            dot(
                words,
                value,
                y,
                color,
                marker={"size": 15, "symbol": symbol, "color": color, "line": {"color": palette.INK, "width": 1}},
                hovertemplate=f"{name}: {significant(value)} FLOP/byte<extra></extra>",
            )
        )
        shown.append(words)
        at = math.log10(value), math.log10(y)
        marks.append((at[0], at[1], significant(value)))
        rooms.append((at[1], 23, 23))
    keyed(data, *shown)
    low, high = spanned(rooms, _PLOT)
    curves = [logarithms(*roof.line(left, right)) for roof in roofs]
    sheet = Sheet(x_range, (low, high), _PLOT, curves, [ridge])
    sheet.avoid(annotations)
    annotations += [sheet.number(x, y, words) for x, y, words in marks]
    return {
        "data": data,
        "layout": layout(
            height=390 if before else 330,
            margin={"l": 8, "r": CAMERA, "t": 28, "b": 8},
            shapes=[rule("x", found.ridge, "dot")],
            annotations=annotations,
            xaxis=axis(
                type="log",
                range=x_range,
                title={"text": "arithmetic intensity (FLOP/byte)"},
                **_powers(x_range[0], x_range[1], 6),
            ),
            yaxis=axis(
                type="log",
                range=[low, high],
                title={"text": "attainable TFLOP/s"},
                **_powers(low + 12 / _PLOT * (high - low), high, 9),
            ),
            **key(top=True),
        ),
    }


_PLOT = 140  # pixels: on the page it has more, on a projector less


def _powers(low: float, high: float, most: int) -> dict[str, Any]:
    """Ticks at powers of ten between two logarithms, at most so many, in words that do not turn on a phone."""
    powers = list(range(math.ceil(low), math.floor(high) + 1))
    powers = powers[:: -(-len(powers) // most)]
    texts = [
        f"10<sup>{power}</sup>" if power > 5 else integer(10**power) if power >= 0 else f"{10.0**power:g}"
        for power in powers
    ]
    return {"tickvals": [10.0**power for power in powers], "ticktext": texts, "tickangle": 0}


def _is_group_size(result: Result) -> bool:
    model = result.scenario.model_spec
    return model.softmax is not None and model.softmax.span is None


_PHASE_ROWS = ("memory", "arithmetic")


def _phase_bars(result: Result) -> list[dict[str, Any]]:
    p, d = result.prefill, result.decode
    fills = ((palette.WEIGHTS, None), (palette.COMPUTE, "\\"))
    return [
        bars(row, [time], [row], [format_seconds(time)], fill, pattern=pattern, xaxis=name, yaxis="y")
        for name, times in (("x", (p.memory_s, p.compute_s)), ("x2", (d.memory_s, d.compute_s)))
        for row, time, (fill, pattern) in zip(_PHASE_ROWS, times, fills, strict=True)
    ]


def phases_figure(result: Result, before: Result | None = None) -> Figure:
    """TTFT and TPOT side by side, each with what memory and arithmetic take of it; the pin's are thin."""
    data = _phase_bars(result)
    y_axis = axis(autorange="reversed", showgrid=False, type="category")
    if before:
        data, y_axis = two_rows(data, _phase_bars(before), _PHASE_ROWS, [0])
    both = [result, before] if before else [result]
    ends, titles = [], []
    for name, times in (("TTFT", [r.prefill.ttft_s for r in both]), ("TPOT", [r.decode.step_s for r in both])):
        ends.append(max(times) * 1.04)
        then = f"<br>({PINNED}: {format_seconds(times[1])})" if before else ""
        titles.append(f"<b>{name}</b><br>at least {format_seconds(times[0])}{then}")
    domains = ((0.0, 0.48), (0.52, 1.0))
    return {
        "data": data,
        "layout": layout(
            bargap=0.2,
            barmode="stack",
            height=196 if before else 138,
            margin={"l": 8, "r": 8, "t": 64 if before else 46, "b": 4},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            annotations=[
                note(low, 1, text, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=4, align="left")
                for (low, _), text in zip(domains, titles, strict=True)
            ],
            xaxis=axis(range=[0, ends[0]], domain=domains[0], showticklabels=False, anchor="y"),
            xaxis2=axis(range=[0, ends[1]], domain=domains[1], showticklabels=False, anchor="y"),
            yaxis=y_axis,
        ),
    }


def _request_bars(asked: Request) -> list[dict[str, Any]]:
    parts = (("prefill", asked.ttft_s, palette.COMPUTE, "\\"), ("decode", asked.decode_s, palette.WEIGHTS, None))
    return [
        bars(name, [time], [""], [f"{name} {format_seconds(time)}"], fill, pattern=pattern)
        for name, time, fill, pattern in parts
    ]


def request_figure(asked: Request, before: Request | None = None) -> Figure:
    """A request's time from prompt to last token: prefill, then decode; the pin's on the same scale."""
    data = _request_bars(asked)
    y_axis = axis(showticklabels=False, showgrid=False)
    if before:
        data, y_axis = two_rows(data, _request_bars(before), [""], [0])
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0,
            height=88 if before else 64,
            margin={"l": 8, "r": CAMERA, "t": 4, "b": 4},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            xaxis=axis(range=[0, max(r.total_s for r in (asked, before) if r)], showticklabels=False, showgrid=False),
            yaxis=y_axis,
        ),
    }
