"""The live picture: memory bar and ceiling in one figure, whose own slider runs through the frames.

The browser holds every frame, so a drag needs no server. What depends on the value is in the traces that frames
change; all else, the axes above all, stands still. All words are traces too: Plotly can change traces alone, three
times as fast as it draws the whole figure anew, which annotations would ask for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from core.live import COUNTED, Reel, edge_words, setting
from core.units import format_bytes, format_rate, in_unit, significant
from ui import palette
from ui.charts.base import Figure, axis, bars, layout, line, rule, shade
from ui.charts.labels import broken, round_numbers
from ui.text import charted

# For a projector: text, and the numbers that count.
TEXT, LARGE = 20, 27
HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 520, 4, 106, 46, 18
AREA = HEIGHT - TOP - BOTTOM
# Rows from the top of the plot area in pixels, the setting's first for each of its lines: the bar, its mark, verdict,
# what it means, names of the parts and their sizes, ceiling in words.
SETTING, BAR, MARK, SAID, MEANS, NAMES, SIZES, SPEED = 26, 56, 26, 36, 26, 24, 28, 38
PART_AT = (0.0, 0.25, 0.5, 0.75)  # columns of the parts
HEAD, FOOT = 14, 38  # of the lower panel, free of curves: the marker's half, and the label of memory's end
# The bar's axis: room beyond the capacity, or where nothing fits beyond what the least cache takes.
ROOM_LEAST, ROOM_MOST = 1.06, 1.5
# A label inside the bar needs this share of its axis a character; narrower screens shrink it.
CHARACTER = 0.0073
GRIP_INSET = 0.009  # how far the grip's way is inset from the rail, as a share, so that marker and grip line up
SPACE = "\u00a0"
TICKS_MOST = 7
STEP_MS = 140  # of one frame while it plays
SETTING_CHARS, SETTING_LINE = 100, 56  # of the setting and of one of its lines
SYMBOLS = ("circle", "diamond")
PARTS = (("weights", palette.WEIGHTS), ("KV cache", palette.CACHE), ("reserve", palette.RESERVE), ("free", None))
PART_NAMES = tuple(name for name, _ in PARTS)

# What a figure cannot say: words in the theme's colour, a grip to grab from afar, no Play where motion is unwanted.
CSS = """
.js-plotly-plot .textpoint text, .js-plotly-plot .slider-group > .slider-label { fill: currentColor !important; }
.js-plotly-plot .slider-labels { display: none; }
.js-plotly-plot .slider-grip-rect { stroke-width: 14px !important; }
.js-plotly-plot .slider-container { touch-action: none; }
@media (prefers-reduced-motion: reduce) { .js-plotly-plot .updatemenu-container { display: none !important; } }
@media (max-width: 900px) {
  .js-plotly-plot .textpoint text { font-size: clamp(11.5px, 2.9vw, 20px) !important; }
  .js-plotly-plot g[class$=tick] text { font-size: 12px !important; }
  .js-plotly-plot .slider-group > .slider-label { font-size: 18px !important; }
  .js-plotly-plot .bartext { display: none; }
}
"""


def live_figure(found: Reel) -> Figure:
    """Memory bar above, ceiling below, one frame a value."""
    draw = _Drawing(found)
    frames = list(map(draw.frame, range(len(found.frames))))
    moving = frames[found.opening]["data"]
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
            yaxis=axis(range=[-0.5, 0.5], domain=[draw.under["bar"], draw.under["setting"]], **hidden),
            xaxis2=draw.x_axis(),
            yaxis2=draw.y_axis(),
            xaxis3=axis(range=[0, 1], anchor="y3", **hidden),  # for the words: shares of the plot area
            yaxis3=axis(range=[0, 1], anchor="x3", **hidden),
            sliders=draw.sliders(),
            updatemenus=draw.buttons(),
        ),
        "frames": frames,
    }


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


def coloured(text: str, color: str) -> str:
    """Text in a colour of its own."""
    return f'<span style="color:{color}">{text}</span>'


def brief(number: float) -> str:
    """A round number in few characters.

    >>> brief(0.5), brief(200), brief(20_000), brief(1e6)
    ('0.5', '200', '20k', '1M')
    """
    for letter, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def cut(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


MOVING = list(range(len(PARTS) + 2))  # the traces that frames change, first in the figure: parts, marker, words
SYSTEM_GLYPH, USER_GLYPH = coloured("●", palette.SYSTEM), coloured("◆", palette.USER)


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
        self.setting = broken(cut(setting(found), SETTING_CHARS), SETTING_LINE)
        names = ("setting", "bar", "mark", "said", "means", "names", "sizes", "speed")
        heights = (SETTING * len(self.setting), BAR, MARK, SAID, MEANS, NAMES, SIZES, SPEED)
        self.curve = AREA - sum(heights)
        # The lower edge and the middle of each row, as shares of the plot area.
        self.under: dict[str, float] = {}
        self.middle: dict[str, float] = {}
        top = 1.0
        for name, height in zip(names, heights, strict=True):
            self.under[name] = top - height / AREA
            self.middle[name] = top - height / 2 / AREA
            top = self.under[name]

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
        sizes = [(at, self.middle["sizes"]) for at in PART_AT]
        rows = [(0.0, self.middle["said"]), (0.0, self.middle["means"]), *sizes, (0.0, self.middle["speed"])]
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
                [*rows, (1, self.middle["mark"])],
                textposition=["middle right"] * len(rows) + ["middle left"],
                textfont={"size": [LARGE, TEXT, *[TEXT] * len(sizes), LARGE, TEXT]},
            ),
        ]

    def frame(self, index: int) -> dict[str, Any]:
        """All that depends on the value: bar, marker, words."""
        frame, end, unit = self.frames[index], self.end_bytes, self.found.unit
        m = frame.memory
        total = m.total_bytes
        missing = total - m.capacity_bytes
        sizes: list[str] = []
        drawn: list[dict[str, Any]] = []
        start = 0
        values = (m.weights_bytes, m.kv_bytes, m.reserve_bytes, 0 if missing > 0 else -missing)
        for name, value in zip(PART_NAMES, values, strict=True):
            size = format_bytes(value, unit)
            text = f" {name} {size}"
            least = CHARACTER * len(text) * end
            shown = text if least < value and least < end - start else ""
            drawn.append({"type": "bar", "x": [in_unit(value, unit)], "text": [shown]})
            sizes.append(size)
            start += value
        if missing > 0:
            sizes[-1] = f"−{self.size(missing)}"
        ceiling = f"{'If it fitted:' if missing > 0 else 'At most'} {SYSTEM_GLYPH} "
        ceiling += f"<b>{format_rate(frame.tokens_per_s)}</b>"
        speeds = [frame.tokens_per_s]
        if not self.alone:
            speeds.append(frame.tokens_per_s_per_user)
            ceiling += f" together, {USER_GLYPH} <b>{significant(frame.tokens_per_s_per_user)}</b> each"
        drawn.append({"type": "scatter", "x": [index] * len(speeds), "y": speeds})
        said = [f"<b>{charted(frame.verdict)}</b>", charted(frame.words), *sizes, ceiling]
        drawn.append({"type": "scatter", "text": [*said, "goes on ▸" if total > end else ""]})
        return {"name": frame.label, "data": drawn, "traces": MOVING}

    def curves(self) -> list[dict[str, Any]]:
        xs = list(range(len(self.frames)))
        place = {"xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip"}
        together = line("together", xs, [f.tokens_per_s for f in self.frames], palette.SYSTEM, **place)
        if self.alone:
            return [together]
        user = [f.tokens_per_s_per_user for f in self.frames]
        return [together, line("each user", xs, user, palette.USER, "dash", **place)]

    def labels(self) -> dict[str, Any]:
        """The setting, the capacity, names of the parts, where memory ends."""
        mark = self.capacity / self.end_bytes
        found = [
            ((0.0, self.middle["setting"]), "middle right", "<br>".join(map(charted, self.setting))),
            (
                (mark, self.middle["mark"]),
                "middle right" if mark < 0.25 else "middle left",
                f"{SPACE}capacity {self.size(self.capacity)}{SPACE}",
            ),
        ]
        for (name, color), at in zip(PARTS, PART_AT, strict=True):
            named = f"{coloured('■', color) if color else '□'} {name}"
            found.append(((at, self.middle["names"]), "middle right", named))
        at, ends = self.edge_at(), self.edge_words()
        if at is not None and ends is not None:
            low, high = self.x_range
            share = (at - low) / (high - low)
            toward = "middle left" if share > 0.5 else "middle right"
            found.append(((share, FOOT / 3 / AREA), toward, f"{SPACE}{ends}{SPACE}"))
        places, sides, texts = zip(*found, strict=True)
        return words("labels", list(places), text=list(texts), textposition=list(sides), textfont={"size": TEXT})

    def edge_words(self) -> str | None:
        """What the line between two frames parts; KV heads come in leaps, and memory ends somewhere within one."""
        n = self.found.n_fitting
        if self.found.quantity == "kv_heads" and 0 < n <= self.last:
            return f"{self.frames[n - 1].label} fit, {self.frames[n].label} do not"
        return edge_words(self.found)

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
            choices = [[i for i, v in enumerate(values) if not v % step] for step in steps if step <= values[-1]]
            return max((c for c in choices if len(c) <= TICKS_MOST), key=len, default=[])
        powers = [i for i, value in enumerate(values) if value & (value - 1) == 0]
        return powers[:: -(-len(powers) // TICKS_MOST)]

    def y_axis(self) -> dict[str, Any]:
        speeds = [s for f in self.frames for s in (f.tokens_per_s, f.tokens_per_s_per_user)]
        low, high = math.log10(min(speeds)), math.log10(max(speeds))
        total = max(high - low, 0.3) / (1 - (FOOT + HEAD) / self.curve)
        low, high = low - total * FOOT / self.curve, high + total * HEAD / self.curve
        ticks = round_numbers(low, high, most=6)
        return axis(
            type="log",
            range=[low, high],
            domain=[0, self.curve / AREA],
            tickvals=ticks,
            ticktext=[brief(tick) for tick in ticks],
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
                "font": {"size": TEXT - 4, "color": palette.INK},  # beside the slider's value, on a phone too
                "bgcolor": palette.PAPER,
                "bordercolor": palette.RESERVE,
                "buttons": [
                    {"label": "▶ Play", "method": "animate", "args": [None, play]},
                    {"label": "❚❚ Pause", "method": "animate", "args": [[None], pause]},
                ],
            }
        ]
