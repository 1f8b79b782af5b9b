"""Questions that come together are answered together, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from fitcarl.serve.batching import Batcher
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.jobs import InvalidInputError
from tests.serve.fake import FACT, FakeWorker, job

OTHER = (FACT._replace(object="Heskonia"),)


def running(worker: FakeWorker, work: Callable[[Batcher], Awaitable[object]], **settings: float) -> Batcher:
    """Runs some questions against a batcher and stops it; gives it as it was at the end."""

    async def main() -> Batcher:
        given = {"threads": 2, "most_waiting": 64, "seconds": 5.0, **settings}
        batcher = Batcher(worker, **given)  # type: ignore[arg-type]
        batcher.start()
        try:
            await work(batcher)
        finally:
            await batcher.stop()
        return batcher

    return asyncio.run(main())


def told(answers: list[bytes], what: str = "actor") -> list[object]:
    return [json.loads(answer)[what] for answer in answers]


def test_questions_about_the_same_facts_are_one_call() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        asked = [batcher.ask(job(at=f"2023-06-0{day}"), (FACT,)) for day in range(1, 6)]
        found = await asyncio.gather(*asked)
        assert told(found, "at") == [f"2023-06-0{day}" for day in range(1, 6)]

    running(worker, work)
    assert [len(call) for call in worker.calls] == [5]


def test_identical_questions_are_asked_once_and_everybody_gets_the_answer() -> None:
    worker = FakeWorker(wait=lambda: time.sleep(0.05))

    async def work(batcher: Batcher) -> None:
        first = asyncio.gather(*(batcher.ask(job(), (FACT,)) for _ in range(4)))
        await asyncio.sleep(0.03)  # the call is on its way; who comes now joins it
        assert told([await batcher.ask(job(), (FACT,)), *await first]) == ["newcomer"] * 5

    running(worker, work)
    assert worker.calls == [[job()]]


def test_questions_about_other_facts_are_other_calls_and_see_their_own_facts() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        found = await asyncio.gather(
            batcher.ask(job(), (FACT,)), batcher.ask(job(), OTHER), batcher.ask(job(), (FACT, *OTHER))
        )
        assert told(found, "facts") == [1, 1, 2]

    running(worker, work)
    assert [len(call) for call in worker.calls] == [1, 1, 1]


def test_a_call_has_at_most_so_many_questions() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        await asyncio.gather(*(batcher.ask(job(top=top), (FACT,)) for top in range(1, 8)))

    running(worker, work, most_together=3)
    assert sorted(len(call) for call in worker.calls) == [1, 3, 3]


def test_one_bad_question_fails_alone() -> None:
    worker = FakeWorker()

    async def work(batcher: Batcher) -> None:
        asked = [batcher.ask(job(relation=relation), (FACT,)) for relation in ("Consult", "nonsense", "Accuse")]
        fine, bad, also_fine = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(fine, bytes)
        assert isinstance(also_fine, bytes)
        assert isinstance(bad, InvalidInputError)
        assert bad.found == "nonsense"

    running(worker, work)


def test_a_fault_of_the_model_reaches_who_asked_and_the_next_question_is_answered() -> None:
    async def work(batcher: Batcher) -> None:
        with pytest.raises(ZeroDivisionError):
            await batcher.ask(job(relation="broken"), (FACT,))
        assert told([await batcher.ask(job(), (FACT,))]) == ["newcomer"]

    running(FakeWorker(), work)


def test_one_question_too_many_is_refused_at_once_and_room_comes_back() -> None:
    gate = threading.Event()

    async def work(batcher: Batcher) -> None:
        waiting = [asyncio.create_task(batcher.ask(job(top=top), (FACT,))) for top in (1, 2)]
        await asyncio.sleep(0.01)
        began = time.perf_counter()
        with pytest.raises(ApiError, match="busy: 2 questions") as refused:
            await batcher.ask(job(), (FACT,))
        assert refused.value.status == 503
        assert time.perf_counter() - began < 0.1
        gate.set()
        await asyncio.gather(*waiting)
        assert told([await batcher.ask(job(), (FACT,))]) == ["newcomer"]

    batcher = running(FakeWorker(wait=lambda: gate.wait(5)), work, most_waiting=2)
    assert batcher.waiting == 0


def test_a_slow_answer_is_given_up_and_others_go_on() -> None:
    gate = threading.Event()
    worker = FakeWorker(wait=lambda: worker.calls[-1][0].query.relation != "slow" or gate.wait(5))

    async def work(batcher: Batcher) -> None:
        slow = asyncio.create_task(batcher.ask(job(relation="slow"), (FACT,)))
        await asyncio.sleep(0.02)
        assert told([await batcher.ask(job(), OTHER)]) == ["newcomer"]
        with pytest.raises(ApiError, match=r"longer than 0\.2 seconds") as refused:
            await slow
        assert refused.value.status == 503
        gate.set()

    running(worker, work, seconds=0.2)


def test_what_nobody_waits_for_any_more_is_not_computed() -> None:
    gate = threading.Event()
    worker = FakeWorker(wait=lambda: gate.wait(5))

    async def work(batcher: Batcher) -> None:
        busy = asyncio.create_task(batcher.ask(job("busy"), (FACT,)))
        await asyncio.sleep(0.05)
        with pytest.raises(ApiError):
            await batcher.ask(job("late"), OTHER)
        gate.set()
        await asyncio.gather(busy, return_exceptions=True)
        assert told([await batcher.ask(job("next"), (FACT, *OTHER))]) == ["next"]

    running(worker, work, threads=1, seconds=0.15)
    assert [call[0].query.entity for call in worker.calls] == ["busy", "next"]


def test_calls_run_on_as_many_threads_as_there_are_workers() -> None:
    together = threading.Barrier(2, timeout=5)
    worker = FakeWorker(wait=together.wait)

    async def work(batcher: Batcher) -> None:
        await asyncio.gather(batcher.ask(job(), (FACT,)), batcher.ask(job(), OTHER))

    running(worker, work, threads=2)
    assert len(worker.threads) == 2
