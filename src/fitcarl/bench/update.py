"""Cost of adding facts to the background of a large run: processor time and memory of the whole command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitcarl.bench.generated_run import make_run
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.synthetic import generate_world

_SMALLER = 10
"""The update is also timed on a run with a tenth of the facts."""


@dataclass(frozen=True)
class UpdateTimes:
    """`fitcarl update` on a generated run with random weights, whose last facts are the new ones."""

    facts: int
    """Facts of the run before the update."""
    added: int
    entities: int
    cpu_seconds: float
    """Processor time of the command, from its start to its end."""
    start_cpu_seconds: float
    """Of which the start of the command: imports."""
    wall_seconds: float
    peak_mb: float
    smaller_facts: int
    smaller_cpu_seconds: float
    """The same update of a run with a tenth of the facts."""
    growth: float
    """How much more processor time, without the start, the larger run takes."""
    judged: int
    """Facts that the drift was measured on."""


def time_update(facts: int, added: int, on_progress: OnProgress = lambda _: None) -> UpdateTimes:
    """Generates two runs and times one update of each.

    Args:
        facts: Facts of the larger run.
        added: Facts that are added to each.
        on_progress: Called at every stage.
    """
    start = _measured([sys.executable, "-c", "import fitcarl.runs.update"])
    with tempfile.TemporaryDirectory(prefix="fitcarl-update-") as folder:
        smaller = facts // _SMALLER
        _, small = _time(Path(folder) / "small", smaller, added, on_progress)
        found, large = _time(Path(folder) / "large", facts, added, on_progress)
    own, own_small = large.cpu_seconds - start.cpu_seconds, small.cpu_seconds - start.cpu_seconds
    return UpdateTimes(
        facts=found["facts"] - found["added"],
        added=found["added"],
        entities=found["entities"],
        cpu_seconds=large.cpu_seconds,
        start_cpu_seconds=start.cpu_seconds,
        wall_seconds=large.wall_seconds,
        peak_mb=large.peak_mb,
        smaller_facts=smaller,
        smaller_cpu_seconds=small.cpu_seconds,
        growth=own / max(own_small, 1e-9),
        judged=found["drift"]["judged"],
    )


def _time(folder: Path, facts: int, added: int, on_progress: OnProgress) -> tuple[dict[str, Any], _CommandCost]:
    on_progress(Progress(f"generating a run of {facts:,} facts", 0, 0))
    file = make_run(generate_world(facts + added).facts, folder, added)
    command = [sys.executable, "-m", "fitcarl", "update", str(folder), "--facts", str(file), "--json"]
    # Once without an effect: compiled loops are read from the cache afterwards, as on every later call.
    _measured([*command, "--judged", "10", "--dry-run"])
    on_progress(Progress(f"updating a run of {facts:,} facts", 0, 0))
    measured = _measured(command)
    return json.loads(measured.output), measured


@dataclass(frozen=True)
class _CommandCost:
    output: str
    cpu_seconds: float
    wall_seconds: float
    peak_mb: float


def _measured(command: list[str]) -> _CommandCost:
    """Runs a command in a process of its own."""
    from time import perf_counter

    began = perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        out.seek(0)
        output = out.read()
    peak = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return _CommandCost(output, usage.ru_utime + usage.ru_stime, perf_counter() - began, peak)
