"""A student's browser tab: open a page, read what it shows, use its controls by keyboard."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from urllib.parse import parse_qsl, urlencode, urlsplit

from playwright.sync_api import Locator, Page, WebSocket, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.session import ENDS
from core import lessons
from core.scenario import Scenario
from core.view import View

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
PLOTS = ".js-plotly-plot"
BAR, CEILING = 0, 1
BOTH = frozenset({BAR, CEILING})
TIMEOUT_MS = 30_000
expect.set_options(timeout=TIMEOUT_MS / 2)

BACKGROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(14, 17, 23)"}
PHONE = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"

# The pages that are projected in a lecture.
PROJECTED = ("home", *(lesson.page for lesson in lessons.LESSONS))

# A power of two nowhere, a default nowhere: whatever is snapped, dropped or rounded shows.
UNUSUAL = View(
    Scenario(
        model="llama-3.1-70b",
        gpu="h200-sxm",
        n_gpus=3,
        split="layer",
        batch=33,
        context=20_001,
        kv_heads=16,
        weight_format="fp8",
        cache_format="int4",
        reserve=0.125,
        skip_embedding=True,
    ),
    "GiB",
)
SHORT = View(Scenario(batch=1, context=1024))

# What each chart holds: traces, labels, ticks.
CONTENT = f"""() => [...document.querySelectorAll('{PLOTS}')].map(plot => JSON.stringify([
    (plot.data ?? []).map(trace => [trace.name, trace.x, trace.y, trace.text]),
    (plot.layout?.annotations ?? []).map(note => note.text),
    plot.layout?.xaxis?.ticktext,
]))"""

# To another address as the browser's Back and Forward go there, without loading the app again.
GO = "url => { history.pushState(null, '', url); dispatchEvent(new PopStateEvent('popstate')); }"
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def finishes(frame: str | bytes) -> bool:
    """Whether what the server sends ends a run of the script."""
    if isinstance(frame, str):
        return False
    message = ForwardMsg.FromString(frame)
    return message.WhichOneof("type") == "script_finished" and message.script_finished in ENDS


def path(slug: str) -> str:
    """Where a page is, from the app's address on."""
    return "" if slug == "home" else PurePath(lessons.page(slug).file).stem


def bottom(target: Locator) -> float:
    """The lower edge of what is drawn."""
    box = target.bounding_box()
    assert box is not None, f"{target} is not drawn"
    return box["y"] + box["height"]


