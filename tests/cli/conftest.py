"""Runs commands, and creates a small file of facts that can be split."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fitcarl.cli import run


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str


Command = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands find only the datasets of the test and write only to its temporary folders."""
    monkeypatch.setenv("FITCARL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FITCARL_DATA", raising=False)
    monkeypatch.delenv("FITCARL_TRACEBACK", raising=False)


@pytest.fixture
def fitcarl(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line in this process."""

    def command(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return command


@pytest.fixture
def process() -> Command:
    """Runs a command line in a separate process."""

    def command(*arguments: object) -> Outcome:
        line = [sys.executable, "-m", "fitcarl", *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", timeout=600)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return command


def fact_lines() -> list[str]:
    """720 facts of 60 actors, 12 each, with 6 hubs that have far more."""
    rows = [(actor, turn) for actor in range(60) for turn in range(12)]
    verbs, day = ("Consult", "Praise", "Accuse"), "2024-{:02d}-{:02d}".format
    return [
        f"actor {actor}\t{verbs[(actor + turn) % 3]}\thub {actor * turn % 6}\t{day(turn + 1, actor % 28 + 1)}"
        for actor, turn in rows
    ]


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.tsv"
    path.write_text("\n".join(fact_lines()) + "\n", encoding="utf-8")
    return path
