"""Text of unknown origin stays text."""

import pytest

from ui.blocks import to_csv
from ui.text import escaped, plain


@pytest.mark.parametrize(
    "hostile",
    ["**bold**", "[x](javascript:alert(1))", "$\\int$", "<img src=x>", "a|b", ":material/home:", "# h", "~~x~~"],
)
def test_markdown_is_escaped(hostile: str) -> None:
    marked = plain(hostile)
    for char in "*[]()$<>|:#~":
        assert marked.count(char) == marked.count("\\" + char)


def test_html_is_escaped() -> None:
    assert escaped('<script>"&') == "&lt;script&gt;&quot;&amp;"


@pytest.mark.parametrize("cell", ["=1+1", "+x", "-x", "@x"])
def test_csv_cells_never_run(cell: str) -> None:
    assert to_csv(("a",), [(cell,)]).splitlines()[1] == f"'{cell}"


def test_csv_numbers_stay_exact() -> None:
    assert to_csv(("a", "b"), [(34_359_738_368, -1.5)]).splitlines()[1] == "34359738368,-1.5"
