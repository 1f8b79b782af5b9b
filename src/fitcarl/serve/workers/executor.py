"""Threads for blocking work outside the event loop: the store and the search for names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from fitcarl.serve.errors import ApiError

P = ParamSpec("P")
T = TypeVar("T")


class BoundedExecutor:
    """A thread pool with a bounded queue and a time limit per call.

    ``anyio.to_thread`` with a CapacityLimiter was considered: it bounds the running calls but lets any number of
    callers wait, whereas here a call beyond the bound fails immediately with status 503.
    """

    def __init__(self, threads: int, max_waiting: int, seconds: float) -> None:
        """Creates the pool.

        Args:
            threads: Number of threads.
            max_waiting: Maximum number of calls in progress, running or queued.
            seconds: Time limit of a call.
        """
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="executor")
        self._max_waiting = max_waiting
        self._seconds = seconds
        self._pending = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call; an ApiError if too many calls are in progress or it exceeds the time limit."""
        if self._pending >= self._max_waiting:
            raise ApiError(503, "busy; try again in a moment")
        self._pending += 1
        loop = asyncio.get_running_loop()
        running = self._threads.submit(function, *args, **kwargs)
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._finished))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(running), self._seconds)
        except TimeoutError:
            raise ApiError(503, f"took longer than {self._seconds:g} seconds; try again in a moment") from None

    async def stop(self) -> None:
        """Waits for running calls and ends the threads."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    def _finished(self) -> None:
        self._pending -= 1
