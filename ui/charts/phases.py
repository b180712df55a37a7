"""Two phases: the roofline with its three dots, and the time of a request."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Request, Result, bandwidth_bytes_per_s, intensities, peak_flops_per_s
from core.roofline import attainable_flops_per_s
from core.units import TERA, format_flop_rate, format_seconds, significant
from ui import palette
from ui.charts import pinned
from ui.charts.base import FONT_SIZE, PINNED, Figure, axis, bars, dot, layout, line, note, rule, two_rows

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
    height, peak = found.height, found.peak
    x_range = [math.floor(math.log10(low)), math.ceil(math.log10(high))]
    left, right = 10.0 ** x_range[0], 10.0 ** x_range[1]
    data: list[dict[str, Any]] = []
    if then:
        if then.line(left, right) != found.line(left, right):
            data.append(pinned.ghost("roofline", *then.line(left, right), palette.RESERVE, hoverinfo="skip"))
        data += [
            pinned.ring(name, value, then.height(value), color, symbol)
            for (name, color, symbol), value in zip(_DOTS, then.values, strict=True)
            if value
        ]
    data.append(line("roofline", *found.line(left, right), palette.RESERVE, hoverinfo="skip"))
    annotations = [
        note(math.log10(found.ridge), 0, f"ridge {significant(found.ridge)} FLOP/byte", yref="paper", yanchor="bottom",
             xanchor="left", xshift=4),
        note(x_range[1], math.log10(height(right)), f"peak {format_flop_rate(peak)}", xanchor="right", yshift=12),
    ]  # fmt: skip
    for (name, color, symbol), value in zip(_DOTS, found.values, strict=True):
        if not value:
            continue
        y = height(value)
        share = y / height(right)
        data.append(
            dot(
                name,
                value,
                y,
                color,
                marker={"size": 15, "symbol": symbol, "color": color, "line": {"color": palette.INK, "width": 1}},
                hovertemplate=f"{name}: {significant(value)} FLOP/byte<extra></extra>",
            )
        )
        stays = "<br>the group size: no batch moves it" if name == _DOTS[2][0] and _is_group_size(result) else ""
        text = f"<b>{name}</b> {significant(value)}{stays}<br>{significant(100 * share, 2)} % of the peak"
        # Above the slope for the weights, below it for attention: the two dots can lie close together.
        above = name == _DOTS[1][0] and math.log10(value) > x_range[0] + 0.25 * (x_range[1] - x_range[0])
        to_left = above or value > found.ridge
        place = {
            "align": "right" if to_left else "left",
            "xanchor": "right" if to_left else "left",
            "xshift": -12 if to_left else 14,
            "yshift": 10 if above and value <= found.ridge else -24 if value > found.ridge else -8,
        }
        annotations.append(note(math.log10(value), math.log10(y), text) | place)
    y_range = [
        math.floor(math.log10(min(roof.height(left) for roof in roofs))),
        math.log10(max(roof.height(right) for roof in roofs)) + 0.35,
    ]
    figure: Figure = {
        "data": data,
        "layout": layout(
            height=330,
            margin={"l": 8, "r": 8, "t": 8, "b": 8},
            shapes=[rule("x", found.ridge, "dot")],
            annotations=annotations,
            xaxis=axis(type="log", range=x_range, dtick=1, tickformat=",~r",
                       title={"text": "arithmetic intensity (FLOP/byte)"}),
            yaxis=axis(type="log", range=y_range, dtick=1, tickformat=",~r", title={"text": "attainable TFLOP/s"}),
        ),
    }  # fmt: skip
    if then:
        _label_pinned(figure, then, found, right)
    return figure


def _label_pinned(figure: Figure, then: _Roof, found: _Roof, right: float) -> None:
    """The word beside each ring that stands apart, or beside the first; and the pinned peak where it is another."""
    canvas = pinned.Canvas(figure, pinned.WIDE)
    dots = [(name.rpartition(" ")[2], value) for (name, _, _), value in zip(_DOTS, then.values, strict=True) if value]
    apart = [(name, value) for name, value in dots if value not in found.values]
    for name, value in apart or dots[:1]:
        canvas.label(value, then.height(value), f"{PINNED} {name} {significant(value)}")
    if then.peak != found.peak:
        halfway = math.sqrt(then.ridge * right)
        canvas.label(right, then.height(right), f"{PINNED} peak {format_flop_rate(then.peak)}", or_x=halfway)


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
        then = f" ({PINNED}: {format_seconds(times[1])})" if before else ""
        titles.append(f"<b>{name}</b> at least {format_seconds(times[0])}{then}")
    domains = ((0.0, 0.48), (0.52, 1.0))
    return {
        "data": data,
        "layout": layout(
            bargap=0.2,
            barmode="stack",
            height=160 if before else 120,
            margin={"l": 8, "r": 8, "t": 28, "b": 4},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            annotations=[
                note(low, 1, text, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=4)
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
            margin={"l": 8, "r": 8, "t": 4, "b": 4},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            xaxis=axis(range=[0, max(r.total_s for r in (asked, before) if r)], showticklabels=False, showgrid=False),
            yaxis=y_axis,
        ),
    }
