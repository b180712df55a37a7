"""The answer key worked out by hand: plain formulas on the data that the sheet prints, and nothing else of the app."""

import math
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog import gpus, models
from core.evaluate import evaluate, limits
from core.model import LayerGroup, MambaMixer, ModelSpec
from core.scenario import CACHE_NAMES, WEIGHT_NAMES, Scenario
from core.units import UNITS
from core.worksheet import WHAT_IFS, Worksheet, gpus_needed, worksheet
from tests.strategies import scenarios

MAMBA = ModelSpec(
    slug="mamba-130m",
    name="Mamba 130M",
    family="Mamba",
    d_model=768,
    vocab=50_280,
    tied_embeddings=True,
    groups=(
        LayerGroup(
            count=24, attention=MambaMixer(d_inner=1536, d_state=16, conv_kernel=4, dt_rank=48), ffn=None, n_norms=1
        ),
    ),
    max_context=2048,
    source="https://arxiv.org/abs/2312.00752",
)
KINDS = {
    "gqa": Scenario(batch=32),
    "mha": Scenario(model="llama-2-7b", batch=16, context=4096),
    "mqa": Scenario(model="falcon-7b", batch=64, context=2048),
    "mla": Scenario(model="deepseek-v3", gpu="h200-sxm", n_gpus=8, split="layer", batch=32, context=32_768),
    "sparse": Scenario(model="deepseek-v3.2", gpu="h200-sxm", n_gpus=16, batch=8, skip_embedding=True),
    "windows": Scenario(model="gemma-3-27b", batch=4, context=32_768, weight_format="int4", cache_format="int4"),
    "all windows": Scenario(model="mistral-7b-v0.1", batch=16, context=16_384),
    "hybrid": Scenario(model="qwen3-next-80b-a3b", n_gpus=4, split="layer", batch=6, context=65_536),
    "recurrent": Scenario(model=MAMBA, batch=100, context=2048),
    "experts": Scenario(model="mixtral-8x7b", n_gpus=2, batch=8, context=4096),
    "native": Scenario(model="gpt-oss-120b", batch=1),
    "two widths": Scenario(model="gemma-4-31b", batch=3, context=9000),
    "more GPUs than heads": Scenario(model="llama-3-70b", n_gpus=16, batch=3, reserve=0.075, cache_format="q4_0"),
    "too large": Scenario(model="llama-3-70b", batch=4),
    "hypothetical": Scenario(batch=32, kv_heads=32),
    "decoded by arithmetic": Scenario(batch=4096, context=16),
}
FACTORS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
FACTORS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
BIG = 10**15


def exact(sheet: Worksheet) -> dict[str, float]:
    return {line.symbol: line.value for line in sheet.givens}


def as_printed(sheet: Worksheet) -> dict[str, float]:
    """The data as a student types them into a calculator."""

    def number(text: str) -> float:
        found = re.fullmatch(r"([\d,.]+) ?([KkMGTP]?i?)(B|B/s|FLOP|FLOP/s|%)?", text)
        assert found, text
        value = float(found[1].replace(",", "")) * (FACTORS[found[2]] if found[2] else 1)
        return value / 100 if found[3] == "%" else value

    def read(text: str) -> float:
        text = text.rpartition(" = ")[2]
        if " / " in text:
            above, below = text.split(" / ")
            return number(above) / number(below)
        if " × " in text:
            return math.prod(number(part) for part in text.split(" × "))
        return number(text)

    return {line.symbol: read(line.text) for line in sheet.givens}


