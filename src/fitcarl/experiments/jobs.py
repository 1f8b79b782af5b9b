"""Runs that a table rests on: what each is to be, where it is, and how it is trained where it is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fitcarl.config.schema import Config, configure, flat
from fitcarl.core.storage import read_json
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import REGISTRY
from fitcarl.errors import FitcarlError, InputError
from fitcarl.runs.layout import RunFolder
from fitcarl.training.loop import TrainingInterrupted

Say = Callable[[str], None]

_PATIENCE = 1.0
"""Seconds. Once polars is imported a signal no longer interrupts a system call, so no wait may be endless: Ctrl-C is
noticed between two of them."""


class TrainingError(FitcarlError):
    """A run's process ended otherwise than well; what it had to say about that is on stderr."""

    def __init__(self, folder: Path, code: int) -> None:
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        super().__init__(f"{folder}: training ended with {how}; the same command goes on from there")
        self.code = max(code, 1)


@dataclass(frozen=True)
class Case:
    """One run: what it is to be, and where it is."""

    source: str
    """A catalogue name, or the absolute path of a dataset's folder, so that it is found from anywhere."""
    preset: str
    shots: int
    seed: int
    settings: tuple[str, ...]
    """Assignments on top of the preset."""
    folder: Path

    @cached_property
    def config(self) -> Config:
        return configure(self.preset, self.settings, shots=self.shots, seed=self.seed)

    @property
    def state(self) -> Literal["new", "unfinished", "finished"]:
        parts = RunFolder(self.folder)
        if parts.result.exists():
            return "finished"
        return "unfinished" if parts.config.exists() else "new"

    @property
    def command(self) -> list[str]:
        """Arguments of ``fitcarl`` that start this run, or go on with it."""
        if self.state != "new":
            return ["train", "--resume", str(self.folder)]
        ways = ["--shots", str(self.shots), "--preset", self.preset, "--seed", str(self.seed)]
        settings = [part for setting in self.settings for part in ("--set", setting)]
        return ["train", self.source, *ways, *settings, "--out", str(self.folder)]

    def check(self, dataset: Dataset) -> None:
        """Refuses settings that make no sense, and a folder that holds something else."""
        wanted = flat(self.config.model_dump())
        parts = RunFolder(self.folder)
        if self.state == "new":
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                raise InputError(
                    "is in the way and no run", file=self.folder, expected="nothing there, or another --out"
                )
            return
        found = flat(parts.read_config().model_dump())
        if different := [name for name, value in wanted.items() if found[name] != value]:
            name = different[0]
            raise InputError(
                "is a run with other settings",
                file=self.folder,
                found=f"{name}={found[name]}",
                expected=f"{name}={wanted[name]}, or another --out",
            )
        digest = parts.read_data().digest
        if digest != dataset.digest:
            expected = f"{dataset.digest[:12]} ({dataset.name}), or another --out"
            raise InputError("is a run on other data", file=self.folder, found=digest[:12], expected=expected)


def lasting(data: str) -> str:
    """A catalogue name, or a dataset's folder as it can be found from anywhere."""
    return str(Path(data).resolve()) if data not in REGISTRY and Path(data).is_dir() else data


def train_apart(case: Case, lock: int) -> None:
    """Trains a case, or goes on with it, in a process of its own, so that its memory is its own too.

    Ctrl-C, or being asked to end, is passed on; the run then stops where it can be resumed, and
    ``TrainingInterrupted`` is raised.
    """
    own_group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
    if lock >= 0:
        own_group["pass_fds"] = (lock,)
    # In a group of its own it hears of Ctrl-C from us alone, and once: a second one would end it at once.
    process = subprocess.Popen([sys.executable, "-m", "fitcarl", *case.command], stdout=subprocess.DEVNULL, **own_group)
    asked = False
    while process.returncode is None:
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            asked = True
            process.send_signal(signal.SIGINT) if os.name == "posix" else process.terminate()
    if asked:
        raise TrainingInterrupted("stopped; the same command goes on from there")
    if process.returncode != 0:
        raise TrainingError(case.folder, process.returncode)


Train = Callable[[Case, int], None]
"""Trains a case, or goes on with it, while a lock is held."""
_DOING = {"new": "training", "unfinished": "going on with training", "finished": "already trained"}


def ensure(case: Case, dataset: Dataset, lock: int, train: Train, say: Say, what: str) -> None:
    """Sees to it that a run is finished; one that is already is left as it is."""
    say(f"{what}: {_DOING[case.state]}")
    case.check(dataset)
    if case.state != "finished":
        train(case, lock)


def minutes(cases: Sequence[Case]) -> float:
    """How long finished runs learned, on average."""
    return sum(_result(case)["seconds"] for case in cases) / len(cases) / 60


def peak_mb(cases: Sequence[Case]) -> float | None:
    """The most memory that any of finished runs took, where that was written down."""
    return max((_result(case)["peak_mb"] for case in cases if "peak_mb" in _result(case)), default=None)


def _result(case: Case) -> Any:
    return read_json(RunFolder(case.folder).result)
