"""How cost grows with the number of facts: every stage from generated facts to answers, at several sizes."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fitcarl.bench.own_process import in_own_process
from fitcarl.bench.scale_stages import AnswerCost, ScaleOptions, step_ask, step_evaluate, step_generate, step_train
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.core.stages import StageCost

_TRAINING = {
    "encoder": "encoder updates",
    "reach network": "reach updates",
    "episodes": "episodes",
    "validation": "validations",
}
"""Stages of a shortened training whose cost is proportional to updates or episodes."""


@dataclass(frozen=True)
class MeasuredStage:
    """One stage at one size."""

    cpu_seconds: float
    """Processor time of all threads; other work on the machine can add to it, by cache misses and waiting threads."""
    wall_seconds: float
    peak_mb: float
    """Peak memory of the process up to the end of the stage."""
    growth: float | None = None
    """The exponent x of cost ~ facts^x since the size before; None at the first size and for very short stages."""


@dataclass(frozen=True)
class MeasuredSize:
    """All stages at one size."""

    facts: int
    entities: int
    run_mb: float
    """Size of the run folder."""
    train_cpu_seconds: float
    """Processor time of a training with default settings; computed from the measured units unless ``whole``."""
    train_wall_seconds: float
    train_peak_mb: float
    answers: AnswerCost
    stages: dict[str, MeasuredStage]


@dataclass(frozen=True)
class ScaleTimes:
    """The growth table."""

    sizes: list[MeasuredSize]
    whole: bool
    """Whether trainings were complete; otherwise encoder, episodes and validations were shortened."""
    setting: str
    threads: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_SHORTEST = 0.05
"""Seconds of processor time below which a growth exponent would be noise."""


def measure_scale(
    sizes: Sequence[int],
    options: ScaleOptions,
    folder: Path | None = None,
    on_progress: OnProgress = lambda _: None,
) -> ScaleTimes:
    """Measures every stage at several sizes; each of the four steps runs in a process of its own.

    Args:
        sizes: Numbers of facts.
        options: What is trained and asked.
        folder: Where facts and runs are kept; by default they are removed.
        on_progress: Called at every step.
    """
    measured: list[MeasuredSize] = []
    for facts in sorted(sizes):
        with tempfile.TemporaryDirectory(prefix="fitcarl-scale-") as temporary:
            place = Path(temporary) if folder is None else folder / str(facts)
            place.mkdir(parents=True, exist_ok=True)
            measured.append(_measure_size(facts, options, place, on_progress))
    return ScaleTimes(_with_growth(measured), options.whole, options.setting, options.threads)


def _measure_size(facts: int, options: ScaleOptions, folder: Path, on_progress: OnProgress) -> MeasuredSize:
    costs: dict[str, StageCost] = {}
    found: dict[str, Any] = {}
    environment = thread_environment(folder / "cache", options.threads)
    steps: tuple[tuple[str, Callable[..., Any]], ...] = (
        ("generating", step_generate),
        ("training on", step_train),
        ("evaluating on", step_evaluate),
        ("asking about", step_ask),
    )
    for number, (name, work) in enumerate(steps):
        on_progress(Progress(f"{name} {facts:,} facts", number, len(steps)))
        measured, found[name] = in_own_process(work, facts, options, folder, environment=environment)
        costs |= measured
    stages = {name: MeasuredStage(cost.cpu_seconds, cost.wall_seconds, cost.peak_mb) for name, cost in costs.items()}
    training = found["training on"]
    cpu, wall = (whole_training(costs, training["stages"], training["units"], kind) for kind in ("cpu", "wall"))
    return MeasuredSize(
        facts=facts,
        entities=found["generating"],
        run_mb=sum(file.stat().st_size for file in (folder / "run").rglob("*") if file.is_file()) / 1e6,
        train_cpu_seconds=cpu,
        train_wall_seconds=wall,
        train_peak_mb=max(costs[name].peak_mb for name in training["stages"]),
        answers=found["asking about"],
        stages=stages,
    )


def thread_environment(home: Path, threads: int) -> dict[str, str]:
    """Environment variables of a measured process.

    Args:
        home: Folder of the cache; a new one, so that encoders of earlier calls are not used.
        threads: Threads of compiled loops and of PyTorch.
    """
    return {"FITCARL_HOME": str(home), "FITCARL_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}


def whole_training(
    costs: dict[str, StageCost], stages: Sequence[str], units: dict[str, tuple[int, int]], kind: str
) -> float:
    """Seconds of a complete training.

    Args:
        costs: Cost of every stage.
        stages: The stages of the training.
        units: Updates, episodes and validations that were measured, and those of a complete training.
        kind: ``cpu`` or ``wall``.
    """
    total = 0.0
    for name in stages:
        done, whole = units.get(_TRAINING.get(name, name), (1, 1))
        cost = costs[name]
        total += (cost.cpu_seconds if kind == "cpu" else cost.wall_seconds) * whole / max(done, 1)
    return total


def _with_growth(sizes: list[MeasuredSize]) -> list[MeasuredSize]:
    found = []
    for number, size in enumerate(sizes):
        before = sizes[number - 1] if number else None
        stages = {}
        for name, stage in size.stages.items():
            earlier = before.stages.get(name) if before is not None else None
            growth = None
            if before is not None and earlier is not None and earlier.cpu_seconds >= _SHORTEST <= stage.cpu_seconds:
                growth = math.log(stage.cpu_seconds / earlier.cpu_seconds) / math.log(size.facts / before.facts)
            stages[name] = replace(stage, growth=growth)
        found.append(replace(size, stages=stages))
    return found
