"""The folder of a training that is resumed is untrusted input: damage is one line, and nothing is laundered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.cli import run as fitcarl
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError
from fitcarl.graph.columns import COLUMNS, write_description
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.state import TrainingState, load_state, save_state
from fitcarl.training.trace import read
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


WRONG = (None, "1", [1], True, -2, 10**400, 10**30, float("nan"), float("inf"))
FIELDS = ("episode", "best_episode", "best_mrr", "validations_since_best", "seconds", "cpu_seconds", "peak_mb")


class Model:
    """A module with a saved checkpoint after one step."""

    def __init__(self, file: Path, kind: type[torch.optim.Optimizer] = torch.optim.Adam) -> None:
        self.file = file
        self.module = torch.nn.Linear(2, 1)
        self.optimizer = kind(self.module.parameters(), lr=0.1)  # type: ignore[call-arg]
        self.module(torch.ones(1, 2)).sum().backward()
        self.optimizer.step()
        save_state(file, self.module, self.optimizer, TrainingState(4, 0.5, 2, 1, 1.0, 1.0, 1.0))
        self.tensors, self.about = read_tensors(file)

    def load(self) -> TrainingState:
        return load_state(self.file, self.module, self.optimizer)


@pytest.mark.parametrize("value", WRONG, ids=[str(value)[:8] for value in WRONG])
@pytest.mark.parametrize("field", FIELDS)
def test_impossible_state_is_one_line(tmp_path: Path, field: str, value: object) -> None:
    model = Model(tmp_path / "state.safetensors")
    write_tensors(model.file, model.tensors, {**model.about, field: value})
    with pytest.raises(InputError, match=r"state\.safetensors, field \w+: is damaged") as found:
        model.load()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "change", [{"best_episode": 5}, {"validations_since_best": 3}, {"best_mrr": -1}, {"best_episode": 0}, {"more": 1}]
)
def test_state_that_contradicts_itself_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    model = Model(tmp_path / "state.safetensors")
    write_tensors(model.file, model.tensors, {**model.about, **change})
    with pytest.raises(InputError, match="is damaged"):
        model.load()


def test_state_of_an_earlier_version_has_no_memory(tmp_path: Path) -> None:
    model = Model(tmp_path / "state.safetensors")
    write_tensors(model.file, model.tensors, {name: value for name, value in model.about.items() if name != "peak_mb"})
    assert model.load() == TrainingState(4, 0.5, 2, 1, 1.0, 1.0, 0.0)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Adagrad])
def test_moments_of_a_checkpoint_are_those_of_the_optimizer(tmp_path: Path, kind: type[torch.optim.Optimizer]) -> None:
    model = Model(tmp_path / "state.safetensors", kind)
    tensors = model.tensors
    assert model.load().episode == 4
    for name in (name for name in tensors if name.endswith("/bias")):
        others = {other: value for other, value in tensors.items() if other != name}
        wrong = [others, {**others, name: torch.ones(3)}, {**others, name: tensors[name].double()}]
        wrong.append({**others, name: tensors[name] * torch.nan})
        wrong += [{**others, name: -tensors[name]}] if name in ("step/bias", "exp_avg_sq/bias", "sum/bias") else []
        for changed in wrong:
            write_tensors(model.file, changed, model.about)
            with pytest.raises(InputError, match=r"state\.safetensors"):
                model.load()
    write_tensors(model.file, {**tensors, "weight/other": torch.ones(1)}, model.about)
    with pytest.raises(InputError, match="does not fit this run"):
        model.load()


GOOD = '{"episode": 1, "loss": 1.0, "metrics": {"share": 0.5}, "seconds": 1.0, "valid_mrr": null}'


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000 + "]" * 100_000,
        "[]",
        "{}",
        GOOD.replace("1, ", '"1", ', 1),
        GOOD.replace("1.0", "null", 1),
        GOOD.replace("0.5", "1" + "0" * 400),
        GOOD.replace("null", "[1]"),
        GOOD.replace('{"share": 0.5}', "[0.5]"),
        GOOD.replace("share", "other"),
    ],
    ids=range(9),
)
def test_trace_that_no_training_writes_is_one_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(InputError, match=r"trace\.jsonl: cannot be read after [12] lines") as found:
        read(file)
    assert "\n" not in str(found.value)
    file.write_text(f"{GOOD}\n{GOOD[:40]}")
    assert len(read(file)) == 1


def test_damaged_checkpoint_and_trace_of_an_unfinished_run_are_one_line(
    unfinished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state, line = unfinished / "state.safetensors", (unfinished / "trace.jsonl").read_text()
    tensors, about = read_tensors(state)
    (unfinished / "trace.jsonl").write_text("[" * 100_000 + "\n")
    assert "trace.jsonl: cannot be read" in refusal(capsys, unfinished)
    (unfinished / "trace.jsonl").write_text(line)
    write_tensors(state, {name: value.clone() for name, value in tensors.items()}, {**about, "episode": -1})
    assert "field episode: is damaged" in refusal(capsys, unfinished)
