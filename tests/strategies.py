"""Random valid scenarios."""

from hypothesis import strategies as st

from core.catalog import gpus, models
from core.scenario import CACHE_NAMES, SPLITS, WEIGHT_NAMES, Scenario


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any model, device, load, formats and assumptions, mostly in the range people ask about."""
    model = draw(st.sampled_from(sorted(models())))
    options = models()[model].kv_head_options
    return Scenario(
        model=model,
        gpu=draw(st.sampled_from(sorted(gpus()))),
        n_gpus=draw(st.sampled_from([1, 2, 3, 4, 8, 16, 64, 1024])),
        split=draw(st.sampled_from(SPLITS)),
        batch=draw(st.integers(1, 5000) | st.integers(1, 10**9)),
        context=draw(st.integers(1, 200_000) | st.integers(1, 2**24)),
        kv_heads=draw(st.none() | st.sampled_from(options)) if options else None,
        weight_format=draw(st.sampled_from(WEIGHT_NAMES)),
        cache_format=draw(st.sampled_from(CACHE_NAMES)),
        reserve=draw(st.sampled_from([0.0, 0.05, 0.1, 0.125, 0.3, 0.9]) | st.floats(0, 0.9)),
        skip_embedding=draw(st.booleans()),
    )
