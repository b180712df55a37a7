"""The house files agree with each other: ranges and pins, settings, CI and README, what may not be here."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from streamlit import config

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETTINGS = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
PIN_FILES = ("requirements.txt", "requirements-dev.txt")
MARKER = "<!-- test-command -->"
LOCK_FILES = re.compile(
    r"(^|/)(uv|poetry|pdm)\.lock$|(^|/)Pipfile\.lock$|(^|/)pylock.*\.toml$|(^|/)package-lock\.json$"
)

RUNTIME = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
INSTALLED = {canonicalize_name(found.name) for found in metadata.distributions()}
DEV = [Requirement(line) for line in PROJECT["dependency-groups"]["dev"]]


def pins(name: str) -> dict[str, list[Requirement]]:
    """Package -> its pins; more than one where Python versions differ."""
    found: defaultdict[str, list[Requirement]] = defaultdict(list)
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        text = line.split("#")[0].strip()
        if text:
            requirement = Requirement(text)
            found[canonicalize_name(requirement.name)].append(requirement)
    return dict(found)


def pinned_version(pin: Requirement) -> Version:
    (specifier,) = pin.specifier
    assert specifier.operator == "==", f"{pin} is not an exact pin"
    return Version(specifier.version)


def applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


# ---------------------------------------------------------------- dependencies


@pytest.mark.parametrize("name", PIN_FILES)
def test_every_requirement_is_pinned_exactly(name):
    for pin in (pin for group in pins(name).values() for pin in group):
        assert pin.url is None
        assert not pinned_version(pin).is_prerelease


@pytest.mark.parametrize("name", PIN_FILES)
def test_requirements_name_no_address_and_no_option(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for word in ("http:", "https:", "://", "@"):
        assert word not in text
    assert not re.search(r"^\s*-", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        pytest.param(RUNTIME, "requirements.txt", id="runtime"),
        pytest.param(RUNTIME + DEV, "requirements-dev.txt", id="dev"),
    ],
)
def test_pins_satisfy_the_ranges_of_pyproject(wanted, name):
    pinned = pins(name)
    for requirement in wanted:
        group = pinned.get(canonicalize_name(requirement.name))
        assert group, f"{requirement} has no pin in {name}"
        for pin in group:
            assert pinned_version(pin) in requirement.specifier, f"{pin} in {name} is outside {requirement}"


def test_every_range_has_both_ends_at_runtime():
    for requirement in RUNTIME:
        assert {specifier.operator for specifier in requirement.specifier} == {">=", "<"}, str(requirement)


@pytest.mark.parametrize("name", PIN_FILES)
def test_pins_are_complete(name):
    """Whatever a pinned package needs here is pinned too, at a version it accepts."""
    pinned = pins(name)
    extras: dict[str, set[str]] = {canonicalize_name(r.name): r.extras for r in RUNTIME + DEV}
    for package, group in pinned.items():
        if package not in INSTALLED or not any(applies(pin) for pin in group):
            continue
        for requirement in map(Requirement, metadata.requires(package) or []):
            if not applies(requirement, extras.get(package, ())):
                continue
            needed = [pin for pin in pinned.get(canonicalize_name(requirement.name), []) if applies(pin)]
            assert needed, f"{package} needs {requirement}, which {name} does not pin"
            assert all(pinned_version(pin) in requirement.specifier for pin in needed), f"{package}: {requirement}"


def test_development_pins_contain_the_runtime_pins():
    runtime, dev = pins("requirements.txt"), pins("requirements-dev.txt")
    for package, group in runtime.items():
        assert {str(pin) for pin in group} == {str(pin) for pin in dev.get(package, [])}


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("client", "showErrorDetails", "none"),
        ("client", "showSidebarNavigation", False),
        ("client", "toolbarMode", "viewer"),
        ("runner", "magicEnabled", False),
        ("runner", "postScriptGC", False),
        ("server", "maxUploadSize", 1),
        ("server", "showEmailPrompt", False),
        ("browser", "gatherUsageStats", False),
    ],
)
def test_settings(section, key, value):
    assert SETTINGS[section][key] == value


def flat(table: dict, prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in table.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def test_streamlit_knows_every_setting():
    assert set(flat(SETTINGS)) <= set(config.get_config_options())


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_theme_is_readable_and_not_red(mode):
    theme = SETTINGS["theme"][mode]
    for background in (theme["backgroundColor"], theme["secondaryBackgroundColor"]):
        assert contrast(theme["textColor"], background) >= 7
        assert contrast(theme["primaryColor"], background) >= 4.5
    red, _, blue = (int(theme["primaryColor"][i : i + 2], 16) for i in (1, 3, 5))
    assert blue > red


# ---------------------------------------------------------------- CI and README


def readme_test_command() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"^{re.escape(MARKER)}\n+```\w*\n([^\n]+)\n```$", text, flags=re.MULTILINE)
    assert len(found) == 1, f"README.md needs one fenced block of one line after {MARKER}"
    return found[0]


def ci(*, at: Path) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    return subprocess.run(
        [bash, ".ci/run", "--print-test-command"], cwd=at, capture_output=True, text=True, timeout=30, check=False
    )


def test_ci_runs_the_test_command_of_the_readme():
    answer = ci(at=ROOT)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == readme_test_command()


def test_the_test_command_makes_an_environment_and_runs_pytest():
    command = readme_test_command()
    for part in ("-m venv .venv", "requirements-dev.txt", "pytest"):
        assert part in command


@pytest.mark.parametrize(
    ("readme", "complaint"),
    [
        pytest.param(None, "README.md is missing", id="no-readme"),
        pytest.param("# Title\n", "has no line", id="no-marker"),
        pytest.param(f"{MARKER}\nwords\n```\npytest\n```\n", "no fenced block", id="block-elsewhere"),
        pytest.param(f"{MARKER}\n```bash\n```\n", "no fenced block", id="empty"),
        pytest.param(f"{MARKER}\n```bash\none\ntwo\n```\n", "must be one line", id="two-lines"),
    ],
)
def test_ci_says_what_is_wrong_with_the_readme(tmp_path, readme, complaint):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    if readme is not None:
        (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    answer = ci(at=tmp_path)
    assert answer.returncode != 0
    assert complaint in answer.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no executable bit")
def test_ci_is_executable():
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


# ---------------------------------------------------------------- what may not be here


def test_no_lock_file_is_tracked():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [name for name in listed.stdout.splitlines() if LOCK_FILES.search(name)] == []


def sources(*places: str) -> list[Path]:
    return [ROOT / "app.py", *(path for place in places for path in sorted((ROOT / place).rglob("*.py")))]


def test_the_product_reads_nothing_outside_the_repository():
    for path in sources("core", "pages", "ui"):
        text = path.read_text(encoding="utf-8")
        for words in ("../shared", "shared/facts"):
            assert words not in text, f"{path.relative_to(ROOT)} mentions {words}"


def test_every_charts_module_is_under_the_contract():
    (contract,) = (
        contract
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract.get("forbidden_modules") == ["streamlit"]
    )
    there = {f"ui.{path.stem}" for path in (ROOT / "ui").glob("charts*")}
    assert there == set(contract["source_modules"])
