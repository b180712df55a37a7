"""The text of a `config.json` -> a dictionary, or a refusal that names the likely cause."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, cast

LARGEST_BYTES = 1 << 20  # published files are a few kB; the largest seen, with long layer lists, is 40 kB


class ConfigError(ValueError):
    """A `config.json` that cannot be read; the message is one sentence and names the key."""


_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"GGUF", "This is a GGUF file, not a config.json; its base model's config.json is needed."),
    (b"PK\x03\x04", "This is a zip archive, not a config.json."),
    (
        b"version https://git-lfs",
        "This is a Git LFS pointer, not the file itself: download the config.json it stands for.",
    ),
    (b"<<<<<<<", "This file has a left-over merge marker in its first line."),
    (b"<", "This is a web page, not a config.json: download the raw file."),
)


def parse(source: str | bytes) -> dict[str, Any]:
    r"""The dictionary of a JSON text in UTF-8, with or without a byte-order mark.

    Raises ConfigError: empty, too large, not UTF-8, a web page, a pointer, a GGUF file, not JSON (with the line),
    nested too deeply, a key twice, not an object. NaN and Infinity are accepted, as Python's own reader does; no
    dimension may hold one.

    >>> parse(b'\xef\xbb\xbf{"num_hidden_layers": 2}')
    {'num_hidden_layers': 2}
    >>> parse("[1, 2]")
    Traceback (most recent call last):
    core.hf.text.ConfigError: A config.json holds one object of keys; this file holds a list.
    """
    raw = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else bytes(source)
    if len(raw) > LARGEST_BYTES:
        raise ConfigError(f"This file has {len(raw):,} bytes; a config.json may have at most {LARGEST_BYTES:,}.")
    start = raw.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise ConfigError("This file is empty.")
    for magic, said in _MAGIC:
        if start.startswith(magic):
            raise ConfigError(said)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"This file is not UTF-8 text (byte {error.start + 1:,} is not).") from None
    try:
        found: object = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise ConfigError(_not_json(text, error)) from None
    except RecursionError:
        raise ConfigError("This file is nested too deeply for a config.json.") from None
    except ConfigError:
        raise
    except ValueError:  # Python refuses numbers of thousands of digits
        raise ConfigError("This file holds a number too long to read.") from None
    if not isinstance(found, dict):
        kind = {"list": "a list", "str": "a text", "NoneType": "null", "bool": "a truth value"}
        what = kind.get(type(found).__name__, "a number")
        raise ConfigError(f"A config.json holds one object of keys; this file holds {what}.")
    return cast("dict[str, Any]", found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ConfigError(f"{printable(twice)} appears twice in one object.")
    return found


def _not_json(text: str, error: json.JSONDecodeError) -> str:
    lines = text.splitlines()
    line = lines[error.lineno - 1].strip() if error.lineno <= len(lines) else ""
    marker = next((n for n, row in enumerate(lines, 1) if row.startswith(("<<<<<<<", "=======", ">>>>>>>"))), None)
    if marker is not None:
        return f"This file is not JSON: line {marker:,} is a left-over merge marker."
    before = text[: error.pos].rstrip()
    if before.endswith(",") and line[:1] in ("}", "]", ""):
        return f"This file is not JSON: there is a comma too many before line {error.lineno:,}, column {error.colno:,}."
    if before.endswith(",") and text[error.pos : error.pos + 1] in ("}", "]"):
        return f"This file is not JSON: there is a comma too many at line {error.lineno:,}, column {error.colno:,}."
    if error.pos >= len(text.rstrip()):
        return f"This file is not JSON: it ends too early, at line {error.lineno:,}."
    return f"This file is not JSON at line {error.lineno:,}, column {error.colno:,}."


def printable(text: str, longest: int = 60) -> str:
    r"""Text of unknown origin on one line, cut to a readable length.

    >>> printable("a\nb" + "c" * 100, 5)
    'a?bcc…'
    """
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return f"{clean[:longest]}…" if len(clean) > longest else clean


def as_text(value: object) -> str:
    """A value of unknown origin as text.

    >>> as_text([64, 64]), as_text([10**5000])
    ('[64, 64]', 'a number too long to print')
    """
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits, perhaps within a list
        return "a number too long to print"
