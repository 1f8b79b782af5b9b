"""``reproduce --table``, ``reproduce --figure``, ``tune`` and ``evaluate`` of several runs on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.config.settings import configure
from fitcarl.training.api import train
from tests.cli.conftest import Command
from tests.small import SMALL_PAPER, write_tiny

SETTINGS = [part for setting in SMALL_PAPER for part in ("--set", setting)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("world") / "tiny")


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, named as ``reproduce`` names them."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        settings = (*SMALL_PAPER, "training.episodes=2")
        train(data, out=folder / f"tiny-2shot-paper-{seed}", shots=2, preset="paper", seed=seed, settings=settings)
    return folder


def test_table_2_prints_the_documented_rows(fitcarl: Command, data: Path, runs: Path) -> None:
    options = ["--data", data, "--shots", "2", "--models", "paper,mix", "--seeds", "0,1", "--episodes", "2", *SETTINGS]
    done = fitcarl("reproduce", "--table", "2", *options, "--out", runs, "--json")
    assert done.code == 0
    rows = json.loads(done.stdout)["rows"]
    assert {(row["system"], row["protocol"], row["status"]) for row in rows} == {
        (system, protocol, "done") for system in ("paper", "mix") for protocol in ("realistic", "time-unaware", "paper")
    }
    assert (runs / "table2.md").exists()
    summary = fitcarl("reproduce", "--table", "cost", *options, "--out", runs, "--json")
    assert {row["system"]: row["minutes"] is not None for row in json.loads(summary.stdout)["rows"]} == {
        "paper": True,
        "mix": False,
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--table", "4"], "--table: no such choice"),
        (["--figure", "3"], "--figure: no such choice"),
        (["--table", "2", "--figure", "4"], "cannot be combined"),
        (["--table", "2", "--models", "complx"], "did you mean 'complex'"),
        (["--table", "2", "--models", "plus", "--preset", "paper"], "cannot be combined with --models"),
        (["--table", "3", "--models", "plus"], "model of the paper"),
        (["--no-train"], "--table too"),
        (["--figure", "5", "--shots", "2"], "is not a finished run"),
    ],
)
def test_invalid_table_is_rejected_first(
    fitcarl: Command, data: Path, tmp_path: Path, options: list[str], expected: str
) -> None:
    done = fitcarl("reproduce", "--data", data, *options, "--out", tmp_path / "runs")
    assert (done.code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert expected in done.stderr
    assert not (tmp_path / "runs").exists()


def test_figure_of_several_runs(fitcarl: Command, runs: Path, tmp_path: Path) -> None:
    pair = [runs / f"tiny-2shot-paper-{seed}" for seed in (0, 1)]
    done = fitcarl("evaluate", *pair, "--figure", tmp_path / "both.svg", "--json")
    assert done.code == 0
    reports = json.loads(done.stdout)["reports"]
    assert [report["run"] for report in reports] == list(map(str, pair))
    alone = json.loads(fitcarl("evaluate", pair[1], "--json").stdout)
    assert alone["results"] == reports[1]["results"]
    assert "reports" not in alone
    assert "fitcarl (paper), tiny-2shot-paper-1" in (tmp_path / "both.svg").read_text()


def test_tune_writes_a_preset_that_train_accepts(fitcarl: Command, data: Path, tmp_path: Path) -> None:
    storage = tmp_path / "tiny.journal"
    command = ["tune", data, "--model", "fitcarl", "--trials", 1, "--storage", storage, "--shots", 2, "--draws", 0]
    done = fitcarl(*command, "--episodes", 2, *SETTINGS, "--set", "embedding.min_updates=10", "--json")
    assert done.code == 0
    document = json.loads(done.stdout)
    assert [trial["state"] for trial in document["trials"]] == ["complete"]
    assert Path(document["files"]["figure"]).exists()
    config = configure(document["files"]["preset"])
    assert config.training.episodes == 2
    assert config.training.learning_rate == document["best"]["settings"]["training.learning_rate"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "one of --preset and --model"),
        (["--preset", "paper", "--model", "fitcarl"], "one of --preset and --model"),
        (["--preset", "papers"], "did you mean 'paper'"),
        (["--preset", "plus", "--study", "grid108"], "no such study of model plus"),
        (["--preset", "paper", "--pruner", "hard"], "--pruner: no such choice"),
        (["--preset", "paper", "--seeds", "one"], "not a list of numbers"),
        (["--preset", "paper", "--set", "network.layer=1"], "did you mean 'network.layers'"),
    ],
)
def test_invalid_search_is_rejected_first(
    fitcarl: Command, data: Path, tmp_path: Path, options: list[str], expected: str
) -> None:
    done = fitcarl("tune", data, *options, "--storage", tmp_path / "study.journal")
    assert (done.code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert expected in done.stderr
    assert not list(tmp_path.glob("study*"))


def test_file_that_is_no_journal_is_rejected(fitcarl: Command, data: Path, tmp_path: Path) -> None:
    storage = tmp_path / "study.journal"
    storage.write_text("thesis\n")
    done = fitcarl("tune", data, "--preset", "paper", "--storage", storage)
    assert (done.code, done.stderr.count("\n")) == (2, 1)
    assert "cannot be used as storage" in done.stderr
    assert storage.read_text() == "thesis\n"
