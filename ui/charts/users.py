"""More users: the system and each user on one axis, and what fills a step."""

from __future__ import annotations

import math
from typing import Any

from core.evaluate import DecodeStep, Result, decode_sweep, limits
from core.units import format_rate, format_seconds, integer, trimmed
from ui import palette
from ui.charts import pinned
from ui.charts.base import FONT_SIZE, Figure, axis, bars, dot, layout, line, note, panel_titles, rule, side, two_rows
from ui.charts.home import (
    USER_HOVER,
    batch_axis,
    both_batches,
    cap_label,
    decades,
    label_pinned_speeds,
    memory_edge,
    pinned_curves,
)
from ui.charts.nearest import nearest_traces


def users_figure(result: Result, before: Result | None = None) -> Figure:
    """System tokens/s above, each user's below, one batch axis; asymptote, crossover, memory and compute edge."""
    s, d, m = result.scenario, result.decode, result.memory
    edges = limits(s)
    batches = both_batches(result, before)
    steps = decode_sweep(s, batches)
    system = [step.tokens_per_s for step in steps]
    user = [step.tokens_per_s_per_user for step in steps]
    then = pinned_curves(before, batches, "y2") if before else []
    x_axis = batch_axis(batches, title={"text": "users (batch)"}, anchor="y2")
    x_range: list[float] = x_axis["range"]
    end = batches[-1] * 1.25
    middle = (x_range[0] + x_range[1]) / 2
    data = [
        *then,
        line("together", batches, system, palette.SYSTEM, hovertemplate=USER_HOVER),
        line("each user", batches, user, palette.USER, "dash", hovertemplate=USER_HOVER, yaxis="y2"),
        dot("you are here", s.batch, d.tokens_per_s, palette.SYSTEM, hoverinfo="skip"),
        dot("you are here", s.batch, d.tokens_per_s_per_user, palette.USER, hoverinfo="skip", yaxis="y2"),
    ]
    data += nearest_traces(s) + nearest_traces(s, ("x", "y2"), each=True)
    here = math.log10(s.batch)
    left = here > middle
    beside = {"xanchor": "right" if left else "left", "xshift": -10 if left else 10}
    annotations = [
        note(here, math.log10(d.tokens_per_s), f"<b>{format_rate(d.tokens_per_s)}</b>", yshift=18 if left else -18)
        | beside,
        note(here, math.log10(d.tokens_per_s_per_user), f"<b>{format_rate(d.tokens_per_s_per_user)}</b>", yref="y2",
             yshift=-18 if left else 18) | beside,
        *panel_titles(("all users together, tokens/s",), ((0.0, 1.0),)),
        note(0, 0.44, "<b>each user, tokens/s</b>", xref="paper", yref="paper", xanchor="left", yanchor="bottom"),
    ]  # fmt: skip
    shapes: list[dict[str, Any]] = []
    y_range, y2_range = (
        decades(min(speeds), max(speeds))
        for speeds in (
            [*own, *(speed for trace in then if trace["yaxis"] == ref for speed in trace["y"])]
            for own, ref in ((system, "y"), (user, "y2"))
        )
    )
    if math.log10(edges.cap_tokens_per_s) <= y_range[1]:
        shapes.append(rule("y", edges.cap_tokens_per_s, "dot", yref="y"))
        annotations.append(cap_label(edges.cap_tokens_per_s, at_right=not left))
    upright: list[tuple[float, str, str]] = []
    if edges.crossover_batch is not None and 10 ** x_range[0] < edges.crossover_batch < end:
        label = f"cache = weights at {trimmed(edges.crossover_batch)}"
        upright.append((edges.crossover_batch, label, palette.RESERVE))
    if edges.compute_bound_batch is not None and edges.compute_bound_batch < end:
        label = f"arithmetic from {integer(math.ceil(edges.compute_bound_batch))}"
        upright.append((edges.compute_bound_batch, label, palette.COMPUTE))
    edge = m.max_batch if m.max_batch is not None and m.max_batch < batches[-1] else None
    known = [math.log10(at) for at, _, _ in upright] + ([math.log10(edge)] if edge else [])
    for number, (at, label, color) in enumerate(upright):
        shapes.append(rule("x", at, "dot", color))
        others = [x for x in known if x != math.log10(at)]
        beside_line = side(math.log10(at), others, x_range)
        annotations.append(note(math.log10(at), 0.56 + 0.07 * number, label, yref="paper") | beside_line)
    if edge is not None:
        more, label = memory_edge(edge, x_range, end)
        shapes += more
        annotations.append(label)
    figure: Figure = {
        "data": data,
        "layout": layout(
            height=400,
            margin={"l": 8, "r": 8, "t": 26, "b": 8},
            shapes=shapes,
            annotations=annotations,
            xaxis=x_axis,
            yaxis=axis(type="log", range=y_range, domain=[0.54, 1.0], dtick=1, tickformat=",~r"),
            yaxis2=axis(type="log", range=y2_range, domain=[0.0, 0.43], dtick=1, tickformat=",~r"),
        ),
    }
    if before:
        label_pinned_speeds(pinned.Canvas(figure, pinned.WIDE), before, "y2")
    return figure


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
            margin={"l": 8, "r": 8, "t": 4, "b": 8},
            uniformtext={"mode": "hide", "minsize": FONT_SIZE - 2},
            xaxis=axis(range=[0, longest * 1e3 * 1.05], ticksuffix=" ms", nticks=7),
            yaxis=y_axis,
        ),
    }
