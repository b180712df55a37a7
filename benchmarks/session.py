"""One browser tab without the browser: a session over Streamlit's own websocket protocol.

It sends what the browser sends (the address, the page, the sliders' values, the hashes of the messages that it still
holds) and keeps what a student would see: the address bar, the text, the sliders, and errors.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from streamlit.proto.AppPage_pb2 import AppPage
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

ANSWER_S = 60
SUBPROTOCOL, NO_TOKEN = "streamlit", "PLACEHOLDER_AUTH_TOKEN"  # the browser's own words
ENDS = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)  # not: stopped, to run again
KEPT_RUNS = 2  # the browser forgets a cached message after as many runs without it

Query = dict[str, str]


@dataclass(frozen=True, slots=True)
class Choice:
    """A select slider: its widget id, the labels of its stops, and the one it shows."""

    id: str
    options: tuple[str, ...]
    shown: str


@dataclass(slots=True)
class Run:
    """What one run of the script brought."""

    seconds: float = 0.0
    n_bytes: int = 0
    texts: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    sliders: dict[str, Choice] = field(default_factory=dict[str, Choice])
    n_charts: int = 0

    @property
    def text(self) -> str:
        """All text, without the escapes and joiners that keep it plain."""
        return " ".join(self.texts).replace("\\", "").replace("\u2060", "")


class Session:
    """A student's tab; use as `async with`. `resume` is the id of a session whose websocket was lost."""

    def __init__(self, url: str, *, cookie: str = "", resume: str = "") -> None:
        self._address = urlsplit(url)
        self.cookie = cookie
        self.id = resume
        self._socket: ClientConnection | None = None
        self._cached: dict[str, tuple[int, Element]] = {}
        self._n_runs = 0
        self._page_hash = ""
        self.query: Query = {}
        self.pages: dict[str, str] = {}
        self.last = Run()

    async def __aenter__(self) -> Session:
        await self.connect()
        return self

    async def connect(self) -> None:
        """The websocket, or a new one after it was lost: what the tab shows and remembers stays."""
        a = self._address
        protocols = [SUBPROTOCOL, NO_TOKEN, self.id] if self.id else [SUBPROTOCOL]
        self._socket = await connect(
            f"ws://{a.netloc}{a.path}/_stcore/stream",
            subprotocols=[Subprotocol(name) for name in protocols],
            additional_headers={"Cookie": self.cookie} if self.cookie else {},
            max_size=None,
            open_timeout=ANSWER_S,
        )
        answer = self._socket.response
        given = answer.headers.get("Set-Cookie") if answer else None
        self.cookie = given.partition(";")[0] if given else self.cookie

    async def __aexit__(self, *error: object) -> None:
        if self._socket is not None:
            await self._socket.close()

    def drop(self) -> None:
        """Lose the connection, without a word to the server."""
        assert self._socket is not None
        self._socket.transport.abort()

    async def open(self, path: str, query: Query) -> Run:
        """The first run of a tab that opens a link."""
        self.query = dict(query)
        return await self._rerun(page_name=path)

    async def turn_to(self, path: str) -> Run:
        """Another page of the app, with the address as it is."""
        self._page_hash = self.pages[path]
        self.last = Run()
        return await self._rerun()

    async def move(self, key: str, label: str) -> Run:
        """A slider moved to the stop of that label."""
        old = self.last.sliders[key]
        self.last.sliders[key] = Choice(old.id, old.options, label)
        return await self._rerun()

    async def again(self) -> Run:
        """The same once more."""
        return await self._rerun()

    async def _rerun(self, *, page_name: str = "") -> Run:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = urlencode(self.query)
        state.page_script_hash = self._page_hash
        state.page_name = page_name
        state.cached_message_hashes.extend(self._cached)
        for slider in self.last.sliders.values():
            widget = state.widget_states.widgets.add()
            widget.id = slider.id
            widget.string_array_value.data.append(slider.shown)
        start = time.perf_counter()
        await self.send(message.SerializeToString())
        run = await asyncio.wait_for(self._answer(), ANSWER_S)
        run.seconds = time.perf_counter() - start
        self._n_runs += 1
        self._cached = {h: (seen, e) for h, (seen, e) in self._cached.items() if seen > self._n_runs - KEPT_RUNS}
        self.last = run
        return run

    async def send(self, payload: bytes) -> None:
        """Bytes as they are."""
        assert self._socket is not None
        await self._socket.send(payload)

    async def _answer(self) -> Run:
        assert self._socket is not None
        run = Run()
        is_over = False
        while not is_over:
            payload = await self._socket.recv(decode=False)
            run.n_bytes += len(payload)
            message = ForwardMsg.FromString(payload)
            match message.WhichOneof("type"):
                case "delta" | "ref_hash":
                    self._draw(message, run)
                case "page_not_found":
                    run.errors.append(f"page not found: {message.page_not_found.page_name}")
                case "script_finished":
                    is_over = message.script_finished in ENDS
                    if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                        run.errors.append("the script does not compile")
                case _:
                    self._note(message)
        return run

    def _note(self, message: ForwardMsg) -> None:
        """Where the tab is: its session, the pages and the address bar."""
        match message.WhichOneof("type"):
            case "new_session":
                self.id = message.new_session.initialize.session_id or self.id
                self._note_pages(message.new_session.app_pages)
            case "navigation":
                self._page_hash = message.navigation.page_script_hash
                self._note_pages(message.navigation.app_pages)
            case "page_info_changed":
                self.query = dict(parse_qsl(message.page_info_changed.query_string, keep_blank_values=True))
            case _:
                pass

    def _draw(self, message: ForwardMsg, run: Run) -> None:
        """An element, or the hash of one that the tab still holds."""
        if message.ref_hash:
            _, element = self._cached[message.ref_hash]
            self._cached[message.ref_hash] = (self._n_runs, element)
        elif message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            if message.metadata.cacheable:
                self._cached[message.hash] = (self._n_runs, element)
        else:
            return
        self._take(element, run)

    def _note_pages(self, pages: Iterable[AppPage]) -> None:
        self.pages |= {"" if page.is_default else page.url_pathname: page.page_script_hash for page in pages}

    def _take(self, element: Element, run: Run) -> None:
        match element.WhichOneof("type"):
            case "markdown":
                run.texts.append(element.markdown.body)
            case "html":
                run.texts.append(element.html.body)
            case "plotly_chart":
                run.n_charts += 1
            case "exception":
                run.errors.append(f"{element.exception.type}: {element.exception.message}")
            case "slider" if element.slider.type == Slider.SELECT_SLIDER:
                choice = self._slider(element.slider)
                run.sliders[user_key(choice.id)] = choice
            case _:
                pass

    def _slider(self, slider: Slider) -> Choice:
        """As the browser does it: the script's word, else what was shown, else the default."""
        options, known = tuple(slider.options), self.last.sliders.get(user_key(slider.id))
        if slider.set_value:
            shown = slider.raw_value[0]
        elif known is not None and known.id == slider.id and known.shown in options:
            shown = known.shown
        else:
            shown = options[int(slider.default[0])]
        return Choice(slider.id, options, shown)


def user_key(widget_id: str) -> str:
    """The key that the script gave to a widget.

    >>> user_key("$$ID-0a1b-kv_heads")
    'kv_heads'
    """
    return widget_id.split("-", 2)[2]


def changes(run: Run) -> Iterator[tuple[str, str]]:
    """Every slider of a page with every stop that it does not show."""
    for key, slider in run.sliders.items():
        for label in slider.options:
            if label != slider.shown:
                yield key, label
