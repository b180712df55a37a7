"""The naive bench's page: every model of the catalog, its presets, and the link."""

import pytest

from core.catalog import models
from core.naive import PRESETS, findings, summary
from core.scenario import Scenario
from core.view import View
from tests.harness import assert_sound, open_app, query, text

PAGE = "pages/naive.py"


def test_every_model() -> None:
    at = open_app(page=PAGE)
    for slug in models():
        at.selectbox(key="model").set_value(slug).run()
        assert_sound(at, charts=1)
        s = View.from_query(query(at), View(Scenario()))[0].scenario
        assert s.model_key == slug
        found = findings(s)
        assert summary(s, found, "GB")[0] in " ".join(text(at).split())
        for f in found:
            assert (f"{f.mistake.title}: {f.text}" in text(at)) is (f.factor is not None)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.slug)
def test_presets_open(preset) -> None:
    at = open_app(page=PAGE)
    at.button(key=f"preset_{preset.slug}").click().run()
    assert_sound(at, charts=1)
    assert View.from_query(query(at), View(Scenario()))[0].scenario == preset.scenario


def test_a_link_opens_the_same_view() -> None:
    asked = View(PRESETS[4].scenario, "GiB").to_query()
    at = open_app(asked, PAGE)
    assert_sound(at, charts=1)
    assert query(at) == asked
