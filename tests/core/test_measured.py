"""Published measurements: records sound, ceilings agree with an independent calculation, nothing dense passes one."""

from collections import Counter
from pathlib import Path

import pytest

from core import measured
from core.catalog import CatalogError, gpus, models
from core.evaluate import evaluate
from core.measured import (
    BYS,
    KINDS,
    OWN,
    Choice,
    above,
    cache_term,
    grouped,
    measurements,
    nearest,
    own_point,
    point,
    points,
    read_measurements,
    read_rate,
    read_sources,
    select,
    sources,
    summary,
)
from core.measured_report import (
    above_rows,
    cache_term_sentence,
    hover,
    introduction,
    is_plain,
    own_sentences,
    point_rows,
    what_is_seen,
)
from core.scenario import Scenario

SPARK = Scenario(model="qwen2.5-7b", gpu="gb10", weight_format="q8_0", batch=8, context=528)


def decode() -> list[measured.Point]:
    return list(select(Choice()))


def test_no_plain_row_passes_its_ceiling_and_the_summary_is_printed(capsys) -> None:
    for kind in KINDS:
        found = summary(select(Choice(kind)))
        with capsys.disabled():
            print(
                f"\n{kind}: {found.all.count} measurements, median {found.all.median:.3f} of the ceiling, "
                f"highest {found.all.most:.3f}"
            )
    catalog = [p for p in points() if p.path == "catalog" and is_plain(p)]
    dense = [p for p in catalog if models()[p.measurement.slug].moe is None]
    assert len(dense) > 400
    assert max(p.ratio for p in dense) < 0.9
    assert max(p.ratio for p in points() if is_plain(p)) < 1


def test_no_row_passes_its_bound_but_by_speculation() -> None:
    assert [p.measurement.draft for p in points() if p.measurement.tokens_per_s > p.bound] == ["Llama 2 7B in INT4"]


def test_at_least_250_rows_are_evaluated_by_the_catalog() -> None:
    found = [p for p in points() if p.path == "catalog"]
    assert len([p for p in found if p.measurement.kind == "decode"]) >= 250
    for p in found:
        m = p.measurement
        assert m.slug in models()
        assert m.gpu in gpus()
        if m.kind == "decode":
            step = evaluate(m.scenario).decode
            assert p.bound == step.tokens_per_s
            assert m.scenario.skip_embedding


