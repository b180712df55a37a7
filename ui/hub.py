"""A model named on the Hugging Face Hub: its config.json and the Hub's own parameter counts, and nothing else.

Nothing is written to disk, no token is ever sent, and the time, the bytes and the hosts are limited. What is read is
kept in memory for a while, a failure only for a moment.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from core.query import shown

if TYPE_CHECKING:
    import httpx2

CONFIG = "config.json"
HUB = "https://huggingface.co"
HUB_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co")
FILE_HOST = r"([a-z0-9-]{1,63}\.)*(huggingface|hf)\.co"
EXAMPLE = "meta-llama/Meta-Llama-3-8B"

TIMEOUT_S = 8.0
ANSWER_MAX_BYTES = 1 << 20
REDIRECTS_MAX = 5
GRACE_S = 0.5
KEEP_S = 3600.0
RETRY_S = 20.0  # a failure is kept as long, so that a page that reruns does not ask again each time
KEPT_MAX = 64
TEXT_MAX_CHARS = 500
COUNT_MAX = 10**15

NOT_MODELS = frozenset({"api", "blog", "collections", "datasets", "docs", "models", "papers", "spaces"})
FILE_VIEWS = frozenset({"blob", "raw", "resolve", "tree"})
OTHER_VIEWS = frozenset({"commit", "commits", "discussions", "edit"})
UPLOAD = f"upload its {CONFIG} instead"


class HubError(ValueError):
    """One sentence for the page: which repository or field, and what is allowed."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """What the Hub says about one model.

    Attributes:
        repo: The repository's name.
        revision: The commit of the main branch that was read, None where the Hub did not say.
        config: config.json as it is stored.
        n_params: The Hub's own count from the safetensors headers, None when there is none. It counts what the files
            hold, so packed weights (4-bit in a 32-bit integer) count as fewer.
        params_by_dtype: The same count by the safetensors number format, the largest first.
    """

    repo: str
    revision: str | None
    config: bytes
    n_params: int | None
    params_by_dtype: tuple[tuple[str, int], ...]


# ---------------------------------------------------------------- the name


def repo_id(text: str) -> str:
    """The repository that a text names: `owner/name`, or its address on huggingface.co.

    Args:
        text: What a user typed or pasted.

    Returns:
        A name the Hub accepts, which may still not exist.

    Raises:
        HubError: The text names no model repository, another host or another branch than main.

    >>> repo_id(" https://huggingface.co/meta-llama/Meta-Llama-3-8B/blob/main/config.json ")
    'meta-llama/Meta-Llama-3-8B'
    >>> repo_id("https://example.org/a/b")
    Traceback (most recent call last):
    ui.hub.HubError: "example.org" is not the Hugging Face Hub: give an address on huggingface.co, or owner/name alone.
    """
    name = text.strip()
    if not name:
        raise HubError(f"Name a model repository of the Hugging Face Hub, such as {EXAMPLE}.")
    if len(name) <= TEXT_MAX_CHARS and _is_address(name):
        name = _name_in_address(name)
    if name.partition("/")[0].lower() in NOT_MODELS:
        raise HubError(f"{shown(name)} is no model repository: give owner/name, such as {EXAMPLE}.")

    from huggingface_hub.utils import HFValidationError, validate_repo_id  # noqa: PLC0415, slow and rarely needed

    try:
        validate_repo_id(name)
    except HFValidationError:
        raise _no_name(text.strip()) from None
    return name


def _no_name(text: str) -> HubError:
    return HubError(
        f"{shown(text)} is no repository name: give owner/name, such as {EXAMPLE}, or its address on huggingface.co."
    )


def _is_address(text: str) -> bool:
    return "://" in text or text.partition("/")[0].lower() in HUB_HOSTS


def _name_in_address(text: str) -> str:
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        host = parts.hostname or ""
    except ValueError:
        raise _no_name(text) from None
    if parts.scheme not in {"http", "https"} or host not in {*HUB_HOSTS, urlsplit(_endpoint(None)).hostname}:
        raise HubError(
            f"{shown(host or text)} is not the Hugging Face Hub: "
            "give an address on huggingface.co, or owner/name alone."
        )
    path = [part for part in parts.path.split("/") if part]
    views = [i for i, part in enumerate(path) if i and part in FILE_VIEWS | OTHER_VIEWS]
    if not views:
        return "/".join(path)
    branch = path[views[0] + 1 : views[0] + 2]
    if path[views[0]] in FILE_VIEWS and branch and branch != ["main"]:
        raise HubError(f"The address names the branch {shown(branch[0])}: only main is read, so give owner/name alone.")
    return "/".join(path[: views[0]])


# ---------------------------------------------------------------- kept answers


@dataclass(slots=True)
class _Kept:
    answer: Future[HubModel | str]  # the str is a failure's sentence: an exception would collect tracebacks
    until: float


_kept: dict[tuple[str, str], _Kept] = {}
_lock = threading.Lock()


def fetch(repo: str, *, endpoint: str | None = None, timeout_s: float = TIMEOUT_S) -> HubModel:
    """Read one public model from the Hub, or from memory where it was read in the last hour.

    Users who ask for the same repository at the same time share one request.

    Args:
        repo: The repository, as `repo_id` accepts it.
        endpoint: The Hub's address; None is HF_ENDPOINT of the environment, else https://huggingface.co.
        timeout_s: The longest wait in seconds, for everything together.

    Returns:
        config.json and the counts; a model without counts, or whose counts did not come in time, has None.

    Raises:
        HubError: There is no such public repository, no config.json in it, or no usable answer within the limits.
    """
    name = repo_id(repo)
    key = (_endpoint(endpoint), name)
    with _lock:
        kept = _kept.get(key)
        if kept is None or kept.until < time.monotonic():
            _kept.pop(key, None)
            kept = _kept[key] = _start(*key, timeout_s)
            if len(_kept) > KEPT_MAX:
                del _kept[next(iter(_kept))]  # the oldest
    try:
        answer = kept.answer.result(timeout_s + GRACE_S)
    except TimeoutError:  # a name server that never answers cannot be interrupted
        raise _too_slow(name, timeout_s) from None
    if isinstance(answer, str):
        raise HubError(answer)
    return answer


def _endpoint(endpoint: str | None) -> str:
    return (endpoint or os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def _start(endpoint: str, repo: str, timeout_s: float) -> _Kept:
    """Ask in a thread of its own: the caller may have an event loop already, and must not wait for ever."""
    kept = _Kept(Future(), time.monotonic() + timeout_s + RETRY_S)

    def work() -> None:
        complete = False
        try:
            answer, complete = asyncio.run(_ask(endpoint, repo, timeout_s))
        except HubError as error:
            answer = str(error)
        except Exception as error:
            kept.answer.set_exception(error)
            return
        kept.until = time.monotonic() + (KEEP_S if complete else RETRY_S)
        kept.answer.set_result(answer)

    threading.Thread(target=work, name=f"hub {repo}", daemon=True).start()
    return kept


# ---------------------------------------------------------------- the requests


class _Stored(BaseModel):
    """What the safetensors headers of a repository add up to, as the Hub reports it."""

    model_config = ConfigDict(strict=True, frozen=True)

    parameters: dict[Annotated[str, Field(pattern=r"^\w{1,16}$")], Annotated[int, Field(ge=0, le=COUNT_MAX)]]
    total: Annotated[int, Field(ge=1, le=COUNT_MAX)]


class _Info(BaseModel):
    safetensors: _Stored | None = None


async def _ask(endpoint: str, repo: str, timeout_s: float) -> tuple[HubModel, bool]:
    """config.json and the counts, asked side by side; with False when the counts failed."""
    from huggingface_hub import get_async_session, hf_hub_url  # noqa: PLC0415

    file = hf_hub_url(repo, CONFIG, revision="main", endpoint=endpoint)
    async with get_async_session() as client:
        config = asyncio.create_task(_config(client, file, repo))
        counts = asyncio.create_task(_counts(client, f"{endpoint}/api/models/{repo}?expand=safetensors", repo))
        done, late = await asyncio.wait((config, counts), timeout=timeout_s, return_when=asyncio.FIRST_EXCEPTION)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
    if config not in done:
        raise _too_slow(repo, timeout_s)
    body, revision = config.result()
    info = counts.result() if counts in done else None
    stored = info.safetensors if info else None
    by_dtype = sorted(stored.parameters.items(), key=lambda item: -item[1]) if stored else ()
    return HubModel(repo, revision, body, stored.total if stored else None, tuple(by_dtype)), info is not None


async def _config(client: httpx2.AsyncClient, url: str, repo: str) -> tuple[bytes, str | None]:
    body, revision = await _get(client, url, repo)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _no_answer(repo)
    return body, revision


async def _counts(client: httpx2.AsyncClient, url: str, repo: str) -> _Info | None:
    """None when there is no usable answer, which is no failure of the whole."""
    try:
        body, _ = await _get(client, url, repo)
        return _Info.model_validate_json(body)
    except ValueError:  # a HubError, or pydantic's
        return None


async def _get(client: httpx2.AsyncClient, url: str, repo: str) -> tuple[bytes, str | None]:
    """The answer's bytes and its commit; HubError for whatever else happens, except that it lasts."""
    import httpx2  # noqa: PLC0415
    from huggingface_hub.errors import OfflineModeIsEnabled  # noqa: PLC0415
    from huggingface_hub.utils import build_hf_headers  # noqa: PLC0415

    # unpacked bytes only: a small packed answer could unpack to any size
    headers = build_hf_headers(
        token=False, library_name="how-big-is-the-cache", library_version="1", headers={"accept-encoding": "identity"}
    )
    try:
        target = hub = httpx2.URL(url)
        commit = ""
        for _ in range(REDIRECTS_MAX + 1):
            async with client.stream("GET", target, headers=headers, follow_redirects=False) as response:
                commit = commit or response.headers.get("x-repo-commit", "")
                if response.has_redirect_location:
                    target = target.join(response.headers["location"])
                    if not _may_follow(target, hub):
                        raise HubError(
                            f"{shown(repo)} is passed on to {shown(str(target))}, and only https addresses of the "
                            f"Hugging Face Hub are followed: {UPLOAD}."
                        )
                elif response.status_code != 200:
                    raise _refused(repo, response.status_code, response.headers.get("x-error-code", ""))
                else:
                    return await _body(response, repo), commit if re.fullmatch("[0-9a-f]{40}", commit) else None
    except (httpx2.NetworkError, httpx2.ProxyError, httpx2.UnsupportedProtocol, OfflineModeIsEnabled):
        raise HubError(f"The Hugging Face Hub cannot be reached, so {shown(repo)} was not read: {UPLOAD}.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL):
        raise _no_answer(repo) from None
    raise HubError(f"{shown(repo)} is passed on more than {REDIRECTS_MAX} times: {UPLOAD}.")


def _may_follow(target: httpx2.URL, hub: httpx2.URL) -> bool:
    """The same server, or the Hub's own file servers; never an address that carries a user name."""
    if target.userinfo:
        return False
    if (target.scheme, target.host, target.port) == (hub.scheme, hub.host, hub.port):
        return True
    return target.scheme == "https" and target.port is None and bool(re.fullmatch(FILE_HOST, target.host))


async def _body(response: httpx2.Response, repo: str) -> bytes:
    """At most ANSWER_MAX_BYTES, whether the length is declared or not."""
    too_large = HubError(f"{CONFIG} of {shown(repo)} is too large: at most 1 MiB is read, a usual one has a few KiB.")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _no_answer(repo)
    if int(response.headers.get("content-length", 0)) > ANSWER_MAX_BYTES:
        raise too_large
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            raise too_large
    return bytes(body)


# ---------------------------------------------------------------- the refusals


def _too_slow(repo: str, timeout_s: float) -> HubError:
    return HubError(
        f"The Hugging Face Hub did not hand out {shown(repo)} within {timeout_s:g} seconds: try again, or {UPLOAD}."
    )


def _no_answer(repo: str) -> HubError:
    return HubError(f"What came back for {shown(repo)} is no {CONFIG} from the Hugging Face Hub: {UPLOAD}.")


def _refused(repo: str, status: int, code: str) -> HubError:
    """The sentence for a status and the Hub's X-Error-Code."""
    name = shown(repo)
    if code == "GatedRepo" or status == 403:
        return HubError(f"{name} needs its owner's permission: {UPLOAD}.")
    if code in {"EntryNotFound", "RevisionNotFound"}:
        return HubError(f"{name} holds no {CONFIG}, like many GGUF repositories: name the original model's repository.")
    if status in {401, 404}:  # without a token the Hub answers 401 for what does not exist and for what is private
        return HubError(
            f"The Hugging Face Hub has no public repository {name}: check the name; if it is private, {UPLOAD}."
        )
    if status == 429:
        return HubError(
            f"The Hugging Face Hub takes no more requests for now, so {name} was not read: "
            f"try again in a few minutes, or {UPLOAD}."
        )
    if status >= 500:
        return HubError(
            f"The Hugging Face Hub has a fault (HTTP {status}), so {name} was not read: try again later, or {UPLOAD}."
        )
    return HubError(f"The Hugging Face Hub refused {name} (HTTP {status}): {UPLOAD}.")
