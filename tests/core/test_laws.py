"""Laws that hold for every valid scenario, tried on random ones."""

import math
from fractions import Fraction
from inspect import get_annotations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from core.catalog import gpus, models
from core.evaluate import Result, evaluate, intensities, limits
from core.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.model import LinearAttention, ModelSpec, SoftmaxAttention
from core.scenario import BATCH_MAX, CONTEXT_MAX, GPUS_MAX, Scenario

# The same examples each run, so that a red build means a changed program.
LAW = settings(max_examples=100, deadline=None, derandomize=True, database=None)

ROUNDING = 1e-9  # of floats, and of bytes rounded up

batches = st.integers(1, 4096) | st.integers(1, BATCH_MAX)
contexts = st.integers(1, 200_000) | st.integers(1, CONTEXT_MAX) | st.sampled_from((128, 2048, 8192, 131_072))
# One of each kind of attention and feed-forward, drawn as often as all the others together.
KINDS = (
    "llama-3-8b",
    "falcon-7b",
    "mistral-7b-v0.1",
    "gemma-3-27b",
    "gemma-4-31b",
    "llama-4-scout",
    "mixtral-8x7b",
    "gpt-oss-20b",
    "qwen3-next-80b-a3b",
    "deepseek-v3",
    "deepseek-v3.2",
    "glm-5.3",
    "gpt2-xl",
)
any_model = st.sampled_from(KINDS) | st.sampled_from(list(models()))
reserves = st.integers(0, 90).map(lambda percent: percent / 100) | st.floats(0, 0.9)
several = st.integers(1, 16) | st.integers(1, GPUS_MAX)


@st.composite
def scenarios(draw, **fixed: st.SearchStrategy) -> Scenario:
    """A valid scenario of catalog records; `fixed` narrows fields."""
    model = draw(fixed.pop("model", any_model))
    options = models()[model].kv_head_options
    drawn = {
        "model": st.just(model),
        "gpu": st.sampled_from(list(gpus())),
        "n_gpus": st.just(1) | several,
        "split": st.sampled_from(("tensor", "layer")),
        "batch": batches,
        "context": contexts,
        "kv_heads": st.none() | st.sampled_from(options) if options else st.none(),
        "weight_format": st.sampled_from(list(WEIGHT_FORMATS)),
        "cache_format": st.sampled_from(list(CACHE_FORMATS)),
        "reserve": reserves,
        "skip_embedding": st.booleans(),
    } | fixed
    return Scenario(**{name: draw(strategy) for name, strategy in drawn.items()})


def is_moe(slug: str) -> bool:
    return models()[slug].moe is not None


dense_models = st.sampled_from([slug for slug in models() if not is_moe(slug)])
moe_models = st.sampled_from([slug for slug in models() if is_moe(slug)])
with_heads = st.sampled_from([slug for slug, model in models().items() if len(model.kv_head_options) > 1])


def numbers(value: object) -> list[float]:
    """Every number in a result, those of properties too."""
    if isinstance(value, bool | str | Scenario) or value is None:
        return []
    if isinstance(value, int | float):
        return [value]
    names = set(get_annotations(type(value))) | {n for n, p in vars(type(value)).items() if isinstance(p, property)}
    return [number for name in names for number in numbers(getattr(value, name))]


def readings(result: Result) -> list:
    """The bound, and for mixtures the expectation too."""
    return [result.decode] + ([result.decode.expected] if result.decode.expected else [])


@given(scenarios())
@LAW
def test_every_number_is_finite_and_not_negative(s):
    result = evaluate(s)
    found = numbers(result) + numbers(limits(s)) + numbers(intensities(s, result))
    assert len(found) > 25
    assert all(math.isfinite(n) and n >= 0 for n in found)


@given(scenarios())
@LAW
def test_a_link_brings_the_scenario_back(s):
    assert Scenario.from_query(s.to_query()) == (s, [])


@given(scenarios(), contexts)
@LAW
def test_the_ceiling_never_rises_with_the_context(s, other):
    short, long = (readings(evaluate(s.replace(context=c))) for c in sorted((s.context, other)))
    for at_short, at_long in zip(short, long, strict=True):
        assert at_long.tokens_per_s <= at_short.tokens_per_s * (1 + ROUNDING)
        assert at_long.bytes_read >= at_short.bytes_read


@given(scenarios(), batches)
@LAW
def test_a_larger_batch_never_lowers_the_system_nor_raises_a_user(s, other):
    few, many = (readings(evaluate(s.replace(batch=b))) for b in sorted((s.batch, other)))
    for at_few, at_many in zip(few, many, strict=True):
        assert at_many.tokens_per_s >= at_few.tokens_per_s * (1 - ROUNDING)
        assert at_many.tokens_per_s_per_user <= at_few.tokens_per_s_per_user * (1 + ROUNDING)


