"""Processor time, wall-clock time and memory of the stages of a long computation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter, process_time

from fitcarl.core.memory import peak_mb


@dataclass(frozen=True)
class StageCost:
    """What a stage took, without the stages that it contains."""

    cpu_seconds: float = 0.0
    """Of all threads of this process."""
    wall_seconds: float = 0.0
    peak_mb: float = 0.0
    """Peak memory of this process up to the end of the stage."""


class StageRecorder:
    """Adds up the costs of stages by name. A stage within another one interrupts it, so that costs add up."""

    def __init__(self) -> None:
        self.costs: dict[str, StageCost] = {}
        self._running: list[str] = []
        self._since = (0.0, 0.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self._book()
        self._running.append(name)
        try:
            yield
        finally:
            self._book()
            self._running.pop()

    def _book(self) -> None:
        """Books the time since the last change to the stage that is running."""
        now = process_time(), perf_counter()
        if self._running:
            name = self._running[-1]
            cost, (cpu, wall) = self.costs.get(name, StageCost()), self._since
            self.costs[name] = StageCost(
                cost.cpu_seconds + now[0] - cpu, cost.wall_seconds + now[1] - wall, max(cost.peak_mb, peak_mb())
            )
        self._since = now


_recorder: ContextVar[StageRecorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recorded_stages() -> Iterator[StageRecorder]:
    """Records the stages of everything that is called inside."""
    token = _recorder.set(recorder := StageRecorder())
    try:
        yield recorder
    finally:
        _recorder.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Marks a stage; without ``recorded_stages`` around it nothing is recorded."""
    recorder = _recorder.get()
    if recorder is None:
        yield
    else:
        with recorder.stage(name):
            yield
