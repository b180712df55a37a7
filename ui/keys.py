"""Keyboard shortcuts: one letter each, or with Ctrl+Alt, or off."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from ui.text import plain

LETTERS, WITH_CTRL_ALT, OFF = "letters", "Ctrl+Alt", "off"
MODES = (LETTERS, WITH_CTRL_ALT, OFF)
# Action -> (key, what it does). C and R belong to Streamlit.
ACTIONS: dict[str, tuple[str, str]] = {
    "next": ("N", "next page"),
    "previous": ("B", "page before"),
    "lecture": ("L", "lecture view on or off"),
    "share": ("S", "link and QR code of this view"),
    "pin": ("P", "pin or unpin this scenario"),
    "reset": ("X", "back to the opening scenario"),
}
PRESET_KEYS = "1234567890"  # the presets of a page in their order
_MODE = "_keys_mode"


def mode() -> str:
    """How shortcuts work in this session."""
    return st.session_state.get(_MODE, LETTERS)


def _bound(keys: Iterable[str]) -> list[str | None]:
    """Shortcuts as they are set; the session is asked once for all of them."""
    now = mode()
    return [{LETTERS: key, WITH_CTRL_ALT: f"Ctrl+Alt+{key}"}.get(now) for key in keys]


def of(*actions: str) -> list[str | None]:
    """The shortcuts of actions; None while shortcuts are off."""
    return _bound(ACTIONS[action][0] for action in actions)


def of_presets(count: int) -> list[str | None]:
    """The shortcuts of a page's presets; None beyond the tenth."""
    return [*_bound(PRESET_KEYS[:count]), *[None] * (count - len(PRESET_KEYS))]


def _chosen() -> None:
    st.session_state[_MODE] = st.session_state["keys_mode"] or LETTERS


def panel() -> None:
    """The visible list of keys, and the switch; its content is drawn only while it is open."""
    box = st.popover("Keys", key="keys", on_change="rerun")
    if not box.open:
        return
    with box:
        st.segmented_control(
            "Shortcuts", MODES, default=mode(), required=True, key="keys_mode", on_change=_chosen, width="stretch"
        )
        st.caption(
            "Single letters rest while a slider, a menu or a field has the focus; Ctrl+Alt with the letter works there "
            "too. Arrow keys and PageUp, PageDown move a slider; Tab goes to the next control."
        )
        rows = [(key, words) for key, words in ACTIONS.values()]
        rows.append((f"{PRESET_KEYS[0]} to {PRESET_KEYS[-1]}", "the scenarios to try, in their order"))
        lines = ["| key | does |", "| --- | --- |", *(f"| {plain(key)} | {plain(words)} |" for key, words in rows)]
        st.markdown("\n".join(lines))
