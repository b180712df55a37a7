"""Two phases: the roofline with its three dots, and the time of a request."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import Request, Result, bandwidth_bytes_per_s, intensities, peak_flops_per_s
from core.roofline import attainable_flops_per_s
from core.units import TERA, format_flop_rate, format_seconds, significant
from ui import palette
from ui.charts.base import FONT_SIZE, Figure, axis, bars, dot, layout, line, note, rule

_DOTS = (
    ("prefill", palette.COMPUTE, "diamond"),
    ("decode, weights", palette.WEIGHTS, "square"),
    ("decode, attention", palette.CACHE, "circle"),
)


def roofline_figure(result: Result) -> Figure:
    """Attainable FLOP/s against arithmetic intensity; prefill, decode weights and decode attention as dots."""
    s = result.scenario
    found = intensities(s, result)
    peak, bandwidth = peak_flops_per_s(s), bandwidth_bytes_per_s(s)
    values = (found.prefill, found.decode_weights, found.decode_attention)
    known = [v for v in values if v]
    low, high = min(0.5, *known) / 2, max(found.ridge * 20, *known) * 3

    def height(intensity: float) -> float:
        return (
            attainable_flops_per_s(
                intensity_flops_per_byte=intensity, peak_flops_per_s=peak, bandwidth_bytes_per_s=bandwidth
            )
            / TERA
        )

    x_range = [math.floor(math.log10(low)), math.ceil(math.log10(high))]
    left, right = 10.0 ** x_range[0], 10.0 ** x_range[1]
    corners = [left, found.ridge, right]
    data: list[dict[str, Any]] = [
        line("roofline", corners, [height(c) for c in corners], palette.RESERVE, hoverinfo="skip")
    ]
    annotations = [
        note(math.log10(found.ridge), 0, f"ridge {significant(found.ridge)} FLOP/byte", yref="paper", yanchor="bottom",
             xanchor="left", xshift=4),
        note(x_range[1], math.log10(height(right)), f"peak {format_flop_rate(peak)}", xanchor="right", yshift=12),
    ]  # fmt: skip
    for (name, color, symbol), value in zip(_DOTS, values, strict=True):
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
    y_range = [math.floor(math.log10(height(left))), math.log10(height(right)) + 0.35]
    return {
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


def _is_group_size(result: Result) -> bool:
    model = result.scenario.model_spec
    return model.softmax is not None and model.softmax.span is None


def phases_figure(result: Result) -> Figure:
    """TTFT and TPOT side by side, each with what memory and arithmetic take of it."""
    p, d = result.prefill, result.decode
    rows = ("memory", "arithmetic")
    panels = (
        ("x", [p.memory_s, p.compute_s], f"<b>TTFT</b> at least {format_seconds(p.ttft_s)}"),
        ("x2", [d.memory_s, d.compute_s], f"<b>TPOT</b> at least {format_seconds(d.step_s)}"),
    )
    data: list[dict[str, Any]] = []
    for name, times, _ in panels:
        for row, time, fill, pattern in zip(rows, times, (palette.WEIGHTS, palette.COMPUTE), (None, "\\"), strict=True):
            data.append(bars(row, [time], [row], [format_seconds(time)], fill, pattern=pattern, xaxis=name, yaxis="y"))
    domains = ((0.0, 0.48), (0.52, 1.0))
    return {
        "data": data,
        "layout": layout(
            bargap=0.2,
            barmode="stack",
            height=120,
            margin={"l": 8, "r": 8, "t": 28, "b": 4},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            annotations=[
                note(low, 1, text, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=4)
                for (low, _), (_, _, text) in zip(domains, panels, strict=True)
            ],
            xaxis=axis(range=[0, p.ttft_s * 1.04], domain=domains[0], showticklabels=False, anchor="y"),
            xaxis2=axis(range=[0, d.step_s * 1.04], domain=domains[1], showticklabels=False, anchor="y"),
            yaxis=axis(autorange="reversed", showgrid=False, type="category"),
        ),
    }


def request_figure(asked: Request) -> Figure:
    """A request's time from prompt to last token: prefill, then decode."""
    parts = (("prefill", asked.ttft_s, palette.COMPUTE, "\\"), ("decode", asked.decode_s, palette.WEIGHTS, None))
    data = [
        bars(name, [time], [""], [f"{name} {format_seconds(time)}"], fill, pattern=pattern)
        for name, time, fill, pattern in parts
    ]
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0,
            height=64,
            margin={"l": 8, "r": 8, "t": 4, "b": 4},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            xaxis=axis(range=[0, asked.total_s], showticklabels=False, showgrid=False),
            yaxis=axis(showticklabels=False, showgrid=False),
        ),
    }
