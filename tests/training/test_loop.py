"""Trainings on a tiny world: files, resuming, seeds and damaged folders."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fitcarl.core.files import temporary_sibling
from fitcarl.core.progress import Progress
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.training import api
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.setup import prepare_data
from fitcarl.training.trace import read
from tests.small import SMALL, SMALL_PAPER, write_tiny

EPISODES = 8


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A training without interruption."""
    out = tmp_path_factory.mktemp("runs") / "finished"
    return train(data, out=out, shots=2, episodes=EPISODES, preset="paper", settings=SMALL_PAPER, seed=3)


def weights(run: Path) -> dict[str, torch.Tensor]:
    return read_tensors(run / "weights.safetensors")[0] | read_tensors(run / "state.safetensors")[0]


def assert_same_weights(one: Path, other: Path) -> None:
    weights_of_one, weights_of_other = weights(one), weights(other)
    assert weights_of_one.keys() == weights_of_other.keys()
    for name in weights_of_one:
        assert torch.equal(weights_of_one[name], weights_of_other[name]), name


def test_run_folder_is_complete(finished: Run) -> None:
    folder = finished.folder.path
    names = {part.name for part in folder.iterdir()}
    assert {"config.json", "data.json", "environment.json", "vocabulary.json", "trace.jsonl", "curve.svg"} <= names
    lines = read(folder / "trace.jsonl")
    assert [line.episode for line in lines] == list(range(1, EPISODES + 1))
    assert [line.episode for line in lines if line.valid_mrr is not None] == [2, 4, 6, 8]
    result = json.loads((folder / "result.json").read_text())
    assert result["best_valid_mrr"] == max(line.valid_mrr for line in lines if line.valid_mrr is not None)
    assert 0 < result["seconds"] < 600
    assert 50 < result["peak_mb"] < 8000


def test_weights_depend_only_on_the_seed(finished: Run, data: Path, tmp_path: Path) -> None:
    again = train(
        data, out=tmp_path / "again", shots=2, episodes=EPISODES, preset="paper", settings=SMALL_PAPER, seed=3
    )
    assert_same_weights(finished.folder.path, again.folder.path)
    other = train(data, out=tmp_path / "other", shots=2, episodes=2, preset="paper", settings=SMALL_PAPER, seed=4)
    assert not torch.equal(other.model.module.policy.w1, finished.model.module.policy.w1)


def test_stopped_training_resumes_bit_for_bit(finished: Run, data: Path, tmp_path: Path) -> None:
    seen: list[int] = []

    def on_progress(now: Progress) -> None:
        if now.stage == "training":
            seen.append(now.done)

    with pytest.raises(TrainingInterrupted, match="episode 5"):
        train(
            data,
            out=tmp_path / "run",
            shots=2,
            episodes=EPISODES,
            preset="paper",
            settings=SMALL_PAPER,
            seed=3,
            on_progress=on_progress,
            should_stop=lambda: len(seen) == 4,
        )
    assert seen == [1, 2, 3, 4, 5]
    leftover = temporary_sibling(tmp_path / "run" / "statistics.safetensors")  # as of a process that was killed
    leftover.write_bytes(b"x")
    resume(tmp_path / "run", on_progress=on_progress)
    assert not leftover.exists()
    assert seen == [1, 2, 3, 4, 5, 6, 7, 8]
    assert_same_weights(finished.folder.path, tmp_path / "run")


def command(data: Path, out: Path) -> list[str]:
    settings = [part for setting in SMALL_PAPER for part in ("--set", setting)]
    options = ["--preset", "paper", "--shots", "2", "--episodes", str(EPISODES), "--seed", "3", "--out", str(out)]
    return [sys.executable, "-m", "fitcarl", "train", str(data), *options, *settings]


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes], timeout: float = 60.0) -> None:
    end = time.monotonic() + timeout
    while not condition() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize("kill_seed", range(3))
