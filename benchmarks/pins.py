"""Whether every pin of requirements.txt has a wheel for each Python that Community Cloud offers.

    python -m benchmarks.pins [--json FILE]        needs uv (`pip install uv`) and a package registry

uv resolves the pins for another Python than the one that runs it, markers included, and with `--no-deps` and no source
distributions it reads the registry's lists of files only: nothing is downloaded or installed. Linux x86_64, glibc 2.28
or newer.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORM = "x86_64-manylinux_2_28"


def uv() -> str | None:
    """uv's command, from this environment or the PATH."""
    return shutil.which("uv", path=sysconfig.get_path("scripts")) or shutil.which("uv")


def resolve(command: str, requirements: Path, python: str) -> tuple[list[str], str]:
    """The pins that apply to a Python, and what uv complains about if one of them has no wheel."""
    options = ["--python-version", python, "--python-platform", PLATFORM, "--only-binary", ":all:", "--no-deps"]
    done = subprocess.run(
        [command, "pip", "compile", "--quiet", "--no-header", "--no-annotate", *options, str(requirements)],
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in done.stdout.splitlines() if "==" in line], done.stderr.strip() if done.returncode else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask for each Python; 1 if a wheel is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pins", description="Wheels for every pin.")
    parser.add_argument("--requirements", type=Path, default=ROOT / "requirements.txt", metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the answers there too")
    given = parser.parse_args(arguments)
    command = uv()
    if command is None:
        print("needs uv: pip install uv")
        return 2
    report: dict[str, Any] = {}
    for python in PYTHONS:
        pins, complaint = resolve(command, given.requirements, python)
        report[python] = {"pins": pins, "complaint": complaint}
        print(f"Python {python}: {complaint or f'{len(pins)} pins, a wheel for each'}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(any(answer["complaint"] for answer in report.values()))


if __name__ == "__main__":
    sys.exit(main())
