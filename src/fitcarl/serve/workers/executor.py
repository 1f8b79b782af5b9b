"""Threads for work that would hold up everybody else: the store, and the search for names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from fitcarl.serve.errors import ApiError

P = ParamSpec("P")
T = TypeVar("T")


class BoundedExecutor:
    """A few threads that take so much work and no more."""

    def __init__(self, threads: int, most_waiting: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="hand")
        self._most_waiting = most_waiting
        self._seconds = seconds
        self._pending = 0

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the work gives; an ApiError when too much waits already or it takes too long."""
        if self._pending >= self._most_waiting:
            raise ApiError(503, "busy; ask again in a moment")
        self._pending += 1
        loop = asyncio.get_running_loop()
        running = self._threads.submit(work, *args, **kwargs)
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._finished))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(running), self._seconds)
        except TimeoutError:
            raise ApiError(503, f"took longer than {self._seconds:g} seconds; ask again in a moment") from None

    async def stop(self) -> None:
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    def _finished(self) -> None:
        self._pending -= 1
