"""Claims of the README: its length, its first sentence, its numbers, and what a source distribution contains.

Its code and commands are run by tests/docs/test_examples.py.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_is_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_readme_shows_both_make_commands_and_an_installation_without_make() -> None:
    for command in ("make demo", "make test", "-m venv .venv", "pip install -c constraints.txt"):
        assert command in README


def test_results_of_readme_are_those_of_the_results_page() -> None:
    """Each cell ".389 (.413)" of the table is the MRR and time-unaware MRR of one row in docs/results.md."""
    columns = {3: "mix", 4: "fitcarl (paper, training.episodes=100)", 5: "fitcarl (plus)", 6: "fitcarl (plus+names)"}
    measured = {}
    for line in (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 12 and cells[1].startswith("icews"):
            measured[cells[1], cells[2], cells[3]] = f"{cells[5]} ({cells[7]})"
    rows = [[cell.strip() for cell in line.split("|")] for line in README.splitlines() if line.startswith("| ICEWS")]
    rows = [row for row in rows if "(" in row[3]]  # the table of forecasts has one figure per cell, see tests/docs
    assert len(rows) == 6
    for row in rows:
        for column, scorer in columns.items():
            assert row[column] == measured[row[1].lower(), row[2], scorer]


def test_source_distribution_contains_linked_files_and_build_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert links
    assert {link.partition("/")[0] for link in links} | {"Makefile", "constraints.txt", "mkdocs.yml"} <= set(included)
    assert all((ROOT / name).exists() for name in included)
