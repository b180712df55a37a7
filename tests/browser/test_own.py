"""A reader's own model and GPU in a real browser: by file and form, on every page, under names that would be markup."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from core import lessons
from core.custom import CUSTOM, OWN_MODEL_KEY, custom_gpu, one_line
from core.hf_config import read_hf_config
from core.scenario import Scenario
from core.view import View
from tests.browser.conftest import Screenshot
from tests.browser.explorer import BAR, Explorer

pytestmark = pytest.mark.browser

CONFIG: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 31, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip
# As long as names may be; the second needs a keyboard, so nothing in it is invisible.
HTML = '<img src=x onerror="window.hacked=1"><b>bold</b> $x^2$ [l](javascript:alert(1))'
MARKDOWN = "1. $$y$$ :red[tint] **fat** `coded` :smile: www.example.org a@b.org -> שלום"
NAMELESS = ("sources", "papers", "instructor")
FIGURES: dict[str, Any] = {"memory_gb": 80, "bandwidth_gb_per_s": 3000, "bf16_tflops": 900}

# What a name has made, if anything; and all that can be read on the page, invisible characters left out.
MADE = """() => {
    const all = selector => [...document.querySelectorAll(selector)];
    const made = all('.katex, mjx-container, img[src$="/x"], [onerror], a[href^="javascript"], a[href*="//www.e"]');
    made.push(...all('a[href^="mailto"]'));
    const marked = all('b, strong, em, i, code, span[style*="color"]');
    made.push(...marked.filter(e => /^(bold|fat|tint|coded)$/.test(e.textContent)));
    made.push(...all('tspan').filter(e => e.style.fontWeight === 'bold' && e.textContent === 'bold'));
    made.push(...all('[data-testid=stIconMaterial]').filter(e => e.textContent === 'bolt'));
    made.push(...all('ol li').filter(e => e.textContent.trim().startsWith('$$y$$')));
    return [window.hacked, ...made.map(e => e.outerHTML.slice(0, 200))];
}"""
READ = """() => {
    const values = [...document.querySelectorAll('input')].map(e => e.value);
    const drawn = [...document.querySelectorAll('svg text')].map(e => e.textContent);
    return [document.body.innerText, ...values, ...drawn].join('\\n').replaceAll(/[\\u2060\\u200e]/g, '');
}"""

# Where the mark lies whose hover text begins so.
OWN_MARK = """name => {
    const plot = document.querySelector('.js-plotly-plot'), at = plot.getBoundingClientRect();
    const {xaxis, yaxis} = plot._fullLayout;
    for (const trace of plot._fullData)
        for (const [i, text] of (Array.isArray(trace.text) ? trace.text : []).entries())
            if (text.replaceAll('&#36;', '$').startsWith(name) && trace.mode === 'markers')
                return [at.x + xaxis._offset + xaxis.d2p(trace.x[i]), at.y + yaxis._offset + yaxis.d2p(trace.y[i])];
}"""


def assert_plain(page: Page) -> str:
    """Nothing was made of a name; what can be read."""
    assert page.evaluate(MADE) == [None]
    shown: str = page.evaluate(READ)
    assert not any(char in shown for char in "😀😃😄😁😊→\u202e")
    return shown


class Owner(Explorer):
    """A browser tab on the page for one's own."""

    @property
    def file_input(self) -> Locator:
        return self.page.locator("input[type=file]")

    def upload(self, config: dict[str, Any], name: str = "config.json") -> None:
        self.file_input.set_input_files(
            {"name": name, "mimeType": "application/json", "buffer": json.dumps(config).encode()}
        )

    def assert_model(self, name: str) -> None:
        """The select box, the heading and the sentence have it."""
        expect(self.page.get_by_role("combobox", name="Model", exact=True)).to_have_value(f"{name} (yours)")
        expect(self.page.get_by_role("heading", name="Your model")).to_be_visible()
        self.settle()


@pytest.fixture
def tab(page: Page, server: str) -> Owner:
    return Owner(page, server)


def fill(tab: Owner, label: str, text: str) -> None:
    tab.press(tab.page.get_by_role("spinbutton", name=label, exact=True), "ControlOrMeta+a", "Delete")
    tab.page.keyboard.type(text)
    tab.page.keyboard.press("Enter")
    tab.settle()


