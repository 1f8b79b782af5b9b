"""The benchmark of indexing out of core."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from fitcarl.bench.out_of_core import time_out_of_core


def test_both_paths_are_measured_and_equal(tmp_path: Path) -> None:
    rows = [(f"e{i % 13}", f"r{i % 3}", f"e{i % 17}", f"2024-01-{1 + i % 28:02}") for i in range(2000)]
    file = tmp_path / "facts.parquet"
    pl.DataFrame(rows, schema=["subject", "relation", "object", "time"], orient="row").write_parquet(file)
    found = time_out_of_core(0, 1, source=file)
    assert found.equal
    assert found.facts == len(set(rows))
    assert found.partitions == 1
    assert found.in_memory_peak_mb > 50
    assert found.out_of_core_peak_mb > 50
    stages = found.out_of_core_reading + found.out_of_core_distributing + found.out_of_core_sorting
    assert 0 < stages < found.out_of_core_seconds