class Explorer:
    """One student's browser tab."""

    def __init__(self, page: Page, server: str) -> None:
        self.page = page
        self.server = server
        page.set_default_timeout(TIMEOUT_MS)
        page.on("websocket", self._connect)

    def _connect(self, socket: WebSocket) -> None:
        self.socket = socket

    def address(self, query: View | Mapping[str, str] | None = None, slug: str = "home") -> str:
        """A link to a page with a view."""
        asked = query.to_query() if isinstance(query, View) else query
        return f"{self.server}/{path(slug)}{f'?{urlencode(asked)}' if asked else ''}"

    def open(self, query: View | Mapping[str, str] | None = None, slug: str = "home") -> None:
        """Cold: the browser loads the app."""
        self.page.goto(self.address(query, slug))
        projected = isinstance(query, View) and query.is_lecture
        self.settle(len(BOTH) if slug == "home" and not projected else None)

    def go(self, query: View | Mapping[str, str], slug: str = "home") -> None:
        """In the open app, as Back and Forward do it."""
        with self.socket.expect_event("framereceived", finishes):
            self.page.evaluate(GO, self.address(query, slug))
        self.page.evaluate(DRAWN)
        expect(self.heading).to_have_text(lessons.page(slug).question)
        self.settle()

    def settle(self, charts: int | None = None) -> None:
        """Until the script rests and the charts are drawn; None: however many there are."""
        self.page.wait_for_selector(IDLE)
        self.page.wait_for_function(
            """([plots, n]) => {
                const all = [...document.querySelectorAll(plots)];
                const loading = document.querySelector('[data-testid=stSkeleton], [data-stale=true]');
                const drawn = all.every(plot => plot.querySelector('.trace, .hm'));
                return !loading && drawn && (n === null || all.length === n);
            }""",
            arg=[PLOTS, charts],
        )
        self.page.wait_for_selector(IDLE)
        expect(self.page.get_by_test_id("stException")).to_have_count(0)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.page.url).query, keep_blank_values=True))

    @property
    def charts(self) -> list[str]:
        return self.page.evaluate(CONTENT)

    @property
    def heading(self) -> Locator:
        return self.page.get_by_role("heading", level=1)

    @property
    def text(self) -> str:
        """All words of the page, without what only keeps them from being markup."""
        return " ".join(self.page.get_by_test_id("stMain").inner_text().replace("\u2060", "").split())

    def wait_for(self, **parameters: str) -> None:
        """Until the URL carries these values and the page rests."""
        self.page.wait_for_function(
            """wanted => {
                const query = new URLSearchParams(location.search);
                return Object.entries(wanted).every(([key, value]) => query.get(key) === value);
            }""",
            arg=parameters,
        )
        self.page.wait_for_selector(IDLE)

    @contextmanager
    def turning(self, charts: frozenset[int] = BOTH, **parameters: str) -> Iterator[None]:
        """What is done inside changes exactly these parameters, and the content of exactly these charts."""
        query, before = self.query, self.charts
        assert all(query[key] != value for key, value in parameters.items()), "a step that changes nothing"
        yield
        self.wait_for(**parameters)
        assert self.query == query | parameters
        self.page.wait_for_function(
            f"([old, which]) => {{ const now = ({CONTENT})(); return which.every(i => now[i] !== old[i]); }}",
            arg=[before, sorted(charts)],
        )
        self.settle(len(before))
        changed = {i for i, (old, new) in enumerate(zip(before, self.charts, strict=True)) if old != new}
        assert changed == charts
        assert self.query == query | parameters, "the URL changed again after it had settled"

    # What a page must not do.

    def assert_no_complaint(self) -> None:
        expect(self.page.get_by_test_id("stAlert")).to_have_count(0)
        expect(self.page.get_by_test_id("stException")).to_have_count(0)

    def sideways(self) -> int:
        """By how many pixels the page could be scrolled sideways."""
        return self.page.get_by_test_id("stMain").evaluate("e => e.scrollWidth - e.clientWidth")

    def assert_no_sideways_scrolling(self) -> None:
        assert self.sideways() <= 0
        assert self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0

    def assert_no_scrolling(self) -> None:
        """Nor downwards: a projector shows all of it."""
        self.assert_no_sideways_scrolling()
        over = self.page.get_by_test_id("stMain").evaluate("e => e.scrollHeight - e.clientHeight")
        assert over <= 0, f"{over} px too high"

    # The keyboard: focus, then keys; no pointer.

    def press(self, target: Locator, *keys: str) -> None:
        target.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def slider(self, label: str) -> Locator:
        return self.page.get_by_role("slider", name=label)

    def choose(self, label: str, words: str) -> None:
        """A select box: type, take the first answer."""
        self.page.get_by_role("combobox", name=label, exact=True).focus()
        self.page.keyboard.type(words)
        expect(self.page.get_by_role("option").first).to_contain_text(words)
        self.page.keyboard.press("Enter")

    def enter_number(self, label: str, number: int) -> None:
        self.press(self.page.get_by_role("spinbutton", name=label, exact=True), "ControlOrMeta+a")
        self.page.keyboard.type(str(number))
        self.page.keyboard.press("Enter")

    def popover(self, label: str) -> Locator:
        return self.page.get_by_test_id("stPopoverButton").filter(has_text=label)

    def open_popover(self, label: str) -> None:
        body = self.page.get_by_test_id("stPopoverBody")
        self.page.wait_for_selector(IDLE)
        self.press(self.popover(label), "Enter")
        try:
            body.wait_for(timeout=TIMEOUT_MS / 6)
        except PlaywrightTimeout:  # a rerun in that moment had replaced the button
            self.press(self.popover(label), "Enter")
        expect(body).to_be_visible()
        self.page.wait_for_selector(IDLE)

    def close_popover(self) -> None:
        self.page.keyboard.press("Escape")
        expect(self.page.get_by_test_id("stPopoverBody")).to_be_hidden()

    def follow(self, question: str) -> None:
        """A link of the "Pages" popover."""
        self.open_popover("Pages")
        link = self.page.get_by_role("link", name=question)
        expect(link).to_be_visible()
        self.press(link, "Enter")
        expect(link).to_be_hidden()
