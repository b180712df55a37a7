"""The naive bench: published wrong figures, and nothing to see where a mistake changes nothing."""

import math

import pytest
from hypothesis import given, settings

from core.catalog import gpus, models
from core.custom import custom_gpu
from core.evaluate import evaluate, peak_flops_per_s
from core.model import LatentAttention, SoftmaxAttention
from core.naive import MISTAKES, PRESETS, Finding, exact_rows, find, findings, rows, summary, worst
from core.scenario import Scenario
from tests.strategies import scenarios

MIB = 2**20
SLUGS = [m.slug for m in MISTAKES]


def token(model: str, slug: str) -> tuple[float, float]:
    """Wrong and right cache bytes of one token of one user."""
    return values(find(Scenario(model=model, batch=1, context=1), slug))


def values(found: Finding) -> tuple[float, float]:
    assert found.wrong is not None
    assert found.right is not None
    assert found.factor == found.wrong.value / found.right.value
    return found.wrong.value, found.right.value


# Published cases, worked by hand


@pytest.mark.parametrize(
    ("model", "slug", "wrong", "right"),
    [
        # 64 layers, 8 KV heads, head dim 128, hidden 5120 over 64 heads = 80
        ("qwen3-32b", "hidden-over-heads", 163_840, 262_144),
        # 24 layers, 8 KV heads, head dim 64, hidden 2880 over 64 heads = 45
        ("gpt-oss-20b", "hidden-over-heads", 34_560, 24 * 2 * 8 * 64 * 2),
        # 32 layers, 32 query heads for 8 KV heads
        ("llama-3-8b", "ignore-gqa", 524_288, 131_072),
        ("falcon-7b", "ignore-gqa", 32 * 2 * 71 * 64 * 2, 32 * 2 * 64 * 2),
        # 61 layers, latent 512, rope key 64, 128 heads of 192 + 128
        ("deepseek-v3", "mla-factor-two", 124_928, 70_272),
        ("deepseek-v3", "mla-as-heads", 4_997_120, 70_272),
        ("deepseek-v3", "mla-without-rope", 61 * 512 * 2, 70_272),
        # an indexer key of 128 stays forgotten or counted with the rest
        ("deepseek-v3.2", "mla-without-rope", 61 * (512 + 128) * 2, 61 * (512 + 64 + 128) * 2),
        # 48 layers, of which 12 attend
        ("qwen3-next-80b-a3b", "windows-ignored", 48 * 2 * 2 * 256 * 2, 12 * 2 * 2 * 256 * 2 + 77_266_944),
    ],
)
def test_cache_of_a_token(model: str, slug: str, wrong: int, right: int) -> None:
    assert token(model, slug) == (wrong, right)


def test_gpt_oss_is_the_published_pair() -> None:
    assert token("gpt-oss-20b", "hidden-over-heads") == (34_560, 49_152)


def test_gemma_3_4b_with_every_layer_full() -> None:
    wrong, right = values(find(Scenario(model="gemma-3-4b", batch=1, context=131_072), "windows-ignored"))
    assert wrong == 17_408 * MIB
    assert right == 2_676 * MIB


def test_gemma_3_4b_with_a_window_everywhere() -> None:
    """34 layers of 1,024 tokens instead of 29, with 5 of 131,072."""
    wrong, right = values(find(Scenario(model="gemma-3-4b", batch=1, context=131_072), "window-everywhere"))
    assert wrong == 34 * 1024 * 4096
    assert right == (29 * 1024 + 5 * 131_072) * 4096


def test_mixtral_as_13_billion() -> None:
    """Known as 12.9 billion active of 46.7."""
    wrong, right = values(find(Scenario(model="mixtral-8x7b"), "active-as-memory"))
    assert wrong == pytest.approx(2 * 12.88e9, rel=0.002)
    assert right == 2 * models()["mixtral-8x7b"].n_params == pytest.approx(2 * 46.7e9, rel=0.001)


def test_mixtral_s_experts_by_batch() -> None:
    """Eight experts, two a token: four users wake 8 (1 - 0.75^4) = 5.47 of them."""
    s = Scenario(model="mixtral-8x7b", batch=4)
    experts = 2 * 45_097_156_608  # bytes of all experts
    always = 2 * models()["mixtral-8x7b"].n_params - experts
    touched = 8 * (1 - 0.75**4)
    right = always + experts * touched / 8
    assert values(find(s, "active-at-any-batch")) == pytest.approx((always + experts / 4, right), rel=1e-9)
    assert values(find(s, "all-experts")) == pytest.approx((always + experts, right), rel=1e-9)


