"""The story's ten steps: each claim by the result, each figure of its line by a formula of its own."""

import pytest

from core import presets
from core.evaluate import evaluate
from core.presets import STORY, StoryPreset, cache_room_bytes, story_index
from core.scenario import Scenario
from core.units import GB, UNITS, format_bytes, significant
from core.verdict import verdict

H100_BYTES = 85_520_809_984
H100_BYTES_PER_S = 3.35e12
PARAMS_8B, PARAMS_70B = 8_030_261_248, 70_553_706_496
TOKEN_8B = 32 * 2 * 8 * 128 * 2  # bytes of cache
TOKEN_70B = 80 * 2 * 8 * 128 * 2


def test_ten_in_the_order_of_the_chapter() -> None:
    assert [step.slug for step in STORY] == [
        "tiny-calculation",
        "one-chat",
        "class-of-64",
        "long-book",
        "before-gqa",
        "big-model",
        "experts",
        "three-terabytes",
        "eighty-gb",
        "batch-for-ever",
    ]
    assert len({step.scenario for step in STORY}) == len(STORY)
    assert [story_index(step.scenario) for step in STORY] == list(range(len(STORY)))
    assert story_index(Scenario(batch=3)) is None


@pytest.mark.parametrize("step", STORY, ids=lambda step: step.slug)
def test_its_claim_holds_and_its_line_is_one(step: StoryPreset) -> None:
    result = evaluate(step.scenario)
    assert step.claim(result)
    assert result.memory.fits is not ("does not fit" in step.notice)
    for unit in UNITS:
        line = step.line(unit)
        assert "\n" not in line
        assert len(line) < 230
        assert line.endswith(".")
        assert "nan" not in line.lower()


@pytest.mark.parametrize("step", STORY, ids=lambda step: step.slug)
def test_a_claim_can_fail(step: StoryPreset) -> None:
    """It says something of its scenario: of some other scenario it does not hold."""
    assert not all(step.claim(evaluate(other.scenario)) for other in STORY if other.slug != step.slug)


def assert_in(step: StoryPreset, *figures: str) -> None:
    for figure in figures:
        assert figure in step.line(), f"{figure} is not in: {step.line()}"


def test_the_tiny_calculation() -> None:
    """The chapter: 16 GB over 3.35 TB/s is 4.8 ms, so at most about 210 tokens/s."""
    seconds = (2 * PARAMS_8B + 128 * TOKEN_8B) / H100_BYTES_PER_S
    assert seconds == pytest.approx(4.8e-3, rel=1e-3)
    assert 1 / seconds == pytest.approx(210, rel=0.01)
    assert_in(
        presets.TINY_CALCULATION, "16.08 GB / 3.35 TB/s", f"{seconds * 1e3:.3f} ms", f"{1 / seconds:.1f} tokens/s"
    )


def test_one_chat() -> None:
    cache = 8192 * TOKEN_8B
    speed = H100_BYTES_PER_S / (2 * PARAMS_8B + cache)
    empty = H100_BYTES_PER_S / (2 * PARAMS_8B + 128 * TOKEN_8B)
    assert_in(presets.ONE_CHAT, f"{cache / 1e9:.2f} GB", f"{100 * cache / (2 * PARAMS_8B):.1f} % of the weights")
    assert_in(presets.ONE_CHAT, f"{speed:.0f} tokens/s", f"{100 * (1 - speed / empty):.1f} % below")


def test_the_class_of_64() -> None:
    free = H100_BYTES - 2 * PARAMS_8B - 64 * 8192 * TOKEN_8B
    assert 0 < free < H100_BYTES / 100
    missing = round(0.01 * H100_BYTES) - free
    assert_in(presets.CLASS_OF_64, f"{free / 1e6:.0f} MB free, {100 * free / H100_BYTES:.2f} %")
    assert_in(presets.CLASS_OF_64, f"with a reserve of 1 % it is {missing / 1e6:.0f} MB too much")


