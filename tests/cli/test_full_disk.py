"""Commands on a real disk that is full: one line that names the file, exit code 2, and nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fitcarl
from tests.cli.conftest import Outcome, fact_lines
from tests.namespace import SMALL_DISK, namespace

_THEN_LIST = "import subprocess, sys; code = subprocess.run(sys.argv[2:]).returncode\n"
_THEN_LIST += "from pathlib import Path; print('left:', *sorted(str(path) for path in Path(sys.argv[1]).rglob('*')))\n"
_THEN_LIST += "raise SystemExit(code)"


def on_small_disk(folder: Path, size: str, *arguments: object) -> Outcome:
    """Runs a command with a small disk at a folder; the output ends with the files that are left there."""
    folder.mkdir(exist_ok=True)
    script = SMALL_DISK.format(size=size, folder=folder)
    line = [sys.executable, "-c", _THEN_LIST, str(folder), sys.executable, "-m", "fitcarl", *map(str, arguments)]
    path = os.pathsep.join([str(Path(fitcarl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([*namespace(), script, "sh", *line], capture_output=True, text=True, env=environment)
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def many_facts(tmp_path: Path) -> Path:
    """About 1.3 MB, so that no output fits on a disk of 100 KB."""
    file = tmp_path / "many.tsv"
    rows = [line.replace("actor", f"actor {part}") for part in range(40) for line in fact_lines()]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_split_on_a_full_disk(many_facts: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    outcome = on_small_disk(disk, "100k", "data", "split", "--facts", many_facts, "--out", disk / "dataset")
    assert outcome.code == 2, outcome
    assert outcome.stderr.splitlines()[-1] == f"error: {disk}/dataset: cannot be written: No space left on device"
    assert outcome.stdout.endswith("left:\n")


def test_index_on_a_full_disk(many_facts: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    outcome = on_small_disk(disk, "100k", "data", "index", many_facts, "--out", disk / "index")
    assert outcome.code == 2, outcome
    assert outcome.stderr.splitlines()[-1] == f"error: {disk}/index: cannot be written: No space left on device"
    assert outcome.stdout.endswith("left:\n")


@pytest.mark.parametrize("size", ["100k", "500k"])
def test_training_on_a_full_disk(size: str, many_facts: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    outcome = on_small_disk(disk, size, "train", many_facts, "--out", disk / "run", "--set", "encoder.max_updates=1")
    last = outcome.stderr.splitlines()[-1]
    assert outcome.code == 2, outcome
    assert last.startswith(f"error: {disk}/run/")
    assert last.endswith(": cannot be written: No space left on device")
    assert "unfinished" not in outcome.stdout


def test_output_to_a_full_disk(facts: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    line = [sys.executable, "-m", "fitcarl", "data", "describe", str(facts), "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: standard output: cannot be written: No space left on device"