def test_sparse_h100() -> None:
    wrong, right = values(find(Scenario(gpu="h100-sxm"), "sparse-flops"))
    assert right == 989.4e12
    assert wrong == pytest.approx(1979e12, rel=2e-4)


def test_80_gb() -> None:
    """The driver of an H100 reports 85.52 GB, 79.6 GiB: not the 80 x 10^9 bytes of the box."""
    wrong, right = values(find(Scenario(gpu="h100-sxm"), "gb-on-the-box"))
    assert (wrong, right) == (80e9, 85_520_809_984)
    assert find(Scenario(), "gib-as-gb").factor == pytest.approx(1e9 / 2**30)
    assert find(Scenario(gpu="h100-sxm", n_gpus=3), "gb-on-the-box").factor == pytest.approx(80e9 / 85_520_809_984)


# Where a mistake changes nothing


@pytest.mark.parametrize(
    ("scenario", "slug", "words"),
    [
        (Scenario(model="llama-2-7b"), "ignore-gqa", "No difference"),
        (Scenario(model="llama-3-8b", kv_heads=32), "ignore-gqa", "No difference"),
        (Scenario(model="deepseek-v3"), "ignore-gqa", "Does not apply"),
        (Scenario(model="llama-3-8b"), "hidden-over-heads", "No difference"),
        (Scenario(model="qwen3.5-27b"), "hidden-over-heads", "5,120 / 24 is no whole number"),
        (Scenario(model="llama-3-8b"), "mla-as-heads", "Does not apply"),
        (Scenario(model="llama-3-8b"), "windows-ignored", "No difference"),
        (Scenario(model="gemma-3-4b", context=1024), "windows-ignored", "No difference"),
        (Scenario(model="gemma-3-4b", context=1024), "window-everywhere", "No difference"),
        (Scenario(model="mistral-7b-v0.1"), "window-everywhere", "No difference"),
        (Scenario(model="llama-3-8b"), "window-everywhere", "Does not apply"),
        (Scenario(model="llama-3-8b"), "active-as-memory", "Does not apply"),
        (Scenario(model="mixtral-8x7b", batch=1), "active-at-any-batch", "No difference"),
        (Scenario(model="mixtral-8x7b", batch=1024), "all-experts", "No difference"),
        (Scenario(gpu="v100-sxm2-32gb") if "v100-sxm2-32gb" in gpus() else Scenario(gpu="t4"), "sparse-flops", "Does"),
        (Scenario(gpu=custom_gpu(memory_gb=80, bandwidth_gb_per_s=3350, bf16_tflops=989)), "sparse-flops", "Does not"),
        (Scenario(gpu=custom_gpu(memory_gb=80, bandwidth_gb_per_s=3350, bf16_tflops=989)), "gb-on-the-box", "No"),
    ],
)
def test_no_difference_or_does_not_apply(scenario: Scenario, slug: str, words: str) -> None:
    found = find(scenario, slug)
    assert found.factor is None
    assert words in found.reason
    assert found.text == found.reason


@given(scenarios())
@settings(max_examples=60, deadline=None)
def test_any_scenario(scenario: Scenario) -> None:
    """Either two different positive figures, ours that of `evaluate`, or a reason."""
    result = evaluate(scenario)
    right = {
        "KV cache": result.memory.kv_bytes,
        "weights in memory": result.memory.weights_bytes,
        "weights read a step": result.decode.expected and result.decode.expected.weights_read_bytes,
        "peak arithmetic": peak_flops_per_s(scenario),
        "total memory": result.memory.total_bytes,
        "capacity": result.memory.capacity_bytes,
    }
    found = findings(scenario)
    assert [f.mistake.slug for f in found] == SLUGS
    for f in found:
        if f.factor is None:
            assert f.reason.startswith(("No difference: ", "Does not apply: "))
            continue
        assert f.reason == ""
        assert math.isfinite(f.factor)
        assert f.factor > 0
        assert f.right.value == right[f.mistake.figure]
        assert f.wrong.value != f.right.value


