"""The tables of the documentation are those of the recorded results."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.evaluation.formatting import format_metric
from fitcarl.experiments.reproduce import FILES, TITLES, TableNumber
from fitcarl.experiments.system_rows import SystemRow
from fitcarl.experiments.system_table import SystemTable, render_system_table

NAMES = {
    "icews14-oog": "ICEWS14-OOG",
    "icews18-oog": "ICEWS18-OOG",
    "icews0515-oog": "ICEWS05-15-OOG",
    "icews14-chrono": "ICEWS14, chronological split",
}
DOCS = Path(__file__).parents[2] / "docs"


def recorded(table: TableNumber) -> list[SystemRow]:
    return SystemTable(DOCS / "results", FILES[table], TITLES[table]).read()


@pytest.mark.parametrize("table", ["2", "3", "settings"])
def test_page_shows_the_recorded_rows(table: TableNumber) -> None:
    page = (DOCS / "results" / f"{FILES[table]}.md").read_text(encoding="utf-8")
    assert page == render_system_table(recorded(table), TITLES[table])


def test_overview_of_the_experiments_shows_the_recorded_rows() -> None:
    overview = render_system_table(recorded("2"), TITLES["2"]).split("## All systems\n\n")[1].split("\n\n")[0]
    assert overview in (DOCS / "reproduction.md").read_text(encoding="utf-8")


def test_forecasts_in_readme_and_results_are_the_recorded_ones() -> None:
    """Every figure of the short tables is the one of the recorded row."""
    rows = {
        (row.data, row.shots, row.system, row.trained_for): format_metric(row.mrr)
        for row in recorded("settings")
        if (row.protocol, row.setting) == ("realistic", "forecast")
    }
    systems = (("mix", None), ("titer", "forecast"), ("plus", "completion"), ("plus", "forecast"))
    cells = {(data, shots) for data, shots, *_ in rows}
    for page in (DOCS / "results.md", DOCS.parent / "README.md"):
        text = page.read_text(encoding="utf-8")
        for data, shots in cells:
            figures = [rows.get((data, shots, *system), "–") for system in systems]
            name = NAMES[data]
            assert f"| {name} | {shots} | {' | '.join(figures)} |" in text
