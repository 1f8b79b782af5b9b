"""Table 1, and the tables of parameters and of cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.experiments.published_costs import DATASETS, PARAMETERS, authors_parameter_count
from fitcarl.experiments.summary_tables import cost_table, data_table, parameter_table
from fitcarl.experiments.system_rows import SystemRow


def row(system: str, data: str = "icews14-oog", shots: int = 3, **values: object) -> SystemRow:
    status = "done" if values else "not run"
    return SystemRow(system, None, data, shots, "realistic", status, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("data", "shots"), PARAMETERS)
def test_every_printed_parameter_count_follows_from_the_formula(data: str, shots: int) -> None:
    sector_tables = (data, shots) != ("icews18-oog", 3)
    found = authors_parameter_count(DATASETS[data]["entities"], shots, sector_tables=sector_tables)
    assert found == PARAMETERS[data, shots]


def test_parameter_table_has_own_and_printed_counts() -> None:
    rows = [row("paper", mrr=0.5, parameters=4_944_300), row("filt")]
    table = parameter_table(rows, {"icews14-oog": 7128})
    assert (table.rows[0]["parameters"], table.rows[0]["published"]) == (4_944_300, 8_271_410)
    assert table.rows[0]["published_formula"] == table.rows[0]["published"]
    assert (table.rows[1]["status"], table.rows[1]["published"]) == ("not run", None)
    assert " not run |" in table.markdown()
    assert "4,944,300" in table.markdown()


def test_cost_table_has_time_memory_and_printed_cost() -> None:
    rows = [row("paper", mrr=0.5, minutes=2.5, cpu_minutes=2.25, peak_mb=900.0, seeds=(0,)), row("lan")]
    table = cost_table(rows)
    assert table.rows[0]["published"] == {"minutes": 85, "gpu_mb": 11_153}
    assert (table.rows[0]["minutes"], table.rows[0]["cpu_minutes"], table.rows[0]["peak_mb"]) == (2.5, 2.25, 900.0)
    assert (table.rows[1]["minutes"], table.rows[1]["status"]) == (None, "not run")


def test_data_table_counts_the_dataset_and_is_written(data: Path, tmp_path: Path) -> None:
    table = data_table([str(data)])
    [found] = table.rows
    assert found["published"] is None
    assert found["facts_test"] > found["unseen_test"] > 0
    table.write(tmp_path)
    assert json.loads((tmp_path / "table-data.json").read_text()) == {"rows": [found]}
    assert (tmp_path / "table-data.md").read_text() == table.markdown()


@pytest.mark.data
def test_statistics_are_those_of_the_paper(benchmarks: Path) -> None:
    [found] = data_table([str(benchmarks / "icews14-oog")]).rows
    assert {name: found[name] for name in DATASETS["icews14-oog"]} == dict(DATASETS["icews14-oog"])
