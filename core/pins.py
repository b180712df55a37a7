"""Pinned scenarios and their form in a link: the fields of each in a fixed order, pins apart by a tilde."""

from __future__ import annotations

from collections.abc import Mapping

from core.custom import CUSTOM, OWN_KEYS
from core.query import shown
from core.scenario import QUERY_KEYS, Scenario

PINS_MAX = 4
PINS_KEY = "pins"
FIELD, PIN = "__", "~"  # no slug and no number holds either, and an address keeps both as they are


def pins_query(pins: tuple[Scenario, ...]) -> dict[str, str]:
    """The pins for a link; nothing when there are none.

    >>> pins_query((Scenario(batch=8),))
    {'pins': 'llama-3-8b__h100-sxm__1__tensor__8__8192__released__native__bf16__10__0'}
    """
    if not pins:
        return {}
    queries = [pin.to_query() for pin in pins]
    return {PINS_KEY: PIN.join(FIELD.join(query[key] for key in QUERY_KEYS) for query in queries)}


def read_pins(query: Mapping[str, str], notes: list[str]) -> tuple[Scenario, ...]:
    """The pins of a link; one that cannot be read is left out, and `notes` says so.

    A pin with the reader's own model or GPU means the one in the same link.

    >>> said = []
    >>> read_pins({"pins": "llama-3-8b"}, said), said
    ((), ['Pin 1 of the link has 1 of 11 fields and was left out.'])
    """
    text = query.get(PINS_KEY, "")
    own = {key: query[key] for key in OWN_KEYS if key in query}
    found: list[Scenario] = []
    for number, part in enumerate(text.split(PIN) if text else (), start=1):
        if number > PINS_MAX:
            notes.append(f"At most {PINS_MAX} scenarios can be pinned; the others of the link were left out.")
            break
        values = part.split(FIELD)
        if len(values) != len(QUERY_KEYS):
            notes.append(f"Pin {number} of the link has {len(values)} of {len(QUERY_KEYS)} fields and was left out.")
            continue
        scenario, said = Scenario.from_query({**own, **dict(zip(QUERY_KEYS, values, strict=True))})
        if said:
            notes.append(f"Pin {number} of the link, {shown(part)}, was left out: {said[0]}")
            continue
        found.append(scenario)
    return tuple(found)


def linkable(pins: tuple[Scenario, ...], model: object, gpu: object) -> tuple[Scenario, ...]:
    """The pins that a link can carry: from the catalog, or with the own model and GPU that the link holds."""
    return tuple(
        pin
        for pin in pins
        if (pin.model_key != CUSTOM or pin.released_model == model) and (pin.gpu_key != CUSTOM or pin.gpu_spec == gpu)
    )
