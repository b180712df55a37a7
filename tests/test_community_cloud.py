"""What Streamlit Community Cloud asks of a repository, as a checklist.

Whether the registry has a wheel of every pin for each Python is asked by `python -m benchmarks.pins`.
"""

import ast
import asyncio
import re
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any, TypeVar

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.pins import PYTHONS
from benchmarks.server import Server, served
from benchmarks.session import Session
from core.lessons import PAGES
from core.scenario import Scenario
from core.view import View
from tests.harness import ROOT

MEMORY_MB = 690  # the least that an app is given
FIRST_PAGE_S = 30  # a second or two on an idle machine; whoever waits longer thinks that it hangs
PLACES = ("app.py", "core", "pages", "ui")
PINS = [
    Requirement(line)
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.lstrip().startswith("#")
]
HERE = View(Scenario(model="llama-3.1-70b", gpu="h200-sxm", n_gpus=3, batch=33, context=20_001)).to_query()
PATHS = [PurePath(page.file).stem for page in PAGES if page.slug != "home"]
Found = TypeVar("Found")


def tracked() -> list[str]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


# ---------------------------------------------------------------- files at their places


def test_there_is_one_configuration_and_it_is_at_the_root() -> None:
    assert [name for name in tracked() if name.endswith(".streamlit/config.toml")] == [".streamlit/config.toml"]


def test_no_secret_is_in_the_repository() -> None:
    assert [name for name in tracked() if PurePath(name).name in {"secrets.toml", ".env"}] == []


def test_the_main_file_and_its_pages_are_where_the_cloud_looks() -> None:
    names = set(tracked())
    assert "app.py" in names
    assert {page.file for page in PAGES} <= names
    assert {name for name in names if name.startswith("pages/")} <= {page.file for page in PAGES}


def test_requirements_txt_is_what_is_installed() -> None:
    """The cloud takes the first that it finds, first beside the main file; pyproject.toml comes after."""
    before = ("uv.lock", "Pipfile", "environment.yml", "environment.yaml")
    assert not any((ROOT / name).exists() and name in tracked() for name in before)
    assert "requirements.txt" in tracked()


def test_no_system_package_is_wanted() -> None:
    assert not [name for name in tracked() if PurePath(name).name in {"packages.txt", "apt.txt", "Aptfile"}]


def test_the_settings_leave_address_and_port_to_the_cloud() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert not {"address", "port", "baseUrlPath", "enableCORS", "enableXsrfProtection"} & set(settings["server"])


# ---------------------------------------------------------------- pins


def environment(python: str) -> dict[str, str]:
    """The cloud's machine with that Python, as markers see it."""
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "platform_machine": "x86_64",
        "platform_system": "Linux",
        "sys_platform": "linux",
        "os_name": "posix",
        "extra": "",
    }


def applying(python: str) -> dict[str, Requirement]:
    """Package -> its pin there; two pins of one package would be an error of pip's."""
    pins = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate(dict(environment(python)))]
    found: dict[str, Requirement] = {canonicalize_name(pin.name): pin for pin in pins}
    assert len(found) == len(pins)
    return found


@pytest.mark.parametrize("python", PYTHONS)
def test_every_package_has_one_pin_on_each_python(python: str) -> None:
    elsewhere = {"colorama", "httpx2-jsfetch"}  # Windows, the browser
    everything = {canonicalize_name(pin.name) for pin in PINS}
    assert everything - set(applying(python)) <= elsewhere


@pytest.mark.parametrize("python", PYTHONS)
def test_what_a_pinned_package_needs_there_is_pinned_too(python: str) -> None:
    pins = applying(python)
    for package, pin in pins.items():
        try:
            installed = metadata.distribution(package)
        except metadata.PackageNotFoundError:
            continue
        if installed.version not in pin.specifier:
            continue  # another Python's version is installed here
        for needed in map(Requirement, installed.requires or []):
            if needed.marker is None or needed.marker.evaluate(dict(environment(python))):
                assert canonicalize_name(needed.name) in pins, f"{package} needs {needed} on Python {python}"


def test_the_pythons_are_those_that_the_project_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={PYTHONS[0]}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in PYTHONS


@pytest.mark.skipif(sys.platform != "linux", reason="asks for wheels for Linux")
def test_every_package_came_as_a_wheel_that_needs_nothing_of_the_system() -> None:
    """A manylinux wheel may use glibc and a short list of libraries that every distribution has."""
    tried = 0
    for package in applying(f"{sys.version_info.major}.{sys.version_info.minor}"):
        tags = re.findall(r"^Tag: (\S+)$", metadata.distribution(package).read_text("WHEEL") or "", flags=re.MULTILINE)
        assert tags, f"{package} was not installed from a wheel"
        for tag in tags:
            assert re.search(r"-any$|-manylinux", tag), f"{package}: {tag}"
        tried += 1
    assert tried > 30


