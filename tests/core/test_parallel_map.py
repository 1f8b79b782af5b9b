"""``parallel_map``: order, threads, memory and errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from fitcarl.core.parallel import parallel_map, split_range, thread_count


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_THREADS", "2")


@pytest.mark.parametrize("items", [0, 1, 2, 3, 50])
def test_results_are_in_the_order_of_the_items(items: int) -> None:
    assert list(parallel_map(range(items), lambda item: item * item)) == [item * item for item in range(items)]


def test_items_are_computed_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=10)  # passes only if two wait at the same time
    list(parallel_map(range(4), lambda _: barrier.wait()))


def test_work_uses_one_thread_and_leaves_the_others_theirs() -> None:
    before = torch.get_num_threads()

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
    results.close()  # type: ignore[attr-defined]


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
