"""``parallel_map`` and ``computed_ahead``: order, threads, memory and errors."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import wait
from typing import Any

import pytest
import torch

from fitcarl.core import parallel
from fitcarl.core.parallel import computed_ahead, parallel_map, split_range, thread_count


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FITCARL_THREADS", "2")
    within = torch.get_num_threads()
    yield
    torch.set_num_threads(within)


@pytest.mark.parametrize("items", [0, 1, 2, 3, 50])
def test_results_are_in_the_order_of_the_items(items: int) -> None:
    assert list(parallel_map(range(items), lambda item: item * item)) == [item * item for item in range(items)]


def test_items_are_computed_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=10)  # passes only if two wait at the same time
    list(parallel_map(range(4), lambda _: barrier.wait()))


def test_work_uses_one_thread_and_leaves_the_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    before = 3
    torch.set_num_threads(before)
    monkeypatch.setattr(parallel, "_map_pools", {})

    def threads(_: int) -> tuple[int, int, list[tuple[int, int]]]:
        return thread_count(), torch.get_num_threads(), split_range(1000)

    assert set(map(str, parallel_map(range(6), threads))) == {str((1, 1, [(0, 1000)]))}
    assert thread_count() == 2
    assert torch.get_num_threads() == before
    found: list[int] = []
    other = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    other.start()
    other.join()
    assert found == [before]


def test_a_single_item_may_use_all_threads() -> None:
    assert list(parallel_map([0], lambda _: (thread_count(), threading.current_thread()))) == [
        (2, threading.main_thread())
    ]


def test_only_a_few_items_are_begun_before_results_are_taken() -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    results = parallel_map(items(), lambda item: item)
    assert next(results) == 0
    assert len(taken) <= 5
    results.close()


def test_an_error_reaches_the_caller() -> None:
    def fail_at_three(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    results = parallel_map(range(10), fail_at_three)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)
    assert list(parallel_map(range(3), abs)) == [0, 1, 2]  # the threads are still there


def test_no_item_is_computed_any_more_when_an_error_reaches_the_caller() -> None:
    began, ended = threading.Event(), threading.Event()

    def fail_beside_another(item: int) -> int:
        if item == 0:
            began.wait(10)
            raise ValueError("zero")
        began.set()
        time.sleep(0.3)
        ended.set()
        return item

    with pytest.raises(ValueError, match="zero"):
        list(parallel_map(range(2), fail_beside_another))
    assert ended.is_set()


def test_first_callers_at_the_same_time_keep_their_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(3)
    for _ in range(20):
        monkeypatch.setattr(parallel, "_map_pools", {})
        together, found = threading.Barrier(4), []

        def call(together: threading.Barrier = together, found: list[int] = found) -> None:
            together.wait()
            list(parallel_map(range(4), abs))
            found.append(torch.get_num_threads())

        callers = [threading.Thread(target=call) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert found == [3] * 4
        assert torch.get_num_threads() == 3


def test_a_thread_that_cannot_start_leaves_none_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(3)
    monkeypatch.setattr(parallel, "_map_pools", {})
    start, started = threading.Thread.start, []

    def start_one(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_one)
        with pytest.raises(RuntimeError, match="can't start"):
            list(parallel_map(range(4), abs))
    started[0].join(10)
    assert not started[0].is_alive()
    assert torch.get_num_threads() == 3
    assert list(parallel_map(range(4), abs)) == [0, 1, 2, 3]


def test_threads_that_cannot_be_prepared_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_map_pools", {})
    monkeypatch.setattr(parallel, "_pools_lock", threading.Lock())
    set_threads, found = torch.set_num_threads, []

    def refuse(count: int) -> None:
        if threading.current_thread().name.startswith("fitcarl-map"):
            raise RuntimeError("refused")
        set_threads(count)

    def call() -> None:
        try:
            list(parallel_map(range(4), abs))
        except RuntimeError as error:
            found.append(str(error))

    with monkeypatch.context() as patch:
        patch.setattr(torch, "set_num_threads", refuse)
        caller = threading.Thread(target=call, daemon=True)
        caller.start()
        caller.join(10)
    assert found == ["refused"]
    assert list(parallel_map(range(4), abs)) == [0, 1, 2, 3]


def _result_in_child() -> int:
    """The exit status of a forked process that calls ``parallel_map``; that of a signal if it does not end."""
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if list(parallel_map(range(4), abs)) == [0, 1, 2, 3] else 1)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    list(parallel_map(range(4), abs))
    assert _result_in_child() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_may_be_forked_while_threads_are_created() -> None:
    with parallel._pools_lock:  # as another thread holds it meanwhile
        assert _result_in_child() == 0


def _map_two(work: Callable[[int], int]) -> Generator[int, None, None]:
    return parallel_map(range(2), work)


def _compute_two_ahead(work: Callable[[int], int]) -> Generator[int, None, None]:
    return computed_ahead(map(work, range(2)))


@pytest.mark.parametrize("compute", [_map_two, _compute_two_ahead])
def test_items_are_waited_for_where_they_are_used_but_not_where_they_are_computed(
    compute: Callable[[Callable[[int], int]], Generator[int, None, None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited, began, abandoned, ended = [], threading.Event(), threading.Event(), threading.Event()

    def wait_shortly(items: Any) -> None:
        waited.append(threading.current_thread())
        wait(items, timeout=2)

    def work(item: int) -> int:
        if item:
            began.set()
            abandoned.wait(10)
            results.close()  # as garbage collection does, in whichever thread it runs
            ended.set()
        return item

    monkeypatch.setattr(parallel, "wait", wait_shortly)
    results = compute(work)
    assert next(results) == 0
    assert began.wait(10)
    abandoned.set()
    assert ended.wait(10)
    assert not waited

    def work_slowly(item: int) -> int:
        if item:
            began.set()
            time.sleep(0.3)
            ended.set()
        return item

    began.clear()
    ended.clear()
    results = compute(work_slowly)
    assert next(results) == 0
    assert began.wait(10)
    results.close()
    assert ended.is_set()
    assert waited == [threading.current_thread()]


def test_the_next_item_is_computed_while_one_is_used() -> None:
    began = [threading.Event() for _ in range(4)]

    def items() -> Iterator[int]:
        for item, event in enumerate(began):
            event.set()
            yield item

    for item in computed_ahead(items()):
        assert all(event.wait(10) for event in began[item + 1 : item + 2])  # the next one
        assert not any(event.is_set() for event in began[item + 2 :])


@pytest.mark.parametrize("threads", ["1", "2"])
def test_items_computed_ahead_are_the_same(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    monkeypatch.setenv("FITCARL_THREADS", threads)
    assert list(computed_ahead(iter(()))) == []
    assert list(computed_ahead(iter(range(9)))) == list(range(9))

    def fail_at_three() -> Iterator[int]:
        yield from range(3)
        raise ValueError("three")

    found = computed_ahead(fail_at_three())
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(found)
