"""Published numbers: each one in scope passes through `core`; slips never count; faults in the records are named."""

import re
from urllib.parse import urlsplit

import pytest

from core.catalog import CatalogError, read_records
from core.papers import (
    Example,
    Paper,
    compute,
    counts,
    exact_rows,
    examples,
    papers,
    read_examples,
    rows,
    shown,
    summary,
)

IN_SCOPE = [e for e in examples().values() if e.in_scope]
LIMIT = 80


@pytest.mark.parametrize("example", IN_SCOPE, ids=lambda e: e.slug)
def test_published(example: Example) -> None:
    assert abs(example.difference) <= example.tolerance
    assert example.passes


def test_at_least_eighty_pass() -> None:
    assert len(IN_SCOPE) >= LIMIT
    assert counts()["passes"] == len(IN_SCOPE)
    assert counts()["differs"] == 0
    assert sum(counts().values()) == len(examples()) == 125


def test_every_number_of_scope_goes_through_core() -> None:
    """No record is arithmetic with constants alone, which would pass whatever `core` says."""
    assert all(e.steps for e in IN_SCOPE)


def test_slips_are_listed_and_never_tests() -> None:
    slips = shown(None, ("slip in print",))
    assert {e.slug for e in slips} == {"llama-405b-over-v3", "chen-tokens-56-gb", "llama-3.1-405b-128000"}
    for slip in slips:
        assert not slip.passes
        assert not slip.in_scope
        assert abs(slip.difference) > 0.005
        assert slip.note


def test_what_is_out_of_scope_says_why() -> None:
    for e in shown(None, ("out of scope",)):
        assert e.out_of_scope
        assert e.our_value is None
        assert not e.passes


def test_every_record_has_its_source() -> None:
    for e in examples().values():
        assert e.where
        assert e.grade
        assert e.inputs
        assert e.published
        assert e.paper in papers()
    assert {e.paper for e in examples().values()} == set(papers())


@pytest.mark.parametrize("paper", papers().values(), ids=lambda p: p.slug)
def test_links_are_well_formed(paper: Paper) -> None:
    address = urlsplit(paper.url)
    assert address.scheme == "https"
    assert "." in address.netloc
    assert not address.query
    if address.netloc == "arxiv.org":
        assert re.fullmatch(r"/abs/\d{4}\.\d{5}", address.path)


@pytest.mark.parametrize(
    ("slug", "old", "new"),
    [
        ("mla-deepseek-v3", "deepseek-v3", "deepseek-v2"),
        ("pope-mha-cache", "batch=512", "batch=256"),
        ("leviathan-0.8-5", "draft_length=5", "draft_length=4"),
        ("llama-3.1-8b-1024", "context=1024", "context=1000"),
        ("chen-13b-step", "1.5 * TB", "1.6 * TB"),
        ("llama-2-7b-q4-0", 'weight_format="q4_0"', 'weight_format="q8_0"'),
        ("v5e-13b-b-32", "26 * GB", "28 * GB"),
    ],
)
def test_a_changed_input_fails(slug: str, old: str, new: str) -> None:
    example = examples()[slug]
    assert old in example.ours
    changed = example.model_copy(update={"ours": example.ours.replace(old, new)})
    assert not changed.passes
    assert changed.status == "differs"


def test_figures_of_the_record_are_the_printed_ones() -> None:
    """The number to compare with stands in what was printed, so that no typing error makes a test pass."""
    by_rule = {"mla-deepseek-v2-rule"}  # printed as a formula
    for e in IN_SCOPE:
        printed = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", e.published)]
        assert e.slug in by_rule or e.value in printed or e.value * 1e-9 in printed, e.slug


