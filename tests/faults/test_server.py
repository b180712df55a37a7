"""What goes wrong on servers and networks, tried on a real server over its own protocol; no browser is needed."""

import asyncio
import contextlib
import random
import shutil
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed

from benchmarks import load
from benchmarks import server as servers
from benchmarks.load import Hall, headline
from benchmarks.server import Server, free_port, served
from benchmarks.session import Session, changes
from core.scenario import Scenario
from core.view import View
from tests.core.test_scenario import HOSTILE
from tests.harness import ROOT

HERE = View(Scenario(model="llama-3.1-70b", gpu="h200-sxm", n_gpus=3, batch=33, context=20_001), "GiB").to_query()
WRITTEN = ("app.py", "pages", "core", "ui", "data", ".streamlit")
Found = TypeVar("Found")


def run(doing: Coroutine[Any, Any, Found]) -> Found:
    """In a thread of its own: the browser tests leave a running loop in this one."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, doing).result()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served() as running:
        yield running
        assert "Uncaught app execution" not in running.log.read_text()


async def assert_works(url: str, query: dict[str, str] = HERE) -> None:
    """A new tab opens the link, has its verdict, and answers a slider."""
    async with Session(url) as tab:
        opened = await tab.open("", query)
        assert opened.errors == []
        assert tab.query == query
        assert headline(query) in opened.text
        moved = await tab.move("batch", "64")
        assert moved.errors == []
        assert tab.query == query | {"batch": "64"}
        assert headline(tab.query) in moved.text


# ---------------------------------------------------------------- server and network


def test_a_restarted_server_gives_the_scenario_back_from_the_address() -> None:
    async def until_it_goes(url: str) -> dict[str, str]:
        async with Session(url) as tab:
            await tab.open("longer_context", HERE)
            await tab.move("batch", "128")
            return tab.query

    async def after(url: str, query: dict[str, str]) -> None:
        async with Session(url, resume="a-session-of-the-old-server") as tab:
            opened = await tab.open("longer_context", query)
            assert opened.errors == []
            assert tab.query == query == HERE | {"batch": "128"}
            assert headline(query) in opened.text

    port = free_port()
    with served(port=port) as first:
        query = run(until_it_goes(first.url))
    with served(port=port) as second:
        run(after(second.url, query))


def test_a_dropped_websocket_is_taken_up_where_it_was(server: Server) -> None:
    async def drop() -> None:
        async with Session(server.url) as tab:
            await tab.open("", HERE)
            await tab.move("batch", "64")
            tab.drop()
            query, old = tab.query, tab.id
        async with Session(server.url, resume=old) as again:
            back = await again.open("", query)
            assert back.errors == []
            assert again.id == old
            assert again.query == query
            assert headline(query) in back.text

    run(drop())


def test_a_tab_that_goes_in_the_middle_of_a_run_harms_nobody(server: Server) -> None:
    async def leave() -> None:
        for _ in range(5):
            async with Session(server.url) as tab:
                opening = asyncio.create_task(tab.open("compare", HERE))
                await asyncio.sleep(0.05)
                tab.drop()
                with pytest.raises(ConnectionClosed):
                    await opening
        await assert_works(server.url)

    run(leave())


async def send_and_go_on(tab: Session, payload: bytes) -> None:
    await tab.send(payload)
    await tab.again()
    await tab.again()


@pytest.mark.parametrize("payload", [b"\xff" * 100, b"\x5a\x7fcut", bytes(3_000_000), bytes(12_000_000)], ids=len)
def test_garbage_and_oversized_messages_end_their_own_session_alone(server: Server, payload: bytes) -> None:
    async def send() -> None:
        async with Session(server.url) as neighbour:
            await neighbour.open("", HERE)
            async with Session(server.url) as tab:
                await tab.open("", HERE)
                with pytest.raises(ConnectionClosed) as closed:
                    await send_and_go_on(tab, payload)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code in (1002, 1009)  # protocol error, message too big
            moved = await neighbour.move("batch", "64")
            assert moved.errors == []
            assert neighbour.query == HERE | {"batch": "64"}

    run(send())


# ---------------------------------------------------------------- the disk


@pytest.mark.parametrize("module", ["tests.faults.full_disk", "tests.faults.read_only"])
def test_a_disk_that_takes_nothing_is_not_needed(module: str) -> None:
    with served(module=module) as server:
        run(assert_works(server.url))


@pytest.fixture
def corrupt(tmp_path: Path) -> Path:
    """The app with one word in the catalog where a number belongs."""
    for name in WRITTEN:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    catalog = tmp_path / "data" / "models.toml"
    lines = catalog.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("vocab = "))
    lines[first] = 'vocab = "many"'
    catalog.write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_a_corrupt_catalog_ends_the_check_with_one_sentence(corrupt: Path) -> None:
    for asked in (["--check"], ["batch=2"]):
        done = subprocess.run(
            [sys.executable, "-m", "core", *asked], cwd=corrupt, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("models.toml: model llama-1-7b: vocab: ")
        assert "many" in done.stderr


def test_a_corrupt_catalog_shows_a_class_a_short_message_and_the_operator_the_record(
    corrupt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(url: str) -> str:
        async with Session(url) as tab:
            (said,) = (await tab.open("", HERE)).errors
            return said

    monkeypatch.setattr(servers, "ROOT", corrupt)
    with served() as server:
        said = run(look(server.url))
        log = server.log.read_text()
    assert "This app has encountered an error" in said
    assert str(corrupt) not in said
    assert "CatalogError: models.toml: model llama-1-7b: vocab: " in log


# ---------------------------------------------------------------- hostile visitors


async def hostile_links(url: str, choice: random.Random) -> None:
    """Tabs whose links hold what no link should, while others work."""
    for _ in range(6):
        keys = choice.sample(sorted(HERE), 4)
        bad = {key: choice.choice(HOSTILE).encode("utf-8", "replace").decode() for key in keys}
        async with Session(url) as tab:
            opened = await tab.open(choice.choice(load.PATHS), HERE | bad)
            assert opened.errors == [], bad


async def hostile_uploads(url: str, choice: random.Random) -> int:
    """Files too large, for a session that is another's or none, or no files at all; how many were refused."""
    refused = 0
    async with httpx2.AsyncClient(base_url=url) as client, Session(url) as tab:
        await tab.open("bring_your_own", HERE)
        for _ in range(20):
            place = choice.choice([tab.id, "no-such-session", "..%2f..%2fetc", "x" * 2000])
            size = choice.choice([0, 100, 3_000_000])
            with contextlib.suppress(httpx2.WriteError, httpx2.ReadError):  # it may hang up before it has read it all
                files = {"file": ("config.json", b"{" * size, "application/json")}
                answer = await client.put(f"/_stcore/upload_file/{place}/some-id", files=files)
                assert 400 <= answer.status_code < 500, (place, size, answer.status_code)
            refused += 1
    return refused


def test_hostile_links_and_uploads_are_not_noticed_by_others(server: Server) -> None:
    async def both() -> None:
        hall = Hall(server.url)
        await hall.fill(4)
        async with asyncio.TaskGroup() as together:
            dragging = together.create_task(hall.drag(4))
            uploading = together.create_task(hostile_uploads(server.url, random.Random(7)))
            for seed in range(3):
                together.create_task(hostile_links(server.url, random.Random(seed)))
        record = dragging.result()
        await hall.leave()
        assert record.errors == []
        assert len(record.changed_s) >= 6
        assert record.n_verdicts > 0
        assert uploading.result() == 20

    run(both())


def test_sessions_do_not_see_each_other(server: Server) -> None:
    """Two tabs change in turns; each keeps its own address and verdict."""

    async def both() -> None:
        async with Session(server.url) as one, Session(server.url) as other:
            await one.open("", HERE)
            await other.open("", load.link(5))
            for label in ("1", "4", "256"):
                for tab in (one, other):
                    before = tab.query
                    moved = await tab.move("batch", label)
                    assert tab.query == before | {"batch": label}
                    assert headline(tab.query) in moved.text
            assert {key for key, _ in changes(one.last)} >= {"batch", "context"}

    run(both())
