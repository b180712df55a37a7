"""Measured points as sentences, hover text, alt text and rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from core.measured import (
    KIND_LABELS,
    OWN,
    By,
    Choice,
    Kind,
    Near,
    Path_,
    Point,
    above,
    bits_group,
    cache_term,
    grouped,
    measurements,
    nearest,
    points,
    select,
    sources,
    spread,
)
from core.report import Cell, Rowset
from core.scenario import Scenario
from core.units import (
    format_bandwidth,
    format_bytes,
    format_rate,
    format_seconds,
    integer,
    plural,
    shortest,
)

USUAL = (0.6, 0.9)  # between which most single devices stay
SHORT_S, LONG_S = 3e-3, 12e-3  # steps in which launching kernels weighs, and in which it does not
BY_LABELS: dict[By, str] = {"engine": "engine", "device": "device", "format": "weight format", "batch": "users"}
PATH_LABELS: dict[Path_, str] = {"catalog": "our catalog", "row": "the row's own bytes"}
RATIO_DIGITS = 2


def ratio(value: float) -> str:
    """A ratio as the page prints it.

    >>> ratio(0.7034), ratio(1.4753)
    ('0.70', '1.48')
    """
    return f"{value:.{RATIO_DIGITS}f}"


def kind_label(kind: Kind) -> str:
    """A kind with the number of its measurements.

    >>> kind_label("request")
    'whole requests (77)'
    """
    return f"{KIND_LABELS[kind]} ({integer(len(select(Choice(kind))))})"


def introduction() -> str:
    """What the page shows, with the counts."""
    found = points()
    own = sum(p.path == "row" for p in found)
    return (
        f"{integer(len(found))} published measurements from {integer(len(sources()))} publications, each against the "
        f"ceiling of its own model, device, formats, users and context. {integer(len(found) - own)} ceilings come from "
        f"the catalog, {integer(own)} (hollow marks) from the row's own bytes, where model, device or format is not in "
        "it. An embedding table that is only looked up is not counted."
    )


def is_plain(p: Point) -> bool:
    """Dense or one user, and without speculation: a point that must not pass its ceiling."""
    return not p.is_estimate and not p.measurement.draft


def what_is_seen(found: Sequence[Point]) -> tuple[str, ...]:
    """What the shown points teach, from themselves.

    >>> what_is_seen(())
    ('No measurement is left: choose more.',)
    """
    if not found:
        return ("No measurement is left: choose more.",)
    all_ = spread(found)
    within = sum(USUAL[0] <= p.ratio <= USUAL[1] for p in found)
    said = [f"{plural(all_.count, 'measurement')}: median {ratio(all_.median)} of the ceiling"]
    if all_.count > 1:
        said[0] += (
            f", half of them between {ratio(all_.low)} and {ratio(all_.high)}, {integer(100 * within / all_.count)} % "
            f"between {USUAL[0]:g} and {USUAL[1]:g}, highest {ratio(all_.most)}"
        )
    said[0] += "."
    if found[0].measurement.kind == "decode":
        said += [*_short_steps(found), *_formats(found), *_layers(found), *_plain(found)]
    elif found[0].measurement.kind == "request":
        said.append(
            "The ceiling does the prompt pass and then the output, as a batch runs that starts together; an engine "
            "that mixes both could do better."
        )
    else:
        said.append("A prompt pass computes: its ceiling is arithmetic, which kernels reach less than bandwidth.")
    return tuple(said)


def _short_steps(found: Sequence[Point]) -> list[str]:
    one = [p for p in found if is_plain(p) and p.measurement.n_gpus == 1 and p.step_s is not None]
    short = [p for p in one if (p.step_s or 0) < SHORT_S]
    long = [p for p in one if (p.step_s or 0) >= LONG_S]
    if not short or not long:
        return []
    few, many = spread(short), spread(long)
    return [
        f"Few bytes a step lose more: on one GPU, steps of less than {format_seconds(SHORT_S, 1)} reach "
        f"{ratio(few.median)} (median of {integer(few.count)}), those of {format_seconds(LONG_S, 2)} and more "
        f"{ratio(many.median)} ({integer(many.count)}): starting kernels takes time that no bandwidth shortens."
    ]


def _formats(found: Sequence[Point]) -> list[str]:
    one = [p for p in found if is_plain(p) and p.measurement.n_gpus == 1 and p.measurement.batch == 1]
    groups = {name: spread(rows) for name, rows in grouped(one, "format")}
    wide, narrow = groups.get("16 bits"), groups.get("4 to 5 bits")
    if not wide or not narrow or narrow.median >= wide.median:
        return []
    return [
        f"One user on one GPU reaches {ratio(wide.median)} with 16 bits and {ratio(narrow.median)} with 4 to 5: "
        "shorter steps again, and unpacking. Fewer bits are faster, by less than their size says."
    ]


def _layers(found: Sequence[Point]) -> list[str]:
    rows = [p for p in found if p.measurement.n_gpus > 1 and p.measurement.split == "layer"]
    if not rows:
        return []
    return [
        f"With layers shared out over several GPUs, none of {plural(len(rows), 'measurement')} passes one GPU's "
        f"bandwidth: at most {ratio(max(p.ratio for p in rows))} of it."
    ]


def _plain(found: Sequence[Point]) -> list[str]:
    rows = [p for p in found if is_plain(p)]
    over = above(found)
    if not rows:
        return []
    count = {0: "None is", 1: "One is"}.get(len(over), f"{len(over)} are")
    why = ": speculation, or experts shared more than expected; the reasons stand below" if over else ""
    return [
        f"Without speculation, and dense or with one user, the highest is {ratio(max(p.ratio for p in rows))}. "
        f"{count} above 1{why}."
    ]


def where_printed(p: Point) -> str:
    """Publication and table."""
    m = p.measurement
    return "your measurement" if m.source == OWN else f"{sources()[m.source].title}, {m.where}"


def name(p: Point) -> str:
    """What ran.

    >>> name(points()[0])
    'gpt-oss-20b, MXFP4 experts, rest Q8_0, on DGX Spark GB10 with llama.cpp'
    """
    m = p.measurement
    device = m.device if m.n_gpus == 1 else f"{m.n_gpus} × {m.device}"
    return f"{m.model}, {m.format}, on {device} with {m.engine}"


def hover(p: Point) -> tuple[str, ...]:
    """Lines of a point's hover text."""
    m = p.measurement
    least = "expected for its experts" if p.is_estimate else "at most"
    load = f"{plural(m.batch, 'user')}, context {integer(m.context)}"
    lines = [
        name(p),
        load if m.kind == "decode" or not m.output else f"{load}, output {integer(m.output)}",
        f"{format_rate(m.tokens_per_s)} of {least} {format_rate(p.ceiling)}: {ratio(p.ratio)}",
        f"ceiling from {PATH_LABELS[p.path]}",
        where_printed(p),
    ]
    if p.achieved_bytes_per_s is not None and not p.is_estimate:
        lines.insert(3, f"achieved {format_bandwidth(p.achieved_bytes_per_s)} of {_bandwidth(p)}")
    return tuple(lines)