def test_ceilings_agree_with_an_independent_calculation() -> None:
    """`reference_ceiling` was not computed by this program; beyond 3 % the record says why."""
    apart = [p for p in points() if abs(p.ceiling / p.measurement.reference_ceiling - 1) > 0.03]
    for p in apart:
        assert "It keeps the whole output head on every GPU; the ceiling splits it." in p.measurement.note
    assert len(apart) == 2
    close = [abs(p.ceiling / p.measurement.reference_ceiling - 1) for p in points() if p not in apart]
    assert max(close) < 0.03
    assert sorted(close)[len(close) // 2] < 0.005


def test_every_row_above_1_has_its_reason() -> None:
    over = above(points())
    assert len(over) == 9
    for p in over:
        assert p.reason.startswith(("Speculation: ", "Mixture of experts: "))
        assert p.is_estimate or p.measurement.draft
    assert [p for p in points() if p.ratio <= 1 and p.reason] == []
    assert all(row[-1] for row in above_rows()[1])


def test_records_have_sources_and_links_are_well_formed() -> None:
    assert {m.source for m in measurements()} == set(sources())
    for source in sources().values():
        assert source.url.startswith("https://")
        assert " " not in source.url
    for m in measurements():
        assert m.where
        assert m.reference_ceiling
        assert m.kind == "decode" or m.prompt
    assert len(measurements()) == 647
    assert Counter(m.kind for m in measurements()) == {"decode": 546, "request": 77, "prefill": 24}


def test_the_header_accounts_for_what_is_left_out() -> None:
    head = (measured.DATA / "measured.csv").read_text(encoding="utf-8").partition("\nid,")[0]
    assert f"Of 692 measurements gathered from their own publications {692 - len(measurements())} are left out" in head


@pytest.mark.parametrize(
    ("source", "model", "context", "tokens_per_s"),
    [  # typed from the publications
        ("gpt-fast", "Llama 2 7B", 105, 104.9),
        ("dgx-spark", "gpt-oss-20b", 528, 254.09),
        ("dgx-spark", "Qwen2.5-Coder 7B", 528, 593.27),
        ("dgx-spark", "gpt-oss-120b", 32784, 41.35),
        ("mlc-bench", "Llama 2 13B", 135, 107.4),
    ],
)
def test_figures_as_printed(source: str, model: str, context: int, tokens_per_s: float) -> None:
    assert [
        m
        for m in measurements()
        if (m.source, m.model, m.context, m.tokens_per_s) == (source, model, context, tokens_per_s)
    ]


def test_the_cache_term_is_real() -> None:
    found = cache_term()
    assert len(found) == 5
    assert min(p.ratio for p in found) == pytest.approx(0.78, abs=0.005)
    assert max(p.ratio for p in found) == pytest.approx(0.81, abs=0.005)
    without = [p.measurement.tokens_per_s / p.no_cache_ceiling for p in found]
    assert without[-1] == pytest.approx(0.62, abs=0.005)
    assert without == sorted(without, reverse=True)
    assert "0.78 to 0.81" in cache_term_sentence()
    assert "0.62" in cache_term_sentence()


def test_layers_split_never_pass_one_gpus_bandwidth() -> None:
    rows = [p for p in decode() if p.measurement.split == "layer" and p.measurement.n_gpus > 1]
    assert len(rows) == 219
    for p in rows:
        one = gpus()[p.measurement.gpu].bandwidth_bytes_per_s if p.path == "catalog" else p.bandwidth_bytes_per_s
        assert p.achieved_bytes_per_s < one


def test_what_the_picture_teaches_holds() -> None:
    said = " ".join(what_is_seen(decode()))
    all_ = summary(decode()).all
    assert f"{all_.count} measurements: median {all_.median:.2f}" in said
    assert f"highest {all_.most:.2f}" in said
    assert "reach 0.33 (median of 20), those of 12 ms and more 0.73" in said
    assert sum(0.6 <= p.ratio <= 0.9 for p in decode()) > len(decode()) / 2
    assert "647 published measurements" in introduction()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("one_gpu", [False, True])
def test_choices_and_groups(kind: str, one_gpu: bool) -> None:
    found = select(Choice(kind, one_gpu=one_gpu))
    assert found
    for by in BYS:
        assert sum(len(rows) for _, rows in grouped(found, by)) == len(found)
    chosen = Choice(kind, engines=frozenset({found[0].measurement.engine}), one_gpu=one_gpu)
    assert {p.measurement.engine for p in select(chosen)} == {found[0].measurement.engine}
    header, rows = point_rows(found, exact=True)
    assert {len(row) for row in rows} == {len(header)}
    assert len(rows) == len(found)
    assert all(len(hover(p)) >= 4 for p in found)


def test_no_choice_and_one_row() -> None:
    assert what_is_seen(()) == ("No measurement is left: choose more.",)
    assert what_is_seen(decode()[:1])[0].startswith("1 measurement: median")
    one = summary(decode()[:1]).all
    assert one.low == one.median == one.high == one.most


# ---------------------------------------------------------------- nearest


def test_nearest_matches_model_gpu_number_and_formats() -> None:
    found = nearest(SPARK)
    assert [n.batch for n in found] == [1, 2, 4, 8, 16, 32]
    assert next(n for n in found if n.batch == 8).tokens_per_s == 195.67
    assert next(n for n in found if n.batch == 8).each == 195.67 / 8
    assert all(n.context == 528 for n in found)
    for other in ({"n_gpus": 2}, {"weight_format": "bf16"}, {"cache_format": "fp8"}, {"kv_heads": 1}, {"gpu": "t4"}):
        assert nearest(SPARK.replace(**other)) == ()


def test_nearest_leaves_out_contexts_that_would_mislead() -> None:
    """Every mark stays below the scenario's own curve, although it was measured at another context."""
    assert nearest(SPARK.replace(context=32768))
    pairs = {
        (m.slug, m.gpu, m.n_gpus, m.split, m.weights, m.cache)
        for m in measurements()
        if m.in_catalog and m.kind == "decode"
    }
    shown = 0
    for slug, gpu, n_gpus, split, weights, cache in pairs:
        for context in (128, 4096, 32768):
            s = Scenario(
                model=slug, gpu=gpu, n_gpus=n_gpus, split=split, weight_format=weights, cache_format=cache,
                context=context, skip_embedding=True,
            )  # fmt: skip
            for n in nearest(s):
                shown += 1
                assert n.tokens_per_s < evaluate(s.replace(batch=n.batch)).decode.tokens_per_s
    assert shown > 100


def test_native_16_bits_is_16_bits() -> None:
    llama_2 = Scenario(model="llama-2-7b", gpu="a100-80gb-sxm", context=128)  # native fp16
    assert nearest(llama_2)
    assert nearest(llama_2) == nearest(llama_2.replace(weight_format="bf16"))


# ---------------------------------------------------------------- one's own


def test_own_point_agrees_with_the_published_one() -> None:
    (theirs,) = [p for p in points() if p.measurement.source == "gpt-fast" and p.measurement.tokens_per_s == 104.9]
    mine = own_point(theirs.measurement.scenario, tokens_per_s=104.9, engine=" gpt-fast ")
    assert mine.measurement.source == OWN
    assert (mine.ratio, mine.achieved_bytes_per_s) == (theirs.ratio, theirs.achieved_bytes_per_s)
    said = " ".join(own_sentences(mine))
    assert "gpt-fast, Llama 2 7B, 1 user of 105 tokens: 105 tokens/s of at most 154 tokens/s, a ratio of 0.68." in said
    assert "of 2.039 TB/s" in said


def test_own_point_above_its_ceiling_says_what_may_differ() -> None:
    dense = own_point(Scenario(), tokens_per_s=1e4)
    assert "Something differs from what is set" in own_sentences(dense)[-1]
    experts = own_point(Scenario(model="qwen3-30b-a3b", batch=8, context=512), tokens_per_s=1)
    fast = own_point(Scenario(model="qwen3-30b-a3b", batch=8, context=512), tokens_per_s=experts.ceiling * 1.1)
    assert "Mixture of experts" in own_sentences(fast)[-1]
    assert "The bound, with the fewest experts" in " ".join(own_sentences(fast))


def test_chunked_models_say_so() -> None:
    low = own_point(Scenario(model="llama-4-scout", gpu="b200", context=8200), tokens_per_s=10)
    assert "just past a chunk's boundary" in " ".join(own_sentences(low))
    high = own_point(Scenario(model="llama-4-scout", gpu="b200", context=8200), tokens_per_s=1e5)
    assert high.reason.startswith("Attention in chunks")


@pytest.mark.parametrize("text", ["", "0", "-3", "nan", "inf", "1e5", "fast", "12 34", "1.2.3", "٣", "9" * 12, "<b>"])
def test_rates_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"^Tokens per second must be a number above 0, such as 104\.9; .* is none\.$"):
        read_rate(text)


