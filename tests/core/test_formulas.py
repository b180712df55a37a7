"""What the sources page reads from the code: symbols, formulas, docstrings; and the report of a wrong number."""

import inspect

import pytest

import core
from core.custom import custom_gpu
from core.formulas import MODULES, chapters, function, symbols
from core.scenario import Scenario
from core.takeaway import command_line
from core.wrong_number import issue_text

FORMULAS = [formula for chapter in chapters() for formula in chapter.formulas]


def test_every_public_function_is_there_once() -> None:
    there = {f.name for f in FORMULAS}
    assert len(there) == len(FORMULAS) >= 40
    for module in MODULES:
        for name, f in vars(module).items():
            if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_"):
                assert f"{module.__name__.removeprefix('core.')}.{name}" in there


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.name)
def test_nothing_of_a_docstring_is_lost(formula) -> None:
    assert formula.paragraphs
    parts = [*formula.paragraphs, formula.example]
    parts += [text for name, items in formula.sections for text in (f"{name}:", *items)]
    assert sorted(" ".join(parts).split()) == sorted(inspect.getdoc(formula.call).split())
    assert all(name in formula.signature for name in inspect.signature(formula.call).parameters)


def test_google_sections_are_read() -> None:
    found = next(f for f in FORMULAS if f.name == "cost.dollars_per_million_tokens")
    assert [name for name, _ in found.sections] == ["Args", "Returns"]
    assert len(found.sections[0][1]) == 3
    assert found.example.startswith(">>>")
    assert any(text.startswith("Source:") for text in found.paragraphs)


def test_symbols_are_the_package_s() -> None:
    header, rows = symbols()
    assert header == ("symbol", "meaning", "unit")
    assert {"L", "d", "S", "B", "BW", "C", "n_q, n_kv"} <= {row[0] for row in rows}
    assert all(len(row) == 3 and all(row) for row in rows)
    assert sum(line.startswith("|") for line in core.__doc__.splitlines()) == len(rows) + 2


@pytest.mark.parametrize("name", ["kv_cache.nobody", "kv_cache._hidden", "os.getcwd", "kv_cache", ""])
def test_unknown_functions(name: str) -> None:
    with pytest.raises(ValueError, match="no public function"):
        function(name)


def test_a_report_reproduces_the_scenario() -> None:
    s = Scenario(model="qwen3-32b", batch=7)
    text = issue_text(s, "GiB")
    assert command_line(s, "GiB") in text
    assert "http" not in text
    assert "weights" in text


def test_a_report_of_an_own_gpu_names_it() -> None:
    gpu = custom_gpu(name="My card", memory_gb=24, bandwidth_gb_per_s=900, bf16_tflops=100)
    assert "My card" in issue_text(Scenario(gpu=gpu))
