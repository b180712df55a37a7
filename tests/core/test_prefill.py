"""The prompt pass against counted query-key pairs and published utilisation."""

import pytest

from core import prefill
from core.evaluate import evaluate
from core.scenario import Scenario


def pairs_by_counting(context: int, window: int | None = None, chunk: int | None = None) -> int:
    """Keys that each query of a causal layer sees, itself included."""
    seen = 0
    for query in range(context):
        first = 0
        if window:
            first = max(0, query - window + 1)
        if chunk:
            first = query // chunk * chunk
        seen += query - first + 1
    return seen


@pytest.mark.parametrize(
    ("n_tokens", "window", "chunk"),
    [
        (1000, None, None),
        (1000, 100, None),
        (1000, 999, None),
        (1000, 1000, None),
        (1000, 5000, None),
        (1000, None, 100),
        (1000, None, 300),
        (1000, None, 1000),
        (1000, None, 5000),
    ],
)
def test_attended_pairs(n_tokens, window, chunk):
    # The formulas take half of each token's own pair off: S^2 / 2 for S (S + 1) / 2.
    made = prefill.attended_pairs(context=n_tokens, window=window, chunk=chunk)
    assert 0 <= pairs_by_counting(n_tokens, window, chunk) - made <= n_tokens / 2


def test_prefill_of_llama_3_1_8b():
    # 8,192 tokens on an H100 SXM: 0.1156 s of matrices and 0.0178 s of attention.
    made = evaluate(Scenario(model="llama-3.1-8b", context=8192)).prefill
    assert made.linear_flops / 989.4e12 == pytest.approx(0.1156, abs=5e-5)
    assert made.attention_flops / 989.4e12 == pytest.approx(0.0178, abs=5e-5)
    assert made.ttft_s == pytest.approx(0.1334, abs=5e-5)
    assert made.bound_by == "compute"


@pytest.mark.parametrize(
    ("batch", "measured_s", "mfu"),
    [(1, 0.29, 0.43), (512, 85.2, 0.76)],
)
def test_palm_540b_prefill_utilisation(batch, measured_s, mfu):
    # arXiv:2211.05102, Table 2: 2,048 tokens on 64 TPU v4. No measurement beats the bound, and the share it reached
    # is the published utilisation (which counts the tables as multiplied).
    made = evaluate(Scenario(model="palm-540b", gpu="tpu-v4", n_gpus=64, context=2048, batch=batch)).prefill
    assert made.ttft_s / measured_s == pytest.approx(mfu, abs=0.01)


def test_llama_3_70b_prefill_on_16_tpus():
    # scaling-book, applied-inference.md: 8,192 tokens at 40 % utilisation take 0.91 s, all 70e9 taken as multiplied.
    made = evaluate(Scenario(model="llama-3-70b", gpu="tpu-v5e", n_gpus=16, context=8192)).prefill
    assert made.linear_flops / (16 * 1.97e14 * 0.4) == pytest.approx(0.91, rel=0.025)


def test_a_short_prompt_is_bound_by_reading_the_weights():
    made = evaluate(Scenario(context=1)).prefill
    assert made.ttft_s == pytest.approx(4.794e-3, abs=1e-6)
    assert made.bound_by == "memory"


def test_the_head_runs_for_the_last_token_only():
    one, two = (prefill.linear_flops(body_params=10, head_params=3, context=n, batch=1) for n in (1, 2))
    assert (one, two) == (26, 46)


def test_attention_grows_with_the_square_of_the_context():
    short, long = (evaluate(Scenario(context=n)).prefill.attention_flops for n in (1024, 4096))
    assert long == 16 * short


def test_windows_make_prefill_grow_linearly():
    # Mistral 7B v0.1, all layers of window 4,096: each further token costs the same.
    costs = [evaluate(Scenario(model="mistral-7b-v0.1", context=n)).prefill.attention_flops for n in (8192, 8193, 8194)]
    assert costs[1] - costs[0] == costs[2] - costs[1] == 32 * 4 * 32 * 128 * 4096


def test_chunks_start_afresh():
    # Llama 4 Scout: 36 of 48 layers attend chunks of 8,192: twice the prompt costs them twice, the others four times.
    one, two = (evaluate(Scenario(model="llama-4-scout", context=n)).prefill.attention_flops for n in (8192, 16_384))
    assert two == one * (36 * 2 + 12 * 4) / 48


def test_sparse_attention_prefills_linearly():
    # DeepSeek-V3.2 attends 2,048 tokens: 61 layers of 128 heads, 192 wide keys and 128 wide values.
    near, far = (evaluate(Scenario(model="deepseek-v3.2", context=n)).prefill.attention_flops for n in (8192, 8193))
    assert far - near == 61 * 2 * 128 * (192 + 128) * 2048


def test_mla_prefills_unabsorbed():
    # DeepSeek-V3: 61 layers of 128 heads, 192 wide keys and 128 wide values, half of 4,096 squared pairs.
    made = evaluate(Scenario(model="deepseek-v3", context=4096)).prefill
    assert made.attention_flops == 61 * 128 * (192 + 128) * 4096**2


@pytest.mark.parametrize("split", ["tensor", "layer"])
def test_all_gpus_work_on_one_prompt(split):
    one, four = (evaluate(Scenario(context=8192, n_gpus=n, split=split)).prefill.compute_s for n in (1, 4))
    assert one / four == pytest.approx(4)
