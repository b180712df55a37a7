"""Three replicas behind nginx, one killed under load, then all restarted in turn: what do the students notice?

    python -m benchmarks.replicas [--sessions 200] [--rounds 3] [--json FILE]
    python -m benchmarks.replicas --short       30 sessions, one round

nginx has to be installed (Debian: `apt-get install nginx-light`). It runs with the shipped deploy/nginx.conf. The
sessions spread over the replicas, all drag, and while they do

1. one replica is killed (SIGKILL): its students connect again, as a browser does, and land on another;
2. it comes back, and then each of the three is stopped (SIGTERM) and started again in turn.

A session that loses its websocket without its replica being the one taken away has seen an error. So has one that gets
an answer with another address than its own, an exception, or another's verdict. Whoever reconnects sends the address
and the sliders as the tab holds them; a scenario is lost if the address that comes back is not that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException

from benchmarks.load import Hall, Record, Student, spread
from benchmarks.server import Server, free_port, served
from benchmarks.session import Run
from deploy.replicas import running

REPLICAS, SESSIONS, SHORT_SESSIONS, ROUNDS = 3, 200, 30, 3
THINK_S = (4.0, 12.0)  # slower than in benchmarks.load: servers, nginx and students share one machine here
CALM_S, SHORT_CALM_S = 12.0, 5.0
AWAY_S = 5.0  # how long a killed replica stays away
AGAIN_S = 0.5  # between two attempts to connect
TRIES = 60


@dataclass(slots=True)
class Tally(Record):
    """What happened to all students together; which replicas are away, and how long connecting again took."""

    away: set[str] = field(default_factory=set[str])
    reconnected_s: list[float] = field(default_factory=list[float])


class Reconnecting(Student):
    """A student whose tab connects again when its replica goes."""

    @property
    def replica(self) -> str:
        """The number that nginx gave."""
        return self.session.cookie.partition("=")[2]

    async def move(self, key: str, label: str) -> Run:
        """One slider to one stop; again if the replica went before it had answered."""
        shown = self.session.last
        for _ in range(TRIES):
            try:
                return await Student.move(self, key, label)
            except (WebSocketException, OSError):
                self.session.last = shown  # the tab still shows what it showed, and its slider where it was put
                await self._connect_again()
        raise ConnectionError("no replica answered")

    async def turn(self, path: str) -> Run:
        """To another page; again if the replica went before it had answered."""
        for _ in range(TRIES):
            try:
                return await Student.turn(self, path)
            except (WebSocketException, OSError):
                await self._connect_again()
        raise ConnectionError("no replica answered")

    async def _connect_again(self) -> None:
        tally = self.record
        assert isinstance(tally, Tally)
        if self.replica not in tally.away:
            tally.errors.append(f"student {self.number}: lost a websocket on replica {self.replica}, which lives")
        start = time.perf_counter()
        for _ in range(TRIES):
            try:
                await self.session.connect()
            except (WebSocketException, OSError):
                await asyncio.sleep(AGAIN_S)
            else:
                tally.reconnected_s.append(time.perf_counter() - start)
                return
        raise ConnectionError("no replica took the tab")


class Replica:
    """One of the servers: it can go and come back at its port."""

    def __init__(self, number: int, tally: Tally) -> None:
        self.port = free_port()
        self._name, self._tally = str(number), tally
        self._running = ExitStack()
        self.server: Server | None = None

    def start(self) -> None:
        """Start it and wait until it is healthy."""
        self.server = self._running.enter_context(served(port=self.port))

    def stop(self, how: signal.Signals) -> None:
        """Stop it, and wait until it is gone."""
        assert self.server is not None
        self._tally.away.add(self._name)
        self.server.process.send_signal(how)
        self._running.close()
        self._running = ExitStack()

    def back(self) -> None:
        """Its students may expect it to live again."""
        self._tally.away.discard(self._name)


def homes(hall: Hall) -> dict[str, int]:
    """How many students each replica has."""
    found = Counter(student.replica for student in hall.students if isinstance(student, Reconnecting))
    return dict(sorted(found.items()))


async def trouble(replicas: Sequence[Replica], tally: Tally, calm_s: float) -> int:
    """Kill one, bring it back, restart all in turn; how many students had moved on before it was back."""
    await asyncio.sleep(calm_s)
    await asyncio.to_thread(replicas[0].stop, signal.SIGKILL)
    await asyncio.sleep(AWAY_S + calm_s)
    moved_on = len(tally.reconnected_s)
    await asyncio.to_thread(replicas[0].start)
    replicas[0].back()
    for replica in replicas:
        await asyncio.sleep(calm_s)
        await asyncio.to_thread(replica.stop, signal.SIGTERM)
        await asyncio.to_thread(replica.start)
        await asyncio.sleep(THINK_S[1] + 1)  # whoever thought meanwhile finds out with the next touch
        replica.back()
    await asyncio.sleep(calm_s)
    return moved_on


async def one_round(n: int, calm_s: float) -> dict[str, Any]:
    """All of it on new servers."""
    tally = Tally()
    replicas = [Replica(number, tally) for number in range(1, REPLICAS + 1)]
    with ExitStack() as stack:
        for replica in replicas:
            replica.start()
            stack.callback(replica.stop, signal.SIGTERM)
        addresses = [f"127.0.0.1:{replica.port}" for replica in replicas]
        url = stack.enter_context(running(addresses, port=free_port(), packer=free_port()))
        hall = Hall(url, student=Reconnecting, record=tally)
        await hall.fill(n)
        before, is_over = homes(hall), asyncio.Event()
        dragging = [asyncio.create_task(_drag_until(student, is_over)) for student in hall.students]
        moved_on = await trouble(replicas, tally, calm_s)
        is_over.set()
        for result in await asyncio.gather(*dragging, return_exceptions=True):
            if isinstance(result, Exception):
                tally.errors.append(f"a session was lost: {type(result).__name__}: {result}")
        lost = 0
        for student in hall.students:
            await student.session.again()
            lost += student.session.query != student.expected
        after = homes(hall)
        await hall.leave()
    return {
        "sessions": n,
        "changes": len(tally.changed_s),
        **spread(tally.changed_s),
        "verdicts_checked": tally.n_verdicts,
        "on_each_replica": before,
        "on_each_replica_at_the_end": after,
        "reconnected": len(tally.reconnected_s),
        "moved_on_after_the_kill": moved_on,
        "reconnect": spread(tally.reconnected_s),
        "lost_scenarios": lost,
        "errors": len(tally.errors),
        "first_errors": tally.errors[:5],
    }


async def _drag_until(student: Student, is_over: asyncio.Event) -> None:
    await asyncio.sleep(student.choice.uniform(0, THINK_S[1]))
    while not is_over.is_set():
        student.record.changed_s.append(await student.change())
        await asyncio.sleep(student.choice.uniform(*THINK_S))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rounds; 1 if a scenario was lost or a session on a living replica saw an error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replicas", description="Replicas that come and go.")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--short", action="store_true", help=f"{SHORT_SESSIONS} sessions, one round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args(arguments)
    n, rounds, calm_s = (SHORT_SESSIONS, 1, SHORT_CALM_S) if given.short else (given.sessions, given.rounds, CALM_S)
    rows: list[dict[str, Any]] = []
    for number in range(1, rounds + 1):
        row = asyncio.run(one_round(n, calm_s))
        rows.append(row)
        spread_out = "/".join(map(str, row["on_each_replica"].values()))
        print(
            f"round {number}: {n} sessions ({spread_out}), {row['changes']} changes, p50 {row['p50_ms']:.0f} ms, "
            f"p95 {row['p95_ms']:.0f} ms; reconnected {row['reconnected']} times "
            f"({row['moved_on_after_the_kill']} after the kill), p95 {row['reconnect']['p95_ms']:.0f} ms; "
            f"{row['verdicts_checked']} verdicts checked; lost scenarios {row['lost_scenarios']}, "
            f"errors {row['errors']}",
            flush=True,
        )
        for error in row["first_errors"]:
            print(f"    {error}")
    if given.json:
        given.json.write_text(json.dumps({"rounds": rows}, indent=2) + "\n", encoding="utf-8")
    return int(any(row["lost_scenarios"] or row["errors"] or not row["verdicts_checked"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
