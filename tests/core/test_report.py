"""The table and the CSV say what the result says."""

from core.catalog import gpus, models
from core.evaluate import evaluate
from core.report import gpu_rows, model_rows, numbers_table
from core.scenario import Scenario


def test_exact_rows_are_base_units() -> None:
    result = evaluate(Scenario(batch=32))
    rows = dict(numbers_table(result, "GiB", exact=True)[1])
    assert rows["KV cache (bytes)"] == 34_359_738_368
    assert rows["step at least (s)"] == result.decode.step_s
    assert rows["batch from which arithmetic sets the pace (users)"] is None


def test_text_rows_follow_the_unit() -> None:
    result = evaluate(Scenario(batch=32))
    assert dict(numbers_table(result, "GiB")[1])["KV cache"] == "32.0 GiB (34,359,738,368 bytes)"
    assert dict(numbers_table(result, "GB")[1])["batch from which arithmetic sets the pace"] == "none"


def test_experts_are_listed_for_moe_only() -> None:
    assert "experts touched a layer, expected" in dict(numbers_table(evaluate(Scenario(model="mixtral-8x7b")), "GB")[1])
    assert "experts touched a layer, expected" not in dict(numbers_table(evaluate(Scenario()), "GB")[1])


def test_catalog_rows_are_complete_and_sourced() -> None:
    header, rows = model_rows()
    assert len(rows) == len(models())
    assert all(row[header.index("source")] for row in rows)
    assert all(abs(row[header.index("difference (%)")] or 0) <= 0.3 for row in rows)
    header, rows = gpu_rows()
    assert len(rows) == len(gpus())
    assert all(row[header.index("sources")] for row in rows)
    ridge = {row[0]: row[header.index("ridge FLOP/byte")] for row in rows}
    assert ridge["NVIDIA H100 SXM5"] == 295.3
    assert ridge["Apple M4 Max (40-core GPU)"] is None
