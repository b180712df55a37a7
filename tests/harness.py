"""The app in Streamlit's own test runner."""

from functools import cache
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 60

# Every new AppTest reads the metadata of all installed packages again, two thirds of its time; they stay as they are.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def open_app(query: dict[str, str] | None = None, page: str | None = None) -> AppTest:
    """A new session at a link: the home page, or the page file named."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT_S)
    for key, value in (query or {}).items():
        at.query_params[key] = value
    if page:
        at.switch_page(page)
    return at.run()


def open_more(at: AppTest) -> AppTest:
    """Open "More assumptions": its widgets exist only while it is open."""
    at.session_state["more"] = True
    return at.run()


def query(at: AppTest) -> dict[str, str]:
    """The URL's parameters as the app wrote them."""
    return {key: value[0] if isinstance(value, list) else value for key, value in at.query_params.items()}


def text(at: AppTest) -> str:
    """All text of the page; without the escapes and invisible joiners that keep it plain."""
    htmls = [element.proto.body for element in at.get("html")]
    shown = " ".join([*htmls, *(m.value for m in at.markdown), *(c.value for c in at.caption)])
    return shown.replace("\\", "").replace("\u2060", "")


def assert_sound(at: AppTest, *, charts: int) -> None:
    """No exception, all charts there, no NaN on screen."""
    assert not at.exception
    assert len(at.get("plotly_chart")) == charts
    assert "nan" not in text(at).lower().split()