def by_hand(sheet: Worksheet, g: dict[str, float]) -> dict[str, float]:
    """Every answer, from the numbers of the sheet's data under their symbols."""
    s = sheet.scenario
    marks = [symbol[1:] for symbol in g if symbol[0] == "L" and symbol != "L_Z"]
    kept_only = {line.symbol for line in sheet.givens if "keep at most" in line.words}

    def per_token(b: float) -> float:
        return sum(g[f"L{i}"] * g[f"v{i}"] * g.get(f"n_c{i}", 1) for i in marks) * b / 8

    def per_user(S: float, b: float, heads: float = 1, *, read: bool = False, windows: bool = True) -> float:
        total = g.get("Z", 0.0) if windows else 0.0
        for i in marks:
            limited = windows and (f"m{i}" in kept_only or (read and f"m{i}" in g))
            tokens = min(S, g[f"m{i}"]) if limited else S
            total += g[f"L{i}"] * g[f"v{i}"] * heads * g.get(f"n_c{i}", 1) * tokens * b / 8
        return total

    B, S, b, P = g["B"], g["S"], g.get("b", 0.0), g["P"]
    W = g["N"] * g["w"] / 8
    one = per_user(S, b)
    room = g["M"] * (1 - g["r"])
    left = g["M"] - W - B * one - g["r"] * g["M"]
    read = g["W_rest"] + (g["W_E"] * g["k"] / g["E"] if "E" in g else g["W_k"]) if "W_rest" in g else W
    read -= g.get("W_table", 0.0)
    t = g.get("t", B)
    stages = g["C_all"] / g["C"] if "t" in g else 1
    one_read = per_user(S, b, read=True)

    def step(tokens: float) -> float:
        return max((read + tokens * one_read) / g["BW"], tokens * (2 * P + g["a"]) / g["C"])

    ttft = max(B * (2 * ((P - g["P_head"]) * S + g["P_head"]) + g["A"]) / g.get("C_all", g["C"]), read / g["BW"])
    found = {
        "weights": W,
        "token": per_token(b),
        "cache": B * one,
        "fits": float(left >= 0),
        "free": left,
        "missing": -left,
        "gpus": math.ceil(W / (room / s.n_gpus)),
        "weights_read": read,
        "cache_read": t * one_read,
        "memory_s": (read + t * one_read) / g["BW"],
        "compute_s": t * (2 * P + g["a"]) / g["C"],
        "step_s": step(t),
        "per_user": 1 / step(t),
        "system": B / step(t),
        "ttft_s": ttft,
        "phases": ttft / step(t),
        "double_users_step": step(max(1, 2 * B / stages)),
        "double_users": 2 * B / step(max(1, 2 * B / stages)),
    }
    if one:
        found["users"] = max(0, math.floor((room - W) / one))
        found["crossover_batch"] = stages * read / one_read
    if marks:
        found["crossover_context"] = (read / t - g.get("Z", 0.0)) / per_token(b)
        for key, S_then, b_then in (("double_context", 2 * S, b), ("fp8_cache", S, 8)):
            then = per_user(S_then, b_then)
            found[f"{key}_cache"] = B * then
            found[f"{key}_users"] = math.floor((room - W) / then)
    if "E" in g:
        found["experts"] = g["E"] * (1 - (1 - g["k"] / g["E"]) ** t)
    text = " ".join(question.text for question in sheet.questions)
    bits = re.search(r"makes ([\d.]+) bits a parameter", text)
    if bits:
        found["four_bits"] = g["N"] * float(bits[1]) / 8
        if one:
            found["four_bits_users"] = math.floor((room - found["four_bits"]) / one)
    return found | other_heads(sheet, g, per_user)


def other_heads(sheet: Worksheet, g: dict[str, float], per_user: Callable[..., float]) -> dict[str, float]:
    found = {}
    B, S, b = g["B"], g["S"], g.get("b", 0.0)
    softmax = sheet.scenario.model_spec.softmax
    if softmax is not None:
        found["every_head_cache"] = B * per_user(S, b, softmax.n_q / softmax.n_kv)
        found["half_heads_cache"] = B * per_user(S, b, 1 / 2)
        first = next(s[1:] for s in g if s[0] == "v" and g[s] == softmax.values_per_token)
        as_first = g.get("L_Z", 0) * g[f"v{first}"] * g.get(f"n_c{first}", 1) * b / 8 * S
        found["no_windows"] = B * (per_user(S, b, windows=False) + as_first)
    text = " ".join(question.text for question in sheet.questions)
    latent = re.search(r"each of the ([\d,]+) heads kept a key of (\d+) values and a value of (\d+)", text)
    if latent:
        heads, key, value = (int(number.replace(",", "")) for number in latent.groups())
        kept = next(line.value for line in sheet.givens if "latent" in line.words)
        found["no_latent"] = heads * (key + value) / kept
    return found


def assert_key(sheet: Worksheet) -> None:
    found = by_hand(sheet, exact(sheet))
    for key, blank in sheet.blanks.items():
        # Whole bytes are rounded up, and a small difference of large numbers shows that.
        scale = max(sheet.givens[0].value, found["weights"]) if key in ("free", "missing") else abs(blank.value)
        if key.endswith("users") or key == "gpus":
            assert found[key] == pytest.approx(blank.value, abs=1, rel=1e-6), key
        else:
            assert found[key] == pytest.approx(blank.value, rel=1e-5, abs=1e-6 * scale + 1e-15), key
        assert blank.accepts(found[key]), key
    typed = by_hand(sheet, as_printed(sheet))
    for key, blank in sheet.blanks.items():
        if key == "fits":
            continue  # within the leeway of what is free, rounding may turn it
        assert blank.accepts(typed[key]), f"{key}: {typed[key]} for {blank.text}"


