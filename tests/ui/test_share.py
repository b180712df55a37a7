"""Links, QR codes and iframes of a view."""

import html
import re
from urllib.parse import parse_qsl, urlsplit

import zxingcpp
from PIL import Image, ImageDraw

from core.scenario import Scenario
from core.view import View
from ui import share

VIEW = View(Scenario(model="llama-3.1-70b", batch=33, context=20_001), "GiB", view="lecture", pins=(Scenario(batch=7),))


def test_a_link_carries_the_whole_view() -> None:
    url = share.link(VIEW, "https://example.org/more_users")
    assert url.startswith("https://example.org/more_users?")
    assert View.from_query(dict(parse_qsl(urlsplit(url).query)), View(Scenario())) == (VIEW, [])


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
