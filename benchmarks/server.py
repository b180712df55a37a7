"""A real server of the app, or of another script, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
START_S = 60
STOP_S = 10
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Server:
    """Where it listens, its process, and what it has written."""

    url: str
    process: psutil.Process
    log: Path

    @property
    def memory_bytes(self) -> int:
        """Resident memory now."""
        return self.process.memory_info().rss

    @property
    def cpu_s(self) -> float:
        """Processor time so far, all threads."""
        times = self.process.cpu_times()
        return times.user + times.system


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def healthy(url: str) -> bool:
    """Whether a server answers there."""
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def wait_until_healthy(url: str, process: psutil.Process) -> None:
    """Until the server answers; RuntimeError when it ends before, or takes too long."""
    end = time.monotonic() + START_S
    while not healthy(url):
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE or time.monotonic() > end:
            raise RuntimeError(f"the server at {url} did not start")
        time.sleep(POLL_S)


@contextmanager
def served(
    script: str = "app.py", *, module: str = "streamlit", port: int | None = None, options: Sequence[str] = ()
) -> Iterator[Server]:
    """Serve a script as README does, but on a free port and without a file watcher; it ends with the block.

    `module` stands in for Streamlit's command line (`benchmarks.floor_server`).
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", module, "run", script, "--server.address=127.0.0.1", f"--server.port={port}"]
    command += ["--server.headless=true", "--server.fileWatcherType=none", "--logger.enableRich=false", *options]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.txt"
        with log.open("w") as out:
            started = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)
        process = psutil.Process(started.pid)
        try:
            wait_until_healthy(url, process)
            yield Server(url, process, log)
        finally:
            started.terminate()
            try:
                started.wait(STOP_S)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()