@pytest.mark.parametrize(("text", "rate"), [("104.9", 104.9), ("1,234.5", 1234.5), ("5 +/- 0.1", 5), (".5", 0.5)])
def test_rates_as_printed(text: str, rate: float) -> None:
    assert read_rate(text) == rate


# ---------------------------------------------------------------- files that cannot be used

GOOD = {
    "id": "a",
    "kind": "decode",
    "source": "gpt-fast",
    "where": "t",
    "engine": "e",
    "device": "d",
    "gpu": "h100-sxm",
    "n_gpus": "1",
    "model": "m",
    "slug": "llama-3-8b",
    "format": "f",
    "weights": "bf16",
    "bits": "16",
    "cache": "bf16",
    "batch": "1",
    "context": "100",
    "tokens_per_s": "9",
}


def write(path: Path, *rows: dict[str, str]) -> Path:
    header = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["# a comment", ",".join(header), *(",".join(row.get(key, "") for key in header) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_good_row_is_read(tmp_path: Path) -> None:
    (found,) = read_measurements(write(tmp_path / "m.csv", GOOD), sources())
    assert point(found).path == "catalog"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens_per_s": "0"}, "m.csv: row a: tokens_per_s: Input should be greater than 0, got \"0\""),
        ({"tokens_per_s": "nan"}, "m.csv: row a: tokens_per_s: "),
        ({"batch": "many"}, "m.csv: row a: batch: "),
        ({"kind": "guess"}, "m.csv: row a: kind: "),
        ({"colour": "red"}, "m.csv: row a: colour: Extra inputs are not permitted"),
        ({"slug": "llama-9"}, "m.csv: row a: record: slug must be a slug of data/models.toml, got \"llama-9\""),
        ({"gpu": "abacus"}, "m.csv: row a: record: gpu must be a slug of data/gpus.toml, got \"abacus\""),
        ({"gpu": ""}, "m.csv: row a: record: bandwidth_gb_per_s must be given where"),
        ({"gpu": "", "bandwidth_gb_per_s": "9"}, "m.csv: row a: record: weight_gb must be given where"),
        ({"kind": "prefill"}, "m.csv: row a: record: prompt must be given"),
        ({"kind": "request", "prompt": "9"}, "m.csv: row a: record: output must be given"),
        ({"source": "hearsay"}, "m.csv: row a: source: must be a slug of the sources, got hearsay"),
        ({"context": ""}, "m.csv: row a: context: Field required"),
    ],
)  # fmt: skip
def test_faults_are_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_measurements(write(tmp_path / "m.csv", GOOD | changes), sources())
    assert str(caught.value).startswith(message)


