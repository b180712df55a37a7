"""The live picture: memory bar and ceiling in one figure, whose own slider runs through the frames.

The browser holds every frame, so a drag needs no server. What depends on the value is in the traces that frames
change; all else, the axes above all, stands still. All words are traces too: Plotly can change traces alone, three
times as fast as it draws the whole figure anew, which annotations would ask for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from core.live import COUNTED, Frame, Reel, edge_words, setting
from core.units import format_bytes, format_rate, in_unit, significant
from ui import palette
from ui.charts.base import Figure, axis, bars, layout, line, rule, shade
from ui.text import charted

# For a projector: text, and the numbers that count.
TEXT, LARGE = 20, 27
HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 520, 4, 106, 62, 18
AREA = HEIGHT - TOP - BOTTOM
# Rows from the top of the plot area in pixels: the setting, the bar, its mark, verdict, parts, ceiling in words.
SETTING, BAR, MARK, SAID, PARTS, SPEED = 28, 64, 28, 36, 30, 42
CURVE = AREA - SETTING - BAR - MARK - SAID - PARTS - SPEED
HEAD, FOOT = 14, 38  # of the lower panel, free of curves: the marker's half, and the label of memory's end
# The bar's axis: room beyond the capacity, or where nothing fits beyond what the least cache takes.
ROOM_LEAST, ROOM_MOST = 1.06, 1.5
# A label inside the bar needs this share of its axis a character; narrower screens shrink it.
CHARACTER = 0.0073
GRIP_INSET = 0.009  # how far the grip's way is inset from the rail, as a share, so that marker and grip line up
SPACE = "\u00a0"
TICKS_MOST = 7
STEP_MS = 140  # of one frame while it plays
SETTING_CHARS = 100
SYMBOLS = ("circle", "diamond")
GLYPHS = ("●", "◆")

# What a figure cannot say: words in the theme's colour, a grip to grab from afar, no Play where motion is unwanted.
CSS = """
.js-plotly-plot .textpoint text, .js-plotly-plot .slider-group > .slider-label { fill: currentColor !important; }
.js-plotly-plot .slider-labels { display: none; }
.js-plotly-plot .slider-grip-rect { stroke-width: 14px !important; }
.js-plotly-plot .slider-container { touch-action: none; }
@media (prefers-reduced-motion: reduce) { .js-plotly-plot .updatemenu-container { display: none !important; } }
@media (max-width: 900px) {
  .js-plotly-plot .textpoint text { font-size: 2.4vw !important; }
  .js-plotly-plot g[class$=tick] text { font-size: 12px !important; }
}
"""


def live_figure(found: Reel) -> Figure:
    """Memory bar above, ceiling below, one frame a value."""
    draw = _Drawing(found)
    moving = draw.frame(found.opening)["data"]
    hidden = {"visible": False, "automargin": False}
    return {
        "data": [
            *(base | now for base, now in zip(draw.traces(), moving, strict=True)),
            *draw.curves(),
            draw.labels(),
        ],
        "layout": layout(
            font={"size": TEXT, "family": "'Source Sans', sans-serif"},
            barmode="stack",
            bargap=0,
            height=HEIGHT,
            hovermode=False,
            margin={"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM, "autoexpand": False},
            shapes=draw.shapes(),
            xaxis=axis(range=[0, draw.bar_end], anchor="y", **hidden),
            yaxis=axis(range=[-0.5, 0.5], domain=[_below(SETTING, BAR), _below(SETTING)], **hidden),
            xaxis2=draw.x_axis(),
            yaxis2=draw.y_axis(),
            xaxis3=axis(range=[0, 1], anchor="y3", **hidden),  # for the words: shares of the plot area
            yaxis3=axis(range=[0, 1], anchor="x3", **hidden),
            sliders=draw.sliders(),
            updatemenus=draw.buttons(),
        ),
        "frames": [draw.frame(i) | {"name": frame.label} for i, frame in enumerate(found.frames)],
    }


def _below(*rows: float) -> float:
    """Height of what lies below these rows, as a share of the plot area."""
    return 1 - sum(rows) / AREA


def words(name: str, places: Sequence[tuple[float, float]], **changes: Any) -> dict[str, Any]:
    """Text at places given as shares of the plot area."""
    base: dict[str, Any] = {
        "type": "scatter",
        "mode": "text",
        "name": name,
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "xaxis": "x3",
        "yaxis": "y3",
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    return base | changes


def speed_ticks(low: float, high: float) -> list[float]:
    """Round tokens/s between two logarithms: 1, 2, 5 of each decade, or where those are many the decades alone.

    >>> speed_ticks(1.6, 2.4), speed_ticks(-0.5, 3.7)
    ([50.0, 100.0, 200.0], [1.0, 10.0, 100.0, 1000.0])
    """
    decades = range(math.floor(low), math.ceil(high) + 1)
    steps = (1, 2, 5) if high - low < 1.6 else (1,)
    ticks = [float(step * 10.0**decade) for decade in decades for step in steps]
    return [tick for tick in ticks if low <= math.log10(tick) <= high]


class _Drawing:
    """What of the figure moves, and what stands."""

    def __init__(self, found: Reel) -> None:
        self.found = found
        self.frames = found.frames
        self.capacity = self.frames[0].memory.capacity_bytes
        totals = [frame.memory.total_bytes for frame in self.frames]
        room = max(self.capacity, min(totals))
        self.end_bytes = min(room * ROOM_MOST, max(max(totals) * 1.02, self.capacity * ROOM_LEAST))
        self.bar_end = self.scaled(self.end_bytes)
        self.alone = all(frame.tokens_per_s == frame.tokens_per_s_per_user for frame in self.frames)
        # The lower axis counts frames, as the slider does: the marker stays above the grip.
        self.last = len(self.frames) - 1
        air = self.last * GRIP_INSET or 0.5
        self.x_range = [-air, self.last + air]

    def size(self, value: float) -> str:
        return format_bytes(value, self.found.unit)

    def scaled(self, value: float) -> float:
        return in_unit(value, self.found.unit)

    # What moves.

    def traces(self) -> list[dict[str, Any]]:
        """The traces that frames change, first in the figure."""
        # Where even the weights pass the mark at the left, their label stands clear of it.
        middle = self.capacity < 0.25 * self.end_bytes

        def part(name: str, fill: str, pattern: str | None = None) -> dict[str, Any]:
            anchor = "middle" if middle and name == "weights" else "start"
            made = bars(name, [], [], [], fill, pattern=pattern, insidetextanchor=anchor, hoverinfo="skip")
            return made | {"y": [0], "textfont": {"color": palette.ON_FILL[fill], "size": TEXT}}

        one = 1 if self.alone else 2
        marker = {
            "size": 20,
            "color": [palette.SYSTEM, palette.USER][:one],
            "symbol": SYMBOLS[:one],
            "line": {"color": palette.PAPER, "width": 2},
        }
        above = (SETTING, BAR, MARK)
        rows = [_below(*above, SAID / 2), _below(*above, SAID, PARTS / 2), _below(*above, SAID, PARTS, SPEED / 2)]
        return [
            part("weights", palette.WEIGHTS),
            part("KV cache", palette.CACHE, "/"),
            part("reserve", palette.RESERVE, "."),
            part("free", palette.FREE),
            {
                "type": "scatter",
                "mode": "markers",
                "name": "here",
                "marker": marker,
                "xaxis": "x2",
                "yaxis": "y2",
                "hoverinfo": "skip",
                "cliponaxis": False,
            },
            words(
                "words",
                [*((0, row) for row in rows), (1, _below(SETTING, BAR, MARK / 2))],
                textposition=["middle right"] * len(rows) + ["middle left"],
                textfont={"size": [LARGE, TEXT, LARGE, TEXT]},
            ),
        ]

    def frame(self, index: int) -> dict[str, Any]:
        """All that depends on the value: bar, marker, words."""
        frame = self.frames[index]
        m = frame.memory
        parts = {"weights": m.weights_bytes, "KV cache": m.kv_bytes, "reserve": m.reserve_bytes, "free": m.free_bytes}
        drawn: list[dict[str, Any]] = []
        start = 0
        for name, value in parts.items():
            text = f" {name} {self.size(value)}"
            shown = min(start + value, self.end_bytes) - start
            fits = shown > CHARACTER * len(text) * self.end_bytes
            drawn.append({"type": "bar", "x": [self.scaled(value)], "text": [text if fits else ""]})
            start += value
        speeds = [frame.tokens_per_s, frame.tokens_per_s_per_user][: 1 if self.alone else 2]
        here = {"type": "scatter", "x": [index] * len(speeds), "y": speeds}
        return {
            "data": [*drawn, here, {"type": "scatter", "text": self.said(frame)}],
            "traces": list(range(len(drawn) + 2)),
        }

    def said(self, frame: Frame) -> list[str]:
        """Verdict, parts, ceiling, and whether the bar is longer than its axis."""
        m = frame.memory
        parts = (
            f"weights {self.size(m.weights_bytes)}",
            f"KV cache {self.size(m.kv_bytes)}",
            f"reserve {self.size(m.reserve_bytes)}",
            f"free {self.size(m.free_bytes)}" if m.fits else f"missing {self.size(m.over_by_bytes)}",
        )
        glyphs = [
            f'<span style="color:{c}">{g}</span>' for c, g in zip((palette.SYSTEM, palette.USER), GLYPHS, strict=True)
        ]
        ceiling = "At most" if m.fits else "If it fitted, at most"
        ceiling += f" {glyphs[0]} <b>{format_rate(frame.tokens_per_s)}</b>"
        if not self.alone:
            ceiling += f" together, {glyphs[1]} <b>{significant(frame.tokens_per_s_per_user)}</b> for each user"
        return [
            f"<b>{charted(frame.verdict)}</b> {charted(frame.words)}",
            " · ".join(parts),
            ceiling,
            "goes on ▸" if m.total_bytes > self.end_bytes else "",
        ]

    # What stands.

    def curves(self) -> list[dict[str, Any]]:
        xs = list(range(len(self.frames)))
        place = {"xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip"}
        together = line("together", xs, [f.tokens_per_s for f in self.frames], palette.SYSTEM, **place)
        if self.alone:
            return [together]
        user = [f.tokens_per_s_per_user for f in self.frames]
        return [together, line("each user", xs, user, palette.USER, "dash", **place)]

    def labels(self) -> dict[str, Any]:
        """The setting, the capacity, where memory ends."""
        text = setting(self.found)
        if len(text) > SETTING_CHARS:
            text = f"{text[: SETTING_CHARS - 1]}…"
        mark = self.capacity / self.end_bytes
        found = [
            ((0.0, _below(SETTING / 2)), "middle right", charted(text)),
            (
                (mark, _below(SETTING, BAR, MARK / 2)),
                "middle right" if mark < 0.25 else "middle left",
                f"{SPACE}capacity {self.size(self.capacity)}{SPACE}",
            ),
        ]
        at, ends = self.edge_at(), edge_words(self.found)
        if at is not None and ends is not None:
            low, high = self.x_range
            share = (at - low) / (high - low)
            toward = "middle left" if share > 0.6 else "middle right"
            found.append(((share, FOOT / 3 / AREA), toward, f"{SPACE}{ends}{SPACE}"))
        places, sides, texts = zip(*found, strict=True)
        return words("labels", list(places), text=list(texts), textposition=list(sides), textfont={"size": TEXT})

    def edge_at(self) -> float | None:
        """Between the last frame that fits and the first that does not; None where all fit."""
        n_fitting = self.found.n_fitting
        if n_fitting > self.last:
            return None
        return n_fitting - 0.5 if n_fitting else self.x_range[0]

    def shapes(self) -> list[dict[str, Any]]:
        below: dict[str, Any] = {"xref": "x2", "yref": "y2 domain"}
        found = [rule("x", self.scaled(self.capacity), "solid", palette.OVER, 4, yref="y domain", xref="x")]
        at = self.edge_at()
        if at is not None:
            found += [shade(at, self.x_range[1]) | below, rule("x", at, color=palette.OVER, **below)]
        return found

    def x_axis(self) -> dict[str, Any]:
        ticks = self.ticks()
        texts = [self.frames[i].label for i in ticks]
        return axis(range=self.x_range, anchor="y2", tickvals=ticks, ticktext=texts, tickangle=0, automargin=False)

    def ticks(self) -> list[int]:
        """Frames that the axis names: all where they are few, else doublings, in the story equal steps."""
        values = [frame.value or 0 for frame in self.frames]
        if self.last < TICKS_MOST:
            return list(range(len(values)))
        if self.found.quantity == "story":
            steps = [n * 10**power for power in range(8) for n in (1, 2, 3, 4, 5, 6, 8)]
            choices = [[i for i, value in enumerate(values) if value % step == 0] for step in steps]
            return max((c for c in choices if len(c) <= TICKS_MOST), key=len)
        powers = [i for i, value in enumerate(values) if value & (value - 1) == 0]
        return powers[:: -(-len(powers) // TICKS_MOST)]

    def y_axis(self) -> dict[str, Any]:
        speeds = [s for f in self.frames for s in (f.tokens_per_s, f.tokens_per_s_per_user)]
        low, high = math.log10(min(speeds)), math.log10(max(speeds))
        total = max(high - low, 0.3) / (1 - (FOOT + HEAD) / CURVE)
        low, high = low - total * FOOT / CURVE, high + total * HEAD / CURVE
        ticks = speed_ticks(low, high)
        is_wide = high >= 5  # more digits than there is room for
        return axis(
            type="log",
            range=[low, high],
            domain=[0, CURVE / AREA],
            tickvals=[tick for tick in ticks if tick >= 1] if is_wide else ticks,
            tickformat="~s" if is_wide else ",~r",
            anchor="x2",
            automargin=False,
        )

    # The slider, and Play and Pause.

    def sliders(self) -> list[dict[str, Any]]:
        if not self.last:
            return []
        large = {"size": LARGE, "color": palette.INK}
        at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}}
        return [
            {
                "active": self.found.opening,
                "x": 0,
                "y": 0,
                "len": 1,
                "pad": {"t": 28, "b": 0, "l": 0, "r": 0},
                "currentvalue": {"prefix": f"{COUNTED[self.found.quantity]} ", "font": large, "offset": 8},
                # The axis above names the values; labels of its own would only repeat them.
                "font": {"size": 1, "color": "rgba(0,0,0,0)"},
                "bgcolor": palette.PAPER,
                "activebgcolor": palette.CACHE,
                "bordercolor": palette.WEIGHTS,
                "ticklen": 0,
                "minorticklen": 0,
                "steps": [{"label": f.label, "method": "animate", "args": [[f.label], at_once]} for f in self.frames],
            }
        ]

    def buttons(self) -> list[dict[str, Any]]:
        if self.found.quantity != "story" or not self.last:
            return []
        still: dict[str, Any] = {"mode": "immediate", "transition": {"duration": 0}}
        play = still | {"fromcurrent": True, "frame": {"duration": STEP_MS, "redraw": False}}
        pause = still | {"frame": {"duration": 0, "redraw": False}}
        return [
            {
                "type": "buttons",
                "direction": "right",
                "showactive": False,
                "x": 1,
                "xanchor": "right",
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 28, "r": 0},
                "font": {"size": TEXT, "color": palette.INK},
                "bgcolor": palette.PAPER,
                "bordercolor": palette.RESERVE,
                "buttons": [
                    {"label": "▶ Play", "method": "animate", "args": [None, play]},
                    {"label": "❚❚ Pause", "method": "animate", "args": [[None], pause]},
                ],
            }
        ]
