"""WCAG contrast, computed from the palette."""

import itertools

import pytest

from ui import palette


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_itself() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


@pytest.mark.parametrize(("fill", "ink"), list(palette.ON_FILL.items()))
def test_text_on_fills(fill: str, ink: str) -> None:
    assert contrast(fill, ink) >= 4.5


@pytest.mark.parametrize(("ink", "paper"), [(palette.INK, palette.PAPER), (palette.INK_DARK, palette.PAPER_DARK)])
def test_body_text(ink: str, paper: str) -> None:
    assert contrast(ink, paper) >= 7


LINES = (palette.WEIGHTS, palette.COMPUTE, palette.RESERVE, palette.SYSTEM, palette.USER, palette.OVER)


@pytest.mark.parametrize(("line", "paper"), list(itertools.product(LINES, (palette.PAPER, palette.PAPER_DARK))))
def test_lines_stand_out_in_both_themes(line: str, paper: str) -> None:
    assert contrast(line, paper) >= 3
