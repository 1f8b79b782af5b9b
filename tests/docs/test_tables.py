"""The tables of the documentation are those of the recorded results."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.experiments.reproduce import TITLES
from fitcarl.experiments.system_table import SystemTable, render_system_table

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def rendered() -> str:
    return render_system_table(SystemTable(DOCS / "results", "table2", TITLES["2"]).read(), TITLES["2"])


def test_page_shows_the_recorded_rows(rendered: str) -> None:
    assert (DOCS / "results" / "table2.md").read_text(encoding="utf-8") == rendered


def test_overview_of_the_experiments_shows_the_recorded_rows(rendered: str) -> None:
    overview = rendered.split("## All systems\n\n")[1].split("\n\n")[0]
    assert overview in (DOCS / "reproduction.md").read_text(encoding="utf-8")