# ---------------------------------------------------------------- what the program uses


@cache
def sources() -> list[tuple[Path, ast.Module]]:
    paths = [ROOT / place for place in PLACES]
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    return [(file.relative_to(ROOT), ast.parse(file.read_text(encoding="utf-8"))) for file in files]


def imported(tree: ast.Module) -> set[str]:
    """Full names of the imported modules, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module or "")
    return found


def test_every_import_is_pythons_own_ours_or_pinned() -> None:
    pinned = {canonicalize_name(pin.name) for pin in PINS}
    providers = metadata.packages_distributions()
    ours = {"core", "pages", "ui"}
    foreign: set[str] = set()
    for file, tree in sources():
        for module in imported(tree):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in ours:
                continue
            foreign.add(top)
            assert pinned & {canonicalize_name(name) for name in providers.get(top, [])}, f"{file} imports {module}"
    assert {"streamlit", "plotly", "pydantic"} <= foreign


STARTERS = {"subprocess", "pty", "ctypes", "multiprocessing", "webbrowser"}
CALLS = {"system", "popen", "startfile", "fork", "execv", "execve", "execvp", "spawnv", "posix_spawn"}


def starts_programs(tree: ast.Module) -> set[str]:
    """What in a file could start another program or load a library of the system."""
    found = {module for module in imported(tree) if module.partition(".")[0] in STARTERS}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CALLS and ast.unparse(node.value) == "os":
            found.add(ast.unparse(node))
    return found


def test_no_other_program_is_started() -> None:
    for file, tree in sources():
        assert starts_programs(tree) == set(), file


@pytest.mark.parametrize("line", ["import subprocess", "from ctypes import cdll", "import os\nos.system('ls')"])
def test_starting_a_program_would_be_found(line: str) -> None:
    assert starts_programs(ast.parse(line))


# ---------------------------------------------------------------- a server that has just woken up


def run(doing: Coroutine[Any, Any, Found]) -> Found:
    """In a thread of its own: the browser tests leave a running loop in this one."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, doing).result()


@pytest.fixture(scope="module")
def woken() -> Iterator[tuple[Server, float]]:
    """A new server, and how long its first visitor waited, who had followed a link to a lesson."""

    async def first(url: str) -> None:
        async with Session(url) as tab:
            opened = await tab.open(PATHS[0], {**HERE, "embed": "true"})
            assert opened.errors == []
            assert opened.n_charts
            assert tab.query == {**HERE, "embed": "true"}

    start = time.monotonic()
    with served() as server:
        run(first(server.url))
        yield server, time.monotonic() - start


def test_the_first_visitor_does_not_wait_long(woken: tuple[Server, float]) -> None:
    _, waited_s = woken
    assert waited_s < FIRST_PAGE_S


def test_every_page_opens_from_its_link_with_embed_kept(woken: tuple[Server, float]) -> None:
    server, _ = woken

    async def visit(path: str) -> None:
        async with Session(server.url) as tab:
            opened = await tab.open(path, {**HERE, "embed": "true"})
            assert opened.errors == [], path
            assert opened.texts, path
            assert tab.query == {**HERE, "embed": "true"}, path

    async def all_pages() -> None:
        for path in ("", *PATHS):
            await visit(path)

    run(all_pages())


def test_a_page_that_does_not_exist_is_noticed(woken: tuple[Server, float]) -> None:
    """The server answers 200 to every path, so the tests above ask over the websocket."""
    server, _ = woken

    async def visit() -> list[str]:
        async with Session(server.url) as tab:
            return (await tab.open("no_such_page", HERE)).errors

    (error,) = run(visit())
    assert "page not found" in error


@pytest.mark.parametrize("path", ["", *PATHS])
def test_every_link_answers_with_the_page(woken: tuple[Server, float], path: str) -> None:
    server, _ = woken
    with urllib.request.urlopen(f"{server.url}/{path}?embed=true", timeout=10) as answer:
        assert answer.status == 200
        assert b'<div id="root">' in answer.read()


def test_memory_stays_far_below_what_the_cloud_gives(woken: tuple[Server, float]) -> None:
    """After the pages above, or after the first alone."""
    server, _ = woken
    assert 50 < server.memory_bytes / 1e6 < MEMORY_MB / 2


# ---------------------------------------------------------------- what README says


def test_readme_tells_the_steps() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (steps,) = re.findall(r"^#+ Deploy to Streamlit Community Cloud\n(.*?)^#", text, flags=re.MULTILINE | re.DOTALL)
    for words in ("https://share.streamlit.io", "`app.py`", "`main`", "`requirements.txt`", "?embed=true"):
        assert words in steps
