"""More users: the system and each user on one axis, and what fills a step."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import DecodeStep, Result, decode_sweep, limits
from core.units import format_seconds, integer, significant, trimmed
from ui import palette
from ui.charts.base import CAMERA, FONT_SIZE, PINNED, Figure, axis, bars, dot, layout, line, note, rule, two_rows
from ui.charts.home import (
    USER_HOVER,
    batch_axis,
    both_batches,
    cap_label,
    memory_edge,
    pinned_curves,
    speed_axis,
)
from ui.charts.labels import LINE, Sheet, feet, logarithms, spanned
from ui.charts.nearest import nearest_traces

Lines = list[tuple[float, str]]  # upright, with their names


def _upright(result: Result, batches: list[int], x_range: list[float]) -> tuple[Lines, Lines, list[dict[str, Any]]]:
    """The lines that the upper panel names, those that the lower one names, and their shapes."""
    edges, edge, end = limits(result.scenario), result.memory.max_batch, batches[-1] * 1.25
    shapes: list[dict[str, Any]] = []
    above: Lines = []
    below: Lines = []
    if edge is not None and edge < batches[-1]:
        at, words, shapes = memory_edge(edge, x_range, end)
        below.append((at, words))
    crossover, bound = edges.crossover_batch, edges.compute_bound_batch
    if crossover is not None and 10 ** x_range[0] < crossover < end:
        above.append((math.log10(crossover), f"cache = weights at {trimmed(crossover)}"))
        shapes.append(rule("x", crossover, "dot"))
    if bound is not None and bound < end:
        above.append((math.log10(bound), f"arithmetic from {integer(math.ceil(bound))}"))
        shapes.append(rule("x", bound, "dot", palette.COMPUTE))
    return above, below, shapes


def users_figure(result: Result, before: Result | None = None) -> Figure:
    """System tokens/s above, each user's below, one batch axis; asymptote, crossover, memory and compute edge.

    The headings have the pin's numbers.
    """
    s, d = result.scenario, result.decode
    batches = both_batches(result, before)
    steps = decode_sweep(s, batches)
    x_axis = batch_axis(batches, anchor="y2")
    x_axis["ticktext"][0] += " user"  # instead of a title: a projector has no room for both panels and it
    x_range: list[float] = x_axis["range"]
    above, below, shapes = _upright(result, batches, x_range)
    upright = [at for at, _ in (*above, *below)]
    together = line("together", batches, [step.tokens_per_s for step in steps], palette.SYSTEM,
                    hovertemplate=USER_HOVER, yaxis="y")  # fmt: skip
    each = line("each user", batches, [step.tokens_per_s_per_user for step in steps], palette.USER, "dash",
                hovertemplate=USER_HOVER, yaxis="y2")  # fmt: skip
    data = pinned_curves(before, batches, "y2") if before else []
    annotations = _headings(before)
    axes: list[dict[str, Any]] = []
    for curve, speed, names, cap in (
        (together, d.tokens_per_s, above, limits(s).cap_tokens_per_s),
        (each, d.tokens_per_s_per_user, below, None),
    ):
        ref = curve["yaxis"]
        drawn = [curve, *(trace for trace in data if trace["yaxis"] == ref and trace["mode"] == "lines")]
        curves = [logarithms(trace["x"], trace["y"]) for trace in drawn]
        labels, rooms = feet(names, x_range, curves, f"{ref} domain")
        here, height = math.log10(s.batch), math.log10(speed)
        heights = [y for _, ys in curves for y in ys]
        rooms += [(min(heights), 10, 0), (max(heights), 0, 10), (height, 23, 23)]
        if cap and math.log10(cap) < max(heights) + 0.3:
            rooms.append((math.log10(cap), 0, LINE + 2))
            shapes.append(rule("y", cap, "dot", yref=ref))
            labels.append(cap_label(cap, x_range, at_right=here < sum(x_range) / 2))
            curves.append((x_range, [math.log10(cap)] * 2))
        y_range = spanned(rooms, _PANEL)
        sheet = Sheet(x_range, y_range, _PANEL, curves, upright)
        sheet.avoid(labels)
        annotations += [*labels, sheet.number(here, height, significant(speed), yref=ref)]
        axes.append(speed_axis(y_range, _PANEL, domain=_DOMAINS[ref]))
        data += [curve, dot("you are here", s.batch, speed, curve["line"]["color"], hoverinfo="skip", yaxis=ref)]
    data += nearest_traces(s) + nearest_traces(s, ("x", "y2"), each=True)
    return {
        "data": data,
        "layout": layout(
            height=400,
            margin={"l": 8, "r": 8, "t": 28, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis=x_axis,
            yaxis=axes[0],
            yaxis2=axes[1],
        ),
    }


def _headings(before: Result | None) -> list[dict[str, Any]]:
    """Above both panels, with the pin's numbers."""
    titles = ("all users together, tokens/s", "each user, tokens/s")
    if before:
        pins = (significant(before.decode.tokens_per_s), significant(before.decode.tokens_per_s_per_user))
        titles = (f"together, tokens/s ({PINNED}: {pins[0]})", f"each user, tokens/s ({PINNED}: {pins[1]})")
    return [
        note(0, at, f"<b>{title}</b>", xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=3)
        for title, at in zip(titles, (1, _DOMAINS["y2"][1]), strict=True)
    ]


_DOMAINS = {"y": [0.57, 1.0], "y2": [0.0, 0.43]}
_PANEL = 66  # of one panel in pixels: on the page it has more, on a projector less


def _step_bars(d: DecodeStep, rows: tuple[str, str]) -> list[dict[str, Any]]:
    share = d.memory_s / d.bytes_read if d.bytes_read else 0.0
    weights, cache = d.weights_read_bytes * share, d.kv_read_bytes * share
    return [
        bars("weights", [weights * 1e3], rows[:1], [f"read weights {format_seconds(weights)}"], palette.WEIGHTS),
        bars("KV cache", [cache * 1e3], rows[:1], [f"read caches {format_seconds(cache)}"], palette.CACHE, pattern="/"),
        bars("compute", [d.compute_s * 1e3], rows[1:], [f"compute {format_seconds(d.compute_s)}"], palette.COMPUTE,
             pattern="\\"),
    ]  # fmt: skip


def step_figure(result: Result, before: Result | None = None) -> Figure:
    """What fills a step: reading weights, reading caches, and the arithmetic that goes on meanwhile."""
    rows = ("memory", "arithmetic")
    data = _step_bars(result.decode, rows)
    y_axis = axis(autorange="reversed", showgrid=False, type="category")
    if before:
        data, y_axis = two_rows(data, _step_bars(before.decode, rows), rows, [0])
    longest = max(r.decode.step_s for r in (result, before) if r)
    return {
        "data": data,
        "layout": layout(
            barmode="stack",
            bargap=0.2,
            height=160 if before else 124,
            margin={"l": 8, "r": CAMERA, "t": 4, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            xaxis=axis(range=[0, longest * 1e3 * 1.05], ticksuffix=" ms", nticks=5),
            yaxis=y_axis,
        ),
    }