def twenty() -> list[tuple[Scenario, int]]:
    draw = random.Random(20)
    found = []
    for _ in range(20):
        model = draw.choice(sorted(models()))
        heads = models()[model].kv_head_options
        scenario = Scenario(
            model=model,
            gpu=draw.choice(sorted(gpus())),
            n_gpus=draw.choice([1, 1, 2, 4, 8, 16]),
            split=draw.choice(["tensor", "layer"]),
            batch=draw.choice([1, 2, 7, 32, 100, 512]),
            context=draw.choice([128, 1000, 4096, 8192, 32_768, 131_072]),
            kv_heads=draw.choice([None, *heads]),
            weight_format=draw.choice(WEIGHT_NAMES),
            cache_format=draw.choice(CACHE_NAMES),
            reserve=draw.choice([0.0, 0.1, 0.125]),
            skip_embedding=draw.choice([False, True]),
        )
        found.append((scenario, draw.randint(1, 999)))
    return found


@pytest.mark.parametrize(("scenario", "seed"), twenty(), ids=lambda x: x.model if isinstance(x, Scenario) else str(x))
def test_twenty_random_scenarios(scenario: Scenario, seed: int) -> None:
    for unit in UNITS:
        sheet = worksheet(scenario, seed, unit)
        assert 8 <= len(sheet.questions) <= 10
        assert_key(sheet)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_model_with_every_what_if(name: str) -> None:
    asked = set()
    for seed in range(1, len(WHAT_IFS) + 1):
        sheet = worksheet(KINDS[name], seed)
        assert_key(sheet)
        asked.add(next(question.text for question in sheet.questions if question.slug == "what-if"))
    assert len(asked) >= (1 if name == "recurrent" else 3)


@given(scenarios(), st.integers(1, 999))
@settings(max_examples=60, deadline=None)
def test_any_scenario_gives_a_sound_sheet(scenario: Scenario, seed: int) -> None:
    sheet = worksheet(scenario, seed)
    assert 8 <= len(sheet.questions) <= 10
    found = by_hand(sheet, exact(sheet))
    for key, blank in sheet.blanks.items():
        assert math.isfinite(blank.value)
        assert blank.text
        assert blank.accepts(blank.value)
        if key not in ("fits", "gpus"):
            assert blank.accepts(found[key]) or blank.value > BIG, key
    assert len(sheet.blanks) == sum(len(question.blanks) for question in sheet.questions)
    assert "nan" not in repr(sheet).lower()


def test_the_same_scenario_gives_the_same_sheet_and_another_one_another() -> None:
    assert worksheet(Scenario(batch=32)) == worksheet(Scenario(batch=32))
    one, other = worksheet(Scenario(batch=32)), worksheet(Scenario(batch=33))
    assert {key for key in one.blanks if one.blanks[key].value != other.blanks[key].value} >= {"cache", "system"}
    second = worksheet(Scenario(batch=32), seed=2)
    assert [q for q in one.questions if q.slug != "what-if"] == [q for q in second.questions if q.slug != "what-if"]
    assert one.questions != second.questions


def test_what_is_asked_suits_the_model() -> None:
    def text(name: str) -> str:
        return " ".join(question.text for question in worksheet(KINDS[name]).questions)

    assert "each of the 32 query heads had a KV head of its own" in text("gqa")
    assert "half as many KV heads, 16" in text("mha")
    assert "no factor 2, no heads" in text("mla")
    assert "Of the latents it reads those of m tokens at most" in text("sparse")
    assert "keeps the smaller of S and m" in text("windows")
    assert "each layer with a state keeping v values a token instead" in text("hybrid")
    assert "a constant state, whatever the context" in text("recurrent")
    assert "token of one user" not in text("recurrent")
    assert "at least the k that one token uses" in text("experts")
    assert "How many GPUs of 85.521 GB each" in text("too large")
    assert "experts" not in text("gqa")


def test_no_blank_s_unit_gives_its_answer_away() -> None:
    for scenario in KINDS.values():
        for blank in worksheet(scenario).blanks.values():
            assert not re.search(r"\d|yes|no\b|free|missing", blank.unit), blank
    assert worksheet(Scenario(batch=1, context=8192, reserve=0.78)).blanks["users"].unit == "users"


def test_arithmetic_ends_in_the_answer() -> None:
    blanks = worksheet(Scenario(batch=32)).blanks
    assert blanks["weights"].arithmetic.endswith("= 16.1 GB")
    assert blanks["crossover_context"].arithmetic == "16,060,522,496 B / (32 × 131,072 B) = 3,829 tokens"
    result = evaluate(Scenario(batch=32))
    assert blanks["system"].value == result.decode.tokens_per_s
    assert blanks["crossover_batch"].value == limits(Scenario(batch=32)).crossover_batch
    assert worksheet(Scenario(batch=32), unit="GiB").blanks["cache"].text == "32.0 GiB"


def test_gpus_needed_is_the_fewest() -> None:
    for slug in ("llama-3-70b", "deepseek-v3", "gpt2-small"):
        s = Scenario(model=slug, batch=1, context=1)
        n = gpus_needed(s)
        assert evaluate(s.replace(n_gpus=n)).memory.max_batch
        assert n == 1 or not evaluate(s.replace(n_gpus=n - 1)).memory.max_batch
