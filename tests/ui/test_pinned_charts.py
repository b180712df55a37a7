"""Pictures with a pin: valid, finite, the pin's numbers in them, both on the axes, and the pin named."""

import math
from collections.abc import Iterator

import plotly.graph_objects as go
import pytest
from hypothesis import given, settings

from core.changes import drafted, paired
from core.evaluate import Result, bandwidth_bytes_per_s, decode_sweep, evaluate, intensities, peak_flops_per_s, request
from core.levers import waterfall
from core.pool import pool
from core.predict import view_plan
from core.report import weight_parts
from core.scenario import Scenario
from core.units import format_ratio, in_unit, significant
from core.variants import kv_variants
from core.view import View
from tests.strategies import scenarios
from ui import charts
from ui.charts.base import BAR, PINNED, THIN

NOW, PIN = Scenario(batch=16), Scenario(batch=8)
BIG = Scenario(model="llama-3-70b", gpu="h200-sxm", n_gpus=4, batch=200, context=4096, weight_format="fp8")
LATENT = Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, batch=64, context=32_768)
MIXTRAL = Scenario(model="mixtral-8x7b", n_gpus=2, batch=32, context=4096)
WINDOWS = Scenario(model="gemma-3-27b", batch=4, context=32_768)
TINY = Scenario(model="gpt2-small", gpu="t4", batch=1, context=128)
CROWD = Scenario(batch=4096, context=8192)
PAIRS = [
    (NOW, PIN),
    (PIN, NOW),
    (NOW, BIG),
    (BIG, NOW),
    (NOW, LATENT),
    (LATENT, Scenario(kv_heads=1)),
    (MIXTRAL, NOW),
    (MIXTRAL, MIXTRAL.replace(batch=4)),
    (NOW, MIXTRAL),
    (WINDOWS, NOW),
    (NOW, NOW.replace(weight_format="int4", cache_format="fp8")),
    (NOW, NOW.replace(reserve=0)),
    (NOW, NOW.replace(kv_heads=32)),
    (NOW, NOW.replace(context=128)),
    (TINY, CROWD),
    (CROWD, TINY),
    (NOW, Scenario(batch=10**15, context=2**24)),
]
IDS = [str(i) for i in range(len(PAIRS))]


def curves(now: Scenario, pin: Scenario) -> Iterator[charts.Figure]:
    """The pictures of curves."""
    result, before = evaluate(now), evaluate(pin)
    yield charts.ceiling_chart(result, before)
    yield charts.users_figure(result, before)
    yield charts.context_figure(result, "GB", before)
    yield charts.roofline_figure(result, before)
    if result.decode.expected:
        yield charts.experts_figure(result, before)
        yield charts.experts_ceiling_figure(result, before)
    found, then = drafted(View(now)), drafted(View(pin))
    if found and then:
        yield from charts.speed_up_figures(found.scenario, found.draft, found.found, then)


def bars(now: Scenario, pin: Scenario) -> Iterator[charts.Figure]:
    result, before = evaluate(now), evaluate(pin)
    yield charts.memory_bar(result, "GB", before)
    yield from charts.kv_variants_figures(kv_variants(now), "GB", paired(kv_variants(now), now, pin))
    yield charts.step_figure(result, before)
    yield charts.phases_figure(result, before)
    yield charts.request_figure(request(now, 100), request(pin, 100))
    yield charts.formats_figure(result, "GiB", before)
    yield charts.cache_formats_figure(result, "GiB", before)
    fall = waterfall(view_plan(View(now)))
    then = waterfall(view_plan(View(pin)), [step.lever for step in fall.steps])
    yield charts.waterfall_figure(fall, "GB", then)
    yield charts.lever_memory_figure(fall, "GB", then)
    shared, shared_then = pool(View(now)), pool(View(pin))
    if shared and shared_then:
        yield charts.shares_figure(shared, shared_then)


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float):
        yield float(value)


@given(scenarios(), scenarios())
@settings(max_examples=12, deadline=None)
def test_any_two_scenarios_draw(now: Scenario, pin: Scenario) -> None:
    for figure in (*curves(now, pin), *bars(now, pin)):
        go.Figure(figure["data"], figure["layout"])  # raises on what Plotly does not know
        assert all(math.isfinite(number) for number in numbers(figure))


def thin(figure: charts.Figure) -> dict[str, list[float]]:
    """The pin's bars by name."""
    return {t["name"].removeprefix(f"{PINNED}: "): t["x"] for t in figure["data"] if t["name"].startswith(PINNED)}