@given(scenarios(), several)
@LAW
def test_more_gpus_never_lower_the_ceiling(s, other):
    few, many = (readings(evaluate(s.replace(n_gpus=n))) for n in sorted((s.n_gpus, other)))
    for at_few, at_many in zip(few, many, strict=True):
        assert at_many.tokens_per_s >= at_few.tokens_per_s * (1 - ROUNDING)


@given(scenarios(split=st.just("layer"), batch=st.just(1)))
@LAW
def test_one_user_of_a_pipeline_never_beats_one_gpu(s):
    one, many = (readings(evaluate(s.replace(n_gpus=n))) for n in (1, s.n_gpus))
    for at_one, at_many in zip(one, many, strict=True):
        assert at_many.tokens_per_s_per_user <= at_one.tokens_per_s_per_user


@given(scenarios(model=with_heads), st.data())
@LAW
def test_more_kv_heads_never_shrink_the_cache(s, data):
    options = s.released_model.kv_head_options
    pair = sorted(data.draw(st.sampled_from(options)) for _ in range(2))
    few, many = (evaluate(s.replace(kv_heads=n)) for n in pair)
    assert few.memory.kv_bytes <= many.memory.kv_bytes
    assert few.memory.weights_bytes <= many.memory.weights_bytes
    assert few.decode.kv_read_bytes <= many.decode.kv_read_bytes


@given(scenarios())
@LAW
def test_no_step_reads_more_than_is_stored(s):
    result = evaluate(s)
    for step in readings(result):
        assert step.weights_read_bytes <= result.memory.weights_bytes * (1 + ROUNDING)
        assert step.kv_read_bytes <= result.memory.kv_bytes * (1 + ROUNDING)


@given(scenarios(model=dense_models, skip_embedding=st.just(False)))
@LAW
def test_a_dense_model_reads_all_it_stores(s):
    result = evaluate(s)
    assert 0 <= result.memory.weights_bytes - result.decode.weights_read_bytes < 10  # components round up one by one


@given(scenarios(model=moe_models))
@LAW
def test_expected_experts_lie_between_the_bound_and_all(s):
    result = evaluate(s)
    bound, expected = result.decode, result.decode.expected
    assert bound.weights_read_bytes <= expected.weights_read_bytes * (1 + ROUNDING)
    assert expected.weights_read_bytes <= result.memory.weights_bytes * (1 + ROUNDING)
    moe = s.model_spec.moe
    assert bound.experts_touched == moe.n_active
    at_most = min(moe.n_experts, moe.n_active * s.batch)
    assert moe.n_active * (1 - ROUNDING) <= expected.experts_touched <= at_most * (1 + ROUNDING)
    assert expected.tokens_per_s <= bound.tokens_per_s * (1 + ROUNDING)


@given(scenarios())
@LAW
def test_fitting_is_a_matter_of_bytes(s):
    memory = evaluate(s).memory
    need = memory.weights_bytes + memory.kv_bytes + memory.reserve_bytes
    assert memory.fits == (need <= memory.capacity_bytes)
    assert memory.capacity_bytes - need == memory.free_bytes - memory.over_by_bytes
    assert memory.free_bytes == 0 or memory.over_by_bytes == 0


@given(scenarios())
@LAW
def test_the_largest_batch_is_the_last_that_fits(s):
    largest = evaluate(s).memory.max_batch
    if 1 <= largest <= BATCH_MAX:
        assert evaluate(s.replace(batch=largest)).memory.fits
    if largest < BATCH_MAX:
        assert not evaluate(s.replace(batch=largest + 1)).memory.fits


@given(scenarios(batch=st.integers(1, 4096)))
@LAW
def test_the_longest_context_is_the_last_that_fits(s):
    longest = evaluate(s).memory.max_context
    if longest is None or longest >= CONTEXT_MAX:
        assert evaluate(s.replace(context=CONTEXT_MAX)).memory.fits
        return
    if longest:
        assert evaluate(s.replace(context=longest)).memory.fits
    assert not evaluate(s.replace(context=longest + 1)).memory.fits


@given(scenarios())
@LAW
def test_the_asymptote_is_above_every_batch(s):
    found = limits(s).asymptote_tokens_per_s
    assert s.batch / evaluate(s).decode.memory_s <= found * (1 + ROUNDING)
    assert BATCH_MAX / evaluate(s.replace(batch=BATCH_MAX)).decode.memory_s >= found * 0.99


@given(scenarios())
@LAW
def test_at_the_crossover_batch_the_cache_passes_the_weights(s):
    def cache_leads(batch: int) -> bool:
        step = evaluate(s.replace(batch=batch)).decode
        return step.kv_read_bytes >= step.weights_read_bytes * (1 - ROUNDING)

    found = limits(s).crossover_batch
    if found is None or found < 1:
        assert cache_leads(1)
    else:
        assume(found < BATCH_MAX)
        below = evaluate(s.replace(batch=math.floor(found))).decode
        assert below.kv_read_bytes <= below.weights_read_bytes * (1 + ROUNDING)
        assert cache_leads(math.ceil(found))


