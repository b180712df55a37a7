"""Replicas and cost on paper, from figures that were measured.

    python -m benchmarks.capacity --per-core 90 --session-mb 0.2 --base-mb 200 [--students 200 10000 1000000] ...

`--per-core` is how many students one core serves with one change every two seconds (`python -m benchmarks.load
--students`), `--session-mb` and `--base-mb` are what a session and a server without sessions hold once every page was
shown (`python -m benchmarks.start`). These have no default: they belong to a machine. The others are assumptions, each
with its option; prices most of all, since they differ by provider, region and contract.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

STUDENTS = (200, 10_000, 1_000_000)


def _whole(number: float) -> int:
    """Rounded down, but for what is below a whole number only in binary: 610.9999999 are 611."""
    return math.floor(round(number, 6))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a replica can do, how full it may get, and what it costs.

    Args:
        per_core: students whom one core serves, each with one change every two seconds
        session_mb: memory of one session, in MB (10^6 bytes)
        base_mb: memory of a server before any session, its pages shown once, in MB
        cores: cores of a replica; one Python process uses one
        limit_mb: memory limit of a replica, in MB (512 MiB are 537 MB)
        used: the share of cores and memory that may be used; the rest is for peaks and a replica that is away
        least: replicas that there are at least, so that one may be away
        vcpu_hour: price of one vCPU for an hour, in USD
        gb_hour: price of one GB of memory for an hour, in USD
        per_proxy: websockets that one nginx holds: two workers of 16,384 connections, two connections a student
        per_cluster: students in one cluster, beyond which another one (in another region) is easier
    """

    per_core: float
    session_mb: float
    base_mb: float
    cores: float = 1.0
    limit_mb: float = 537.0
    used: float = 0.6
    least: int = 3
    vcpu_hour: float = 0.04
    gb_hour: float = 0.005
    per_proxy: int = 16_384
    per_cluster: int = 50_000

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(f"{field.name} is {getattr(self, field.name)}; it has to be above 0")
        if self.used > 1:
            raise ValueError(f"used is {self.used}; it is a share, at most 1")
        if self.by_memory < 1 or self.by_cpu < 1:
            raise ValueError("a replica of this size has no room for a single student")

    @property
    def by_cpu(self) -> int:
        """Students whom a replica's cores serve.

        >>> Plan(per_core=90, session_mb=0.2, base_mb=200).by_cpu  # 90 · 1 · 0.6
        54
        """
        return _whole(self.per_core * self.cores * self.used)

    @property
    def by_memory(self) -> int:
        """Students whose sessions fit into a replica's memory.

        >>> Plan(per_core=90, session_mb=0.2, base_mb=200).by_memory  # (537 · 0.6 - 200) / 0.2
        611
        """
        return _whole((self.limit_mb * self.used - self.base_mb) / self.session_mb)

    @property
    def per_replica(self) -> int:
        """Students of one replica."""
        return min(self.by_cpu, self.by_memory)

    @property
    def replica_hour(self) -> float:
        """Price of one replica for an hour, in USD.

        >>> round(Plan(per_core=90, session_mb=0.2, base_mb=200).replica_hour, 6)  # 1 · 0.04 + 0.537 · 0.005
        0.042685
        """
        return self.cores * self.vcpu_hour + self.limit_mb / 1e3 * self.gb_hour

    def needs(self, students: int) -> Need:
        """What so many students need at the same time.

        >>> Plan(per_core=90, session_mb=0.2, base_mb=200).needs(10_000).replicas  # 10,000 / 54
        186
        """
        if students < 1:
            raise ValueError(f"students is {students}; it has to be 1 or more")
        replicas = max(self.least, math.ceil(students / self.per_replica))
        return Need(
            students=students,
            replicas=replicas,
            vcpus=replicas * self.cores,
            memory_gb=replicas * self.limit_mb / 1e3,
            proxies=max(1, math.ceil(students / self.per_proxy)),
            clusters=math.ceil(students / self.per_cluster),
            usd_an_hour=replicas * self.replica_hour,
        )


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a number of students needs at the same time."""

    students: int
    replicas: int
    vcpus: float
    memory_gb: float
    proxies: int
    clusters: int
    usd_an_hour: float

    @property
    def usd_a_student_hour(self) -> float:
        """USD for an hour of one student."""
        return self.usd_an_hour / self.students


def table(plan: Plan, students: Sequence[int]) -> str:
    """The plan's assumptions in a sentence, and a row for each number of students."""
    limiting = "the core" if plan.by_cpu <= plan.by_memory else "memory"
    lines = [
        f"{plan.per_core:g} students a core, {plan.session_mb:g} MB a session, {plan.base_mb:g} MB a server; "
        f"{plan.used:.0%} used.",
        f"A replica: {plan.cores:g} core, {plan.limit_mb:g} MB, {plan.per_replica} students "
        f"(by cores {plan.by_cpu}, by memory {plan.by_memory}: {limiting} decides).",
        f"Assumed prices: {plan.vcpu_hour:g} USD a vCPU-hour, {plan.gb_hour:g} USD a GB-hour.",
        "",
        f"{'students':>9} {'replicas':>8} {'vCPU':>7} {'GB':>7} {'nginx':>5} {'clusters':>8} {'USD/hour':>9} "
        f"{'USD/student-hour':>16}",
    ]
    for need in map(plan.needs, students):
        lines.append(
            f"{need.students:9,} {need.replicas:8,} {need.vcpus:7,.0f} {need.memory_gb:7,.0f} {need.proxies:5,} "
            f"{need.clusters:8,} {need.usd_an_hour:9,.2f} {need.usd_a_student_hour:16.4f}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description="Replicas and cost on paper.")
    for field in fields(Plan):
        kind = int if field.type == "int" else float
        option = "--" + field.name.replace("_", "-")
        if field.name in ("per_core", "session_mb", "base_mb"):
            parser.add_argument(option, type=kind, required=True)
        else:
            parser.add_argument(option, type=kind, default=field.default, help=f"default: {field.default}")
    parser.add_argument("--students", type=int, nargs="+", default=STUDENTS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args(arguments)
    try:
        plan = Plan(**{field.name: getattr(given, field.name) for field in fields(Plan)})
        text = table(plan, given.students)
    except ValueError as error:
        parser.error(str(error))
    print(text)
    if given.json:
        needs = [asdict(plan.needs(students)) for students in given.students]
        given.json.write_text(json.dumps({"plan": asdict(plan), "needs": needs}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
