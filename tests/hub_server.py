"""A Hugging Face Hub on this machine, which answers as the Hub does, or as badly as a server can."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ui import hub

REPO = "meta-llama/Meta-Llama-3-8B"
COMMIT = "8cde5ca8380496c9a6cc7ef3a8b46a0372a1d920"
CONFIG = json.dumps({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}, indent=2).encode()
COUNTS = {"_id": "6621", "id": REPO, "safetensors": {"parameters": {"F32": 8, "BF16": 8030261248}, "total": 8030261256}}
FILE = f"/{REPO}/resolve/main/config.json"
API = f"/api/models/{REPO}"
MARGIN_S = 3.0  # for a busy machine; a client without a limit would take minutes

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers a path as the test says, and keeps what was asked."""

    protocol_version = "HTTP/1.1"
    server: "StandIn"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.server.answers.get(path, status(404, "RepoNotFound"))(self)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class StandIn(ThreadingHTTPServer):
    """A Hub on this machine."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer] = {FILE: config(), API: document(COUNTS)}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.sent_bytes = 0
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what these tests are about."""

    def paths(self, start: str = "/") -> list[str]:
        return [path for path, _ in self.asked if path.startswith(start)]


def send(code: int, body: bytes, **headers: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def config(body: bytes = CONFIG, **headers: str) -> Answer:
    known = {"X_Repo_Commit": COMMIT, "ETag": '"0f6c"', "Content_Type": "text/plain; charset=utf-8"}
    return send(200, body, **known, **headers)


def document(value: object) -> Answer:
    return send(200, json.dumps(value).encode(), Content_Type="application/json; charset=utf-8")


def status(code: int, error: str = "", **headers: str) -> Answer:
    said = {"X_Error_Code": error, "X_Error_Message": "No."} if error else {}
    return send(code, b"No.", **said, **headers)


def redirect(to: str, code: int = 307) -> Answer:
    return send(code, b"Temporary Redirect", Location=to, X_Repo_Commit=COMMIT)


def raw(*pieces: bytes, wait_s: float = 0.0, forever: bool = False) -> Answer:
    """Bytes as they are, with a wait before each; the last one again and again."""

    def answer(handler: Handler) -> None:
        handler.close_connection = True
        todo = list(pieces)
        while todo and not handler.server.over.wait(wait_s):
            piece = todo.pop(0)
            handler.wfile.write(piece)
            handler.server.sent_bytes += len(piece)
            if forever and not todo:
                todo = [piece]

    return answer


def silent(handler: Handler) -> None:
    handler.close_connection = True
    handler.server.over.wait(60)


@contextmanager
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], StandIn]]:
    """Starts servers, with nothing kept by the client from before; they end with the context."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "_kept", {})
    started: list[tuple[StandIn, threading.Thread]] = []

    def start() -> StandIn:
        server = StandIn()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        started.append((server, thread))
        return server

    yield start
    for server, thread in started:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
    for thread in threading.enumerate():
        if thread.name.startswith("hub "):
            thread.join(MARGIN_S)
            assert not thread.is_alive()
