"""``fitcarl update``."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_train import assert_one_line


@pytest.fixture
def run(facts: Path, fitcarl: Command, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    small = ["--set", "encoder.max_updates=5", "--set", "encoder.min_updates=1", "--set", "encoder.dim=16"]
    assert fitcarl("train", facts, "--episodes", 1, "--out", folder, *small).code == 0
    return folder


def test_facts_are_added_and_drift_is_printed(run: Path, facts: Path, fitcarl: Command, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in facts.read_text(encoding="utf-8").splitlines()]
    file = tmp_path / "new.csv"
    days = [date(2025, 1, 1) + timedelta(days=i) for i in range(40)]
    lines = [f"{day},{s},{r},{o}\n" for day, (s, r, o, _) in zip(days, rows, strict=False)]
    file.write_text("when,who,what,target\n" + "".join([*lines, lines[0]]), encoding="utf-8")
    command = ["update", run, "--facts", file, "--columns", "who,what,target,when"]
    dry = fitcarl(*command, "--dry-run")
    assert dry.code == 0
    assert dry.stdout.splitlines()[3] == "41 rows: 40 would be added, 1 repeated"
    assert not (run / "updates.json").exists()
    done = fitcarl(*command)
    assert done.code == 0
    columns, drift, compared, counts, background = done.stdout.splitlines()
    assert columns == "columns: subject = who, relation = what, object = target, time = when"
    assert drift.startswith("drift: MRR 0.")
    assert drift.endswith("on 40 of 40 new facts")
    assert compared.startswith("compare: validation of the run 0.")
    assert "(setting completion); copy 0." in compared
    assert counts == "41 rows: 40 added, 1 repeated"
    assert background == f"{run} has 760 facts until 2025-02-09, 66 entities (0 became known)"
    again = json.loads(fitcarl(*command, "--json").stdout)
    assert (again["added"], again["already_known"], again["updates"]) == (0, 40, 1)
    assert again["mapping"] == {"subject": "who", "relation": "what", "object": "target", "time": "when"}
    assert_one_line(fitcarl("train", "--resume", run), "was updated")
    assert "updates:left-out" in fitcarl("evaluate", run).stdout


def test_unusable_input_is_one_line(run: Path, fitcarl: Command, tmp_path: Path) -> None:
    file = tmp_path / "new.tsv"
    file.write_text("A\tUnheard of\tB\t2025-01-01\n", encoding="utf-8")
    assert_one_line(fitcarl("update", run, "--facts", file), "row 1, field relation: unknown relation")
    assert_one_line(fitcarl("update", run, "--facts", tmp_path / "none.tsv"), "none.tsv")
    assert_one_line(fitcarl("update", tmp_path / "no run", "--facts", file), "no such run")
    skipped = fitcarl("update", run, "--facts", file, "--skip-unknown-relations")
    assert skipped.code == 0
    assert "1 rows: 0 added, 1 with an unknown relation" in skipped.stdout
    assert_one_line(fitcarl("update", run, "--facts", file, "--out", run), "exists already")
