"""What several test files of core share."""

import csv
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def recount() -> dict[str, dict[str, str]]:
    """Published and independently recounted figures of every model; see the head of the file."""
    lines = (line for line in (DATA / "models.csv").read_text(encoding="utf-8").splitlines() if line[0] != "#")
    return {row["id"]: row for row in csv.DictReader(lines)}
