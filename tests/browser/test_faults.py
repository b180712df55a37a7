"""Servers that go away under an open page, as a student sees it."""

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from benchmarks.server import free_port, served
from core.scenario import Scenario
from core.view import View
from tests.browser.explorer import Explorer

pytestmark = pytest.mark.browser

HERE = View(Scenario(model="llama-3.1-70b", gpu="h200-sxm", n_gpus=3, batch=33, context=20_001), "GiB")


def assert_same_and_alive(tab: Explorer, **query: str) -> None:
    """The address and the sliders say the scenario; the next change is answered."""
    assert tab.query == HERE.to_query() | query
    expect(tab.slider("Users")).to_have_attribute("aria-valuetext", tab.query["batch"])
    with tab.turning(context="32768"):
        tab.press(tab.slider("Context"), "ArrowRight")
    assert tab.query == HERE.to_query() | query | {"context": "32768"}


def test_a_server_restarted_under_an_open_page(shared_context: BrowserContext) -> None:
    port = free_port()
    page = shared_context.new_page()
    with served(port=port) as first:
        tab = Explorer(page, first.url)
        tab.open(HERE)
        with tab.turning(batch="64"):
            tab.press(tab.slider("Users"), "ArrowRight")
    # What was on screen stays there to be read while nobody answers.
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert len(tab.charts) == 2
    with served(port=port):
        with page.expect_websocket(timeout=60_000):
            pass
        tab.settle()
        assert_same_and_alive(tab, batch="64")
        page.close()


def test_a_websocket_that_is_cut(page: Page, server: str) -> None:
    cut: list[WebSocketRoute] = []

    def watch(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        cut.append(socket)

    page.route_web_socket("**/_stcore/stream", watch)
    tab = Explorer(page, server)
    tab.open(HERE)
    with tab.turning(batch="64"):
        tab.press(tab.slider("Users"), "ArrowRight")
    assert len(cut) == 1
    cut[0].close(code=1011, reason="cut")
    for _ in range(300):
        if len(cut) > 1:
            break
        page.wait_for_timeout(100)
    assert len(cut) > 1, "it did not connect again"
    tab.settle()
    assert_same_and_alive(tab, batch="64")
