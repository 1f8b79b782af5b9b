"""Whole commands on a chronological split: split, describe, train, evaluate, compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.synthetic import generate_world
from tests.cli.conftest import Command
from tests.cli.test_train import assert_one_line

SMALL = ("--set", "encoder.max_updates=20", "--set", "encoder.min_updates=1", "--set", "encoder.dim=16")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny demo world as a file of facts."""
    facts = generate_world("tiny").facts
    names, label = facts.vocabulary, facts.calendar.label
    rows = (
        f"{names.entities[s]}\t{names.relations[r]}\t{names.entities[o]}\t{label(t)}\n"
        for s, r, o, t in facts.quadruples
    )
    file = tmp_path_factory.mktemp("events") / "events.tsv"
    file.write_text("".join(rows), encoding="utf-8")
    return file


def test_split_train_evaluate_and_compare(events: Path, fitcarl: Command, tmp_path: Path) -> None:
    data, run = tmp_path / "made", tmp_path / "run"
    split = fitcarl("data", "split", "--facts", events, "--chronological", "--out", data)
    assert split.code == 0
    assert "entities first appear from" in split.stdout
    described = json.loads(fitcarl("data", "describe", data, "--json").stdout)
    cuts, groups = described["cuts"], described["groups"]
    assert cuts["train"] < cuts["valid"] < cuts["test"]
    for name, following in (("train", "valid"), ("valid", "test")):
        assert cuts[name] <= groups[name]["times"]["first"] <= groups[name]["times"]["last"] < cuts[following]
    assert cuts["test"] <= groups["test"]["times"]["first"]

    chosen = ("--shots", 2, "--setting", "forecast")
    assert fitcarl("train", data, *chosen, "--episodes", 2, *SMALL, "--out", run).code == 0
    report = json.loads(fitcarl("evaluate", run, "--json").stdout)
    assert "|split:test|setting:forecast|shots:2|" in report["signature"]
    compared = json.loads(fitcarl("compare", data, *chosen, "--split", "valid", "--run", run, "--json").stdout)
    assert all("|split:valid|setting:forecast|" in row["signature"] for row in compared["rows"])


def test_facts_file_is_validated_on_emerging(events: Path, fitcarl: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    common = ("--shots", 2, "--episodes", 2, *SMALL)
    outcome = fitcarl("train", events, "--setting", "forecast", *common, "--out", run)
    assert outcome.code == 0
    held_out = next(line for line in outcome.stderr.splitlines() if line.startswith("held out for validation"))
    assert " that first appear from 2023-09-15 (test: 2023-10-16) on" in held_out
    assert "More entities" not in outcome.stderr  # other entities than emerging ones are not proposed
    assert "|setting:forecast|" in json.loads(fitcarl("evaluate", run, "--json").stdout)["signature"]
    assert fitcarl("train", "--resume", run, "--episodes", 3).code == 0


def test_facts_file_without_emerging_entities_says_so(facts: Path, fitcarl: Command, tmp_path: Path) -> None:
    outcome = fitcarl("train", facts, "--setting", "forecast", "--episodes", 1, *SMALL, "--out", tmp_path / "run")
    assert outcome.code == 0
    assert "chosen at random because too few first appear late in the data" in outcome.stderr


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--cut", "2031-01-01"), "events.tsv, field cut: outside the data"),
        (("--cut", "2"), "invalid cut"),
        (("--cut", "never"), "field cut: invalid cut; found 'never'"),
        (("--cut", "2023-12-30"), "entit"),
        (("--low", 500, "--high", 600), "no entity can become unseen"),
        (("--share", 0.5), "does not apply to a chronological split"),
        (("--parts", "1/1"), "invalid parts"),
    ],
)
def test_unusable_options_are_one_line(
    events: Path, fitcarl: Command, tmp_path: Path, given: tuple[object, ...], expected: str
) -> None:
    out = tmp_path / "made"
    assert_one_line(fitcarl("data", "split", "--facts", events, "--chronological", *given, "--out", out), expected)
    assert not out.exists()


def test_cut_needs_chronological(events: Path, fitcarl: Command, tmp_path: Path) -> None:
    outcome = fitcarl("data", "split", "--facts", events, "--cut", "0.5", "--out", tmp_path / "made")
    assert_one_line(outcome, "expected --chronological")
