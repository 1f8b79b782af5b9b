"""Training jobs: the runs behind a table, and how missing ones are trained."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fitcarl.config.schema import Config
from fitcarl.config.settings import configure, flatten
from fitcarl.core.files import read_json
from fitcarl.data.dataset import Dataset
from fitcarl.errors import FitcarlError, InputError
from fitcarl.experiments.sharing import lock_path
from fitcarl.runs.layout import RunFolder
from fitcarl.training.api import TrainingInterrupted, is_new_or_not_begun

_log = logging.getLogger(__name__)

_WAIT_SECONDS = 1.0
"""Once polars is imported, a signal no longer interrupts a system call, so waiting is limited: Ctrl-C is handled
between two waits."""


class TrainingError(FitcarlError):
    """The training process of a run failed; its own error message is on stderr."""

    def __init__(self, folder: Path, code: int) -> None:
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        super().__init__(f"{folder}: training ended with {how}; run the same command again to resume")
        self.code = max(code, 1)


@dataclass(frozen=True)
class TrainingJob:
    """One run: its data, settings and folder."""

    source: str
    """The name of a registered dataset, or the absolute path of a dataset folder."""
    preset: str | None
    """The preset; None for a model with its defaults."""
    shots: int
    seed: int
    settings: tuple[str, ...]
    """``name=value`` assignments on top of the preset or the model."""
    folder: Path
    model: str | None = None
    """The model, if there is no preset."""

    @cached_property
    def config(self) -> Config:
        return configure(self.preset, self.settings, model=self.model, shots=self.shots, seed=self.seed)

    @property
    def state(self) -> Literal["new", "unfinished", "finished"]:
        files = RunFolder(self.folder)
        if files.result.exists():
            return "finished"
        return "unfinished" if files.data.exists() else "new"  # without its dataset recorded it cannot be resumed

    @property
    def command(self) -> list[str]:
        """Arguments of ``fitcarl`` that start or resume this run."""
        if self.state != "new":
            return ["train", "--resume", str(self.folder)]
        chosen = ["--model", str(self.model)] if self.preset is None else ["--preset", self.preset]
        options = ["--shots", str(self.shots), *chosen, "--seed", str(self.seed)]
        settings = [part for setting in self.settings for part in ("--set", setting)]
        return ["train", self.source, *options, *settings, "--out", str(self.folder)]

    def check(self, dataset: Dataset) -> None:
        """Checks the settings and the folder.

        Raises:
            InputError: If a setting is invalid, or the folder holds something else or another run.
        """
        own_settings = flatten(self.config.model_dump())
        files = RunFolder(self.folder)
        if self.state == "new":
            if self.folder.exists() and not is_new_or_not_begun(self.folder):
                raise InputError(
                    "exists and is not a run", file=self.folder, expected="no such folder, or another --out"
                )
            return
        found = flatten(files.read_config().model_dump())
        if different := [name for name, value in own_settings.items() if found.get(name) != value]:
            name = different[0]
            raise InputError(
                "is a run with other settings",
                file=self.folder,
                found=f"{name}={found.get(name)}",
                expected=f"{name}={own_settings[name]}, or another --out",
            )
        digest = files.read_data().digest
        if digest != dataset.digest:
            expected = f"{dataset.digest[:12]} ({dataset.name}), or another --out"
            raise InputError("is a run on other data", file=self.folder, found=digest[:12], expected=expected)


def train_in_subprocess(job: TrainingJob, lock: int, device: str = "auto") -> None:
    """Starts or resumes a job in a process of its own, so that its peak memory is measured separately.

    SIGINT and SIGTERM are forwarded; the run then stops at a checkpoint.

    Args:
        job: The run to train.
        lock: File descriptor of the folder's lock, inherited by the process; negative if there is none.
        device: The value of ``--device``.

    Raises:
        TrainingInterrupted: If the training was interrupted.
        TrainingError: If the process failed.
    """
    own_group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
    if lock >= 0:
        own_group["pass_fds"] = (lock,)
    # In its own process group it receives Ctrl-C from this process only, and once: a second one would kill it.
    command = [sys.executable, "-m", "fitcarl", *job.command, "--device", device]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **own_group)
    interrupted = False
    while process.returncode is None:
        try:
            process.wait(_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT) if os.name == "posix" else process.terminate()
    if interrupted:
        raise TrainingInterrupted("interrupted; run the same command again to resume")
    if process.returncode != 0:
        raise TrainingError(job.folder, process.returncode)


TrainFunction = Callable[[TrainingJob, int], None]
"""Starts or resumes a job while the lock with this file descriptor is held."""
_STATUS = {"new": "training", "unfinished": "resuming training", "finished": "already trained"}


@dataclass(frozen=True)
class TrainingUnit:
    """Training a job, as a unit of work that several processes share."""

    job: TrainingJob
    dataset: Dataset
    train: TrainFunction
    label: str
    """What is trained, for messages."""

    @property
    def lock(self) -> Path:
        """The folder that is locked during the work."""
        return lock_path(self.job.folder.parent, self.job.folder.name)

    def is_done(self) -> bool:
        return self.job.state == "finished"

    def run(self, lock: int) -> None:
        """Trains the job unless it is finished."""
        _log.info("%s: %s", self.label, _STATUS[self.job.state])
        self.job.check(self.dataset)
        if not self.is_done():
            self.train(self.job, lock)


def mean_training_minutes(jobs: Sequence[TrainingJob]) -> float:
    """Mean training time of finished runs, in minutes."""
    return sum(_result(job)["seconds"] for job in jobs) / len(jobs) / 60


def training_cost(job: TrainingJob) -> dict[str, float | None]:
    """``minutes``, ``cpu_minutes`` and ``peak_mb`` of the training of a finished run; None if not recorded."""
    found = _result(job)
    cpu = found.get("cpu_seconds")
    return {"minutes": found["seconds"] / 60, "cpu_minutes": cpu / 60 if cpu else None, "peak_mb": found.get("peak_mb")}


def max_training_mb(jobs: Sequence[TrainingJob]) -> float | None:
    """Largest peak memory of finished runs in MB; None if it was not recorded."""
    return max((_result(job)["peak_mb"] for job in jobs if "peak_mb" in _result(job)), default=None)


def _result(job: TrainingJob) -> Any:
    return read_json(RunFolder(job.folder).result)
