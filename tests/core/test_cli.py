"""`python -m core`: what it takes, what it prints and where, and how it ends."""

import json
import os
import subprocess
import sys
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings

from core.catalog import models
from core.cli import main, query_of, table_text
from core.evaluate import evaluate
from core.report import numbers_table
from core.scenario import Scenario
from core.takeaway import as_json, link
from core.verdict import verdict
from core.view import View
from tests.harness import ROOT
from tests.strategies import scenarios

ASKED = "model=llama-3-8b&gpu=h100-sxm&batch=32&context=8192"
RESULT = evaluate(Scenario(batch=32))
UI_LIBRARIES = ("streamlit", "plotly", "pandas", "numpy")


def run(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "core", *argv],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_issue_s_line_prints_the_table() -> None:
    done = run(ASKED)
    assert done.returncode == 0
    for name, value in numbers_table(RESULT, "GB")[1]:
        assert any(line.startswith(name) and line.endswith(str(value or "none")) for line in done.stdout.splitlines())
    said = verdict(RESULT)
    for sentence in (said.headline, *said.memory, *said.speed, *said.cautions):
        assert sentence in done.stdout
    assert "Not in the link" in done.stderr
    assert "Not in the link" not in done.stdout


def test_columns_are_aligned() -> None:
    rows = numbers_table(RESULT, "GB")[1]
    lines = table_text(RESULT, "GB").splitlines()
    starts = {
        line.index(str(value or "none"), len(name))
        for line in lines
        for name, value in rows
        if line[: len(name) + 2] == f"{name}  "
    }
    assert len(starts) == 1


def test_json_is_the_page_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([link(Scenario(batch=32)), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == as_json(RESULT)
    assert err == ""


LINK = urlencode(View(Scenario(batch=32), "GiB").to_query())


@pytest.mark.parametrize(
    "given_as",
    [
        LINK,
        f"?{LINK}",
        f"http://localhost:8501/?{LINK}",
        f"https://example.org/more_users?{LINK}#the-arithmetic",
        f"localhost:8501/?{LINK}",
        f"  {LINK}\n",
    ],
)
def test_a_link_in_every_form(capsys: pytest.CaptureFixture[str], given_as: str) -> None:
    assert main([given_as, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == as_json(RESULT, "GiB")
    assert err == ""


@pytest.mark.parametrize("argv", [[], [""], ["?"], ["http://localhost:8501/"], ["http://localhost:8501/sources?"]])
def test_nothing_asked_is_the_default(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    assert main([*argv, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == as_json(evaluate(Scenario()))
    assert err == ""


@given(scenarios())
@settings(max_examples=40, deadline=None)
def test_every_link_comes_through_whole(scenario: Scenario) -> None:
    query = View(scenario).to_query()
    assert query_of(f"http://localhost:8501/x?{urlencode(query)}") == query
    assert query_of(urlencode(query)) == query


def test_a_model_of_one_s_own_comes_in_the_link(capsys: pytest.CaptureFixture[str]) -> None:
    own = Scenario(model=models()["gemma-3-27b"].model_copy(update={"slug": "own", "name": "Ours & others"}))
    scenario, notes = Scenario.from_query(own.to_query())
    assert not notes
    assert main([link(own), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == as_json(evaluate(scenario))
    assert json.loads(out)["memory"] == as_json(evaluate(own))["memory"]
    assert err == ""


def test_odd_values_are_read_as_a_browser_reads_them() -> None:
    assert query_of("a=1&a=2&b=&c=x%20y+z&d=%3F%23&e=what?") == {
        "a": "2",
        "b": "",
        "c": "x y z",
        "d": "?#",
        "e": "what?",
    }


def test_the_unit_is_the_flag_s_or_the_link_s(capsys: pytest.CaptureFixture[str]) -> None:
    main([LINK])
    assert "32.0 GiB" in capsys.readouterr().out
    main([LINK, "--unit", "GB"])
    assert "34.4 GB" in capsys.readouterr().out
    main([ASKED, "--unit", "GiB"])
    assert "32.0 GiB" in capsys.readouterr().out


def test_what_is_changed_or_unknown_is_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([link(Scenario(), batch="0", colour="red", embed="true", unit="MB")]) == 0
    out, err = capsys.readouterr()
    assert "batch must be a whole number" in err
    assert "unit must be one of" in err
    assert '"colour", "embed"' in err
    assert "must be" not in out


def test_no_fit_is_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([link(Scenario(model="llama-3-70b"))]) == 0
    assert "Does not fit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nonsense"], '"nonsense" is no link and no query string'),
        (["http://localhost:8501/?batch"], "is no link and no query string"),
        (["a=1", "b=2"], "unrecognized arguments: b=2"),
        (["--unit", "MB"], "invalid choice: 'MB'"),
        (["--yaml"], "unrecognized arguments: --yaml"),
    ],
)
def test_bad_usage_ends_with_two_and_one_sentence(
    capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    errors = [line for line in err.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert words in errors[0]
    assert "Traceback" not in err


def test_help_has_an_example() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert f'python -m core "{ASKED}"' in " ".join(done.stdout.split())


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
@pytest.mark.parametrize("argv", [[ASKED], [ASKED, "--json"]], ids=["table", "json"])
def test_a_reader_that_leaves_early(argv: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "core", *argv],
            cwd=ROOT,
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_an_ascii_terminal_gets_question_marks() -> None:
    asked = link(Scenario(gpu="v100-sxm2-32gb", n_gpus=2, batch=3))  # "2 × NVIDIA ..."
    assert "×" in run(asked, PYTHONIOENCODING="utf-8", PYTHONUTF8="1").stdout
    done = run(asked, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "?" in done.stdout
    assert done.stdout.isascii()
    assert "Traceback" not in done.stderr
    assert json.loads(run(asked, "--json", PYTHONIOENCODING="ascii").stdout)["schema"] == 1


def test_a_name_from_elsewhere_gives_the_terminal_no_orders() -> None:
    own = models()["llama-3-8b"].model_copy(update={"slug": "own", "name": "red \x1b[31m\r\nmodel"})
    assert all(c.isprintable() or c == "\n" for c in table_text(evaluate(Scenario(model=own)), "GB"))


def test_no_user_interface_is_imported() -> None:
    code = f"import sys, core.cli; sys.exit(any(name in sys.modules for name in {UI_LIBRARIES!r}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0
