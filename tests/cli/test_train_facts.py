"""``fitcarl train FACTS_FILE`` as people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_train import assert_one_line


def test_a_file_of_facts_is_all_it_takes(facts: Path, fitcarl: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    outcome = fitcarl("train", facts, "--episodes", 2, "--out", run)
    assert outcome.code == 0
    said = outcome.stderr.splitlines()
    assert said[0] == "facts: 720 facts of 66 actors, 3 relations, 2024-01-01 to 2024-12-28"
    assert said[1].startswith("held out for validation: 3 actors with 12 to 12 facts; ")
    assert said[2] == "to learn from: 4 groups of 5 actors with 12 to 12 facts, hidden in turn"
    assert "--split valid" in outcome.stdout
    assert json.loads((run / "config.json").read_text())["learn"]["tasks"] == "pseudo"
    assert fitcarl("evaluate", run, "--split", "valid").code == 0
    assert fitcarl("train", "--resume", run, "--episodes", 3).code == 0


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("absent.tsv", None, "absent.tsv"),
        ("odd.xyz", "a\tb\tc\t2024-01-01\n", "unknown format"),
        ("empty.csv", "", "empty"),
        ("odd.csv", "who,what,object,weight\nAnn,meets,Bob,3\n", "`fitcarl data split --columns …`"),
        ("bad.tsv", "a\tb\tc\t2024-01-01\na\tb\tc\tsoon\n", "row 2"),
        ("few.tsv", "a\tb\tc\t2024-01-01\na\tb\td\t2024-01-02\n", "nobody can play a newcomer"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_and_no_folder(
    fitcarl: Command, tmp_path: Path, name: str, content: str | None, told: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    assert_one_line(fitcarl("train", file, "--out", tmp_path / "run"), told)
    assert not (tmp_path / "run").exists()
