"""How training, evaluation and bulk prediction gain from more threads, on generated facts."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fitcarl.bench.own_process import in_own_process
from fitcarl.bench.scale import thread_environment, whole_training
from fitcarl.bench.scale_stages import (
    ScaleOptions,
    step_bulk,
    step_evaluate,
    step_generate,
    step_independent,
    step_train,
)
from fitcarl.core.progress import OnProgress, Progress


@dataclass(frozen=True)
class ThreadTimes:
    """Wall-clock and processor seconds of the work with one number of threads."""

    threads: int
    wall_seconds: dict[str, float]
    """By stage, and of the whole training (computed from the cost per update and episode)."""
    cpu_seconds: dict[str, float]
    speedup: dict[str, float | None]
    """Wall-clock seconds with the fewest threads over those with this number; None for stages that do nothing."""


@dataclass(frozen=True)
class ThreadScaling:
    """The same work with several numbers of threads. Other work on the machine lowers the speed-up."""

    facts: int
    setting: str
    times: list[ThreadTimes]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure_threads(
    facts: int,
    threads: Sequence[int],
    options: ScaleOptions,
    on_progress: OnProgress = lambda _: None,
) -> ThreadScaling:
    """Measures the same work with several numbers of threads; each step runs in a process of its own.

    Args:
        facts: Number of generated facts.
        threads: Numbers of threads.
        options: What is trained and asked; its ``threads`` are not used.
        on_progress: Called at every step.
    """
    found: list[ThreadTimes] = []
    with tempfile.TemporaryDirectory(prefix="fitcarl-threads-") as temporary:
        folder = Path(temporary)
        in_own_process(step_generate, facts, options, folder)
        for number, count in enumerate(sorted(threads)):
            on_progress(Progress(f"{facts:,} facts, {count} threads", number, len(threads)))
            wall, cpu = _seconds(facts, options, folder, thread_environment(folder / f"cache-{count}", count))
            first = found[0].wall_seconds if found else wall
            found.append(ThreadTimes(count, wall, cpu, speedups(first, wall)))
    return ThreadScaling(facts, options.setting, found)


def speedups(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float | None]:
    """``before / after`` of every stage."""
    return {name: before[name] / seconds if seconds else None for name, seconds in after.items()}


def _seconds(
    facts: int, options: ScaleOptions, folder: Path, environment: dict[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Wall-clock and processor seconds of every stage and of the whole training."""
    costs, training = in_own_process(step_train, facts, options, folder, environment=environment)
    whole = [whole_training(costs, training["stages"], training["units"], kind) for kind in ("wall", "cpu")]
    for step in (step_evaluate, step_bulk):
        costs |= in_own_process(step, facts, options, folder, environment=environment)[0]
    costs |= in_own_process(step_independent, environment=environment)
    wall = {name: cost.wall_seconds for name, cost in costs.items()}
    cpu = {name: cost.cpu_seconds for name, cost in costs.items()}
    return {**wall, "whole training": whole[0]}, {**cpu, "whole training": whole[1]}