def test_hostile_names_stay_plain_text_on_every_page(tab: Owner, screenshot: Screenshot) -> None:
    """A file and the form, a slider, then every page by its link: in use there, and only ever text."""
    spec = read_hf_config(CONFIG)
    tab.open(slug="bring-your-own")
    tab.upload(CONFIG | {"_name_or_path": HTML})
    tab.wait_for(model=CUSTOM)
    tab.assert_model(HTML)

    tab.page.get_by_role("tab", name="My GPU").click()
    tab.press(tab.page.get_by_role("textbox", name="Name", exact=True), "ControlOrMeta+a")
    tab.page.keyboard.insert_text(MARKDOWN)
    tab.page.keyboard.press("Enter")
    tab.settle()
    fill(tab, "Memory", "100")
    fill(tab, "FP8 peak (dense TFLOP/s)", "")  # a figure can be taken away
    tab.page.get_by_role("button", name="Use this GPU").click()
    tab.wait_for(gpu=CUSTOM)
    tab.settle()
    expect(tab.page.get_by_role("combobox", name="GPU", exact=True)).to_have_value(
        f"{one_line(MARKDOWN)}, 100 GB (yours)"
    )
    assert "gpu_fp8" not in tab.query
    assert tab.query["gpu_memory"] == "100"

    with tab.turning(batch="64"):
        tab.press(tab.slider("Users (batch)"), "ArrowRight")
    shown = assert_plain(tab.page)
    assert f"{HTML}: {spec.n_params:,} parameters" in shown
    screenshot(tab.page, "own-hostile")

    query = tab.query
    assert Scenario.from_query(query)[1] == []
    tab.open(query)
    for page in lessons.PAGES:
        tab.go(query, page.slug)
        assert tab.query == query
        expect(tab.page.get_by_test_id("stAlert")).to_have_count(0)
        shown = assert_plain(tab.page)
        assert HTML in shown or page.slug in NAMELESS
        tab.assert_no_sideways_scrolling()
        if page.slug == "home":
            tab.page.locator("[data-testid=stSlider]").filter(has_text="KV heads").get_by_role("button").hover()
            expect(tab.page.get_by_test_id("stTooltipContent")).to_contain_text("was released with 8")
            assert "<b>bold</b>" in tab.page.get_by_test_id("stTooltipContent").inner_text()
            assert_plain(tab.page)
        if page.slug == "compare":
            assert_plain_in_charts(tab)
            screenshot(tab.page, "own-compare-pinned")


def assert_plain_in_charts(tab: Owner) -> None:
    """On the page whose charts hold names: as labels, under the pointer, and as rows of the pinned scenario."""
    tab.page.mouse.move(*tab.page.evaluate(OWN_MARK, MARKDOWN[:20]))
    hover = tab.page.locator(".hoverlayer text").first
    expect(hover).to_contain_text(MARKDOWN[:20])
    assert "".join(MARKDOWN.split()) in "".join((hover.text_content() or "").split())  # it is broken into lines
    assert_plain(tab.page)
    tab.page.get_by_role("button", name="Pin this scenario").click()
    expect(tab.page.get_by_role("button", name="1: <img")).to_be_visible()
    tab.settle()
    assert_plain(tab.page)
    drawn = " ".join(tab.page.locator(".js-plotly-plot text").all_text_contents())
    assert "<b>bold</b>" in drawn
    assert "$$y$$ :red[tint] **fat**" in drawn
    tab.assert_no_sideways_scrolling()


def test_very_long_and_backward_names_in_a_link(tab: Owner, screenshot: Screenshot) -> None:
    model = read_hf_config(CONFIG).model_copy(update={"name": "x" * 300})
    gpu = custom_gpu(name="\u202egnp.exe שלום عالم :material/bolt: " + "y" * 300, **FIGURES)
    query = View(Scenario(model=model, gpu=gpu, batch=2), unit="GiB").to_query()
    tab.open(query)
    for slug in ("home", "bring-your-own", "compare"):
        tab.go(query, slug)
        screenshot(tab.page, f"own-long-{slug}")
        shown = assert_plain(tab.page)
        assert "x" * 80 in shown
        assert "gnp.exe שלום عالم :material/bolt: yyy" in shown
        tab.assert_no_sideways_scrolling()
        expect(tab.page.get_by_test_id("stAlert")).to_have_count(0)


def test_an_upload_survives_until_it_is_removed(tab: Owner) -> None:
    first, second = CONFIG, CONFIG | {"num_hidden_layers": 30}
    tab.open(slug="bring-your-own")
    catalog = tab.query
    tab.upload(first, "first.json")
    tab.wait_for(model=CUSTOM)
    tab.assert_model("first")
    with tab.turning(context="4096"):
        tab.press(tab.slider("Context length (tokens)"), "ArrowLeft")
    tab.assert_model("first")

    # By the menu and back, then a reload: the link has it.
    tab.follow(lessons.page("home").question)
    tab.settle()
    expect(tab.page.get_by_role("combobox", name="Model", exact=True)).to_have_value("first (yours)")
    with tab.turning(batch="64"):
        tab.press(tab.slider("Users (batch)"), "ArrowRight")
    tab.follow(lessons.page("bring-your-own").question)
    tab.assert_model("first")
    expect(tab.page.get_by_text("Read from the uploaded file first.json.")).to_be_visible()
    tab.page.reload()
    tab.settle()
    tab.assert_model("first")
    assert (tab.query["batch"], tab.query["context"]) == ("64", "4096")

    # A broken file changes nothing; a second one leaves nothing of the first.
    query, charts = tab.query, tab.charts
    tab.upload({"model_type": "bert"}, "broken.json")
    expect(tab.page.get_by_test_id("stAlert")).to_contain_text("is an encoder, not a text generator")
    tab.settle()
    assert (tab.query, tab.charts) == (query, charts)
    tab.assert_model("first")
    tab.upload(second, "second.json")
    expect(tab.page.get_by_test_id("stAlert")).to_have_count(0)
    tab.assert_model("second")
    assert tab.query[OWN_MODEL_KEY] != query[OWN_MODEL_KEY]
    assert tab.charts[BAR] != charts[BAR]
    assert "first" not in tab.page.evaluate(READ).replace("until the first window", "").replace("first token", "")

    # The x of the file.
    tab.page.get_by_test_id("stFileChipDeleteBtn").get_by_role("button").click()
    tab.wait_for(model="llama-3-8b")
    tab.settle()
    assert tab.query == catalog | {"batch": "64", "context": "4096"}
    expect(tab.page.get_by_role("heading", name="Your model")).to_have_count(0)
    expect(tab.page.get_by_test_id("stFileChip")).to_have_count(0)