@given(scenarios())
@settings(max_examples=40, deadline=None)
def test_mistakes_apply_where_the_model_has_what_they_misread(scenario: Scenario) -> None:
    attention = [g.attention for g in scenario.model_spec.groups]
    softmax = [a for a in attention if isinstance(a, SoftmaxAttention)]
    latent = any(isinstance(a, LatentAttention) for a in attention)
    scenario = scenario.replace(n_gpus=1)  # many GPUs repeat a cache, which can hide a mistake
    applies = {f.mistake.slug: f.factor is not None for f in findings(scenario)}
    assert applies["mla-as-heads"] is applies["mla-factor-two"] is latent
    assert applies["ignore-gqa"] is any(a.n_kv < a.n_q for a in softmax)
    assert applies["active-as-memory"] is (scenario.model_spec.moe is not None)
    if scenario.model_spec.moe is None:
        assert not applies["active-at-any-batch"]
        assert not applies["all-experts"]


@pytest.mark.parametrize("slug", models())
def test_directions(slug: str) -> None:
    """GQA, windows and all experts ignored overestimate; a window everywhere and active experts underestimate."""
    model = models()[slug]
    found = {f.mistake.slug: f.factor for f in findings(Scenario(model=slug, batch=4, context=model.max_context))}
    for over in ("ignore-gqa", "windows-ignored", "all-experts", "mla-as-heads", "mla-factor-two", "sparse-flops"):
        assert found[over] is None or found[over] > 1
    for under in ("window-everywhere", "active-as-memory", "active-at-any-batch", "mla-without-rope", "gib-as-gb"):
        assert found[under] is None or found[under] < 1


# The presets


def error(model: str, preset_scenario: Scenario, slug: str) -> float:
    context = min(preset_scenario.context, models()[model].max_context)
    factor = find(preset_scenario.replace(model=model, context=context), slug).factor
    return abs(math.log(factor)) if factor else 0.0


@pytest.mark.parametrize(
    ("mistake", "preset"),
    [
        ("ignore-gqa", "naive-falcon"),
        ("hidden-over-heads", "naive-palm"),
        ("mla-as-heads", "naive-deepseek"),
        ("mla-factor-two", "naive-deepseek"),
        ("mla-without-rope", "naive-deepseek"),
        ("windows-ignored", "naive-gemma"),
        ("window-everywhere", "naive-gpt-oss"),
        ("active-as-memory", "naive-kimi"),
        ("all-experts", "naive-kimi"),
        ("active-at-any-batch", "naive-kimi-crowd"),
    ],
)
def test_presets_are_the_worst_of_the_catalog(mistake: str, preset: str) -> None:
    s = next(p.scenario for p in PRESETS if p.slug == preset)
    most = max(error(slug, s, mistake) for slug in models())
    assert error(s.model_key, s, mistake) == pytest.approx(most, rel=1e-3)


def test_what_the_presets_say() -> None:
    by_slug = {p.slug: p.scenario for p in PRESETS}
    assert find(by_slug["naive-falcon"], "ignore-gqa").factor == 71
    assert find(by_slug["naive-palm"], "hidden-over-heads").factor == 3
    qwen = by_slug["naive-qwen"].model_spec
    assert (qwen.d_model // qwen.softmax.n_q, qwen.softmax.d_k) == (80, 128)
    moe = by_slug["naive-kimi"].model_spec.moe
    assert (moe.n_experts, moe.n_active) == (384, 8)
    crowd = evaluate(by_slug["naive-kimi-crowd"]).decode.expected
    assert crowd.experts_touched > 0.99 * moe.n_experts


# What the page lists


def test_rows_and_summary() -> None:
    s = Scenario(model="deepseek-v3", batch=32)
    found = findings(s)
    assert worst(found).mistake.slug == "mla-as-heads"
    header, table = rows(found, "GiB")
    assert len(table) == len(MISTAKES)
    assert all(len(row) == len(header) for row in table)
    assert "71.1 times" in summary(s, found, "GB")[0]
    header, table = exact_rows(s)
    by_title = {row[0]: dict(zip(header, row, strict=True)) for row in table}
    assert by_title["MLA as full heads"]["factor"] == pytest.approx(4_997_120 / 70_272)
    assert by_title["GQA ignored"]["wrong"] is None


def test_a_model_without_any_mistake_says_so() -> None:
    assert worst([]) is None
    assert "None of these mistakes" in summary(Scenario(), [], "GB")[0]
