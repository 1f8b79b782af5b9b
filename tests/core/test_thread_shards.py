"""Batches whose rows are divided among threads."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.core.process_group import ONE_PROCESS, BatchShard, ProcessGroup, SharedNumbers
from fitcarl.core.thread_shards import parallel_gradients, sum_in_order, thread_shards, with_gradients

CPU = torch.device("cpu")


@given(st.integers(1, 300), st.integers(1, 4), st.integers(1, 5))
def test_shards_of_all_processes_and_threads_cover_every_row_once(rows: int, processes: int, threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_THREADS", str(threads))
        groups = [ProcessGroup(rank, processes).shard(rows) for rank in range(processes)]
        shards = [shard for group in groups for shard in thread_shards(group, CPU, min_rows=10)]
    covered = [row for shard in shards if shard.share for row in range(rows)[shard.rows]]
    assert covered == list(range(rows))
    assert sum(shard.share for shard in shards) == pytest.approx(1)
    assert {shard.total for shard in shards} == {rows}


def test_few_rows_and_other_devices_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_THREADS", "4")
    assert [shard.rows for shard in thread_shards(ONE_PROCESS.shard(127), CPU)] == [slice(0, 127)]
    assert len(thread_shards(ONE_PROCESS.shard(128), CPU)) == 2
    assert len(thread_shards(ONE_PROCESS.shard(9999), torch.device("cuda"))) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_gradients_are_those_of_the_whole_batch(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setenv("FITCARL_THREADS", str(threads))
    rows = torch.arange(12.0).reshape(6, 2)
    first, second, unused = (torch.ones(2, requires_grad=True) for _ in range(3))

    def loss(shard: BatchShard) -> torch.Tensor:
        return ((first + second) * rows[shard.rows]).sum() * shard.share  # both get the same gradient tensor

    unused.grad = torch.ones(2)  # of an earlier batch
    shards = thread_shards(ONE_PROCESS.shard(6), CPU, min_rows=2)
    assert len(shards) == threads
    total = parallel_gradients(shards, loss, [first, second, unused])
    assert float(total) == pytest.approx(2 * float(rows.sum()) / threads)
    for parameter in (first, second):
        assert parameter.grad is not None
        assert parameter.grad.tolist() == pytest.approx((rows.sum(0) / threads).tolist())
    assert unused.grad is None


def test_known_gradients_are_those_of_the_backward_pass() -> None:
    first, second, unused = (torch.ones(2, requires_grad=True) for _ in range(3))
    parameters = [first, second, unused]
    parts = [((first * rows).sum(), rows) for rows in (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))]
    value, gradients = sum_in_order(
        (part.detach(), torch.autograd.grad(part, parameters, allow_unused=True)) for part, _ in parts
    )
    assert float(value) == 10
    (2 * with_gradients(value, gradients, parameters)).backward()
    assert first.grad is not None
    assert first.grad.tolist() == [8, 12]
    assert second.grad is None
    assert unused.grad is None


def test_numbers_are_drawn_once_and_in_order() -> None:
    numbers, drawn = SharedNumbers(), iter(range(10))
    first = [numbers.get(index, lambda: torch.tensor(next(drawn))) for index in range(3)]
    again = [numbers.get(index, lambda: torch.tensor(next(drawn))) for index in range(3)]
    assert first == again == [torch.tensor(0), torch.tensor(1), torch.tensor(2)]
