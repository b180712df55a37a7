"""The live page in Chromium: the picture follows the mouse, the server hears nothing of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect

from core.live import Quantity, reel
from core.presets import OPENING
from core.view import View
from tests.browser.conftest import Screenshot
from tests.browser.explorer import BACKGROUNDS, PLOTS, Explorer, bottom
from ui.charts.live import live_figure

pytestmark = pytest.mark.browser

CHOICES: dict[Quantity, str] = {
    "users": "Users",
    "context": "Context",
    "kv_heads": "KV heads",
    "story": "Conversation",
}
RAIL_INSET = 10  # of the grip's way, in pixels
HEIGHT = 720


class Live:
    """The live page in one tab."""

    def __init__(self, page: Page, server: str) -> None:
        self.tab = Explorer(page, server)
        self.page = page
        self.sent: list[str] = []
        page.on("request", lambda request: self.sent.append(request.url))
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        self.sent.append(socket.url)
        socket.on("framesent", lambda _: self.sent.append("frame"))

    def open(self, quantity: Quantity = "users") -> None:
        self.tab.open(View(OPENING), "live")
        self.choose(quantity)

    def choose(self, quantity: Quantity) -> None:
        """What is dragged; until its picture has taken the place of the one before."""
        self.page.get_by_role("radio", name=CHOICES[quantity], exact=True).click()
        expect(self.page.locator(f".st-key-live_{quantity} {PLOTS}")).to_have_count(1)
        self.tab.settle(1)
        self.page.wait_for_timeout(300)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Inside, nothing leaves the browser: no request, no socket, no message on the open one."""
        self.sent.clear()
        yield
        assert self.sent == []

    @property
    def plot(self) -> Locator:
        return self.page.locator(PLOTS)

    @property
    def value(self) -> str:
        """What is dragged and where it stands; of both pictures while one takes the other's place."""
        return " / ".join(self.plot.locator(".slider-group > .slider-label").all_text_contents())

    @property
    def words(self) -> list[str]:
        """Verdict, parts and ceiling as they are drawn."""
        return self.plot.locator(".textpoint text").all_text_contents()

    @property
    def bars(self) -> list[float]:
        """Drawn widths of weights, cache, reserve, free."""
        boxes = [path.bounding_box() for path in self.plot.locator(".bars .point path").all()]
        return [box["width"] if box else 0.0 for box in boxes]

    def grip(self) -> tuple[float, float]:
        box = self.plot.locator(".slider-grip-rect").bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def at(self, share: float) -> tuple[float, float]:
        """A place on the slider's rail."""
        box = self.plot.locator(".slider-rail-touch-rect").bounding_box()
        assert box is not None
        return box["x"] + RAIL_INSET + (box["width"] - 2 * RAIL_INSET) * share, box["y"] + RAIL_INSET

    def until(self, change: Callable[[], bool]) -> None:
        """A drag is drawn in the browser's next frames."""
        for _ in range(100):
            if change():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"the picture stays at {self.value}")


@pytest.fixture
def live(page: Page, server: str) -> Live:
    return Live(page, server)


def test_the_picture_follows_the_mouse_without_the_server(
    live: Live, screenshot: Screenshot, subtests: pytest.Subtests
) -> None:
    live.open()
    for quantity in CHOICES:
        with subtests.test(quantity=quantity):
            live.choose(quantity)
            follow_the_mouse(live, quantity)
            screenshot(live.page, f"live-{quantity}")
            assert live.tab.query == View(OPENING).to_query()


def follow_the_mouse(live: Live, quantity: Quantity) -> None:
    found = reel(OPENING, quantity)
    frames = {frame.label: frame for frame in found.frames}
    figure = live_figure(found)
    prefix = figure["layout"]["sliders"][0]["currentvalue"]["prefix"]
    mouse = live.page.mouse
    with live.quiet():
        mouse.move(*live.grip())
        mouse.down()
        for share in (0.45, 0.0, 0.75, 1.0):
            before, words, bars = live.value, live.words, live.bars
            mouse.move(*live.at(share), steps=8)
            live.until(lambda old=before: live.value != old)
            live.until(lambda old=words: live.words != old)
            assert live.value != before
            assert live.bars[1] != bars[1], "the cache's bar has not moved"
            # The mouse is still down, and the picture already says what the formulas say there.
            frame = frames[live.value.removeprefix(prefix)]
            shown = " ".join(live.words)
            assert frame.verdict in shown
            assert frame.words in shown
        assert live.value == f"{prefix}{found.frames[-1].label}"
        mouse.up()
        live.page.wait_for_timeout(300)


def test_the_grip_is_large_and_a_rerun_for_something_else_leaves_it_where_it_is(live: Live) -> None:
    live.open()
    x, y = live.grip()
    live.page.mouse.move(x + 15, y)
    live.page.mouse.down()
    live.page.mouse.move(*live.at(0.8), steps=5)
    live.page.mouse.up()
    live.until(lambda: live.value != "users 32")
    value, words = live.value, live.words
    live.page.locator("summary").filter(has_text="Every frame as numbers").click()
    expect(live.page.get_by_role("button", name="Download as CSV")).to_be_visible()
    live.tab.settle(1)
    assert (live.value, live.words) == (value, words)


