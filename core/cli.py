"""`python -m core "model=llama-3-8b&gpu=h100-sxm&batch=32"`: the result of a scenario as a table or as JSON.

It takes the query string of a link or the whole link, as the browser's address bar shows it.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from urllib.parse import parse_qsl

from core.catalog import gpus, models
from core.evaluate import Result, evaluate
from core.measured import measurements
from core.papers import examples
from core.query import shown
from core.report import numbers_table
from core.scenario import Scenario
from core.takeaway import json_text
from core.units import UNITS, Unit
from core.verdict import setting, verdict
from core.view import LINK_KEYS, View

EXAMPLE = "model=llama-3-8b&gpu=h100-sxm&batch=32&context=8192"


def query_of(text: str) -> dict[str, str]:
    """The fields of a query string, with or without the address before it; the last one counts where a key repeats.

    Raises ValueError for a text that is neither a query string nor an address.

    >>> query_of("https://example.org/more_users?batch=32&context=8192#top")
    {'batch': '32', 'context': '8192'}
    """
    address, question, query = text.strip().partition("#")[0].partition("?")
    if not question or "=" in address:  # a question mark inside a value
        is_address = "://" in address and "=" not in address
        query = "" if is_address else text.strip().partition("#")[0]
    if query and "=" not in query:
        raise ValueError(f'{shown(text)} is no link and no query string: write key=value pairs, such as "{EXAMPLE}"')
    return dict(parse_qsl(query, keep_blank_values=True))


def table_text(result: Result, unit: Unit) -> str:
    """A result for a terminal: the setting, the verdict, every figure, cautions.

    >>> print(table_text(evaluate(Scenario(batch=32)), "GB").splitlines()[5])
    weights                                    16.1 GB (16,060,522,496 bytes)
    """
    said = verdict(result, unit)
    _, rows = numbers_table(result, unit)
    width = max(len(name) for name, _ in rows)
    figures = [f"{name:{width}}  {'none' if value is None else value}" for name, value in rows]
    lines = [setting(result.scenario), said.headline, " ".join(said.memory), " ".join(said.speed)]
    lines += ["", *figures]
    if said.cautions:
        lines += ["", *said.cautions]
    return "\n".join(map(_printable, lines)) + "\n"


def _printable(line: str) -> str:
    """Without control characters, which a terminal would obey: a model from a link can have any name."""
    return "".join(c if c.isprintable() else "?" for c in line)


def inventory() -> str:
    """What `data/` holds, every record read and checked. Raises CatalogError naming file, record and key.

    >>> inventory()
    '73 models, 82 devices, 647 measurements, 125 worked examples: all valid'
    """
    found = {
        "models": models(),
        "devices": gpus(),
        "measurements": measurements(),
        "worked examples": examples(),
    }
    return ", ".join(f"{len(records)} {name}" for name, records in found.items()) + ": all valid"


def main(argv: Sequence[str] | None = None) -> int:
    """Print what is asked for; 0 also where it does not fit, since that is a result. Bad usage exits with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m core",
        description="Memory, speed and limits of one scenario: every number of the page, without the browser.",
        epilog=f'example: python -m core "{EXAMPLE}"',
    )
    parser.add_argument(
        "query", nargs="?", default="", help="a link or its query string; nothing: the default scenario"
    )
    parser.add_argument("--check", action="store_true", help="read all of data/ and say what it holds or what is wrong")
    parser.add_argument("--json", action="store_true", help="everything as JSON, in base units")
    parser.add_argument("--unit", choices=UNITS, help="GB or GiB; the link's where it has one, else GB")
    given = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal gets "?", not a traceback
    if given.check:
        print(inventory())
        return 0
    try:
        query = query_of(given.query)
    except ValueError as error:
        parser.error(str(error))
    view, notes = View.from_query(query, View(Scenario()))
    foreign = [shown(key) for key in query if key not in LINK_KEYS]
    if foreign:
        notes.append(f"Not a field of this app, so ignored: {', '.join(foreign)}.")
    for note in notes:
        print(_printable(note), file=sys.stderr)
    unit: Unit = given.unit or view.unit
    result = evaluate(view.scenario)
    try:
        sys.stdout.write(json_text(result, unit) if given.json else table_text(result, unit))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough. What is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
