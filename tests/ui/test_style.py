"""The style holds what the theme says."""

import re
import tomllib

from tests.harness import ROOT
from ui import shell


def test_what_covers_a_table_s_edge_has_the_page_s_colours() -> None:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    covers = re.findall(r"light-dark\((#\w+), (#\w+)\)", shell._CSS)
    assert len(covers) == 2
    assert set(covers) == {(theme["light"]["backgroundColor"], theme["dark"]["backgroundColor"])}
