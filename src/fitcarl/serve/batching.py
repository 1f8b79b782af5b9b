"""Batching of concurrent queries: those that see the same share a call, identical ones share a result.

What a query sees are its facts and its view (limits of time, excluded facts). Queries of different views would be
computed one after the other in a call, and the first answers would wait for the last one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from fitcarl.predict.fact import CheckedFact
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.jobs import Job, Outcome, View, Worker, view_of

FactKey = tuple[CheckedFact, ...]
BatchKey = tuple[FactKey, View]


@dataclass(eq=False)
class _PendingResult:
    """A result that requests wait for."""

    future: asyncio.Future[bytes]
    waiters: int = 0


@dataclass(eq=False)
class _Batch:
    """Jobs with the same facts and view that will be one call."""

    facts: FactKey
    view: View
    due: float
    """Time of the event loop at which the batch is executed."""
    jobs: dict[Job, _PendingResult] = field(default_factory=dict)


class Batcher:
    """Collects jobs into batches and executes them with a worker. All methods belong to one event loop."""

    def __init__(
        self,
        worker: Worker,
        *,
        threads: int,
        max_waiting: int,
        seconds: float,
        window: float = 0.002,
        max_batch: int = 32,
        on_batch: Callable[[int], None] = lambda _size: None,
        mixes_times: bool = False,
    ) -> None:
        """Creates a batcher.

        Args:
            worker: Executes the batches.
            threads: Number of concurrent calls of the worker.
            max_waiting: Maximum number of requests in progress.
            seconds: Time limit of a request, including waiting.
            window: Seconds that a batch waits for further jobs.
            max_batch: Maximum number of jobs in a batch.
            on_batch: Called with the size of each batch.
            mixes_times: Whether the model scores queries with different limits of time together.
        """
        self._worker = worker
        self._thread_count = threads
        self._max_waiting = max_waiting
        self._seconds = seconds
        self._window = window
        self._max_batch = max_batch
        self._on_batch = on_batch
        self._mixes_times = mixes_times
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="batch")
        self._queue: deque[_Batch] = deque()
        self._open: dict[BatchKey, _Batch] = {}
        """Batches in the queue that accept more jobs."""
        self._pending: dict[tuple[Job, FactKey], _PendingResult] = {}
        """All jobs in the queue or in execution."""
        self._arrived = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self.waiting = 0
        """Number of requests in progress."""

    def start(self) -> None:
        """Starts one loop per thread."""
        self._loops = [asyncio.create_task(self._work()) for _ in range(self._thread_count)]

    async def stop(self) -> None:
        """Waits for running calls and ends the threads."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    @property
    def queued(self) -> int:
        """Number of batches that wait for a thread."""
        return len(self._queue)

    def check_capacity(self) -> None:
        """Raises an ApiError if the maximum number of requests is in progress."""
        if self.waiting >= self._max_waiting:
            raise ApiError(503, f"busy: {self._max_waiting} queries are in progress; try again in a moment")

    async def run(self, job: Job, facts: Sequence[CheckedFact]) -> bytes:
        """The response of a job as JSON; an ApiError if too many requests wait or the time limit is exceeded."""
        self.check_capacity()
        result = self._submit(job, tuple(facts))
        result.waiters += 1
        self.waiting += 1
        try:
            # Shielded: a request that gives up must not cancel the result for others.
            return await asyncio.wait_for(asyncio.shield(result.future), self._seconds)
        except TimeoutError:
            raise ApiError(
                503, f"took longer than {self._seconds:g} seconds; try again with fewer answers or paths"
            ) from None
        finally:
            self.waiting -= 1
            result.waiters -= 1

    def _submit(self, job: Job, facts: FactKey) -> _PendingResult:
        key = job, facts
        if key not in self._pending:
            view = view_of(job, self._mixes_times)
            batch = self._open.get((facts, view))
            now = asyncio.get_running_loop().time()
            if batch is None:
                batch = self._open[facts, view] = _Batch(facts, view, now + self._window)
                self._queue.append(batch)
                self._arrived.set()
            self._pending[key] = batch.jobs[job] = _PendingResult(asyncio.get_running_loop().create_future())
            if len(batch.jobs) >= self._max_batch:
                del self._open[facts, view]
        return self._pending[key]

    async def _work(self) -> None:
        """Executes one batch after the other; there is one such loop per thread."""
        loop = asyncio.get_running_loop()
        while True:
            batch = await self._next()
            self._drop_abandoned(batch)
            if not batch.jobs:
                continue
            self._on_batch(len(batch.jobs))
            outcomes = await loop.run_in_executor(self._threads, self._execute, list(batch.jobs), batch.facts)
            for (job, result), outcome in zip(batch.jobs.items(), outcomes, strict=True):
                del self._pending[job, batch.facts]
                _resolve(result.future, outcome)

    def _drop_abandoned(self, batch: _Batch) -> None:
        """Removes jobs that no request waits for."""
        for job in [job for job, result in batch.jobs.items() if not result.waiters]:
            del batch.jobs[job]
            del self._pending[job, batch.facts]

    async def _next(self) -> _Batch:
        """The oldest batch, once it is due; it accepts no more jobs."""
        while not self._queue:
            self._arrived.clear()
            await self._arrived.wait()
        batch = self._queue.popleft()
        remaining = batch.due - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)
        if self._open.get((batch.facts, batch.view)) is batch:
            del self._open[batch.facts, batch.view]
        return batch

    def _execute(self, jobs: list[Job], facts: FactKey) -> list[Outcome]:
        try:
            return self._worker.run(jobs, facts)
        except Exception as error:
            return [error] * len(jobs)


def _resolve(future: asyncio.Future[bytes], outcome: Outcome) -> None:
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
        future.exception()  # mark as retrieved: possibly no request waits any more
    else:
        future.set_result(outcome)