def ghosts(figure: charts.Figure, mode: str = "lines") -> dict[str, dict[float, float]]:
    """The pin's curves, or its rings, by name."""
    return {
        t["name"].removeprefix(f"{PINNED}: "): dict(zip(t["x"], t["y"], strict=True))
        for t in figure["data"]
        if t["name"].startswith(PINNED) and t["mode"] == mode
    }


@pytest.mark.parametrize(("now", "pin"), PAIRS, ids=IDS)
def test_the_memory_bar_of_the_pin_is_its_parts(now: Scenario, pin: Scenario) -> None:
    figure, m = charts.memory_bar(evaluate(now), "GB", evaluate(pin)), evaluate(pin).memory
    sizes = (m.weights_bytes, m.kv_bytes, m.reserve_bytes, m.free_bytes)
    assert [x[0] for x in thin(figure).values()] == [in_unit(size, "GB") for size in sizes]
    end = figure["layout"]["xaxis"]["range"][1]
    assert end >= in_unit(max(m.total_bytes, m.capacity_bytes, evaluate(now).memory.total_bytes), "GB")
    marks = [s for s in figure["layout"]["shapes"] if s["x0"] == pytest.approx(in_unit(m.capacity_bytes, "GB"))]
    assert marks, "the pin's capacity has no line"


def test_thin_bars_lie_beneath_with_the_same_colour_and_pattern() -> None:
    drawn, pins = (
        charts.memory_bar(evaluate(NOW), "GB", evaluate(PIN))["data"][:4],
        charts.memory_bar(evaluate(NOW), "GB", evaluate(PIN))["data"][4:],
    )
    for bar, pin in zip(drawn, pins, strict=True):
        assert bar["marker"] == pin["marker"]
        assert (bar["width"], pin["width"]) == (BAR, THIN)
        assert bar["y"][0] + BAR / 2 < pin["y"][0] - THIN / 2  # the axis points down
        assert pin["textposition"] == "none"


def test_without_a_pin_nothing_is_pinned() -> None:
    result = evaluate(NOW)
    fall = waterfall(view_plan(View(NOW)))
    figures = [
        charts.memory_bar(result, "GB"),
        charts.ceiling_chart(result),
        charts.users_figure(result),
        charts.step_figure(result),
        charts.context_figure(result, "GB"),
        charts.roofline_figure(result),
        charts.phases_figure(result),
        charts.formats_figure(result, "GB"),
        charts.cache_formats_figure(result, "GB"),
        charts.waterfall_figure(fall, "GB"),
        charts.lever_memory_figure(fall, "GB"),
        *charts.kv_variants_figures(kv_variants(NOW), "GB"),
    ]
    assert not any(PINNED in str(figure) for figure in figures)


@pytest.mark.parametrize(("now", "pin"), PAIRS, ids=IDS)
def test_ceilings_of_the_pin(now: Scenario, pin: Scenario) -> None:
    result, before = evaluate(now), evaluate(pin)
    d = before.decode
    for figure in (charts.ceiling_chart(result, before), charts.users_figure(result, before)):
        curve = ghosts(figure)
        steps = {step.batch: step for step in decode_sweep(pin, [int(x) for x in curve["together"]])}
        assert curve["together"] == {b: step.tokens_per_s for b, step in steps.items()}
        assert curve["each user"] == {b: step.tokens_per_s_per_user for b, step in steps.items()}
        assert ghosts(figure, "markers") == {
            f"{significant(d.tokens_per_s)} together": {pin.batch: d.tokens_per_s},
            f"{significant(d.tokens_per_s_per_user)} each": {pin.batch: d.tokens_per_s_per_user},
        }
        assert {now.batch, pin.batch} <= set(curve["together"])
        for trace in figure["data"]:
            low, high = figure["layout"][trace.get("yaxis", "y").replace("y", "yaxis")]["range"]
            assert all(low <= math.log10(y) <= high for y in trace["y"])


def test_step_and_request_and_phases_of_the_pin() -> None:
    before = evaluate(BIG)
    d, p = before.decode, before.prefill
    step = thin(charts.step_figure(evaluate(NOW), before))
    assert step["weights"][0] + step["KV cache"][0] == pytest.approx(d.memory_s * 1e3)
    assert step["compute"] == [d.compute_s * 1e3]
    phases = [t["x"][0] for t in charts.phases_figure(evaluate(NOW), before)["data"] if t["name"].startswith(PINNED)]
    assert phases == [p.memory_s, p.compute_s, d.memory_s, d.compute_s]
    asked = request(BIG, 50)
    figure = charts.request_figure(request(NOW, 50), asked)
    assert thin(figure) == {"prefill": [asked.ttft_s], "decode": [asked.decode_s]}
    assert figure["layout"]["xaxis"]["range"][1] == max(asked.total_s, request(NOW, 50).total_s)


