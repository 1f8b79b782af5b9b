"""Each unit of work is done once, by any of the processes that share it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fitcarl.core.lock import lock_folder
from fitcarl.experiments import sharing
from fitcarl.experiments.sharing import exclusive, lock_path, work_through


@dataclass
class Unit:
    out: Path
    name: str
    done: bool = False
    error: Exception | None = None
    checks: list[bool] = field(default_factory=list)
    """Answers of ``is_done`` before the real one."""
    runs: int = 0

    @property
    def lock(self) -> Path:
        return lock_path(self.out, self.name)

    def is_done(self) -> bool:
        return self.checks.pop(0) if self.checks else self.done

    def run(self, _lock: int) -> None:
        if self.error is not None:
            raise self.error
        self.runs += 1
        self.done = True


def test_units_are_done_in_order_and_finished_ones_are_yielded(tmp_path: Path) -> None:
    units = [Unit(tmp_path, "a"), Unit(tmp_path, "b", done=True), Unit(tmp_path, "c")]
    assert [unit.name for unit in work_through(units)] == ["a", "b", "c"]
    assert [unit.runs for unit in units] == [1, 0, 1]


def test_unit_that_was_done_while_waiting_for_its_lock_is_not_done_again(tmp_path: Path) -> None:
    unit = Unit(tmp_path, "a", done=True, checks=[False])
    assert list(work_through([unit])) == [unit]
    assert unit.runs == 0


def test_locked_unit_is_left_for_later_and_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Unit(tmp_path, "a"), Unit(tmp_path, "b")
    first.lock.mkdir(parents=True)
    held = threading.Event()

    def hold() -> None:
        with lock_folder(first.lock):
            held.set()
            time.sleep(0.2)

    monkeypatch.setattr(sharing, "_WAIT_SECONDS", 0.05)
    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    assert [unit.name for unit in work_through([first, second])] == ["b", "a"]
    other.join()


def test_failed_unit_is_reported_and_skipped(tmp_path: Path) -> None:
    units = [Unit(tmp_path, "a", error=ValueError("no")), Unit(tmp_path, "b")]
    failed: list[str] = []
    assert list(work_through(units, lambda unit, error: failed.append(f"{unit.name}: {error}"))) == units[1:]
    assert failed == ["a: no"]
    with pytest.raises(ValueError, match="no"):
        list(work_through(units))


def test_exclusive_waits_for_its_turn(tmp_path: Path) -> None:
    order: list[str] = []

    def later() -> None:
        with exclusive(tmp_path, "table"):
            order.append("second")

    with exclusive(tmp_path, "table"):
        other = threading.Thread(target=later)
        other.start()
        time.sleep(0.1)
        order.append("first")
    other.join()
    assert order == ["first", "second"]
