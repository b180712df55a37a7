"""Colours by role. Never the only sign: each role also has a pattern, an outline or a label."""

from __future__ import annotations

WEIGHTS = "#0072B2"
CACHE = "#E69F00"
COMPUTE = "#009E73"
RESERVE = "#767676"
FREE = "#E8E8E8"
OVER = "#C23B45"
SYSTEM = "#8E5CA8"
USER = "#B8511A"
WINDOW = "#F5D48A"
LATENT = "#C9A9D6"
WEIGHTS_DEEP = "#00507D"
WEIGHTS_PALE = "#9CCBE8"
WEIGHTS_FAINT = "#CFE5F3"

INK = "#1A1A1A"
PAPER = "#FFFFFF"
INK_DARK = "#E6E6E6"
PAPER_DARK = "#0E1117"
GRID = "rgba(128,128,128,0.28)"
SHADE = "rgba(128,128,128,0.16)"

# Text drawn on each fill, picked for contrast; a test computes it.
ON_FILL = {
    WEIGHTS: PAPER,
    CACHE: INK,
    COMPUTE: INK,
    RESERVE: PAPER,
    FREE: INK,
    OVER: PAPER,
    WINDOW: INK,
    LATENT: INK,
    WEIGHTS_DEEP: PAPER,
    WEIGHTS_PALE: INK,
    WEIGHTS_FAINT: INK,
    SYSTEM: PAPER,
    USER: PAPER,
}
