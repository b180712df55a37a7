"""The floor of a page: what Streamlit itself costs for it.

A run of the page is recorded, every call into Streamlit with its final arguments: widgets with their options and
labels, layout, texts, tables, figures. Replaying the recording draws the same page from values that are already there.
It is made anew from each run, so it cannot fall behind the page. The recording also knows what the widgets of that run
offer, which is where a benchmark finds its next step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MethodType
from typing import Any
from unittest.mock import patch

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.state.query_params_proxy import QueryParamsProxy
from streamlit.runtime.state.session_state_proxy import SessionStateProxy

Scope = dict[str, Any]
Body = Callable[[Scope], None]
CALLBACKS = ("on_change", "on_click")

MENUS = ("selectbox", "select_slider", "segmented_control", "radio", "multiselect")
RANGES = ("slider", "number_input")
BOXES = ("expander", "popover")
FLOAT_STOPS = 100


@dataclass(frozen=True, slots=True)
class Offer:
    """A widget that was drawn: the command that drew it and what it can be set to. A button has nothing to set."""

    command: str
    values: Sequence[Any]


class Recording:
    """The calls of one run, in order. Blocks (columns, containers) are numbered as they appear."""

    def __init__(self) -> None:
        self.offers: dict[str, Offer] = {}  # by the widgets' keys
        self._calls: list[Callable[[list[Any]], object]] = []
        self._n_blocks = 0

    def replay(self, _scope: Scope | None = None) -> None:
        """Make the same calls again."""
        blocks: list[Any] = []
        for call in self._calls:
            call(blocks)

    def add(self, call: Callable[[list[Any]], object]) -> None:
        self._calls.append(call)

    def called(self, name: str, block: int | None, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """Note a call; blocks in its result come back wrapped, so that what happens in them is noted too."""
        offer = _offer(name, args, kwargs)
        if offer:
            self.offers[kwargs["key"]] = offer
        kwargs = _precomputed(args, kwargs)

        def call(blocks: list[Any]) -> None:
            made = getattr(st if block is None else blocks[block], name)(*args, **kwargs)
            blocks.extend(_blocks(made))

        self.add(call)
        wrapped = [Block(self, self._n_blocks + i, made) for i, made in enumerate(_blocks(result))]
        self._n_blocks += len(wrapped)
        return (wrapped if isinstance(result, list | tuple) else wrapped[0]) if wrapped else result


class Block:
    """A column or container of the run that is being recorded."""

    def __init__(self, recording: Recording, number: int, real: DeltaGenerator) -> None:
        self._recording, self._number, self._real = recording, number, real

    def __enter__(self) -> Block:
        number = self._number
        self._recording.add(lambda blocks: blocks[number].__enter__())
        self._real.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        number = self._number
        self._recording.add(lambda blocks: blocks[number].__exit__(None, None, None))
        return self._real.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if not callable(real):
            return real

        def method(*args: Any, **kwargs: Any) -> Any:
            return self._recording.called(name, self._number, args, kwargs, real(*args, **kwargs))

        return method


def _blocks(result: Any) -> list[Any]:
    """The blocks that a call made: for a value, none."""
    found = list(result) if isinstance(result, list | tuple) else [result]
    return found if all(isinstance(one, DeltaGenerator) for one in found) else []


def _offer(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Offer | None:
    """What a call offers to whoever uses the page: for a text, a picture, a disabled widget nothing."""
    if "key" not in kwargs or kwargs.get("disabled"):
        return None
    if name in MENUS:
        return Offer(name, tuple(kwargs.get("options", args[1] if len(args) > 1 else ())))
    if name in RANGES and len(args) > 2:
        low, high = args[1], args[2]
        if isinstance(low, float):
            return Offer(name, [low + (high - low) * i / FLOAT_STOPS for i in range(FLOAT_STOPS + 1)])
        return Offer(name, range(low, high + 1))
    if name == "toggle" or (name in BOXES and "on_change" in kwargs):
        return Offer(name, (False, True))
    return Offer(name, ()) if name == "button" else None


def _precomputed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keywords with labels looked up instead of formatted, and callbacks that do nothing."""
    kwargs = dict(kwargs)
    if "format_func" in kwargs:
        options = kwargs.get("options", args[1] if len(args) > 1 else ())
        kwargs["format_func"] = {option: kwargs["format_func"](option) for option in options}.__getitem__
    return {name: _ignore if name in CALLBACKS and callable(value) else value for name, value in kwargs.items()}


def _ignore(*_args: Any, **_kwargs: Any) -> None: ...


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record what the run inside calls: commands, the URL, and what it writes into widgets."""
    recording = Recording()
    # By type, since asking a proxy (st.user) for an attribute outside a script only draws a warning.
    commands: dict[str, Callable[..., Any]] = {
        name: command for name, command in vars(st).items() if isinstance(command, MethodType)
    }
    commands["set_page_config"] = st.set_page_config

    def watched(name: str, command: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return recording.called(name, None, args, kwargs, command(*args, **kwargs))

        return call

    write_url, write_state = QueryParamsProxy.from_dict, SessionStateProxy.__setitem__

    def from_dict(proxy: QueryParamsProxy, params: Any) -> None:
        params = dict(params)
        recording.add(lambda _: st.query_params.from_dict(params))
        write_url(proxy, params)

    def set_item(proxy: SessionStateProxy, key: str, value: Any) -> None:
        if not key.startswith("_"):  # those are the page's own memory
            recording.add(lambda _: st.session_state.__setitem__(key, value))
        write_state(proxy, key, value)

    with ExitStack() as patches:
        for name, command in commands.items():
            patches.enter_context(patch.object(st, name, watched(name, command)))
        patches.enter_context(patch.object(QueryParamsProxy, "from_dict", from_dict))
        patches.enter_context(patch.object(SessionStateProxy, "__setitem__", set_item))
        yield recording


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one run: processor time of its thread, which a busy machine hardly changes, and by the clock."""

    cpu_s: float
    wall_s: float


class Stopwatch:
    """Stands in for the script: runs a body in the script's place and takes its time."""

    def __init__(self) -> None:
        self._body: Body = _ignore
        self.took = Took(0.0, 0.0)

    def run(self, scope: Scope) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        self._body(scope)
        self.took = Took(time.thread_time() - cpu, time.perf_counter() - wall)

    @contextmanager
    def running(self, script: Path, body: Body) -> Iterator[None]:
        """Inside, a session of `script` runs `body`."""
        code = compile("from benchmarks.floor import STOPWATCH\nSTOPWATCH.run(globals())", str(script), "exec")
        self._body = body
        with patch.object(ScriptCache, "get_bytecode", lambda _cache, _path: code):
            yield


STOPWATCH = Stopwatch()
