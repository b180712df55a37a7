"""Links, QR codes and iframes of a view."""

import html
import re
from pathlib import PurePath
from urllib.parse import parse_qsl, urlsplit

import pytest
import zxingcpp
from PIL import Image, ImageDraw

from core import lessons
from core.scenario import Scenario
from core.view import View
from ui import share

VIEW = View(Scenario(model="llama-3.1-70b", batch=33, context=20_001), "GiB", view="lecture", pins=(Scenario(batch=7),))


def test_a_link_carries_the_whole_view() -> None:
    url = share.link(VIEW, "https://example.org/more_users")
    assert url.startswith("https://example.org/more_users?")
    assert View.from_query(dict(parse_qsl(urlsplit(url).query)), View(Scenario())) == (VIEW, [])


@pytest.mark.parametrize("page", lessons.PAGES, ids=lambda page: page.slug)
def test_what_the_link_holds_is_said_of_every_page(page: lessons.Page) -> None:
    path = "" if page.slug == "home" else PurePath(page.file).stem
    said = share.held(share.link(VIEW, f"https://example.org/app/{path}"))
    assert said.startswith("The link holds the whole view" if page.slug not in share.NOT_IN_LINK else "The link holds")
    assert ("but not" in said) is (page.slug in share.NOT_IN_LINK)


def test_phones_get_the_machine_s_address_in_its_network(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://localhost:8501/live?batch=1&model=a"
    monkeypatch.setattr(share.net_util, "get_internal_ip", lambda: "192.0.2.7")
    assert share.phone_address(url) == "http://192.0.2.7:8501/live?batch=1&model=a"
    assert share.phone_address("http://localhost/?batch=1") == "http://192.0.2.7/?batch=1"
    monkeypatch.setattr(share.net_util, "get_internal_ip", lambda: "127.0.0.1")  # no network
    assert share.phone_address(url) is None

    def fails() -> str:
        raise OSError("no sockets here")

    monkeypatch.setattr(share.net_util, "get_internal_ip", fails)
    assert share.phone_address(url) is None
    monkeypatch.setattr(share.net_util, "get_internal_ip", lambda: "192.0.2.7")
    monkeypatch.setattr(share.st, "get_option", lambda name: {"server.address": "127.0.0.1"}[name])
    assert share.phone_address(url) is None, "a server that listens to itself alone"


def test_a_frame_is_the_link_with_embed_and_cannot_be_left() -> None:
    made = share.frame('https://example.org/?a="><script>')
    assert "<script>" not in made
    source = re.search(r'src="([^"]*)"', made)
    assert source
    assert html.unescape(source[1]) == 'https://example.org/?a="><script>&embed=true'


def test_a_qr_code_decodes_to_its_text() -> None:
    url = share.link(VIEW, "https://example.org/more_users")
    svg = share.qr_svg(url)
    size = int(re.search(r'width="(\d+)"', svg)[1])
    picture = Image.new("L", (size, size), 255)
    draw = ImageDraw.Draw(picture)
    scale = 8
    path = re.search(r'class="qrline"[^>]* d="([^"]*)"', svg)[1]
    x = y = 0.0
    for command, numbers in re.findall(r"([Mmh])([-\d. ]+)", path):  # segno draws rows of dark squares as strokes
        values = [float(n) for n in numbers.split()]
        if command == "h":
            top = (y - 0.5) * scale
            draw.rectangle((x * scale, top, (x + values[0]) * scale - 1, top + scale - 1), fill=0)
            x += values[0]
        else:
            x, y = (values[0], values[1]) if command == "M" else (x + values[0], y + values[1])
    (code,) = zxingcpp.read_barcodes(picture)
    assert code.text == url
