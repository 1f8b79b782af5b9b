"""Training with torchrun: several ranks give the result of one process, and a run outlives any of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from fitcarl.core.storage import read_tensors
from fitcarl.runs.run import Run
from fitcarl.training.api import resume, train
from fitcarl.training.trace import TraceEntry, read
from tests.launch import environment, torchrun, torchrun_command
from tests.small import SMALL_MODELS
from tests.training.ranks import CASES, train_case

SHIFTS = ("candidates.4.bias", "attention.2.bias", "output.2.bias")
"""Biases of scores that only a softmax reads: their gradient is 0 but for rounding, which Adam scales up."""


def tensors(run: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """The trained weights, the optimizer's moments, and the artifacts of a run."""
    for file in sorted(run.glob("*.safetensors")):
        for name, tensor in read_tensors(file)[0].items():
            if not name.endswith(SHIFTS) and tensor.numel():
                yield f"{file.stem}/{name}", tensor.double()


def assert_same(one: Path, other: Path) -> None:
    """Weights agree to a tenth of an update of Adam, and what does not depend on Adam to rounding.

    Adam divides gradients by their size, so that rounding of gradients near 0 is not small in the weights; a wrong
    scale of the gradients is seen in the moments only.
    """
    expected, found = dict(tensors(one)), dict(tensors(other))
    assert expected
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        difference, scale = float((tensor - found[name]).abs().max()), float(tensor.abs().max())
        assert difference <= (5e-3 * scale + 1e-8 if "/exp_avg" in name else 1e-4 * max(scale, 1.0)), name
    for line, same in zip(read(one / "trace.jsonl"), read(other / "trace.jsonl"), strict=True):
        assert values(line) == pytest.approx(values(same), rel=1e-4, abs=1e-6)


def values(line: TraceEntry) -> dict[str, float]:
    """Everything but the time."""
    return {name: value for name, value in line.values().items() if name != "seconds"}


def options(settings: tuple[str, ...]) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


def clear_cache(home: Path) -> None:
    """Removes trained encoders and embeddings, so that the next training makes its own."""
    for cached in home.rglob("*.safetensors"):
        cached.unlink()


def test_torchrun_command_ends_with_the_run_of_one_process(data: Path, tmp_path: Path, home: Path) -> None:
    out, settings = tmp_path / "two", CASES["plus"][2]
    command = ["-m", "fitcarl", "train", data, "--shots", "3", "--episodes", "4", "--seed", "1", "--out", out]
    done = torchrun(2, *command, *options(settings))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}: trained; evaluate it with 'fitcarl evaluate {out}'\n"
    assert done.stderr.count("episode 4/4") == 1  # by one rank
    assert [line.episode for line in read(out / "trace.jsonl")] == [1, 2, 3, 4]
    assert json.loads((out / "result.json").read_text())["episodes"] == 4
    assert json.loads((out / "environment.json").read_text())["processes"] == 2
    assert Run.load(out).calibrations
    clear_cache(home)
    train(data, out=tmp_path / "one", shots=3, episodes=4, seed=1, settings=settings)
    assert_same(tmp_path / "one", out)


@pytest.mark.slow
def test_two_ranks_equal_one_process_for_every_model(data: Path, tmp_path: Path, home: Path) -> None:
    assert {model for model, _, _ in CASES.values()} >= {"plus", "fitcarl", *SMALL_MODELS}
    done = torchrun(2, "-m", "tests.training.ranks", data, tmp_path / "two", 0, *CASES)
    assert done.returncode == 0, done.stderr
    clear_cache(home)
    for case in CASES:
        train_case(case, data, tmp_path / "one")
        assert_same(tmp_path / "one" / case, tmp_path / "two" / case)


@pytest.mark.slow
def test_error_is_printed_once(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = torchrun(2, "-m", "fitcarl", "train", data, "--out", tmp_path)
    assert done.returncode != 0
    assert [line for line in done.stderr.splitlines() if line.startswith("error")] == [
        f"error: {tmp_path}: exists already; expected a new folder"
    ]


@pytest.mark.slow
def test_stop_on_one_rank_stops_all_and_other_numbers_of_ranks_resume(data: Path, tmp_path: Path) -> None:
    case, run = "complex", tmp_path / "stopped" / "complex"
    train_case(case, data, tmp_path / "whole")
    assert torchrun(2, "-m", "tests.training.ranks", data, tmp_path / "stopped", 1, case).returncode == 0
    assert [line.episode for line in read(run / "trace.jsonl")] == [1]
    assert not (run / "result.json").exists()
    done = torchrun(3, "-m", "fitcarl", "train", "--resume", run)
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "whole" / case, run)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the ranks in /proc")
@pytest.mark.parametrize("killed", [0, 1])
def test_killed_rank_leaves_a_resumable_run(data: Path, tmp_path: Path, killed: int) -> None:
    run, settings = tmp_path / "run", (*SMALL_MODELS["complex"], "training.patience=0")
    command = ["-m", "fitcarl", "train", data, "--model", "complex", "--episodes", "100000", "--out", run]
    launcher = subprocess.Popen(
        torchrun_command(2, *command, *options(settings)), env=environment(), stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while len(read(run / "trace.jsonl")) < 5 or not (run / "state.safetensors").exists():
        assert time.monotonic() < deadline
        assert launcher.poll() is None
        time.sleep(0.1)
    os.kill(rank_process(launcher.pid, killed), signal.SIGKILL)
    _, messages = launcher.communicate(timeout=60)
    assert launcher.returncode != 0
    lost = "error: another rank ended or cannot be reached; `fitcarl train --resume RUN` continues"
    assert messages.splitlines().count(lost) == killed  # rank 0 prints it, unless it was killed
    episodes = len(read(run / "trace.jsonl")) + 3
    resume(run, episodes=episodes)
    assert [line.episode for line in read(run / "trace.jsonl")] == list(range(1, episodes + 1))


def rank_process(launcher: int, rank: int) -> int:
    """The process of a rank."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return next(int(child) for child in children if f"\0RANK={rank}\0" in Path(f"/proc/{child}/environ").read_text())