def _bandwidth(p: Point) -> str:
    return shortest(p.bandwidth_bytes_per_s, format_bandwidth, 4)


def reality_alt(found: Sequence[Point], own: Sequence[Point] = ()) -> str:
    """Alt text of measured against ceiling."""
    said = what_is_seen(found)[0]
    mine = f" Yours: {', '.join(ratio(p.ratio) for p in own)}." if own else ""
    return f"Measured tokens/s against the ceiling, logarithmic, with the diagonal. {said}{mine}"


def ratio_alt(found: Sequence[Point], by: By) -> str:
    """Alt text of the ratio by group."""
    groups = [f"{group} {ratio(spread(rows).median)}" for group, rows in grouped(found, by)]
    return f"Measured over ceiling by {BY_LABELS[by]}. Medians: {', '.join(groups) or 'none'}."


def group_rows(found: Sequence[Point], by: By) -> Rowset:
    """Spread of each group."""
    header = (BY_LABELS[by], "count", "lower quartile", "median", "upper quartile", "highest")
    rows: list[tuple[Cell, ...]] = []
    for group, of in grouped(found, by):
        s = spread(of)
        rows.append((group, s.count, *(ratio(value) for value in (s.low, s.median, s.high, s.most))))
    return header, rows


def point_rows(found: Sequence[Point], *, exact: bool = False) -> Rowset:
    """Every shown point; rounded for reading, or exact with all that was given."""
    header: tuple[str, ...] = (
        "model",
        "device",
        "GPUs",
        "format",
        "engine",
        "users",
        "context",
        "measured (tokens/s)",
        "ceiling (tokens/s)",
        "ratio",
        "ceiling from",
        "source",
        "where",
        "link",
        "note",
    )
    if exact:
        more = ("kind", "split", "cache", "prompt", "output", "bound (tokens/s)", "achieved (B/s)", "of (B/s)", "draft")
        header = ("id", *header, *more)
    rows: list[tuple[Cell, ...]] = []
    for p in found:
        m = p.measurement
        source = sources().get(m.source)
        cells: tuple[Cell, ...] = (
            m.model,
            m.device,
            m.n_gpus,
            m.format,
            m.engine,
            m.batch,
            m.context,
            m.tokens_per_s,
            p.ceiling if exact else float(f"{p.ceiling:.4g}"),
            p.ratio if exact else round(p.ratio, 3),
            f"{PATH_LABELS[p.path]}{', experts expected' if p.is_estimate else ''}",
            source.title if source else m.source,
            m.where,
            source.url if source else None,
            m.note,
        )
        if exact:
            split = m.split if m.n_gpus > 1 else None
            given = (m.kind, split, m.cache, m.prompt, m.output)
            cells = (m.id, *cells, *given, p.bound, p.achieved_bytes_per_s, p.bandwidth_bytes_per_s, m.draft)
        rows.append(cells)
    return header, rows


