"""Writes the three small files that nginx.conf includes: which replicas there are, and where nginx listens.

    python -m deploy.replicas 10.0.0.11:8501 10.0.0.12:8501 [--to DIRECTORY] [--listen 8080] [--packer 8079]

nginx.conf itself is the same everywhere: in the containers, on machines of one's own and in the tests. Replicas are
named by number, not by a name to look up, since nginx tells by the number which of them has taken a websocket.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

HERE = Path(__file__).resolve().parent

# A refused connection is passed on at once. Only after three failures is a replica left alone for ten seconds, so that
# one slow answer of a busy replica does not send its students to the others.
FAILURE = "max_fails=3 fail_timeout=10s"

HEADING = "# Written by python -m deploy.replicas\n"
LISTEN, PACKER = "8080", "8079"
START_S = 10


def checked(address: str) -> str:
    """An address of the form 10.0.0.11:8501, or a ValueError that says what is wrong."""
    host, _, port = address.rpartition(":")
    ip_address(host.strip("[]"))
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{address!r} does not end in a port from 1 to 65535")
    return address


def _upstream(name: str, servers: Sequence[str], *, rule: str = "") -> str:
    lines = [f"upstream {name} {{", f"    zone {name} 64k;", *([f"    {rule};"] if rule else [])]
    lines += [f"    server {server};" for server in servers]
    return "\n".join([*lines, "    keepalive 32;", "}"])


def _map(source: str, target: str, entries: Sequence[str]) -> str:
    return "\n".join([f"map {source} {target} {{", *(f"    {entry};" for entry in entries), "}"])


def replicas_conf(addresses: Sequence[str], *, packer: str) -> str:
    """One upstream for newcomers, one for the students of each replica, and the maps from cookie and to cookie."""
    addresses = [checked(address) for address in addresses]
    if not addresses or len(set(addresses)) != len(addresses):
        raise ValueError("one address or more, each named once")
    numbered = list(enumerate(addresses, start=1))
    parts = [
        "# A newcomer goes where the fewest connections are open.",
        _upstream("any", [f"{address} {FAILURE}" for address in addresses], rule="least_conn"),
        "\n# A student who has a replica goes there; while it is away, to another.",
    ]
    for number, address in numbered:
        others = [f"{other} {FAILURE} backup" for other in addresses if other != address]
        parts.append(_upstream(f"replica_{number}", [f"{address} {FAILURE}", *others]))
    parts += [
        "\n# The cookie's number to the upstream; anything else in the cookie counts as a newcomer.",
        _map("$cookie_replica", "$pool", ["default any", *(f"{n} replica_{n}" for n, _ in numbered)]),
        "\n# The address that has answered, the last one where several were tried, to the cookie's number.",
        _map(
            "$upstream_addr",
            "$replica",
            ['default ""', *(f'"~(^|[ ,]){re.escape(address)}$" {n}' for n, address in numbered)],
        ),
    ]
    parts += ["\n# nginx itself, packing static files once.", _upstream("packer", [f"127.0.0.1:{packer}"])]
    return HEADING + "\n".join(parts) + "\n"


def lay(directory: Path, addresses: Sequence[str], *, listen: str = LISTEN, packer: str = PACKER) -> None:
    """Put nginx.conf and the files that it includes into a directory.

    Args:
        directory: nginx's prefix; its cache, its temporary files and its pid go there, too
        addresses: the replicas, as 10.0.0.11:8501
        listen: what nginx listens on: a port, or address and port
        packer: a port of this machine that only nginx itself uses
    """
    site = directory / "site"
    site.mkdir(parents=True, exist_ok=True)
    texts = {
        "replicas.conf": replicas_conf(addresses, packer=packer),
        "listen.conf": f"{HEADING}listen {listen};\n",
        "packer.conf": f"{HEADING}listen 127.0.0.1:{packer};\n",
    }
    for name, text in texts.items():
        (site / name).write_text(text, encoding="utf-8")
    if directory.resolve() != HERE:
        shutil.copy(HERE / "nginx.conf", directory)


def command(directory: Path, *more: str) -> list[str]:
    """The line that runs nginx in the foreground from such a directory, as whoever calls it."""
    # Started by root, nginx would give the work to a user who may not read the directory.
    same_user = "user root; " if os.name == "posix" and os.geteuid() == 0 else ""
    return ["nginx", "-p", str(directory), "-c", "nginx.conf", "-e", "stderr", "-g", f"{same_user}daemon off;", *more]


@contextmanager
def running(addresses: Sequence[str], *, port: int, packer: int) -> Iterator[str]:
    """The address of an nginx of one's own on this machine, with the shipped nginx.conf, while it runs."""
    with tempfile.TemporaryDirectory() as folder:
        lay(Path(folder), addresses, listen=f"127.0.0.1:{port}", packer=str(packer))
        log = Path(folder) / "log.txt"
        with log.open("w") as out:
            process = subprocess.Popen(command(Path(folder)), stdout=subprocess.DEVNULL, stderr=out)
            try:
                end = time.monotonic() + START_S
                while not (Path(folder) / "nginx.pid").exists():  # it is written when all ports are open
                    if process.poll() is not None or time.monotonic() > end:
                        raise RuntimeError(f"nginx did not start: {log.read_text()}")
                    time.sleep(0.02)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()
                process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m deploy.replicas", description="Files that nginx.conf includes.")
    parser.add_argument("addresses", nargs="+", type=checked, metavar="ADDRESS", help="a replica, as 10.0.0.11:8501")
    parser.add_argument("--to", type=Path, default=HERE, metavar="DIRECTORY", help="where nginx.conf goes")
    parser.add_argument("--listen", default=LISTEN, help=f"nginx's port, or address and port (default: {LISTEN})")
    parser.add_argument("--packer", default=PACKER, help=f"a port that only nginx itself uses (default: {PACKER})")
    given = parser.parse_args(arguments)
    lay(given.to, given.addresses, listen=given.listen, packer=given.packer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
