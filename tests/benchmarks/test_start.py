"""What the start benchmark reads off processes, and its limits."""

import ast
from typing import Any

from benchmarks import start


def report(imports: float = 1.0, catalogs: float = 1.0, picture: float = 1.0, memory: float = 1.0) -> dict[str, Any]:
    return {
        "imports": {"ratio": imports},
        "catalogs": {"ratio": catalogs},
        "starts": {start.CPU: {"ratio": picture}},
        "memory": {"ratio": memory},
    }


def test_the_page_imports_are_the_home_pages_and_nothing_else_of_it():
    body = ast.parse(start.page_imports()).body
    assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in body)
    assert "from ui import" in start.page_imports()


def test_time_is_that_of_the_work_alone():
    spin = "end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    assert start.timed(spin, "pass") < 0.1
    assert 0.3 <= start.timed("", spin) < 0.5


def test_packages_are_told_apart_and_the_standard_library_is_left_out():
    found = start.packages("import orjson, json, core.query")
    assert {"orjson", "core"} <= set(found)
    assert "json" not in found
    assert all(seconds >= 0 for seconds in found.values())


def test_works_take_turns():
    taken: list[str] = []

    def work(name: str, seconds: float) -> float:
        taken.append(name)
        return seconds

    assert start.in_turns(3, lambda: work("a", 1.0), lambda: work("b", 2.0)) == [1.0, 2.0]
    assert taken == ["a", "b"] * 3


def test_a_gross_regression_is_named():
    assert start.above_limits(report()) == []
    assert start.above_limits(report(memory=9.0)) == [f"memory: 9 times the floor, above {start.GROSS_MEMORY:g}"]
    assert len(start.above_limits(report(9.0, 9.0, 9.0, 9.0))) == 4