@lru_cache(maxsize=1)
def above_rows() -> Rowset:
    """All rows above 1 with their reasons, furthest first."""
    rows: list[tuple[Cell, ...]] = [
        (name(p), p.measurement.batch, p.measurement.context, ratio(p.ratio), p.reason or "") for p in above(points())
    ]
    return ("what ran", "users", "context", "ratio", "why it is above 1"), rows


@lru_cache(maxsize=1)
def cache_term_rows() -> Rowset:
    """Qwen2.5-7B on the DGX Spark: ratios with and without the cache, against context."""
    rows: list[tuple[Cell, ...]] = [
        (
            integer(p.measurement.context),
            f"{p.measurement.tokens_per_s:g}",
            ratio(p.ratio),
            ratio(p.measurement.tokens_per_s / (p.no_cache_ceiling or p.ceiling)),
        )
        for p in cache_term()
    ]
    return ("context", "tokens/s", "of the ceiling", "if only weights were read"), rows


@lru_cache(maxsize=1)
def cache_term_sentence() -> str:
    """What the five contexts show."""
    found = cache_term()
    with_cache = [p.ratio for p in found]
    without = found[-1].measurement.tokens_per_s / (found[-1].no_cache_ceiling or 1)
    m = found[-1].measurement
    steady = f"{ratio(min(with_cache))} to {ratio(max(with_cache))} of the ceiling"
    return (
        f"{m.model} in {m.format} on the {m.device}, one user: from {integer(found[0].measurement.context)} to "
        f"{integer(m.context)} tokens of context it stays at {steady}. Were only the weights read, it would seem to "
        f"fall to {ratio(without)}: the cache is read, every step."
    )


def own_sentences(p: Point) -> tuple[str, ...]:
    """Where one's own figure stands, and the bandwidth it achieved.

    >>> from core.measured import own_point
    >>> from core.scenario import Scenario
    >>> own_sentences(own_point(Scenario(), tokens_per_s=120))[0]
    'your engine, Llama 3 8B, 1 user of 8,192 tokens: 120 tokens/s of at most 208 tokens/s, a ratio of 0.58.'
    """
    m = p.measurement
    most = "an expected" if p.is_estimate else "at most"
    each = "" if m.batch == 1 else f" together, {format_rate(m.tokens_per_s / m.batch)} each,"
    said = [
        f"{m.engine}, {m.model}, {plural(m.batch, 'user')} of {plural(m.context, 'token')}: "
        f"{format_rate(m.tokens_per_s)}{each} of {most} {format_rate(p.ceiling)}, a ratio of {ratio(p.ratio)}."
    ]
    achieved = p.achieved_bytes_per_s
    if achieved is not None and p.bytes_per_step is not None:
        said.append(
            f"A step reads {format_bytes(p.bytes_per_step)}, which at this rate comes to {format_bandwidth(achieved)} "
            f"of {_bandwidth(p)}."
        )
    if p.is_estimate:
        said.append(f"The bound, with the fewest experts, is {format_rate(p.bound)}.")
    if p.is_chunked and p.ratio <= 1:
        said.append("Attention in chunks: just past a chunk's boundary a real step reads less than the ceiling counts.")
    return (*said, *([p.reason] if p.reason else []))


def near_hover(n: Near) -> tuple[str, ...]:
    """Lines of the hover text of a hollow mark on other pages."""
    return (
        f"measured: {n.engine}, {plural(n.batch, 'user')}, context {integer(n.context)}",
        f"{format_rate(n.tokens_per_s)} together, {format_rate(n.each)} each",
        n.source,
    )


def devices(kind: Kind) -> list[str]:
    """Devices of a kind's measurements, the most measured first."""
    return [group for group, _ in _counted([m.device for m in measurements() if m.kind == kind])]


def engines(kind: Kind) -> list[str]:
    """Engines of a kind's measurements, the most measured first."""
    return [group for group, _ in _counted([m.engine for m in measurements() if m.kind == kind])]


def formats(kind: Kind) -> list[str]:
    """Format groups of a kind's measurements, the most measured first."""
    return [group for group, _ in _counted([bits_group(m) for m in measurements() if m.kind == kind])]


def _counted(names: Sequence[str]) -> list[tuple[str, int]]:
    counts = {each: names.count(each) for each in dict.fromkeys(names)}
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def near_sentence(scenario: Scenario) -> list[str]:
    """What the hollow marks are; nothing where nothing was measured.

    >>> near_sentence(Scenario(gpu="h100-pcie"))
    ['Hollow: measured systems near this scenario, such as llama.cpp with 1 user: 63.5 tokens/s.']
    """
    found = nearest(scenario)
    if not found:
        return []
    one = found[-1]
    rate = format_rate(one.tokens_per_s)
    said = f"{one.engine} with {plural(one.batch, 'user')}: {rate}"
    return [f"Hollow: measured systems near this scenario, such as {said}."]
