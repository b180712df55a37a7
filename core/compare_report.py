"""A comparison as sentences, as alt text and as rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.columns import Column, Floats, all_to_four_digits
from core.compare import ANNOUNCED, Comparison
from core.curves import Point
from core.gpu import GpuSpec
from core.model import LatentAttention, ModelSpec
from core.prices import terms
from core.report import Cell, Rowset
from core.rows import COUNT_LABELS, Count, Row, gpu_names, model_names
from core.units import (
    format_dollars,
    format_joules,
    format_rate,
    format_seconds,
    format_tokens,
    integer,
    plural,
)


def point_name(found: Comparison, row: Row) -> str:
    """A row by what differs between rows: the devices, the model, or both.

    >>> from core.compare import compare
    >>> from core.scenario import Scenario
    >>> found = compare(Scenario())
    >>> point_name(found, next(row for row in found.rows if found.is_own(row)))
    'H100 SXM5'
    """
    if found.choice.over == "gpus":
        return row.group
    if found.choice.over == "models":
        return row.model_name if row.n_gpus == found.scenario.n_gpus else f"{row.model_name} on {row.n_gpus}"
    return f"{row.model_name} on {row.group}"


def _held(found: Comparison) -> str:
    s, choice = found.scenario, found.choice
    user = f"one user of {plural(s.context, 'token')}"
    fits = int(np.count_nonzero(found.n_gpus))
    asked = int(np.count_nonzero(found.n_gpus == s.n_gpus))
    whole = integer(found.n_cells)
    if choice.over == "gpus":
        subject = f"{integer(fits)} of {whole} devices hold {s.released_model.name} and {user}"
    elif choice.over == "models":
        subject = f"{integer(fits)} of {whole} models fit with {user} on the {s.gpu_spec.name}"
    else:
        subject = f"{integer(fits)} of {whole} pairs of model and device fit with {user}"
    kinds = f"Of the kinds chosen ({', '.join(sorted(choice.only))}), " if choice.only else ""
    at_most = "" if choice.at_most is None else f" with at most {plural(choice.at_most, 'GPU')}"
    need = "one" if s.n_gpus == 1 else f"the {integer(s.n_gpus)} asked for"
    enough = f"for {integer(asked)} of them {need} will do" if asked else f"{need} will do for none"
    return f"{kinds}{subject}{at_most}; {enough}."


def format_throughput(value: float, count: Count) -> str:
    """Tokens as the picture counts them.

    >>> format_throughput(2126, "together"), format_throughput(9_487_698, "dollar"), format_throughput(6.4, "joule")
    ('2,126 tokens/s', '9.49 million tokens per dollar', '6.40 tokens per joule')
    """
    if count == "together":
        return format_rate(value)
    return f"{format_rate(value) if count == 'gpu' else format_tokens(value)} {COUNT_LABELS[count]}"


def _names(found: Comparison, points: Sequence[Point]) -> str:
    """Rows that tie, the first by name."""
    first, others = point_name(found, points[0].row), len(points) - 1
    return f"{first} and {plural(others, 'other')} as fast" if others else first


def _front(found: Comparison) -> list[str]:
    if not found.front:
        return []
    first, last = found.front[0], found.front[-1]
    quickest = [p for p in found.front if p.step_s == first.step_s]
    most = [p for p in found.front if p.throughput == last.throughput]
    together = "most together" if found.choice.count == "together" else f"most {COUNT_LABELS[found.choice.count]}"
    tops = (
        f"{_names(found, most)}: {together}, at most {format_throughput(last.throughput, found.choice.count)} with "
        f"{plural(last.batch, 'user')}, {format_seconds(last.step_s)} a token each."
    )
    if len(found.front_rows) == 1:
        return [f"{point_name(found, first.row)} leads alone, for one user as for many.", tops]
    return [f"{_names(found, quickest)}: quickest for a user, at best {format_seconds(first.step_s)} a token.", tops]


def _money(low: float, high: float | None) -> str:
    text = format_dollars(low)
    return text if high is None or format_dollars(high) == text else f"{text} to {format_dollars(high)}"


def _dated(row: Row) -> str:
    return "at your price" if row.terms.dated == "yours" else f"at the prices of {row.terms.dated}"


def _cheapest(found: Comparison) -> list[str]:
    said: list[str] = []
    n_priced, cheapest = _least(found.dollars_low)
    if cheapest is not None:
        low, high = float(found.dollars_low[cheapest]), float(found.dollars_high[cheapest])
        row = found.rows[cheapest]
        said.append(
            f"Cheapest at best, of the {plural(n_priced, 'row')} with a price: {point_name(found, row)}, "
            f"{_money(low, high)} per million tokens {_dated(row)}, with "
            f"{plural(int(found.grid.batch[row.cell]), 'user')} always busy: a lower bound."
        )
    _, least = _least(found.joules)
    if least is not None:
        joules = format_joules(float(found.joules[least]))
        said.append(
            f"Least energy, by data-sheet power: {point_name(found, found.rows[least])}, {joules} per million tokens: "
            "an indication."
        )
    return said


def _least(figures: Floats) -> tuple[int, int | None]:
    """How many are known, and the place of the least, the first of equal ones."""
    is_known = figures == figures  # noqa: PLR0124 - NaN alone differs from itself
    n_known = int(np.count_nonzero(is_known))
    return n_known, int(np.where(is_known, figures, np.inf).argmin()) if n_known else None


def _own(found: Comparison) -> list[str]:
    """The scenario's own cell, where others stand around it."""
    row = found.rows.row(found.own_cell)
    if row.full is None or found.cells.size == 1 or found.own_cell not in found.cells:
        return []
    low = row.dollars_low
    money = "" if low is None else f", from {format_dollars(low)} per million tokens"
    return [
        f"Yours, {point_name(found, row)}: at most {format_rate(row.full.tokens_per_s)} together with "
        f"{plural(row.full.batch, 'user')}, {format_seconds(row.full.step_s)} a token each{money}."
    ]