def test_play_runs_pause_holds_and_nothing_starts_by_itself(live: Live) -> None:
    live.open("story")
    play, pause = (live.plot.locator(".updatemenu-button").filter(has_text=name) for name in ("Play", "Pause"))
    expect(play).to_be_visible()
    start = live.value
    assert start == "tokens 128"
    live.page.wait_for_timeout(1200)
    assert live.value == start, "it started by itself"
    with live.quiet():
        bars = live.bars
        play.click()
        live.until(lambda: live.value != start)
        seen = live.value
        live.until(lambda: live.value != seen)
        assert live.bars[1] > bars[1]
        pause.click()
        live.page.wait_for_timeout(400)
        held, words = live.value, live.words
        live.page.wait_for_timeout(800)
        assert (live.value, live.words) == (held, words), "pause does not hold"
        play.click()  # goes on from there
        live.until(lambda: live.value != held)
        assert tokens(live.value) > tokens(held)
        last = f"tokens {reel(OPENING, 'story').frames[-1].label}"
        live.page.mouse.move(*live.grip())
        live.page.mouse.down()
        live.page.mouse.move(*live.at(0.9), steps=5)
        live.page.mouse.up()
        play.click()
        live.until(lambda: live.value == last)
        live.until(lambda: "Memory ends here" in " ".join(live.words))


def tokens(value: str) -> int:
    return int(value.removeprefix("tokens ").replace(",", ""))


def test_a_drag_takes_over_from_play(live: Live) -> None:
    live.open("story")
    live.plot.locator(".updatemenu-button").filter(has_text="Play").click()
    live.until(lambda: live.value != "tokens 128")
    live.page.mouse.move(*live.grip())
    live.page.mouse.down()
    live.page.mouse.move(*live.at(0.5), steps=5)
    live.page.wait_for_timeout(600)
    value = live.value
    live.page.wait_for_timeout(600)
    assert live.value == value
    live.page.mouse.up()


def test_with_reduced_motion_there_is_no_play_and_the_grip_still_moves(live: Live, screenshot: Screenshot) -> None:
    live.page.emulate_media(reduced_motion="reduce")
    live.open("story")
    expect(live.plot.locator(".updatemenu-button").first).to_be_hidden()
    assert live.plot.locator(".updatemenu-container").evaluate("e => getComputedStyle(e).display") == "none"
    with live.quiet():
        live.page.mouse.move(*live.grip())
        live.page.mouse.down()
        live.page.mouse.move(*live.at(0.6), steps=5)
        live.until(lambda: live.value != "tokens 128")
        live.page.mouse.up()
    screenshot(live.page, "live-reduced-motion")


def test_the_keyboard_way(live: Live) -> None:
    live.open()
    tab = live.tab
    assert live.value == "users 32"
    tab.open_popover("More assumptions")
    tab.press(tab.slider("Users (batch)"), "ArrowRight")
    tab.wait_for(batch="64")
    live.until(lambda: live.value == "users 64")
    assert "Does not fit" in " ".join(live.words)
    tab.press(tab.slider("Context length (tokens)"), "ArrowLeft")
    tab.wait_for(context="4096")
    live.until(lambda: "4,096 tokens each" in " ".join(live.words))
    tab.press(tab.slider("KV heads"), "ArrowLeft")
    tab.wait_for(kv_heads="4")
    live.until(lambda: "4 KV heads" in " ".join(live.words))
    live.page.keyboard.press("Escape")
    tab.press(live.page.get_by_role("radio", name="Users", exact=True), "ArrowRight", "Enter")
    live.until(lambda: live.value == "tokens 4,096")


@pytest.mark.parametrize("quantity", ["users", "story"])
def test_it_fits_a_projector(live: Live, screenshot: Screenshot, quantity: Quantity) -> None:
    live.open(quantity)
    app = live.page.get_by_test_id("stApp")
    for scheme in ("dark", "light"):
        live.page.emulate_media(color_scheme=scheme)
        expect(app).to_have_css("background-color", BACKGROUNDS[scheme])
        live.tab.settle(1)
        screenshot(live.page, f"live-{quantity}-{scheme}")
        ink = app.evaluate("e => getComputedStyle(e).color")
        for text in live.plot.locator(".textpoint text, .slider-group > .slider-label").all():
            assert text.evaluate("e => getComputedStyle(e).fill") == ink
    assert bottom(live.plot) <= HEIGHT
    live.tab.assert_no_sideways_scrolling()
    for one in live.plot.locator(".textpoint text").all():
        box, frame = one.bounding_box(), live.plot.bounding_box()
        assert box is not None
        assert frame is not None
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