def test_killed_training_resumes_bit_for_bit(finished: Run, data: Path, tmp_path: Path, kill_seed: int) -> None:
    run = tmp_path / "run"
    chance = random.Random(kill_seed)
    process = subprocess.Popen(command(data, run), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    kills = 0
    for _ in range(6):
        wait_for((run / "config.json").exists, process)
        lines = len(read(run / "trace.jsonl"))
        wait_for(lambda before=lines: len(read(run / "trace.jsonl")) > before, process)  # type: ignore[misc]
        time.sleep(chance.random() * 0.5)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        again = [sys.executable, "-m", "fitcarl", "train", "--resume", str(run)]
        process = subprocess.Popen(again, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert process.wait(120) == 0
    assert kills > 0
    assert_same_weights(finished.folder.path, run)
    assert [line.episode for line in read(run / "trace.jsonl")] == list(range(1, EPISODES + 1))


@pytest.mark.slow
@pytest.mark.parametrize("stop_signal", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_cleanly_and_names_the_resume_command(
    data: Path, tmp_path: Path, stop_signal: signal.Signals
) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(command(data, run), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_for(lambda: len(read(run / "trace.jsonl")) > 0, process)
    process.send_signal(stop_signal)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"--resume" in messages
    assert b"Traceback" not in messages


def test_loaded_run_has_the_report_of_the_trained_one(finished: Run) -> None:
    trained = evaluate(finished, split="valid").to_json()
    loaded = evaluate(finished.folder.path, split="valid").to_json()
    assert trained["results"] == loaded["results"]
    best = json.loads((finished.folder.path / "result.json").read_text())["best_valid_mrr"]
    realistic = [row for row in loaded["results"] if (row["ranks"], row["filter"]) == ("realistic", "time-aware")]
    assert realistic[0]["mrr"] == pytest.approx(best, abs=1e-12)


def test_repr_of_a_run_is_one_short_line(finished: Run) -> None:
    assert repr(finished).startswith(f"Run('{finished.folder.path}', paper, 2-shot, ")
    assert len(repr(finished)) < 200


def test_existing_run_is_not_overwritten(finished: Run, data: Path) -> None:
    with pytest.raises(InputError, match="--resume"):
        train(data, out=finished.folder.path, shots=2, preset="paper", settings=SMALL_PAPER)


def test_resume_refuses_another_dataset(finished: Run, tmp_path: Path) -> None:
    other = write_tiny(tmp_path / "other", seed=8)
    with pytest.raises(InputError, match="is not the dataset"):
        resume(finished.folder.path, data=other)


def test_damaged_weights_are_reported(finished: Run, tmp_path: Path) -> None:

    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    (copy / "weights.safetensors").write_bytes(b"not weights")
    with pytest.raises(InputError, match=r"weights\.safetensors"):
        Run.load(copy)


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("data.json", "[]"),
        ("data.json", "{}"),
        ("vocabulary.json", "{}"),
        ("vocabulary.json", "[]"),
        ("vocabulary.json", "not json"),
        ("config.json", '{"nonsense": 1}'),
        ("graph/graph.json", "[]"),
        ("graph/graph.json", '{"version": 1}'),
    ],
)
def test_damaged_file_is_named_in_one_line(finished: Run, tmp_path: Path, part: str, content: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    (copy / part).write_text(content)
    with pytest.raises(InputError, match=Path(part).name.replace(".", r"\.")):
        Run.load(copy)


@pytest.mark.parametrize("part", ["weights.safetensors", "embeddings.safetensors", "graph/relation.npy"])
def test_flipped_byte_is_detected(finished: Run, tmp_path: Path, part: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    content = bytearray((copy / part).read_bytes())
    content[-4] ^= 1
    (copy / part).write_bytes(content)
    with pytest.raises(InputError, match=Path(part).name.replace(".", r"\.")):
        Run.load(copy)


def test_timestamps_beyond_the_calendar_are_rejected(finished: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    names = json.loads((copy / "vocabulary.json").read_text())
    for part in ("codes", "ticks"):  # shorter than the graph
        names["calendar"][part] = names["calendar"][part][:3]
    (copy / "vocabulary.json").write_text(json.dumps(names))
    RunFolder(copy).write_manifest()
    with pytest.raises(InputError, match=r"vocabulary\.json: has a calendar that does not fit the graph"):
        Run.load(copy)


def test_run_folder_is_locked_during_training(data: Path, tmp_path: Path) -> None:
    run, options = tmp_path / "run", {"shots": 2, "preset": "paper", "settings": SMALL_PAPER}
    messages: list[str] = []

    def another(_now: Progress) -> None:
        with pytest.raises(InputError) as caught:
            resume(run)
        messages.append(str(caught.value))

    train(data, out=run, episodes=1, on_progress=another, **options)  # type: ignore[arg-type]
    problem = f"{run}: is in use by another fitcarl process; expected one process at a time"
    assert set(messages) == {problem}
    resume(run, episodes=2)


def test_folder_filled_by_another_training_is_not_overwritten(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def prepare_slowly(*given: object) -> object:
        monkeypatch.undo()
        train(data, out=run, shots=1, episodes=1, preset="paper", settings=SMALL_PAPER)
        return prepare_data(*given)

    monkeypatch.setattr(api, "prepare_data", prepare_slowly)
    with pytest.raises(InputError, match="exists already"):
        train(data, out=run, shots=2, preset="paper", episodes=1, settings=SMALL_PAPER)
    assert Run.load(run).config.shots == 1


def test_equal_tensors_give_equal_bytes(tmp_path: Path) -> None:
    tensors = {name: torch.arange(3.0) for name in "cab"}
    contents = set()
    for _ in range(8):
        write_tensors(tmp_path / "t", tensors, {"b": 1, "a": 0.1})
        contents.add((tmp_path / "t").read_bytes())
    assert len(contents) == 1
    found, about = read_tensors(tmp_path / "t")
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert about == {"b": 1, "a": 0.1}


def test_missing_state_is_reported_before_training_starts_again(
    finished: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    (copy / "state.safetensors").unlink()
    with pytest.raises(InputError, match=r"state\.safetensors: is missing"):
        resume(copy, episodes=EPISODES + 2)
    (copy / "result.json").unlink()
    resume(copy)
    assert f"{copy / 'state.safetensors'}: is missing, so training starts again" in caplog.messages
    assert_same_weights(finished.folder.path, copy)


def test_vocabulary_of_another_run_is_rejected(finished: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    names = json.loads((copy / "vocabulary.json").read_text())
    names["entities"] = names["entities"][:-1]
    names["concepts"]["offsets"] = names["concepts"]["offsets"][:-1]
    names["concepts"]["ids"] = names["concepts"]["ids"][: names["concepts"]["offsets"][-1]]
    (copy / "vocabulary.json").write_text(json.dumps(names))
    RunFolder(copy).write_manifest()
    with pytest.raises(InputError, match="does not fit the graph"):
        Run.load(copy)


def test_damaged_state_is_reported(finished: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.folder.path, copy)
    shutil.copy(copy / "weights.safetensors", copy / "state.safetensors")
    with pytest.raises(InputError, match=r"state\.safetensors"):
        resume(copy, episodes=EPISODES + 2)


def test_too_few_facts_are_reported_before_anything_is_written(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 40 facts"):
        train(data, out=tmp_path / "run", shots=40)
    assert not (tmp_path / "run").exists()


def test_loading_a_run_keeps_the_random_state_of_the_caller(finished: Run) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Run.load(finished.folder.path)
    assert torch.equal(torch.rand(3), expected)


def test_model_plus_resumes_bit_for_bit(data: Path, tmp_path: Path) -> None:
    options = {"shots": 2, "episodes": 4, "settings": SMALL, "seed": 3}
    undisturbed = train(data, out=tmp_path / "finished", **options)
    seen: list[int] = []
    with pytest.raises(TrainingInterrupted):
        train(
            data,
            out=tmp_path / "run",
            **options,
            on_progress=lambda now: seen.append(now.done) if now.stage == "training" else None,
            should_stop=lambda: len(seen) == 2,
        )
    resume(tmp_path / "run")
    assert_same_weights(undisturbed.folder.path, tmp_path / "run")