# The language


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3 - 4 / 2", 5),
        ("3 * GB / (2 * ms)", 1.5e12),
        ("kv_cache.tokens_kept(context=8, span=None)", 8),
        ('model("llama-3-8b").n_params', 8_030_261_248),
        ('model("llama-3-8b").params_by_component["lm_head"]', 525_336_576),
        ('gpu("h100-sxm").bandwidth_bytes_per_s', 3.35e12),
        ('gpu("h100-sxm").peak_flops_per_s(number_format="fp8")', 1978.9e12),
        ('scenario(model="llama-3-8b", batch=32).memory.kv_bytes', 34_359_738_368),
        ('stored(params=8, format="bf16")', 16),
        ("params(weights.ffn_tensors(d_model=2, d_ff=3, n_matrices=3))", 18),
    ],
)
def test_expressions(expression: str, value: float) -> None:
    assert compute(expression)[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "'text'",
        "True",
        "2 ** 3",
        "[1, 2]",
        "lambda: 1",
        "(1).real",
        "unknown",
        "__import__('os').getcwd()",
        "open('/etc/passwd')",
        "kv_cache.tokens_kept(8)",
        "kv_cache.tokens_kept(tokens=8)",
        "kv_cache._nothing(context=8)",
        "kv_cache.CacheCurve(terms=1)",
        "os.getcwd()",
        'model("nobody").n_params',
        'model("llama-3-8b").__class__',
        'model("llama-3-8b").model_dump()',
        'model("llama-3-8b").name',
        'model("llama-3-8b").params_by_component["hats"]',
        "scenario(batch=0).memory.kv_bytes",
        'scenario(model="nobody").memory.kv_bytes',
        "scenario(hats=1).memory.kv_bytes",
        "scenario(batch=1)",
        "scenario(batch=1).memory.hats",
        "scenario(**1).memory",
        'stored(params=8, format="native2")',
        "params(1)",
        "params(kv_cache.tokens_kept(context=8))",
        "1 / 0",
        "1e308 * 10",
        "1 + " * 300 + "1",
    ],
)
def test_nothing_else_is_computed(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compute(expression)


# Faults of a file

PAPER = """
[[paper]]
slug = "p"
name = "P"
title = "P"
year = 2024
url = "https://arxiv.org/abs/2400.00000"
"""
GOOD = """
[[example]]
slug = "e"
paper = "p"
what = "w"
where = "t"
grade = "primary"
inputs = "i"
published = "8"
value = 8
unit = "tokens"
tolerance = 0.01
ours = "kv_cache.tokens_kept(context=8)"
"""


def read(folder, text: str) -> dict[str, Example]:
    path = folder / "numbers.toml"
    path.write_text(PAPER + text, encoding="utf-8")
    return read_examples(path, read_records(path, "paper", Paper))


def test_a_good_file(tmp_path) -> None:
    assert read(tmp_path, GOOD)["e"].passes


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('paper = "p"', 'paper = "q"', "numbers.toml: example e: paper: no [[paper]] record q"),
        ('inputs = "i"', "", "numbers.toml: example e: inputs: Field required"),
        ('what = "w"', 'what = "w"\nhats = 1', "numbers.toml: example e: hats:"),
        ('grade = "primary"', 'grade = "hearsay"', "example e: grade:"),
        ('unit = "tokens"', 'unit = "hats"', "example e: unit: unit must be one of"),
        ("value = 8", "value = -8", "example e: value:"),
        ("tolerance = 0.01", "tolerance = 0.9", "example e: tolerance:"),
        ("tolerance = 0.01", "", "example e: record: value, tolerance and ours must be given"),
        ("context=8", "tokens=8", "example e: ours: tokens_kept:"),
        ("kv_cache.tokens_kept", "kv_cache.magic", "example e: ours: kv_cache.magic is no public function"),
        ("tolerance = 0.01", 'out_of_scope = "x"\ntolerance = 0.01', "what core computes is in scope"),
        ("tolerance = 0.01", "slip = true", "a slip needs value, ours and a note"),
        ("tolerance = 0.01", 'slip = true\nout_of_scope = "x"\nnote = "n"', "exclude each other"),
        ('slug = "e"', "", "numbers.toml: example #1: slug: Field required"),
        ("value = 8", "value = ", "numbers.toml: "),
        ("[[example]]", "[[examples]]", "no [[example]] record"),
    ],
)
def test_faults_are_named(tmp_path, old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(CatalogError, match=re.escape(complaint)):
        read(tmp_path, GOOD.replace(old, new))


def test_a_slug_twice_and_a_bad_link(tmp_path) -> None:
    with pytest.raises(CatalogError, match="example e: slug: appears twice"):
        read(tmp_path, GOOD + GOOD)
    path = tmp_path / "links.toml"
    for url in ("http://arxiv.org/abs/1", "https://localhost/x", "javascript:alert(1)", "https://a.org/x y", ""):
        path.write_text(PAPER.replace("https://arxiv.org/abs/2400.00000", url), encoding="utf-8")
        with pytest.raises(CatalogError, match="paper p: url:"):
            read_records(path, "paper", Paper)


# What the page lists


def test_rows_and_csv() -> None:
    everything = shown(None)
    header, table = rows(everything)
    assert len(table) == 125
    assert all(len(row) == len(header) for row in table)
    header, table = exact_rows(everything)
    assert all(len(row) == len(header) for row in table)
    by_slug = {row[0]: dict(zip(header, row, strict=True)) for row in table}
    assert by_slug["mla-deepseek-v3"]["ours (base unit)"] == 70_272
    assert by_slug["opt-13b-token"]["published (base unit)"] == 800 * 1024


def test_filters_and_summary() -> None:
    assert {e.paper for e in shown("kwon-2023")} == {"kwon-2023"}
    assert sum(len(shown(paper)) for paper in papers()) == 125
    assert str(len(IN_SCOPE)) in summary()[0]