def summary(found: Comparison) -> tuple[str, ...]:
    """What is seen: how many fit, who is on the front, what is cheapest at best.

    >>> from core.compare import Choice, compare
    >>> from core.scenario import Scenario
    >>> choice = Choice(at_most=1, only=frozenset({"edge"}))
    >>> summary(compare(Scenario(model="llama-3.1-405b"), choice))[0].partition(":")[0]
    'Nothing of the chosen kinds holds 8,192 tokens on at most 1 GPU'
    """
    choice = found.choice
    if not found.cells.size:
        kinds = " of the chosen kinds" if choice.only else ""
        limit = "" if choice.at_most is None else f" on at most {plural(choice.at_most, 'GPU')}"
        ways = ["allow more GPUs"] if choice.at_most is not None else []
        ways += ["choose more kinds"] if choice.only else ["use fewer bits"]
        return (
            f"Nothing{kinds} holds {plural(found.scenario.context, 'token')}{limit}: {', '.join(ways)} or shorten "
            "the context.",
        )
    if not found.n_gpus.any():
        return (f"{_held(found)} A shorter context or fewer bits would help.",)
    return (_held(found), *_front(found), *_own(found), *_cheapest(found))


def cautions(found: Comparison) -> tuple[str, ...]:
    """What to keep in mind while reading the figures."""
    s, grid, cells = found.scenario, found.grid, found.cells[found.n_gpus > 0]
    is_spread = bool((found.n_gpus > 1).any())
    said: list[str] = []
    if found.n_short:
        said.append(f"{plural(found.n_short, 'model')} that stop before {integer(s.context)} tokens are left out.")
    if found.n_announced:
        said.append(f'{plural(found.n_announced, "device")} only announced: choose "{ANNOUNCED}" to see them.')
    if found.curves and len(found.curves) < cells.size:
        what = "price" if found.choice.count == "dollar" else "power"
        n = cells.size - len(found.curves)
        said.append(f"{plural(n, 'row')} without a known {what} cannot be in this picture.")
    if is_spread:
        said.append("Time on the links between GPUs is left out, which flatters many small ones.")
    if found.choice.over != "gpus" and cells.size:
        said.append("A smaller model is faster, not better: speeds of different models say nothing about answers.")
    if found.has_experts:
        said.append("Mixtures of experts are counted with the fewest experts a step can touch, the bound.")
    if s.split == "tensor" and is_spread and any(map(_is_latent, grid.models_of(cells))):
        said.append("Tensor parallel keeps MLA's latent on every GPU; attention data parallelism does better.")
    if s.context > s.released_model.max_context:
        stops = integer(s.released_model.max_context)
        said.append(f"{integer(s.context)} tokens is a what-if: {s.released_model.name} stops at {stops}.")
    if s.model_spec.is_hypothetical:
        said.append(f"{s.released_model.name} with {plural(s.kv_heads or 0, 'KV head')} is hypothetical.")
    devices = grid.gpus_of(cells)
    previews = [gpu.name for gpu in devices if gpu.preview]
    if previews:
        said.append(f"Announced, not yet on a shipped data sheet: {', '.join(previews)}.")
    if any(gpu.unified_memory for gpu in devices):
        said.append("Memory shared with the CPU (Apple, Jetson and the like) is not all usable.")
    return tuple(said)


def _is_latent(model: ModelSpec) -> bool:
    return any(isinstance(group.attention, LatentAttention) for group in model.groups)


def price_note(gpu: GpuSpec) -> str:
    """What the catalog says a device costs and draws, dated.

    >>> from core.catalog import gpus
    >>> price_note(gpus()["t4"])
    'NVIDIA T4: the catalog has no price; 70 W by its data sheet. Prices are dated, and every cost here is "at best".'
    """
    found = terms(gpu)
    if found.low is None:
        price = "the catalog has no price"
    else:
        dated = f" in {found.dated}" if found.dated else ""
        price = f"{_money(found.low, found.high)} per GPU-hour{dated} ({found.source})"
    sheet = "as you gave it" if gpu.category == "custom" else "by its data sheet"
    power = "no power known" if found.power_w is None else f"{integer(found.power_w)} W {sheet}"
    return f'{gpu.name}: {price}; {power}. Prices are dated, and every cost here is "at best".'


