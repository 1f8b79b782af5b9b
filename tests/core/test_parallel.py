from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.core.parallel import parallel_for, split_range, thread_count


@pytest.mark.parametrize(("given_text", "expected"), [("1", 1), ("3", 3), ("0", 1)])
def test_environment_variable_sets_thread_count(
    monkeypatch: pytest.MonkeyPatch, given_text: str, expected: int
) -> None:
    monkeypatch.setenv("FITCARL_THREADS", given_text)
    assert thread_count() == expected


@pytest.mark.parametrize("given_text", ["", "many", "-2", "²"])
def test_thread_count_defaults_to_usable_cores(monkeypatch: pytest.MonkeyPatch, given_text: str) -> None:
    monkeypatch.setenv("FITCARL_THREADS", given_text)
    assert 1 <= thread_count() <= (os.cpu_count() or 1)


@given(st.integers(0, 5000), st.integers(1, 9))
def test_ranges_cover_everything_once_and_in_order(count: int, threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_THREADS", str(threads))
        ranges = split_range(count)
    assert [i for low, high in ranges for i in range(low, high)] == list(range(count))
    assert 1 <= len(ranges) <= threads
    lengths = [high - low for low, high in ranges]
    assert max(lengths) - min(lengths) <= 1
    if count >= 64 * threads:
        assert len(ranges) == threads


def test_few_items_run_on_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_THREADS", "8")
    assert split_range(100) == [(0, 100)]
    assert split_range(32, min_items=16) == [(0, 16), (16, 32)]
    names = []
    parallel_for([(0, 100)], lambda *_: names.append(threading.current_thread().name))
    assert names == [threading.current_thread().name]


def test_work_is_called_once_per_range() -> None:
    seen = []
    parallel_for([(0, 3), (3, 7), (7, 9)], lambda part, low, high: seen.append((part, low, high)))
    assert sorted(seen) == [(0, 0, 3), (1, 3, 7), (2, 7, 9)]


def test_ranges_run_concurrently() -> None:
    barrier = threading.Barrier(3, timeout=10)  # passes only if all three wait at the same time
    parallel_for([(0, 1), (1, 2), (2, 3)], lambda *_: barrier.wait() and None)


def test_error_in_a_thread_reaches_the_caller() -> None:
    def work(part: int, *_: int) -> None:
        if part == 1:
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        parallel_for([(0, 1), (1, 2), (2, 3)], work)


def test_waiting_threads_of_torch_sleep_unless_the_user_decides() -> None:
    """A variable of the environment that is read when torch is loaded."""
    code = "import os, fitcarl; print(os.environ['OMP_WAIT_POLICY'])"
    for chosen, expected in ((None, "PASSIVE"), ("ACTIVE", "ACTIVE")):
        environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
        environment |= {} if chosen is None else {"OMP_WAIT_POLICY": chosen}
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == expected