def test_context_curves_of_the_pin() -> None:
    before = evaluate(BIG)
    figure = charts.context_figure(evaluate(NOW), "GB", before)
    curve = ghosts(figure)
    for context in (128, 4096, 8192):
        size = evaluate(BIG.replace(context=context)).memory.kv_bytes
        assert curve["KV cache"][context] == in_unit(size, "GB")
    assert set(curve["weights 72.7 GB"].values()) == {in_unit(before.memory.weights_bytes, "GB")}
    assert set(curve["capacity 603 GB"].values()) == {in_unit(before.memory.capacity_bytes, "GB")}
    assert ghosts(figure, "markers") == {"KV cache 268 GB": {4096: in_unit(before.memory.kv_bytes, "GB")}}
    named = {trace["name"] for trace in figure["data"] if trace["showlegend"]}
    assert {"pinned: KV cache 268 GB", "pinned: weights 72.7 GB", "pinned: capacity 603 GB"} < named
    same = charts.context_figure(evaluate(NOW), "GB", evaluate(PIN))
    assert set(ghosts(same)) == {"KV cache"}  # the weights and the capacity are the same lines


@pytest.mark.parametrize(("now", "pin"), PAIRS, ids=IDS)
def test_roofline_dots_of_the_pin(now: Scenario, pin: Scenario) -> None:
    before = evaluate(pin)
    figure = charts.roofline_figure(evaluate(now), before)
    found = intensities(pin, before)
    drawn = {name: next(iter(at)) for name, at in ghosts(figure, "markers").items()}
    known = {
        "prefill": found.prefill,
        "decode, weights": found.decode_weights,
        "decode, attention": found.decode_attention,
    }
    assert drawn == {f"{name} {significant(value)}": value for name, value in known.items() if value}
    same_roof = all(of(now) == of(pin) for of in (peak_flops_per_s, bandwidth_bytes_per_s))
    assert ("roofline" in ghosts(figure)) is not same_roof
    x_range, y_range = figure["layout"]["xaxis"]["range"], figure["layout"]["yaxis"]["range"]
    for trace in figure["data"]:
        assert all(x_range[0] - 1e-9 <= math.log10(x) <= x_range[1] + 1e-9 for x in trace["x"])
        assert all(y_range[0] - 1e-9 <= math.log10(y) <= y_range[1] for y in trace["y"])


def test_rows_of_heads_of_the_pin() -> None:
    pairs = paired(kv_variants(NOW), NOW, NOW.replace(kv_heads=4, batch=2))
    both = charts.kv_variants_figures(kv_variants(NOW), "GB", pairs)
    caches = [evaluate(NOW.replace(kv_heads=heads, batch=2)).memory.kv_bytes for heads in (32, 8, 4, 1)]
    assert thin(both[0])["KV cache"] == [in_unit(size, "GB") for size in caches]
    speeds = [evaluate(NOW.replace(kv_heads=heads, batch=2)).decode.tokens_per_s for heads in (32, 8, 4, 1)]
    assert thin(both[1])["together, tokens/s"] == speeds
    assert both[0]["layout"]["yaxis"]["ticktext"] == [
        "MHA, 32",
        "released, 8",
        "pinned, 4",
        "MQA, 1",
        "<i>pinned</i>",
    ]
    formats = charts.formats_figure(evaluate(NOW), "GB", evaluate(BIG))["layout"]["yaxis"]["ticktext"]
    assert formats[:3] == ["<b>native</b>", "bf16", "fp8, <i>pinned</i>"]  # many rows: the word follows the name


def test_formats_of_the_pin() -> None:
    four = NOW.replace(weight_format="int4", cache_format="fp8")
    weights = charts.formats_figure(evaluate(NOW), "GB", evaluate(four))
    bars_there = thin(weights)
    assert {len(x) for x in bars_there.values()} == {1}  # the same model: only its own format's row says anything new
    assert sum(x[0] for x in bars_there.values()) == pytest.approx(evaluate(four).memory.weights_bytes / 1e9)
    other = thin(charts.formats_figure(evaluate(NOW), "GB", evaluate(BIG)))
    assert sum(x[0] for x in other.values()) == pytest.approx(sum(weight_parts(BIG, "native").values()) / 1e9)
    cache = thin(charts.cache_formats_figure(evaluate(NOW), "GB", evaluate(PIN)))["KV cache"]
    assert cache[0] == in_unit(evaluate(PIN).memory.kv_bytes, "GB")
    assert len(thin(charts.cache_formats_figure(evaluate(NOW), "GB", evaluate(four)))["KV cache"]) == 1


