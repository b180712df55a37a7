"""Published sizes, and how close ours come."""

import pytest

from core.evaluate import evaluate
from core.published import SIZES, Size
from core.report import weight_parts
from core.scenario import Scenario


@pytest.mark.parametrize("size", SIZES, ids=lambda size: size.what)
def test_published_sizes(size: Size) -> None:
    assert abs(size.difference) < 0.0015
    assert size.source


def test_five_formats_are_confirmed() -> None:
    formats = {(s.weight_format, s.model if s.weight_format == "native" else None) for s in SIZES}
    assert len(formats) >= 5
    assert next(s for s in SIZES if s.layer).ours_bytes == 23_425_024


def test_four_bits_are_no_quarter() -> None:
    """Llama 3 8B: 16.06 GB, about 5.7 GB in int4 with group 128."""
    wide, narrow = weight_parts(Scenario(), "bf16"), weight_parts(Scenario(), "int4")
    assert sum(narrow.values()) == pytest.approx(5.7e9, rel=0.01)
    stays = ("embedding", "lm_head", "norms")
    assert {c: narrow[c] for c in stays} == {c: wide[c] for c in stays}
    assert narrow["attention"] / wide["attention"] == pytest.approx(4.15625 / 16)


def test_gpt_oss_as_released() -> None:
    assert evaluate(Scenario(model="gpt-oss-120b")).memory.weights_bytes == 65_248_815_744
