"""Fuzzes all targets in turn and reports: ``python -m tests.fuzz.run``.

``FUZZ_INPUTS`` and ``FUZZ_SECONDS`` bound one call, ``FUZZ_TARGETS`` names some targets, ``FUZZ_HOME`` is the folder
with corpus, counts and findings, from which the next call goes on.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tests.fuzz import seeds
from tests.fuzz.findings import Findings
from tests.fuzz.minimise import minimise_all
from tests.fuzz.replay import replay
from tests.fuzz.targets import NAMES

ROOT = Path(__file__).parents[2]
TURNS = ("files", "dataset", "files", "run-paper", "files", "run-plus", "files", "graph")
"""Order of the targets; readers of files, which users meet first, get half of the time."""
TURN_SECONDS = 120


class Status:
    """Inputs per target and ends of processes, kept in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        stored = json.loads(file.read_text()) if file.exists() else {}
        self.inputs = Counter[str](stored.get("inputs", {}))
        self.seconds = Counter[str](stored.get("seconds", {}))
        self.ended = Counter[str](stored.get("ended", {}))

    def save(self) -> None:
        content = {"inputs": self.inputs, "seconds": self.seconds, "ended": self.ended}
        self.file.write_text(json.dumps(content, indent=1))


def environment(home: Path) -> dict[str, str]:
    """Compiled loops check bounds, in a cache of their own; one thread."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "FITCARL_THREADS", "POLARS_MAX_THREADS"), "1")
    loops = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(home / "loops")}
    return {**os.environ, **threads, **loops, "PYTHONPATH": path, "FITCARL_HOME": str(home / "cache")}


def take_turn(target: str, home: Path, status: Status, inputs: int, seconds: int) -> int:
    """Fuzzes one target in a child process; returns the number of inputs."""
    counter, artifacts = home / "count", home / "artifacts"
    counter.write_text("0")
    known = {file for _, _, file in Findings(home / "findings").all()}
    for old in artifacts.glob("*"):
        old.unlink()
    command = [sys.executable, "-m", "tests.fuzz.child", target, str(home), str(inputs), str(seconds)]
    started = time.monotonic()
    with (home / "log").open("a") as log:
        done = subprocess.run(command, env=environment(home), stdout=log, stderr=log, timeout=seconds + 300)
    status.seconds[target] += round(time.monotonic() - started)
    if done.returncode != 0:
        left = sorted(artifacts.glob("*"))
        status.ended[f"{target}: {left[0].name.split('-')[0] if left else f'exit code {done.returncode}'}"] += 1
        for file, fault in zip(left, replay(target, home, left, environment(home)), strict=False):
            if fault is not None:
                Findings(home / "findings").add(target, fault, file.read_bytes())
            else:
                (home / "unconfirmed").mkdir(exist_ok=True)
                file.replace(home / "unconfirmed" / f"{target}-{file.name}")
    count = int(counter.read_text() or 0)
    set_aside_unconfirmed(target, home, known)
    status.inputs[target] += count
    status.save()
    return count


def set_aside_unconfirmed(target: str, home: Path, known: Collection[Path]) -> None:
    """Moves new findings that a new process does not show to ``unconfirmed``.

    The memory that a process has gathered over thousands of inputs is no fault of the last one.

    Args:
        target: Name of the target.
        home: Folder of the fuzzer's files.
        known: Inputs of earlier findings.
    """
    new = [file for name, _, file in Findings(home / "findings").all() if name == target and file not in known]
    for file, fault in zip(new, replay(target, home, new, environment(home)), strict=False):
        if fault is None:
            place = home / "unconfirmed" / file.parent.name
            shutil.rmtree(place, ignore_errors=True)
            place.parent.mkdir(exist_ok=True)
            file.parent.replace(place)


def report(home: Path, status: Status) -> str:
    """Inputs per target and faults, as text."""
    lines = [f"{'target':<12}{'inputs':>12}{'per second':>12}"]
    for name, count in sorted(status.inputs.items()):
        lines += [f"{name:<12}{count:>12,}{count / max(1, status.seconds[name]):>12.0f}"]
    lines.append(f"{'all':<12}{status.inputs.total():>12,}")
    lines += [f"process ended {times} times by {reason}" for reason, times in sorted(status.ended.items())]
    found = Findings(home / "findings").all()
    lines += [f"{target}: {fault.key}: {fault.message[:120]!r} ({file})" for target, fault, file in found]
    return "\n".join([*lines, f"{len(found)} faults"])


def main() -> int:
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("fuzzing needs atheris: pip install 'fitcarl[fuzz]' (Linux, CPython)\n")
        return 2
    home = Path(os.environ.get("FUZZ_HOME", ".fuzz")).resolve()
    home.mkdir(parents=True, exist_ok=True)
    inputs, seconds = int(os.environ.get("FUZZ_INPUTS", "1000000")), int(os.environ.get("FUZZ_SECONDS", "3600"))
    targets = tuple(filter(None, os.environ.get("FUZZ_TARGETS", "").split(","))) or TURNS
    if unknown := set(targets) - set(NAMES):
        sys.stderr.write(f"unknown targets {', '.join(sorted(unknown))}; expected some of {', '.join(NAMES)}\n")
        return 2
    seeds.prepare(home, targets)
    status, end, turn = Status(home / "status.json"), time.monotonic() + seconds, 0
    length = max(5, min(TURN_SECONDS, seconds // len(targets)))
    while inputs > 0 and time.monotonic() < end:
        inputs -= take_turn(
            targets[turn % len(targets)], home, status, inputs, min(length, int(end - time.monotonic()) + 1)
        )
        turn += 1
    minimise_all(home, environment(home))
    print(report(home, status))
    return 1 if Findings(home / "findings").all() else 0


if __name__ == "__main__":
    sys.exit(main())
