"""Concurrent questions, answered together: those about the same facts share one call, identical ones one answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from fitcarl.predict.fact import Fact
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.jobs import Job, Outcome, Worker

Facts = tuple[Fact, ...]


@dataclass(eq=False)
class _Group:
    """Questions about the same facts, on their way to one call."""

    facts: Facts
    ripe: float
    """When the loop's clock says that it has waited long enough for company."""
    asked: dict[Job, _Shared] = field(default_factory=dict)


@dataclass(eq=False)
class _Shared:
    """An answer that is being waited for."""

    future: asyncio.Future[bytes]
    waiters: int = 0


class Batcher:
    """Turns questions into calls of a worker. All methods belong to one event loop."""

    def __init__(
        self,
        worker: Worker,
        *,
        threads: int,
        most_waiting: int,
        seconds: float,
        window: float = 0.002,
        most_together: int = 32,
        watch: Callable[[int], None] = lambda _size: None,
    ) -> None:
        """``threads`` calls of the worker run at once; ``window`` is how long a question waits for others about its
        facts, in seconds; ``most_together`` of them are one call at most. ``watch`` is told the size of every call."""
        self._worker = worker
        self._count = threads
        self._most_waiting = most_waiting
        self._seconds = seconds
        self._window = window
        self._most_together = most_together
        self._watch = watch
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="answer")
        self._queue: deque[_Group] = deque()
        self._open: dict[Facts, _Group] = {}
        """Groups in the queue that take more questions."""
        self._shared: dict[tuple[Job, Facts], _Shared] = {}
        """Every question in the queue or in work."""
        self._arrived = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self.waiting = 0
        """Requests that wait for an answer."""

    def start(self) -> None:
        self._loops = [asyncio.create_task(self._work()) for _ in range(self._count)]

    async def stop(self) -> None:
        """Lets calls in work finish and ends the threads."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    @property
    def queued(self) -> int:
        """Calls that wait for a thread."""
        return len(self._queue)

    def check_room(self) -> None:
        """Raises an ApiError when as many questions are under way as may be."""
        if self.waiting >= self._most_waiting:
            raise ApiError(503, f"busy: {self._most_waiting} questions are under way; ask again in a moment")

    async def ask(self, job: Job, facts: Sequence[Fact]) -> bytes:
        """The answer as JSON; an ApiError when too many wait already or it takes too long."""
        self.check_room()
        shared = self._share(job, tuple(facts))
        shared.waiters += 1
        self.waiting += 1
        try:
            # Shielded: whoever gives up takes nothing away from others who asked the same.
            return await asyncio.wait_for(asyncio.shield(shared.future), self._seconds)
        except TimeoutError:
            raise ApiError(503, f"took longer than {self._seconds:g} seconds; ask again, or ask for less") from None
        finally:
            self.waiting -= 1
            shared.waiters -= 1

    def _share(self, job: Job, facts: Facts) -> _Shared:
        key = job, facts
        if key not in self._shared:
            group = self._open.get(facts)
            now = asyncio.get_running_loop().time()
            if group is None:
                group = self._open[facts] = _Group(facts, now + self._window)
                self._queue.append(group)
                self._arrived.set()
            self._shared[key] = group.asked[job] = _Shared(asyncio.get_running_loop().create_future())
            if len(group.asked) >= self._most_together:
                del self._open[facts]
        return self._shared[key]

    async def _work(self) -> None:
        """Takes one group after the other; there is one such loop for each thread."""
        loop = asyncio.get_running_loop()
        while True:
            group = await self._next()
            self._drop_abandoned(group)
            if not group.asked:
                continue
            self._watch(len(group.asked))
            outcomes = await loop.run_in_executor(self._threads, self._perform, list(group.asked), group.facts)
            for (job, shared), outcome in zip(group.asked.items(), outcomes, strict=True):
                del self._shared[job, group.facts]
                _settle(shared.future, outcome)

    def _drop_abandoned(self, group: _Group) -> None:
        """Forgets questions that nobody waits for any more."""
        for job in [job for job, shared in group.asked.items() if not shared.waiters]:
            del group.asked[job]
            del self._shared[job, group.facts]

    async def _next(self) -> _Group:
        """The oldest group, once it is ripe; nobody joins it any more."""
        while not self._queue:
            self._arrived.clear()
            await self._arrived.wait()
        group = self._queue.popleft()
        remaining = group.ripe - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)
        if self._open.get(group.facts) is group:
            del self._open[group.facts]
        return group

    def _perform(self, jobs: list[Job], facts: Facts) -> list[Outcome]:
        try:
            return self._worker.perform(jobs, facts)
        except Exception as fault:
            return [fault] * len(jobs)


def _settle(future: asyncio.Future[bytes], outcome: Outcome) -> None:
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
        future.exception()  # looked at: perhaps nobody waits any more
    else:
        future.set_result(outcome)
