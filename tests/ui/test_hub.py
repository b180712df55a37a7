"""The Hub client against a server on this machine that answers as the Hub does, or as badly as a server can."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hub_server import (
    API,
    COMMIT,
    CONFIG,
    COUNTS,
    FILE,
    MARGIN_S,
    REPO,
    Answer,
    Handler,
    StandIn,
    config,
    document,
    raw,
    redirect,
    send,
    silent,
    stand_ins,
    status,
)
from ui import hub

ROOT = Path(__file__).resolve().parent.parent.parent
SLOW_S = 0.4  # the limit in tests of the limit


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], StandIn]]:
    with stand_ins(monkeypatch) as start:
        yield start


@pytest.fixture
def server(servers: Callable[[], StandIn]) -> StandIn:
    return servers()


def one_sentence(error: pytest.ExceptionInfo[hub.HubError]) -> str:
    """The message, which is one readable line."""
    message = str(error.value)
    assert message.endswith(".")
    assert message.isprintable()
    assert not re.search(r"[.!?] [A-Z]", message)
    assert len(message) < 260
    return message


def refused(server: StandIn, timeout_s: float = 10.0) -> str:
    with pytest.raises(hub.HubError) as error:
        hub.fetch(REPO, endpoint=server.url, timeout_s=timeout_s)
    message = one_sentence(error)
    assert f'"{REPO}"' in message
    return message


# ---------------------------------------------------------------- good answers


def test_config_and_counts(server: StandIn) -> None:
    assert hub.fetch(REPO, endpoint=server.url) == hub.HubModel(
        repo=REPO,
        revision=COMMIT,
        config=CONFIG,
        n_params=8030261256,
        params_by_dtype=(("BF16", 8030261248), ("F32", 8)),
    )
    assert sorted(server.paths()) == [f"{API}?expand=safetensors", FILE]


def test_the_environment_names_the_endpoint(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url + "/")
    assert hub.fetch(f"{server.url}/{REPO}").config == CONFIG
    assert len(server.asked) == 2


def test_the_hubs_own_redirects_are_followed(server: StandIn) -> None:
    """config.json comes from a cache on the same host; an old name leads to the new one."""
    cached = f"/api/resolve-cache/models/{REPO}/{COMMIT}/config.json"
    server.answers[FILE] = redirect("/new/name/resolve/main/config.json")
    server.answers["/new/name/resolve/main/config.json"] = redirect(
        f"{cached}?{FILE.replace('/', '%2F')}=&etag=%22d6%22"
    )
    server.answers[cached] = send(200, CONFIG)
    server.answers[API] = redirect("/api/models/new/name?expand=safetensors", 301)
    server.answers["/api/models/new/name"] = document(COUNTS)
    model = hub.fetch(REPO, endpoint=server.url)
    assert (model.config, model.revision, model.n_params) == (CONFIG, COMMIT, 8030261256)


@pytest.mark.parametrize(
    "info",
    [
        pytest.param(document({"id": REPO}), id="no-safetensors"),
        pytest.param(document({"id": REPO, "safetensors": None}), id="null"),
        pytest.param(document({"safetensors": {"parameters": {"BF16": -1}, "total": 5}}), id="negative"),
        pytest.param(document({"safetensors": {"parameters": {"<b>": 1}, "total": 1}}), id="no-dtype"),
        pytest.param(document({"safetensors": {"parameters": {}, "total": 10**30}}), id="absurd"),
        pytest.param(document({"safetensors": {"parameters": {}, "total": "8"}}), id="text"),
        pytest.param(document([]), id="list"),
        pytest.param(send(200, b"<html>Sign in</html>", Content_Type="text/html"), id="html"),
        pytest.param(send(200, b"[" * 100_000), id="deep"),
        pytest.param(status(500), id="500"),
        pytest.param(status(429), id="429"),
        pytest.param(redirect("http://example.invalid/"), id="elsewhere"),
        pytest.param(raw(b"\x00\xff nonsense\r\n\r\n"), id="garbage"),
    ],
)
def test_counts_are_no_condition(server: StandIn, info: Answer) -> None:
    server.answers[API] = info
    model = hub.fetch(REPO, endpoint=server.url)
    assert (model.config, model.n_params, model.params_by_dtype) == (CONFIG, None, ())


def test_late_counts_do_not_hold_up_the_config(server: StandIn) -> None:
    server.answers[API] = silent
    model = hub.fetch(REPO, endpoint=server.url, timeout_s=SLOW_S)
    assert (model.config, model.n_params) == (CONFIG, None)


def test_a_commit_that_is_none_is_left_out(server: StandIn) -> None:
    server.answers[FILE] = send(200, CONFIG, X_Repo_Commit="<script>")
    assert hub.fetch(REPO, endpoint=server.url).revision is None


def test_a_config_as_large_as_allowed(server: StandIn) -> None:
    body = b"{}".ljust(hub.ANSWER_MAX_BYTES)
    server.answers[FILE] = config(body)
    assert hub.fetch(REPO, endpoint=server.url).config == body


def test_inside_a_running_event_loop(server: StandIn) -> None:
    async def page() -> hub.HubModel:
        return hub.fetch(REPO, endpoint=server.url)

    # a thread of its own: the browser tests leave a running loop in this one
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: asyncio.run(page())).result().config == CONFIG


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(status(404, "RepoNotFound"), "no public repository", id="404"),
        pytest.param(status(404), "no public repository", id="404-bare"),
        pytest.param(status(401), "no public repository", id="401"),
        pytest.param(status(401, "RepoNotFound"), "if it is private, upload its config.json", id="401-private"),
        pytest.param(status(401, "GatedRepo"), "needs its owner's permission: upload its config.json", id="gated"),
        pytest.param(status(403, "GatedRepo"), "needs its owner's permission: upload its config.json", id="403-gated"),
        pytest.param(status(403), "needs its owner's permission", id="403"),
        pytest.param(status(404, "EntryNotFound"), "holds no config.json", id="no-config"),
        pytest.param(status(404, "RevisionNotFound"), "holds no config.json", id="empty-repository"),
        pytest.param(status(429, Retry_After="3600"), "try again in a few minutes", id="429"),
        pytest.param(status(500), "HTTP 500", id="500"),
        pytest.param(status(503), "HTTP 503", id="503"),
        pytest.param(status(418), "HTTP 418", id="418"),
        pytest.param(send(304, b""), "HTTP 304", id="304"),
        pytest.param(config(b"<html>Sign in</html>"), "no config.json", id="html"),
        pytest.param(config(b"\xff\xfe\x00"), "no config.json", id="bytes"),
        pytest.param(config(b""), "no config.json", id="nothing"),
        pytest.param(config(b"[1]"), "no config.json", id="list"),
        pytest.param(config(b"[" * 100_000), "no config.json", id="deep"),
        pytest.param(config(Content_Encoding="gzip"), "no config.json", id="packed"),
        pytest.param(raw(b"\x00\xff nonsense\r\n\r\n"), "no config.json", id="garbage"),
        pytest.param(raw(b""), "no config.json", id="hung-up"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), "no config.json", id="cut-short"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{"), "no config.json", id="bad-length"),
        pytest.param(redirect("http://a:b:c/"), "no config.json", id="bad-location"),
    ],
)
def test_refusals(server: StandIn, answer: Answer, said: str) -> None:
    server.answers[FILE] = answer
    assert said in refused(server)


def test_nothing_listens(servers: Callable[[], StandIn]) -> None:
    gone = StandIn()
    gone.server_close()
    assert "cannot be reached" in refused(gone)


def test_offline_mode(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "cannot be reached" in refused(server)
    assert server.asked == []


# ---------------------------------------------------------------- limits


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(silent, id="never"),
        pytest.param(raw(HEAD + b"\r\n", b"{", wait_s=0.1, forever=True), id="body-drips"),
        pytest.param(raw(HEAD, b"x", wait_s=0.1, forever=True), id="head-drips"),
        pytest.param(raw(HEAD, b"X-Pad: 1\r\n", wait_s=0.1, forever=True), id="head-grows"),
        pytest.param(
            raw(b"HTTP/1.1 500 No\r\nContent-Length: 999\r\n\r\n", b"x", wait_s=0.1, forever=True), id="error"
        ),
    ],
)
def test_slow_answers_end_within_the_limit(server: StandIn, answer: Answer) -> None:
    hub.fetch("gpt2", endpoint=warm(server))  # the first request loads the library
    server.answers[FILE] = answer
    started = time.monotonic()
    message = refused(server, timeout_s=SLOW_S)
    assert SLOW_S <= time.monotonic() - started < SLOW_S + MARGIN_S
    assert "within 0.4 seconds" in message


def warm(server: StandIn) -> str:
    server.answers["/gpt2/resolve/main/config.json"] = config()
    return server.url


def test_a_name_server_that_never_answers(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_start", lambda *_: hub._Kept(Future(), time.monotonic() + 60))
    assert "within 0.1 seconds" in refused(server, timeout_s=0.1)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(raw(HEAD + b"Content-Length: 1048577\r\n\r\n", b"{}"), id="declared"),
        pytest.param(raw(HEAD + b"Content-Length: 99999999999999999999\r\n\r\n", b"{}"), id="declared-absurd"),
        pytest.param(raw(HEAD + b"\r\n", b" " * 65536, forever=True), id="endless"),
        pytest.param(
            raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n", forever=True),
            id="endless-chunks",
        ),
    ],
)
def test_large_answers_are_left(server: StandIn, answer: Answer) -> None:
    server.answers[FILE] = answer
    assert "too large: at most 1 MiB" in refused(server)
    assert server.sent_bytes < 32 * hub.ANSWER_MAX_BYTES  # what the system's buffers took


def test_a_redirect_loop(server: StandIn) -> None:
    server.answers[FILE] = redirect(FILE)
    assert "more than 5 times" in refused(server)
    assert len(server.paths(FILE)) == 1 + hub.REDIRECTS_MAX


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_another_host_is_never_asked(servers: Callable[[], StandIn], code: int) -> None:
    server, other = servers(), servers()
    server.answers[FILE] = redirect(other.url + FILE, code)
    server.answers[API] = redirect(other.url + API, code)
    message = refused(server)
    assert other.url.removeprefix("http://") in message
    assert "only https addresses of the Hugging Face Hub are followed" in message
    assert other.asked == []


@pytest.mark.parametrize(
    ("target", "followed"),
    [
        ("https://huggingface.co/a", True),
        ("https://huggingface.co:443/a", True),
        ("https://cdn-lfs.huggingface.co/a", True),
        ("https://cas-bridge.xethub.hf.co/a", True),
        ("https://hf.co/a", True),
        ("http://huggingface.co/a", False),
        ("https://huggingface.co:8443/a", False),
        ("https://user:word@huggingface.co/a", False),
        ("https://huggingface.co@example.org/a", False),
        ("https://huggingface.co.example.org/a", False),
        ("https://nothf.co/a", False),
        ("https://.hf.co/a", False),
        ("https://example.org\\.hf.co/a", False),
        ("https://example.org%2f.hf.co/a", False),
        (f"https://{'x' * 64}.hf.co/a", False),
        ("https://169.254.169.254/latest/meta-data", False),
        ("http://localhost/a", False),
        ("file:///etc/passwd", False),
        ("ftp://cdn.hf.co/a", False),
    ],
)
def test_hosts_a_redirect_may_name(target: str, followed: bool) -> None:
    import httpx2

    home = httpx2.URL(hub.HUB)
    assert hub._may_follow(home.join(target), home) is followed


# ---------------------------------------------------------------- what is sent and kept


def test_no_token_is_sent(server: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password secret\n", encoding="utf-8")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HUGGING_FACE_HUB_TOKEN", "hf_secret")
    monkeypatch.setenv("NETRC", str(netrc))
    server.answers[FILE] = redirect("/elsewhere")
    server.answers["/elsewhere"] = config(Set_Cookie="token=1")
    hub.fetch(REPO, endpoint=server.url)
    assert len(server.asked) == 3
    for path, headers in server.asked:
        assert not {"authorization", "proxy-authorization", "cookie"} & set(headers)
        assert "secret" not in path + str(headers)
        assert headers["accept-encoding"] == "identity"


def test_a_second_fetch_asks_nothing(server: StandIn) -> None:
    first = hub.fetch(REPO, endpoint=server.url)
    assert hub.fetch(f" https://huggingface.co/{REPO} ", endpoint=server.url + "/") is first
    assert len(server.asked) == 2


def test_a_class_that_asks_together_shares_one_request(server: StandIn) -> None:
    def slowly(handler: Handler) -> None:
        handler.server.over.wait(0.3)
        config()(handler)

    server.answers[FILE] = slowly
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: hub.fetch(REPO, endpoint=server.url), range(8)))
    assert len({id(model) for model in models}) == 1
    assert len(server.asked) == 2


@pytest.mark.parametrize("broken", [FILE, API])
def test_a_failure_is_kept_for_a_moment_only(server: StandIn, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    good = server.answers[broken]
    server.answers[broken] = status(503)
    for _ in range(3):
        if broken == FILE:
            refused(server)
        else:
            assert hub.fetch(REPO, endpoint=server.url).n_params is None
    assert len(server.paths(broken)) == 1

    later = time.monotonic() + hub.RETRY_S + 1
    monkeypatch.setattr(hub.time, "monotonic", lambda: later)
    server.answers[broken] = good
    assert hub.fetch(REPO, endpoint=server.url).n_params == 8030261256
    assert len(server.paths(broken)) == 2


def test_only_so_many_are_kept(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "KEPT_MAX", 2)
    for name in ("a/1", "a/2", "a/3"):
        server.answers[f"/{name}/resolve/main/config.json"] = config()
        server.answers[f"/api/models/{name}"] = document({})
        hub.fetch(name, endpoint=server.url)
    assert [name for _, name in hub._kept] == ["a/2", "a/3"]


def test_imports_late_and_writes_nothing(server: StandIn, tmp_path: Path) -> None:
    code = (
        "import sys, ui.hub\n"
        "assert not {'huggingface_hub', 'httpx2', 'streamlit'} & set(sys.modules)\n"
        "print(len(ui.hub.fetch(sys.argv[1]).config))\n"
    )
    places = dict.fromkeys(("HOME", "HF_HOME", "XDG_CACHE_HOME", "TMPDIR", "TEMP", "TMP"), str(tmp_path))
    env = os.environ | places | {"HF_ENDPOINT": server.url, "NO_PROXY": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code, REPO], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, str(len(CONFIG))), ran.stderr
    assert list(tmp_path.rglob("*")) == []


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    "text",
    [
        REPO,
        f"  {REPO}\n",
        f"https://huggingface.co/{REPO}",
        f"https://huggingface.co/{REPO}/",
        f"HTTPS://HuggingFace.co/{REPO}",
        f"http://www.huggingface.co/{REPO}?library=transformers#files",
        f"huggingface.co/{REPO}",
        f"hf.co/{REPO}/tree/main",
        f"https://huggingface.co/{REPO}/blob/main/config.json",
        f"https://huggingface.co/{REPO}/resolve/main/config.json?download=true",
        f"https://huggingface.co/{REPO}/discussions/3",
        f"https://huggingface.co/{REPO}/commits/main",
    ],
)
def test_names_that_are_understood(text: str) -> None:
    assert hub.repo_id(text) == REPO


def test_a_name_without_an_owner() -> None:
    assert hub.repo_id("gpt2") == hub.repo_id("https://huggingface.co/gpt2/blob/main/config.json") == "gpt2"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\n",
        "../../etc",
        "..",
        "a/..",
        "a/b/c",
        "/etc/passwd",
        "a\\b",
        "a--b/c",
        "a/b.git",
        "<script>alert(1)</script>",
        "two words",
        "a/b?x=1",
        "a/b#c",
        "a%2fb",
        "a/b\r\nHost: example.org",
        "a/b\x00",
        "x" * 100_000,
        "https://huggingface.co/" + "x" * 100_000,
        "\u202egnp.exe",
        "نموذج/لغة",
        "模型",
        "🤗/🤗",
        "datasets/squad",
        "https://huggingface.co",
        "https://huggingface.co/",
        "https://huggingface.co/datasets/a/b",
        "https://huggingface.co/spaces/a/b",
        "https://huggingface.co/models?search=llama",
        "https://huggingface.co/../../etc",
        "https://huggingface.co/a/b/c",
        "https://huggingface.co/a/b/tree/refs%2Fpr%2F1",
        "https://huggingface.co/a/b/resolve/v2/config.json",
        "https://",
        "://",
        "https://[bad",
        "https://[::1]/a/b",
        "file:///etc/passwd",
        "javascript://huggingface.co/a/b",
        "ftp://huggingface.co/a/b",
        "https://example.org/a/b",
        "https://huggingface.co@example.org/a/b",
        "https://huggingface.co.example.org/a/b",
        "https://example.org/huggingface.co/a/b",
        "http://169.254.169.254/latest/meta-data",
        "http://localhost:8501/a/b",
        "https://hugging\u202eface.co/a/b",
    ],
)
def test_names_that_are_none(text: str) -> None:
    for read in (hub.repo_id, hub.fetch):
        with pytest.raises(hub.HubError) as error:
            read(text)
        one_sentence(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Name a model repository"),
        ("two words", '"two words" is no repository name'),
        ("https://github.com/a/b", '"github.com" is not the Hugging Face Hub'),
        ("https://huggingface.co@example.org/a/b", '"example.org" is not the Hugging Face Hub'),
        ("https://huggingface.co/datasets/a/b", '"datasets/a/b" is no model repository'),
        ("https://huggingface.co/a/b/tree/dev", 'the branch "dev": only main is read'),
    ],
)
def test_what_is_said_of_a_name(text: str, said: str) -> None:
    with pytest.raises(hub.HubError) as error:
        hub.repo_id(text)
    assert said in one_sentence(error)
