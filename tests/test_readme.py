"""README's links open the views they promise, and its files exist."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from core.scenario import QUERY_KEYS, Scenario
from core.view import View
from tests.harness import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = re.findall(r"\((http://localhost:8501/\S*\?\S+)\)", TEXT)


def test_the_five_lines_have_links() -> None:
    assert len(LINKS) >= 5


@pytest.mark.parametrize("link", LINKS)
def test_links_are_complete_and_silent(link: str) -> None:
    query = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
    view, notes = View.from_query(query, View(Scenario()))
    assert not notes
    assert set(QUERY_KEYS) < set(query)
    assert view.to_query().items() >= query.items()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:core|ui|data|pages|benchmarks)/[\w./]+)`", TEXT))))
def test_named_files_exist(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_screenshot_exists() -> None:
    (image,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert (ROOT / image).read_bytes()[:4] == b"\x89PNG"


def test_counts_are_the_catalogs() -> None:
    from core.catalog import gpus, models

    assert f"{len(models())} real models" in TEXT
    assert f"{len(gpus())} accelerators" in TEXT
