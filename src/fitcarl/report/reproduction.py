"""All runs behind a table of results: trained where they are missing, judged in one way, and written down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fitcarl.baselines import BASELINES
from fitcarl.config import Config, configure
from fitcarl.data.catalogue import CATALOGUE, load_dataset
from fitcarl.data.dataset import Dataset
from fitcarl.errors import FitcarlError, InputError
from fitcarl.evaluation.filter import KnownAnswers
from fitcarl.evaluation.protocol import evaluate
from fitcarl.learn.files import read_json, write_atomically, write_json
from fitcarl.learn.run import Run, RunFolder
from fitcarl.learn.trainer import Stopped
from fitcarl.report.results import Row, markdown, measured, merged, published

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
    """One run of a reproduction: what it is to be, and where it is."""

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
        wanted = _flat(self.config.model_dump())
        parts = RunFolder(self.folder)
        if self.state == "new":
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                raise InputError(
                    "is in the way and no run", file=self.folder, expected="nothing there, or another --out"
                )
            return
        found = _flat(parts.read_config().model_dump())
        if different := [name for name, value in wanted.items() if found[name] != value]:
            name = different[0]
            raise InputError(
                "is a run with other settings",
                file=self.folder,
                found=f"{name}={found[name]}",
                expected=f"{name}={wanted[name]}, or another --out",
            )
        digest = read_json(parts.data)["digest"]
        if digest != dataset.digest:
            expected = f"{dataset.digest[:12]} ({dataset.name}), or another --out"
            raise InputError("is a run on other data", file=self.folder, found=digest[:12], expected=expected)


@dataclass(frozen=True)
class Plan:
    """What is to be compared: every combination is one run."""

    data: tuple[str, ...]
    shots: tuple[int, ...] = (1, 3)
    presets: tuple[str, ...] = ("paper",)
    seeds: tuple[int, ...] = (0, 1, 2)
    settings: tuple[str, ...] = ()

    def groups(self, out: Path) -> list[list[Case]]:
        """The runs behind each row: one for each seed. Folders are called as ``fitcarl train`` calls them."""
        sources = dict.fromkeys(str(Path(data).resolve()) if _is_folder(data) else data for data in self.data)
        rows = [(source, preset, shots) for source in sources for shots in self.shots for preset in self.presets]
        return [
            [
                Case(*row, seed, self.settings, out / f"{Path(row[0]).name}-{row[2]}shot-{row[1]}-{seed}")
                for seed in self.seeds
            ]
            for row in rows
        ]


def _is_folder(data: str) -> bool:
    return data not in CATALOGUE and Path(data).is_dir()


def train_apart(case: Case, lock: int) -> None:
    """Trains a case, or goes on with it, in a process of its own, so that its memory is its own too.

    Ctrl-C is passed on; the run then stops where it can be resumed, and ``Stopped`` is raised.
    """
    own_group: dict[str, Any] = {"process_group": 0, "pass_fds": (lock,)} if os.name == "posix" else {}
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
            process.send_signal(signal.SIGINT)
    if asked:
        raise Stopped("stopped; the same command goes on from there")
    if process.returncode != 0:
        raise TrainingError(case.folder, process.returncode)


def reproduce(
    plan: Plan, out: str | Path, *, train: Callable[[Case, int], None] = train_apart, say: Say = lambda _: None
) -> list[Row]:
    """The rows of ``results.json`` in folder ``out`` once every run of the plan is trained and judged on test.

    Finished runs are reused, unfinished ones resumed, none is trained over. ``results.json`` and ``results.md`` are
    brought up to date after every row; rows of earlier calls stay. ``say`` is told what is going on.
    """
    out = Path(out)
    groups = plan.groups(out)
    datasets = {source: load_dataset(source) for source in {cases[0].source: None for cases in groups}}
    for case in (case for cases in groups for case in cases):
        case.check(datasets[case.source])  # all of them now: nobody wants to learn of a mistake after hours
    out.mkdir(parents=True, exist_ok=True)
    table = _Table(out)
    done, total = 0, len(groups) * len(plan.seeds)
    trivial_done: set[tuple[str, int]] = set()
    with _alone(out) as lock:
        for cases in groups:
            dataset, shots, preset = datasets[cases[0].source], cases[0].shots, cases[0].preset
            known = KnownAnswers.of(dataset)
            if (cases[0].source, shots) not in trivial_done:
                trivial_done.add((cases[0].source, shots))
                say(f"{dataset.name}, {shots}-shot: trivial scorers")
                table.add(*trivial(dataset, shots, known), *published(dataset.name, shots))
            for case in cases:
                done += 1
                what = f"run {done} of {total}: {dataset.name}, {shots}-shot, {preset}, seed {case.seed}"
                say(f"{what}: {_DOING[case.state]}")
                case.check(dataset)
                if case.state != "finished":
                    train(case, lock)
            say(f"{dataset.name}, {shots}-shot, {preset}: evaluating")
            table.add(trained(cases, dataset, known))
    return table.rows


_DOING = {"new": "training", "unfinished": "going on with training", "finished": "already trained"}


def trivial(dataset: Dataset, shots: int, known: KnownAnswers | None = None) -> list[Row]:
    """The rows of the scorers that learn nothing."""
    scorers = ((name, make(dataset)) for name, make in BASELINES.items())
    return [measured([evaluate(scorer, dataset, "test", shots, known=known)], name) for name, scorer in scorers]


def trained(cases: Sequence[Case], dataset: Dataset, known: KnownAnswers | None = None) -> Row:
    """The row of finished runs that differ in nothing but their seed."""
    reports = []
    for case in cases:
        scorer = Run.load(case.folder).scorer_for(dataset)
        reports.append(evaluate(scorer, dataset, "test", case.shots, known=known))
    results = [read_json(RunFolder(case.folder).result) for case in cases]
    row = measured(reports, _label(cases[0]), [case.seed for case in cases])
    return replace(
        row,
        minutes=sum(result["seconds"] for result in results) / len(results) / 60,
        peak_mb=max((result["peak_mb"] for result in results if "peak_mb" in result), default=None),
        cores=read_json(RunFolder(cases[0].folder).environment)["cores"],
    )


class _Table:
    """The rows of a folder, on disk whenever one is added."""

    def __init__(self, out: Path) -> None:
        self.json, self.page = out / "results.json", out / "results.md"
        self.rows: list[Row] = []
        if self.json.exists():
            try:
                self.rows = [Row.from_json(row) for row in read_json(self.json)["rows"]]
            except (KeyError, TypeError) as trouble:
                problem = f"is no table of results that this version can read ({trouble})"
                raise InputError(problem, file=self.json, expected="a file that `fitcarl reproduce` wrote") from None

    def add(self, *rows: Row) -> None:
        self.rows = merged(self.rows, rows)
        write_json(self.json, {"rows": [row.to_json() for row in self.rows]})
        write_atomically(self.page, markdown(self.rows).encode())


@contextmanager
def _alone(folder: Path) -> Iterator[int]:
    """Holds the folder for this process and those it starts; a run that outlives a killed parent still holds it."""
    if os.name != "posix":  # where folders can not be opened there is nothing to hold
        yield -1
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = "another `fitcarl reproduce` is at work in it"
            raise InputError(problem, file=folder, expected="one at a time, or another --out") from None
        yield held
    finally:
        os.close(held)


def _label(case: Case) -> str:
    """What the table calls a model: its preset, and how its settings differ from it."""
    ours, usual = _flat(case.config.model_dump()), _flat(configure(case.preset).model_dump())
    changed = [f"{name}={value}" for name, value in ours.items() if "." in name and usual[name] != value]
    return f"fitcarl ({', '.join([case.preset, *changed])})"


def _flat(tree: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Settings by dotted name."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return found
