"""Concurrent jobs are batched, and limits on time and number hold."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from fitcarl.serve.batching import Batcher
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.jobs import InvalidInputError, Job
from tests.serve.fake import CHECKED, FACT, FakeWorker, job

OTHER = (CHECKED._replace(object="Heskonia"),)


def running(worker: FakeWorker, work: Callable[[Batcher], Awaitable[object]], **settings: object) -> Batcher:
    """Runs some jobs with a batcher, stops it, and returns it."""

    async def main() -> Batcher:
        arguments = {"threads": 2, "max_waiting": 64, "seconds": 5.0, **settings}
        batcher = Batcher(worker, **arguments)  # type: ignore[arg-type]
        batcher.start()
        try:
            await work(batcher)
        finally:
            await batcher.stop()
        return batcher

    return asyncio.run(main())


def values(answers: list[bytes], key: str = "entity") -> list[object]:
    return [json.loads(answer)[key] for answer in answers]


def test_queries_over_same_facts_are_one_call() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        jobs = [batcher.run(job(at=f"2023-06-0{day}"), (CHECKED,)) for day in range(1, 6)]
        found = await asyncio.gather(*jobs)
        assert values(found, "at") == [f"2023-06-0{day}" for day in range(1, 6)]

    running(worker, work, mixes_times=True)
    assert [len(call) for call in worker.calls] == [5]
    worker.calls.clear()
    running(worker, work, mixes_times=False)  # such a model computes one time after the other
    assert [len(call) for call in worker.calls] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "other",
    [
        job(without=(FACT,)),
        job(hindsight=True),
        job(horizon="30d"),
        job(relation=None),
        Job(job().query, "Peliland"),
    ],
)
def test_query_that_sees_other_facts_is_another_call(other: Job) -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        await asyncio.gather(batcher.run(job(), (CHECKED,)), batcher.run(other, (CHECKED,)))

    running(worker, work, mixes_times=True)
    assert [len(call) for call in worker.calls] == [1, 1]


def test_answers_do_not_wait_for_other_views() -> None:
    gate = threading.Event()
    worker = FakeWorker(wait=lambda: not worker.calls[-1][0].query.without or gate.wait(5))

    async def work(batcher: Batcher) -> None:
        slow = asyncio.create_task(batcher.run(job(without=(FACT,)), (CHECKED,)))
        assert values([await batcher.run(job(), (CHECKED,))]) == ["Harbour Union"]
        assert not slow.done()
        gate.set()
        await slow

    running(worker, work, mixes_times=True)


def test_identical_queries_share_one_result() -> None:
    worker = FakeWorker(wait=lambda: time.sleep(0.05))

    async def work(batcher: Batcher) -> None:
        first = asyncio.gather(*(batcher.run(job(), (CHECKED,)) for _ in range(4)))
        await asyncio.sleep(0.03)  # the call is running; a further identical job joins it
        assert values([await batcher.run(job(), (CHECKED,)), *await first]) == ["Harbour Union"] * 5

    running(worker, work)
    assert worker.calls == [[job()]]


def test_queries_over_other_facts_are_other_calls() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        found = await asyncio.gather(
            batcher.run(job(), (CHECKED,)), batcher.run(job(), OTHER), batcher.run(job(), (CHECKED, *OTHER))
        )
        assert values(found, "facts") == [1, 1, 2]

    running(worker, work)
    assert [len(call) for call in worker.calls] == [1, 1, 1]


def test_batch_size_is_limited() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        await asyncio.gather(*(batcher.run(job(top=top), (CHECKED,)) for top in range(1, 8)))

    running(worker, work, max_batch=3)
    assert sorted(len(call) for call in worker.calls) == [1, 3, 3]


def test_invalid_query_does_not_affect_other_queries() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        jobs = [batcher.run(job(relation=relation), (CHECKED,)) for relation in ("Consult", "nonsense", "Accuse")]
        valid, invalid, also_valid = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(valid, bytes)
        assert isinstance(also_valid, bytes)
        assert isinstance(invalid, InvalidInputError)
        assert invalid.found == "nonsense"

    running(worker, work)


def test_error_of_worker_is_raised_and_next_query_is_answered() -> None:
    async def work(batcher: Batcher) -> None:
        with pytest.raises(ZeroDivisionError):
            await batcher.run(job(relation="broken"), (CHECKED,))
        assert values([await batcher.run(job(), (CHECKED,))]) == ["Harbour Union"]

    running(FakeWorker(), work)


def test_query_beyond_limit_fails_immediately_and_capacity_recovers() -> None:
    gate = threading.Event()

    async def work(batcher: Batcher) -> None:
        waiting = [asyncio.create_task(batcher.run(job(top=top), (CHECKED,))) for top in (1, 2)]
        await asyncio.sleep(0.01)
        began = time.perf_counter()
        with pytest.raises(ApiError, match="busy: 2 queries") as raised:
            await batcher.run(job(), (CHECKED,))
        assert raised.value.status == 503
        assert time.perf_counter() - began < 0.1
        gate.set()
        await asyncio.gather(*waiting)
        assert values([await batcher.run(job(), (CHECKED,))]) == ["Harbour Union"]

    batcher = running(FakeWorker(wait=lambda: gate.wait(5)), work, max_waiting=2)
    assert batcher.waiting == 0


def test_slow_query_times_out_while_others_continue() -> None:
    gate = threading.Event()
    worker = FakeWorker(wait=lambda: worker.calls[-1][0].query.relation != "slow" or gate.wait(5))

    async def work(batcher: Batcher) -> None:
        slow = asyncio.create_task(batcher.run(job(relation="slow"), (CHECKED,)))
        await asyncio.sleep(0.02)
        assert values([await batcher.run(job(), OTHER)]) == ["Harbour Union"]
        with pytest.raises(ApiError, match=r"longer than 0\.2 seconds") as raised:
            await slow
        assert raised.value.status == 503
        gate.set()

    running(worker, work, seconds=0.2)


def test_abandoned_query_is_not_computed() -> None:
    gate = threading.Event()
    worker = FakeWorker(wait=lambda: gate.wait(5))

    async def work(batcher: Batcher) -> None:
        busy = asyncio.create_task(batcher.run(job("busy"), (CHECKED,)))
        await asyncio.sleep(0.05)
        with pytest.raises(ApiError):
            await batcher.run(job("late"), OTHER)
        gate.set()
        await asyncio.gather(busy, return_exceptions=True)
        assert values([await batcher.run(job("next"), (CHECKED, *OTHER))]) == ["next"]

    running(worker, work, threads=1, seconds=0.15)
    assert [call[0].query.entity for call in worker.calls] == ["busy", "next"]


def test_calls_run_concurrently_on_several_threads() -> None:
    together = threading.Barrier(2, timeout=5)
    worker = FakeWorker(wait=together.wait)

    async def work(batcher: Batcher) -> None:
        await asyncio.gather(batcher.run(job(), (CHECKED,)), batcher.run(job(), OTHER))

    running(worker, work, threads=2)
    assert len(worker.threads) == 2
