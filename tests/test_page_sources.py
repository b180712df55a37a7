"""Pages hold sentences and calls: no physical constant and no result number is typed into them."""

import ast
import re

import pytest

from tests.harness import ROOT

PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py")), ROOT / "ui" / "lesson.py", ROOT / "ui" / "blocks.py"]
# Numbers of the layout (column widths, tab counts) and the one context at which the architectures meet.
LAYOUT_NUMBER = 16
QUANTITY = re.compile(
    r"\d[\d,.]*\s*(?:[kMGTP]i?B|B/s|TB/s|ms|µs|tokens?|users?|TFLOP|GFLOP|FLOP|%|times|GPUs?)\b", re.IGNORECASE
)


def literals(source: str) -> list[ast.Constant]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]


def faults(source: str) -> list[str]:
    found = []
    for node in literals(source):
        if isinstance(node.value, str) and QUANTITY.search(node.value):
            found.append(f"line {node.lineno}: {QUANTITY.search(node.value)[0]!r} is typed, not computed")
        if isinstance(node.value, int | float) and not isinstance(node.value, bool) and abs(node.value) > LAYOUT_NUMBER:
            found.append(f"line {node.lineno}: the number {node.value}")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_no_number_is_typed(path) -> None:
    allowed = {"the number 2048"} if path.name == "fewer_kv_heads.py" else set()
    assert [f for f in faults(path.read_text(encoding="utf-8")) if f.split(": ", 1)[1] not in allowed] == []


@pytest.mark.parametrize(
    "planted",
    ["x = 3.35e12", 'st.write("34.4 GB of cache")', 'st.write("at most 2,126 tokens/s")', "y = 989.4", "z = 295"],
)
def test_the_check_finds_planted_numbers(planted: str) -> None:
    assert faults(planted)