@given(scenarios(batch=st.integers(1, 4096)))
@LAW
def test_at_the_crossover_context_the_cache_passes_the_weights(s):
    def lead(context: int) -> float:
        step = evaluate(s.replace(context=context)).decode
        return step.kv_read_bytes / step.weights_read_bytes - 1

    found = limits(s).crossover_context
    if found is None:  # never below: state alone is more; or never reached
        assert lead(1) > 0 or lead(CONTEXT_MAX) < ROUNDING
        return
    assume(found < CONTEXT_MAX)
    if found >= 1:
        assert lead(math.floor(found)) <= ROUNDING
    assert lead(max(1, math.ceil(found))) >= -ROUNDING


# Absorbed MLA with an FP8 cache is above this device's ridge: one user of a pipeline is already compute-bound.
MLA_PIPELINE = Scenario(
    model="deepseek-v2-lite",
    gpu="apple-m1-pro",
    n_gpus=2,
    split="layer",
    context=145_532,
    weight_format="fp8",
    cache_format="fp8",
)


@given(scenarios())
@example(MLA_PIPELINE)
@LAW
def test_at_the_compute_bound_batch_arithmetic_takes_over(s):
    def compute_lead(batch: int) -> float:
        step = evaluate(s.replace(batch=batch)).decode
        return step.compute_s / step.memory_s - 1

    found = limits(s).compute_bound_batch
    if found is None:
        assert compute_lead(BATCH_MAX) <= ROUNDING
        return
    assume(found < BATCH_MAX)
    if found >= 1:
        assert compute_lead(math.floor(found)) <= ROUNDING
    assert compute_lead(max(1, math.ceil(found))) >= -ROUNDING


@given(scenarios())
@LAW
def test_up_to_the_compute_bound_context_some_batch_is_compute_bound(s):
    def some_batch(context: int) -> bool:
        return limits(s.replace(context=context)).compute_bound_batch is not None

    found = limits(s).compute_bound_context
    if found is None:
        assert some_batch(CONTEXT_MAX)
    else:
        assert found == 0 or some_batch(found)
        assert not some_batch(found + 1)


@given(any_model, st.sampled_from(list(gpus())))
@LAW
def test_fewer_bits_never_take_more_bytes(model, gpu):
    stored = [
        evaluate(Scenario(model=model, gpu=gpu, weight_format=f)).memory.weights_bytes
        for f in ("int4", "mxfp4", "nvfp4", "fp8", "bf16")
    ]
    assert stored == sorted(stored)
    cached = [
        evaluate(Scenario(model=model, gpu=gpu, cache_format=f)).memory.kv_bytes
        for f in ("int4", "q4_0", "fp8", "q8_0", "bf16")
    ]
    assert cached == sorted(cached)


def summed_layer_by_layer(model: ModelSpec, *, context: int, batch: int, bits: float, n_gpus: int, read: bool) -> int:
    """The cache in the plainest way: every layer, every head copy, in exact fractions."""
    total = Fraction(0)
    per_value = Fraction(bits) / 8
    for group in model.groups:
        a = group.attention
        for _ in range(group.count):
            if isinstance(a, LinearAttention):
                total += a.state_bytes
            elif isinstance(a, SoftmaxAttention):
                heads = a.n_kv * max(Fraction(1), Fraction(n_gpus, a.n_kv))
                kept = min(context, a.window or context, a.chunk or context)
                total += heads * (a.d_k + a.d_v) * kept * per_value
            else:
                latents = min(context, a.indexer.top_k) if read and a.indexer else context
                keys = a.indexer.head_dim * context if a.indexer and not a.indexer.shared else 0
                total += n_gpus * ((a.kv_lora_rank + a.d_rope) * latents + keys) * per_value
    return math.ceil(total * batch)


@given(scenarios(split=st.just("tensor")))
@LAW
def test_the_cache_is_the_sum_of_its_layers(s):
    result = evaluate(s)
    plain = {"context": s.context, "batch": s.batch, "bits": s.cache_bits, "n_gpus": s.n_gpus}
    assert result.memory.kv_bytes == summed_layer_by_layer(s.model_spec, **plain, read=False)
    assert result.decode.kv_read_bytes == summed_layer_by_layer(s.model_spec, **plain, read=True)


@given(scenarios())
@LAW
def test_no_batch_passes_the_cap(s):
    cap = limits(s).cap_tokens_per_s
    for batch in (s.batch, 10**6, BATCH_MAX):
        assert evaluate(s.replace(batch=batch)).decode.tokens_per_s <= cap * (1 + ROUNDING)
    assert evaluate(s.replace(batch=BATCH_MAX)).decode.tokens_per_s >= cap * 0.99
