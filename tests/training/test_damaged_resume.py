"""The folder of a training that is resumed is untrusted input: damage is one line, and nothing is laundered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fitcarl.cli import run as fitcarl
from fitcarl.graph.columns import COLUMNS, write_description
from fitcarl.training.api import TrainingInterrupted, resume, train
from tests.small import SMALL_MODELS

OPTIONS = {"model": "mean", "settings": SMALL_MODELS["mean"]}


@pytest.fixture(scope="module")
def ended(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(data, out=folder, episodes=2, **OPTIONS)
    return folder


@pytest.fixture(scope="module")
def stopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.raises(TrainingInterrupted):
        train(data, out=folder, episodes=4, should_stop=(folder / "trace.jsonl").exists, **OPTIONS)
    assert (folder / "state.safetensors").exists()
    return folder


@pytest.fixture
def finished(ended: Path, tmp_path: Path) -> Path:
    return shutil.copytree(ended, tmp_path / "run")


@pytest.fixture
def unfinished(stopped: Path, tmp_path: Path) -> Path:
    return shutil.copytree(stopped, tmp_path / "run")


def rotate(run: Path) -> None:
    """Gives every entity the name of the next one."""
    file = run / "vocabulary.json"
    names = json.loads(file.read_text(encoding="utf-8"))
    names["entities"] = [*names["entities"][1:], names["entities"][0]]
    file.write_text(json.dumps(names), encoding="utf-8")


def move_times(run: Path) -> None:
    """Gives all facts of the graph the time of the first one."""
    columns = {name: np.load(run / "graph" / f"{name}.npy") for name in COLUMNS}
    np.save(run / "graph" / "time.npy", np.zeros_like(columns["time"]))
    about = json.loads((run / "graph" / "graph.json").read_text(encoding="utf-8"))
    write_description(run / "graph", about["relations"], about["edges"], {})


def refusal(capsys: pytest.CaptureFixture[str], run: Path) -> str:
    """The line that says why a run is not resumed."""
    code = fitcarl(["train", "--resume", str(run), "--episodes", "6"])
    err = capsys.readouterr().err
    assert code == 2, err
    assert "Traceback" not in err
    return err.splitlines()[-1]


@pytest.mark.parametrize("damage", [rotate, move_times])
def test_altered_run_is_not_laundered_by_more_training(
    finished: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    damage(finished)
    manifest = (finished / "manifest.json").read_bytes()
    assert "has changed" in refusal(capsys, finished)
    assert (finished / "manifest.json").read_bytes() == manifest
    assert (finished / "result.json").exists()
    assert fitcarl(["verify", str(finished)]) == 2


def test_finished_run_without_a_manifest_is_not_resumed(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (finished / "manifest.json").unlink()
    assert "manifest.json: is missing" in refusal(capsys, finished)


@pytest.mark.parametrize(("damage", "name"), [(rotate, "vocabulary.json"), (move_times, "graph")])
def test_names_and_graph_of_an_unfinished_run_are_those_of_its_dataset(
    unfinished: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None], name: str
) -> None:
    damage(unfinished)
    assert f"{unfinished / name}: does not fit the dataset" in refusal(capsys, unfinished)


def test_undamaged_run_is_resumed(finished: Path) -> None:
    resume(finished, episodes=3)
    assert fitcarl(["verify", str(finished)]) == 0


def test_undamaged_unfinished_run_is_resumed(unfinished: Path) -> None:
    resume(unfinished)
    assert fitcarl(["verify", str(unfinished)]) == 0
