"""``fitcarl compare``: runs and heuristic baselines, as table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.cli import run
from fitcarl.models.registry import HEURISTIC
from tests.cli.conftest import Command
from tests.cli.test_train import assert_one_line
from tests.small import SMALL, write_tiny

Trained = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A dataset folder and two runs on it, for two and for three shots."""
    folder = tmp_path_factory.mktemp("compared")
    data = write_tiny(folder / "tiny")
    settings = [part for setting in SMALL for part in ("--set", setting)]
    for shots in ("2", "3"):
        ways = ["--shots", shots, "--episodes", "2", "--out", str(folder / shots)]
        assert run(["train", str(data), *ways, *settings]) == 0
    return data, folder / "2", folder / "3"


def test_rows_equal_evaluate_with_differences_to_first_run(trained: Trained, fitcarl: Command) -> None:
    data, first, _ = trained
    outcome = fitcarl("compare", data, "--shots", 2, "--run", first, "--json")
    assert outcome.code == 0
    found = json.loads(outcome.stdout)
    assert [row["scorer"] for row in found["rows"]] == [*HEURISTIC, "fitcarl (plus)"]
    alone = json.loads(fitcarl("evaluate", first, "--json").stdout)
    row = found["rows"][-1]
    assert row["run"] == str(first) == found["reference"]["run"]
    assert set(row) == set(alone) | {"run", "difference"}
    for part in ("results", "slices", "reach", "ece", "signature"):
        assert row[part] == alone[part]
    assert row["difference"] == {"mrr": 0, "ci_low": 0, "ci_high": 0}
    for heuristic in found["rows"][:-1]:
        gap = heuristic["difference"]
        assert heuristic["run"] is None
        assert gap["mrr"] == pytest.approx(heuristic["draws"]["mean"] - row["draws"]["mean"])
        assert gap["ci_low"] <= gap["mrr"] <= gap["ci_high"]
    assert found["remarks"] == []


def test_piped_table_is_neither_truncated_nor_padded(
    trained: Trained, fitcarl: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    data, two, _ = trained
    lines = fitcarl("compare", data, "--shots", 2, "--run", two).stdout.splitlines()
    assert any(f"{two}  " in line for line in lines)
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1].startswith("ranks:realistic|filter:time-aware|")
    monkeypatch.setenv("COLUMNS", "60")
    narrow = fitcarl("compare", data, "--shots", 2, "--run", two).stdout
    assert narrow.replace("\n", "").endswith(lines[-1])


def test_reference_without_run_is_best_heuristic(trained: Trained, fitcarl: Command) -> None:
    found = json.loads(fitcarl("compare", trained[0], "--shots", 2, "--split", "valid", "--json").stdout)
    best = max(found["rows"], key=lambda row: row["draws"]["mean"])
    assert found["reference"] == {"scorer": best["scorer"], "run": None}
    assert all(row["difference"]["mrr"] <= 0 for row in found["rows"])
    assert "|split:valid|" in best["signature"]


def test_run_trained_for_other_shots_is_remarked(trained: Trained, fitcarl: Command) -> None:
    data, two, three = trained
    outcome = fitcarl("compare", data, "--shots", 2, "--run", two, "--run", three, "--draws", 1)
    assert outcome.code == 0
    assert f"{three}: trained for 3 shots, evaluated at 2" in outcome.stdout
    assert f"{two}: trained" not in outcome.stdout
    assert "the official supports and 1 resampled" in outcome.stdout
    outcome = fitcarl("compare", data, "--shots", 2, "--run", three, "--json")
    assert "trained for 3 shots" in outcome.stderr
    row = json.loads(outcome.stdout)["rows"][-1]
    assert "|shots:2|" in row["signature"]
    assert "|trained-shots:3|" in row["signature"]


def test_data_and_shots_default_to_first_run(trained: Trained, fitcarl: Command) -> None:
    _, two, three = trained
    row = json.loads(fitcarl("compare", "--run", two, "--json").stdout)["rows"][0]
    assert "|split:test|setting:completion|shots:2|" in row["signature"]
    assert "|data:tiny@" in row["signature"]
    assert "|shots:3|" in json.loads(fitcarl("compare", "--run", three, "--json").stdout)["rows"][0]["signature"]


def test_run_on_other_data_is_remarked(trained: Trained, fitcarl: Command, tmp_path: Path) -> None:
    from fitcarl.data.io.dataset_folder import write_dataset
    from fitcarl.data.io.registry import load_dataset

    dataset = load_dataset(str(trained[0]))
    write_dataset(type(dataset)(**vars(dataset) | {"background": dataset.background.take(slice(5, None))}), tmp_path)
    outcome = fitcarl("compare", tmp_path, "--shots", 2, "--run", trained[1])
    assert outcome.code == 0
    assert "trained on other data" in outcome.stdout


def test_invalid_arguments_are_one_line_errors(trained: Trained, fitcarl: Command, tmp_path: Path) -> None:
    data, first, _ = trained
    assert_one_line(fitcarl("compare", data, "--split", "tests"), "train, valid, test")
    assert_one_line(fitcarl("compare", data, "--run", tmp_path / "absent"), "no such run")
    assert_one_line(fitcarl("compare", data, "--shots", 0), "at least 1")
    assert_one_line(fitcarl("compare"), "DATA and --run")
    assert_one_line(fitcarl("compare", __file__), "is a file", "fitcarl data split")
    assert_one_line(fitcarl("compare", "icews-14-oog"), "did you mean 'icews14-oog'")
    other = write_tiny(tmp_path / "other", seed=8)
    assert_one_line(fitcarl("compare", other, "--run", first), "other entities or relations")
