"""The papers page: what is listed, filtered and computed."""

import pytest

from core.papers import counts, examples, papers, shown, summary
from tests.harness import assert_sound, open_app, text

PAGE = "pages/papers.py"


def test_it_opens_with_all() -> None:
    at = open_app(page=PAGE)
    assert_sound(at, charts=0)
    assert len(at.dataframe[0].value) == len(examples())
    for sentence in summary():
        assert sentence in " ".join(text(at).split())


@pytest.mark.parametrize("status", [status for status, n in counts().items() if n])
def test_filters(status: str) -> None:
    at = open_app(page=PAGE)
    at.segmented_control(key="papers_status").set_value(status).run()
    assert len(at.dataframe[0].value) == counts()[status]
    at.selectbox(key="papers_paper").set_value("kwon-2023").run()
    assert_sound(at, charts=0)
    chosen = shown("kwon-2023", (status,))
    assert len(at.dataframe[0].value) == len(chosen)


def test_the_arithmetic_of_every_paper() -> None:
    at = open_app(page=PAGE)
    for slug in papers():
        at.session_state[f"papers_box_{slug}"] = True
    at.run()
    assert_sound(at, charts=0)
    for paper in papers().values():
        assert paper.url.replace("_", "") in text(at).replace("_", "")
    for e in examples().values():
        if e.ours_text:
            assert e.ours_text in text(at)
