"""``fitcarl train FACTS_FILE``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_train import assert_one_line


def test_file_of_facts_is_trained_on(facts: Path, fitcarl: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    outcome = fitcarl("train", facts, "--episodes", 2, "--out", run, "--set", "encoder.max_updates=20")
    assert outcome.code == 0
    lines = outcome.stderr.splitlines()
    assert lines[0] == "facts: 720 facts of 66 entities, 3 relations, 2024-01-01 to 2024-12-28"
    assert lines[1] == "columns: subject = column 1, relation = column 2, object = column 3, time = column 4"
    assert lines[2] == (
        "held out for validation: 3 entities with 12 to 12 facts; for test: 3 entities with 12 to 12 facts; "
        "the trained run uses their 72 facts again"
    )
    assert lines[3] == "Only 3 entities for validation: the 95 % interval of an MRR is about ± .27 (1.96 · .24 / √n)."
    assert lines[4].startswith("Only 3 entities for test: ")
    assert lines[5] == "More entities: --share 0.3 gives 9 entities for validation and 9 for test."
    assert lines[6] == "To test every suitable entity once: 'fitcarl crossvalidate'."
    assert lines[7] == "time unit: 1 day (from the facts; --set time_unit=DURATION changes it)"
    assert lines[8] == "pseudo-unseen for training: 4 groups of 5 entities with 12 to 12 facts, held out in turn"
    assert json.loads((run / "config.json").read_text())["training"]["tasks"] == "pseudo"
    assert "|split:test|" in (sign := json.loads(fitcarl("evaluate", run, "--json").stdout)["signature"])
    assert "|data:facts@" in sign
    compared = json.loads(fitcarl("compare", "--run", run, "--json").stdout)
    assert "|split:test|setting:completion|shots:3|" in compared["rows"][-1]["signature"]
    assert compared["remarks"] == []
    assert_one_line(fitcarl("train", facts, "--resume", run), "DATA")
    assert fitcarl("train", "--resume", run, "--episodes", 3).code == 0


def test_options_set_the_held_out_entities(facts: Path, fitcarl: Command, tmp_path: Path) -> None:
    small = ["--set", "encoder.max_updates=20", "--set", "encoder.min_updates=1", "--episodes", 2]
    run = tmp_path / "run"
    chosen = ["--low", 12, "--high", 12, "--share", 0.5, "--normalise"]
    outcome = fitcarl("train", facts, *small, *chosen, "--out", run)
    assert outcome.code == 0
    assert "held out for validation: 15 entities with 12 to 12 facts; for test: 15 entities" in outcome.stderr
    assert "0 names merged" in outcome.stderr
    described = json.loads(fitcarl("data", "describe", run, "--json").stdout)
    assert described["unseen"] == {"train": 0, "valid": 15, "test": 15}
    assert (described["facts"], described["entities"]) == (720, 66)
    assert "unseen entities" in fitcarl("data", "describe", run).stdout
    assert_one_line(fitcarl("train", "--resume", run, "--share", 0.4), "is fixed when a run starts")
    assert_one_line(fitcarl("train", facts, "--low", 3, "--out", tmp_path / "other"), "expected more than 3 facts")


def test_options_set_columns_and_granularity(facts: Path, fitcarl: Command, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in facts.read_text(encoding="utf-8").splitlines()]
    other = tmp_path / "other.data"
    other.write_text("when,who,what,target\n" + "".join(f"{t},{s},{r},{o}\n" for s, r, o, t in [*rows, rows[0]]))
    ways = ["--columns", "who,what,target,when", "--format", "csv", "--granularity", "month"]
    small = ["--set", "encoder.max_updates=20", "--set", "encoder.min_updates=1"]
    outcome = fitcarl("train", other, *ways, *small, "--episodes", 2, "--out", tmp_path / "run")
    assert outcome.code == 0
    lines = outcome.stderr.splitlines()
    assert lines[0] == "other: 720 facts of 66 entities, 3 relations, 2024-01 to 2024-12"
    assert lines[1] == "columns: subject = who, relation = what, object = target, time = when"
    assert lines[2].startswith(
        "other: 721 rows, 1 exact duplicate merged, 0 facts with equal subject and object kept, 684 times"
    )


@pytest.mark.parametrize(
    "given",
    [
        ("--columns", "1,2,3,4"),
        ("--granularity", "day"),
        ("--format", "csv"),
        ("--no-header",),
        ("--low", "9"),
        ("--normalise",),
    ],
)
def test_reading_options_are_rejected_for_a_dataset(fitcarl: Command, tmp_path: Path, given: tuple[str, ...]) -> None:
    assert_one_line(fitcarl("train", "demo", *given, "--out", tmp_path / "run"), "applies to a file of facts only")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("absent.tsv", None, "absent.tsv"),
        ("odd.xyz", "a\tb\tc\t2024-01-01\n", "unknown format"),
        ("empty.csv", "", "empty"),
        ("odd.csv", "who,what,object,weight\nAnn,meets,Bob,3\n", "expected --columns"),
        ("colons.csv", "a:b:c:2024-01-01\na:b:d:2024-01-02\n", "too few columns; found 1; expected at least 4"),
        ("blank.csv", "a,b,c,2024-01-01\n\na,b,d,2024-01-02\n", "row 2: a blank line"),
        ("bad.tsv", "a\tb\tc\t2024-01-01\na\tb\tc\tsoon\n", "row 2"),
        ("few.tsv", "a\tb\tc\t2024-01-01\na\tb\td\t2024-01-02\n", "no entity can be held out"),
    ],
)
def test_unusable_file_is_one_line_and_leaves_no_folder(
    fitcarl: Command, tmp_path: Path, name: str, content: str | None, expected: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    assert_one_line(fitcarl("train", file, "--out", tmp_path / "run"), expected)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_crossvalidation_tests_every_entity_once_and_resumes(facts: Path, fitcarl: Command, tmp_path: Path) -> None:
    small = [*("--set", "encoder.max_updates=20"), *("--set", "encoder.min_updates=1"), *("--set", "encoder.dim=16")]
    chosen = ("--folds", 3, "--low", 12, "--high", 12, "--episodes", 1, *small, "--out", tmp_path / "folds")
    command = ("crossvalidate", facts, *chosen, "--json")
    found = json.loads(fitcarl(*command).stdout)
    assert (found["folds"], found["entities"], found["asked"]) == (3, 60, 60)
    assert found["rows"][-1]["trained"]
    assert len(found["rows"][-1]["mrr_by_fold"]) == 3
    again = fitcarl(*command)
    assert json.loads(again.stdout) == found
    assert again.stderr.count("training") == 0
    assert_one_line(
        fitcarl("crossvalidate", facts, "--low", 500, "--high", 600, "--out", tmp_path / "x"), "too few ent"
    )
    assert_one_line(fitcarl("crossvalidate", "demo", "--no-header", "--out", tmp_path / "x"), "applies to a file")
    assert not (tmp_path / "x").exists()
