"""Stages of a computation: exclusive times, and no effect unless they are recorded."""

from __future__ import annotations

from time import process_time

import pytest

from fitcarl.core import stages
from fitcarl.core.stages import recorded_stages, stage


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(stages, "process_time", lambda: 2 * clock.now)
    monkeypatch.setattr(stages, "perf_counter", clock)
    return clock


def test_an_inner_stage_interrupts_the_outer_one(clock: Clock) -> None:
    with recorded_stages() as recorder:
        clock.now = 1
        with stage("outer"):
            clock.now = 3
            with stage("inner"):
                clock.now = 10
            clock.now = 11
        clock.now = 50
        with stage("outer"):
            clock.now = 54
    costs = {name: (cost.cpu_seconds, cost.wall_seconds) for name, cost in recorder.costs.items()}
    assert costs == {"outer": (14.0, 7.0), "inner": (14.0, 7.0)}
    assert all(cost.peak_mb > 1 for cost in recorder.costs.values())


def test_a_stage_that_fails_is_recorded(clock: Clock) -> None:
    def fail() -> None:
        with stage("failing"):
            clock.now = 2
            raise ValueError("wrong")

    with recorded_stages() as recorder:
        with pytest.raises(ValueError, match="wrong"):
            fail()
        with stage("next"):
            clock.now = 5
    assert {name: cost.wall_seconds for name, cost in recorder.costs.items()} == {"failing": 2.0, "next": 3.0}


def test_without_a_recorder_nothing_is_recorded() -> None:
    began = process_time()
    with stage("outer"), stage("inner"):
        pass
    with recorded_stages() as recorder:
        pass
    assert recorder.costs == {}
    assert process_time() - began < 1
