"""The floor of the home page as a server: Streamlit's own command line, with app.py played back from recordings.

    python -m benchmarks.floor_server run app.py [options]

The first session to show a batch and a context runs the page and records it; from then on every session at these
values gets the recording (`benchmarks/floor.py`). So one session has to visit all stops before others come.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.web import cli

from benchmarks.floor import Recording, recorded
from core.scenario import Scenario

SCRIPT = Path(__file__).resolve().parent.parent / "app.py"
_CALL = "from benchmarks.floor_server import run\nrun(globals())"
_recordings: dict[tuple[int, int], Recording] = {}


def run(scope: dict[str, Any]) -> None:
    """The page of the sliders' values, from its recording if there is one."""
    asked = Scenario.from_query(st.query_params.to_dict())[0]
    state = st.session_state
    stops = state.get("batch", asked.batch), state.get("context", asked.context)
    if stops in _recordings:
        _recordings[stops].replay()
        return
    page = compile(SCRIPT.read_text(encoding="utf-8"), str(SCRIPT), "exec")
    with recorded() as recording:
        exec(page, scope)
    _recordings[stops] = recording


def main() -> None:
    """Serve."""
    page, call = ScriptCache.get_bytecode, compile(_CALL, str(SCRIPT), "exec")

    def code(cache: ScriptCache, path: str) -> CodeType:
        return call if Path(path) == SCRIPT else page(cache, path)

    ScriptCache.get_bytecode = code  # type: ignore[method-assign]
    # The copy that the script imports must be this one, with these recordings.
    sys.modules["benchmarks.floor_server"] = sys.modules[__name__]
    cli.main(prog_name="streamlit")


if __name__ == "__main__":
    main()
