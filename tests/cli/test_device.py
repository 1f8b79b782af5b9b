"""The option ``--device``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fitcarl.experiments import jobs
from tests.cli.conftest import Command
from tests.cli.test_train import assert_one_line
from tests.small import SMALL, write_tiny

SETTINGS = [part for setting in SMALL for part in ("--set", setting)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("world") / "tiny")


@pytest.mark.parametrize(
    "command",
    [
        ("train", "DATA", "--out", "OUT"),
        ("train", "--resume", "OUT"),
        ("evaluate", "OUT"),
        ("evaluate", "OUT", "--open", "relation"),
        ("compare", "DATA", "--run", "OUT"),
        ("pretrain", "DATA"),
        ("reproduce", "--data", "DATA", "--out", "OUT"),
    ],
    ids=" ".join,
)
def test_cuda_without_a_gpu_is_one_line_and_writes_nothing(
    command: tuple[str, ...], fitcarl: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    places = {"DATA": data, "OUT": tmp_path / "out"}
    outcome = fitcarl(*(places.get(part, part) for part in command), "--device", "cuda")
    assert_one_line(outcome, "no GPU found")
    assert outcome.code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("compare", "DATA"), "heuristic baselines have no tensors"),
        (("evaluate", "OUT", "--open", "time"), "the model of times has no tensors"),
        (("evaluate", "OUT", "--merge", "PARTS"), "merging parts evaluates nothing"),
        (("reproduce", "--table", "data"), "nothing is trained or evaluated"),
        (("reproduce", "--table", "2", "--list"), "nothing is trained or evaluated"),
        (("reproduce", "--table", "2", "--no-train"), "nothing is trained or evaluated"),
        (("reproduce", "--figure", "4"), "nothing is trained or evaluated"),
    ],
    ids=str,
)
def test_device_without_effect_is_refused(
    command: tuple[str, ...], problem: str, fitcarl: Command, data: Path, tmp_path: Path
) -> None:
    places = {"DATA": data, "OUT": tmp_path / "out"}
    outcome = fitcarl(*(places.get(part, part) for part in command), "--device", "cpu")
    assert_one_line(outcome, problem)
    assert outcome.code == 2


def test_run_is_trained_resumed_evaluated_and_compared_on_the_cpu(fitcarl: Command, data: Path, tmp_path: Path) -> None:
    run, cpu = tmp_path / "run", ("--device", "cpu")
    assert fitcarl("train", data, "--shots", 2, "--episodes", 2, "--out", run, *SETTINGS, *cpu).code == 0
    assert json.loads((run / "result.json").read_text())["device"] == "cpu"
    assert "device" not in (run / "config.json").read_text()
    assert fitcarl("train", "--resume", run, "--episodes", 4, *cpu).code == 0
    found = json.loads(fitcarl("evaluate", run, *cpu, "--json").stdout)
    assert "device" not in json.dumps(found["signature"])
    assert fitcarl("compare", data, "--run", run, *cpu).code == 0


def test_reproduce_trains_and_evaluates_on_the_device(
    fitcarl: Command, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices: list[str] = []

    def train(job: jobs.TrainingJob, _lock: int, device: str) -> None:
        from fitcarl.training.api import train

        devices.append(device)
        options = {"shots": job.shots, "preset": job.preset, "seed": job.seed, "settings": job.settings}
        train(job.source, out=job.folder, device=device, **options)

    def evaluate(*arguments: Any, device: str, **options: Any) -> Any:
        from fitcarl.runs.evaluate import evaluate

        devices.append(device)
        return evaluate(*arguments, device=device, **options)

    monkeypatch.setattr(jobs, "train_in_subprocess", train)
    monkeypatch.setattr("fitcarl.experiments.cells.evaluate", evaluate)
    options = ("--data", data, "--shots", 2, "--preset", "plus", "--seeds", 0, "--episodes", 2, "--device", "cpu")
    assert fitcarl("reproduce", *options, "--out", tmp_path / "runs", *SETTINGS).code == 0
    assert devices == ["cpu", "cpu"]


def test_training_process_gets_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path / "arguments"}\n')
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    jobs.train_in_subprocess(jobs.TrainingJob("tiny", "plus", 2, 0, (), tmp_path / "run"), -1, device="cuda")
    assert (tmp_path / "arguments").read_text().split()[-2:] == ["--device", "cuda"]


@pytest.mark.parametrize(("gpu", "expected"), [(True, "cuda"), (False, "cpu")])
def test_doctor_says_what_auto_means(
    gpu: bool, expected: str, fitcarl: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    assert json.loads(fitcarl("doctor", "--json").stdout)["torch"]["auto_device"] == expected
    assert f"--device auto is {expected}" in fitcarl("doctor").stdout