def test_other_faults(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"m.csv: row a: id: appears twice"):
        read_measurements(write(tmp_path / "m.csv", GOOD, GOOD), sources())
    (tmp_path / "short.csv").write_text("id,kind\nb\n", encoding="utf-8")
    with pytest.raises(CatalogError, match=r"short.csv: row b: has 1 cells, the header 2"):
        read_measurements(tmp_path / "short.csv", sources())
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    with pytest.raises(CatalogError, match=r"empty.csv: no row"):
        read_measurements(tmp_path / "empty.csv", sources())
    with pytest.raises(CatalogError, match=r"none.csv: "):
        read_measurements(tmp_path / "none.csv", sources())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = ", "s.toml: "),
        ("x = 1", "s.toml: no [[source]] record"),
        ('[[source]]\nslug = "a"\ntitle = "t"\nurl = "http://x"', "s.toml: source #1: url: "),
        ('[[source]]\nslug = "a"\ntitle = "t"\nurl = "https://x.y/z z"', "s.toml: source #1: url: "),
        ('[[source]]\nslug = "a"\nurl = "https://x.y/z"', "s.toml: source #1: title: Field required"),
        ('[[source]]\nslug = "a"\ntitle = "t"\nurl = "https://x.y/z"\n' * 2, "s.toml: source a: slug: appears twice"),
    ],
)
def test_faulty_sources(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(content, encoding="utf-8")
    with pytest.raises(CatalogError) as caught:
        read_sources(tmp_path / "s.toml")
    assert str(caught.value).startswith(message)