def at_most_label(at_most: int) -> str:
    """An entry of the list of limits.

    >>> at_most_label(1), at_most_label(0)
    ('1 GPU', 'any number')
    """
    return plural(at_most, "GPU") if at_most else "any number"


def placeholders(gpu: GpuSpec) -> tuple[str, str]:
    """What the empty price and power fields show: the catalog's figures."""
    found = terms(gpu)
    price = "unknown" if found.low is None else _money(found.low, found.high)
    power = "unknown" if found.power_w is None else integer(found.power_w)
    return price, power


def comparison_columns(found: Comparison, *, exact: bool = False) -> dict[str, Column]:
    """Every shown row, in columns; rounded to four digits for reading, or exact with sources and assumptions."""
    s, grid, cells, on = found.scenario, found.grid, found.cells, found.on
    figures = {
        "one user (tokens/s)": 1 / grid.one_s[cells],
        "all users (tokens/s)": found.tokens_per_s,
        "each of them (tokens/s)": 1 / grid.full_s[cells],
        "first token (s)": grid.ttft_s[cells],
        "$ per Mtok, at best": found.dollars_low,
        "$ per Mtok, high price": found.dollars_high,
        "J per Mtok": found.joules,
        "$ per GPU-hour, low": found.prices.low[on],
        "$ per GPU-hour, high": found.prices.high[on],
    }
    expected = {}
    if exact or found.has_experts:
        expected = {"all users at the experts expected (tokens/s)": grid.batch[cells] / grid.expected_s[cells]}
    numbers = figures | expected
    if not exact:
        numbers = dict(zip(numbers, all_to_four_digits([*numbers.values()]), strict=True))

    def constant(value: str) -> Column:
        return Column(np.zeros_like(cells), (value,))

    made: dict[str, Column] = {}
    if exact or found.choice.over != "gpus":
        made["model"] = Column(grid.of(cells), model_names(grid.models))
    if exact or found.choice.over != "models":
        made["GPU"] = Column(on, gpu_names(grid.gpus))
    made |= {
        "fits as asked": Column((found.n_gpus == s.n_gpus).astype(np.int64), ("no", "yes")),
        "GPUs needed": Column(found.n_gpus, is_blank=found.n_gpus < 1),
        "most users": Column(grid.most[cells], is_blank=grid.most[cells] < 1),
        **{name: Column(numbers[name]) for name in figures},
        "price dated": Column(on, found.prices.dated),
        "W per GPU": Column(found.prices.power_w[on]),
        **{name: Column(numbers[name]) for name in expected},
    }
    if exact:
        made |= {
            "price source": Column(on, found.prices.sources),
            "context": Column(np.full_like(cells, s.context)),
            "split": constant(s.split),
            "weights": constant(s.weight_format),
            "cache": constant(s.cache_format),
            "reserve": Column(np.full(cells.size, s.reserve)),
        }
    return made


def comparison_rows(found: Comparison, *, exact: bool = False) -> Rowset:
    """The same as rows.

    >>> from core.compare import compare
    >>> from core.scenario import Scenario
    >>> header, rows = comparison_rows(compare(Scenario()), exact=True)
    >>> {len(header)} == {len(row) for row in rows}
    True
    """
    columns = comparison_columns(found, exact=exact)
    rows: list[tuple[Cell, ...]] = list(zip(*(column.cells() for column in columns.values()), strict=True))
    return tuple(columns), rows


def speed_alt(found: Comparison) -> str:
    """Alt text of latency against throughput."""
    names = [point_name(found, point.row) for point in found.front_rows]
    front = f" The front, from quickest to most together: {', '.join(names)}." if names else ""
    counted = COUNT_LABELS[found.choice.count]
    return f"Tokens ({counted}) against time per output token, {plural(len(found.curves), 'row')}.{front}"


def map_alt(found: Comparison) -> str:
    """Alt text of the map of GPUs needed."""
    return f"Map of GPUs needed, models by devices, {integer(found.cells.size)} cells. {_held(found)}"


def point_hovers(found: Comparison, points: Sequence[Point]) -> list[str]:
    """Name and figures of each point."""
    count = found.choice.count
    rows = {point.row.cell: point.row for point in points}
    names = {cell: point_name(found, row) for cell, row in rows.items()}
    said: list[str] = []
    for p in points:
        own = "" if count == "together" else f", {format_throughput(p.throughput, count)}"
        said.append(
            f"{names[p.row.cell]}, {plural(p.batch, 'user')}: {format_rate(p.tokens_per_s)} together, "
            f"{format_seconds(p.step_s)} a token each{own}"
        )
    return said