def test_levers_of_the_pin_float_in_the_same_order() -> None:
    fall = waterfall(view_plan(View(MIXTRAL)))
    then = waterfall(view_plan(View(LATENT)), [step.lever for step in fall.steps])
    assert [step.lever for step in then.steps] == [step.lever for step in fall.steps]
    assert then.end_bytes == waterfall(view_plan(View(LATENT))).end_bytes
    drawn = thin(charts.waterfall_figure(fall, "GB", then))
    tops = [a + b + c for a, b, c in zip(*drawn.values(), strict=True)]
    assert tops[0] == tops[1] == pytest.approx(float(then.start_bytes) / 1e9)
    assert drawn["bytes a token"][-1] == pytest.approx(float(then.end_bytes) / 1e9)
    memory = thin(charts.lever_memory_figure(fall, "GB", then))["memory"]
    assert memory[0] == in_unit(then.start_memory_bytes, "GB")


def test_experts_of_the_pin() -> None:
    pin = MIXTRAL.replace(batch=4)
    expected = evaluate(pin).decode.expected
    assert expected
    figure = charts.experts_figure(evaluate(MIXTRAL), evaluate(pin))
    assert ghosts(figure, "markers") == {"5.47 expected": {4: pytest.approx(5.46875)}}
    ceiling = charts.experts_ceiling_figure(evaluate(MIXTRAL), evaluate(pin))
    assert list(ghosts(ceiling, "markers").values()) == [{4: expected.tokens_per_s}]
    wide = charts.experts_figure(evaluate(MIXTRAL), evaluate(LATENT))
    assert wide["layout"]["yaxis"]["range"][1] >= 256
    dense = charts.experts_figure(evaluate(MIXTRAL), evaluate(NOW))
    assert not ghosts(dense)  # a dense pin has no experts, but a ceiling
    ceiling = charts.experts_ceiling_figure(evaluate(MIXTRAL), evaluate(NOW))
    assert list(ghosts(ceiling, "markers").values()) == [{16: evaluate(NOW).decode.tokens_per_s}]


def test_speculation_and_pages_of_the_pin() -> None:
    view, pin = View(BIG), View(BIG.replace(batch=1))
    now, then = drafted(view), drafted(pin)
    assert now
    assert then
    by_length, by_users = charts.speed_up_figures(BIG, now.draft, now.found, then)
    words = f"× {format_ratio(then.found.speed_up, 3)}"
    assert ghosts(by_length, "markers") == {words: {view.draft_length: then.found.speed_up}}
    assert ghosts(by_users, "markers") == {words: {1: then.found.speed_up}}
    assert ghosts(by_length)["speed-up"][view.draft_length] == pytest.approx(then.found.speed_up)
    shared, shared_then = pool(View(NOW)), pool(View(BIG))
    assert shared
    assert shared_then
    shares = thin(charts.shares_figure(shared, shared_then))
    both = (shared_then.reserved, shared_then.paged)
    assert shares["tokens"] == [100 * served.used_tokens / shared_then.pool_tokens for served in both]
    titles = [figure["layout"]["annotations"][0]["text"] for figure in charts.pool_figures(shared, shared_then)]
    assert [f"(pinned: {served.n_served:,})" in title for served, title in zip(both, titles, strict=True)] == [True] * 2


@pytest.mark.parametrize(("now", "pin"), PAIRS, ids=IDS)
def test_every_picture_of_curves_names_its_pin(now: Scenario, pin: Scenario) -> None:
    """In the key, in a heading, or on the picture; and what is hollow says on pointing at it what it is."""
    for figure in curves(now, pin):
        rings = [t for t in figure["data"] if t["name"].startswith(PINNED) and t["mode"] == "markers"]
        said = " ".join(label["text"] for label in figure["layout"]["annotations"])
        assert all(ring["hovertemplate"].startswith(ring["name"]) for ring in rings)
        keyed = [ring for ring in rings if ring.get("showlegend")]
        assert not rings or keyed or PINNED in said
        for trace in figure["data"]:
            if trace.get("showlegend") and trace["name"].startswith(PINNED):
                assert trace["legendrank"] > 1000


def test_a_result_is_not_drawn_twice() -> None:
    result: Result = evaluate(NOW)
    one, two = charts.ceiling_chart(result, evaluate(PIN)), charts.ceiling_chart(result, evaluate(PIN))
    assert one == two
    assert len(one["layout"]["annotations"]) == len(charts.ceiling_chart(result)["layout"]["annotations"])