def test_the_long_book() -> None:
    assert 131_072 * TOKEN_8B > 2 * PARAMS_8B
    assert_in(
        presets.LONG_BOOK, f"{131_072 * TOKEN_8B / 1e9:.1f} GB of cache", f"{2 * PARAMS_8B / 1e9:.1f} GB of weights"
    )
    assert_in(presets.LONG_BOOK, f"{2 * PARAMS_8B / TOKEN_8B:,.0f} tokens")


def test_before_gqa() -> None:
    cache = 32 * 8192 * 4 * TOKEN_8B
    weights = 2 * (PARAMS_8B + 32 * 2 * 24 * 128 * 4096)  # K and V projections for 24 more heads
    over = weights + cache + round(0.1 * H100_BYTES) - H100_BYTES
    assert_in(
        presets.BEFORE_GQA, f"{cache / 1e9:.0f} GB of cache instead of {cache / 4e9:.1f} GB", f"{over / 1e9:.1f} GB"
    )


def test_bigger_model_fewer_users() -> None:
    batch = 2 * PARAMS_70B / (4096 * TOKEN_70B)
    small = 2 * PARAMS_8B / (4096 * TOKEN_8B)
    assert presets.BIG_MODEL.scenario.batch < presets.OPENING.batch
    assert_in(presets.BIG_MODEL, f"{2 * PARAMS_70B / 1e9:.0f} GB of weights", f"{16 * 4096 * TOKEN_70B / 1e9:.1f} GB")
    assert_in(presets.BIG_MODEL, f"{int(batch) + 1} users", f"{int(small) + 1} for Llama 3 8B")


def test_experts() -> None:
    expert = 3 * 4096 * 14_336 * 2  # bytes of one in one layer
    everything = 2 * 46_702_792_704
    assert_in(
        presets.EXPERTS, f"{everything / 1e9:.1f} GB in memory", f"{(everything - 32 * 6 * expert) / 1e9:.1f} GB read"
    )


def test_three_terabytes() -> None:
    """Pope et al. 2022, section 2.1: 3 TB of cache, 3 times the parameters."""
    cache = 512 * 2048 * 118 * 2 * 48 * 128 * 2
    assert_in(presets.THREE_TERABYTES, f"{cache / 1e12:.2f} TB of cache", "2.8 times the weights")


def test_eighty_gb_is_not_80e9() -> None:
    s = presets.EIGHTY_GB.scenario
    sold = round(0.9 * 2 * 80e9) - 2 * PARAMS_70B
    reported = 2 * H100_BYTES - round(0.1 * 2 * H100_BYTES) - 2 * PARAMS_70B
    assert (significant(sold / GB, 2), significant(reported / GB)) == ("2.9", "12.8")
    assert cache_room_bytes(s, 80 * GB) == sold
    cache = 4 * 8192 * TOKEN_70B
    assert sold < cache < reported
    assert_in(
        presets.EIGHTY_GB, f"{reported / 1e9:.1f} GB are left", f"not {sold / 1e9:.2f} GB", f"{cache / 1e9:.1f} GB"
    )


@pytest.mark.parametrize("step", STORY, ids=lambda step: step.slug)
def test_the_unit_switch_never_changes_a_verdict(step: StoryPreset) -> None:
    result = evaluate(step.scenario)
    gb, gib = (verdict(result, unit) for unit in UNITS)
    assert gb.headline.split()[0] == gib.headline.split()[0] == ("Fits," if result.memory.fits else "Does")
    assert gb.memory == gib.memory
    assert format_bytes(result.memory.free_bytes or result.memory.over_by_bytes, "GiB") in gib.headline


def test_batch_for_ever() -> None:
    cache = 8192 * TOKEN_8B
    edge = H100_BYTES_PER_S / cache

    def share(batch: int) -> float:
        return batch * H100_BYTES_PER_S / (2 * PARAMS_8B + batch * cache) / edge

    assert_in(
        presets.BATCH_FOR_EVER, f"{100 * share(256):.0f} % of the {edge:,.0f} tokens/s", f"{100 * share(512):.0f} %"
    )
