"""Work on several threads: compiled loops and tensor operations release the GIL, so plain threads suffice."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import chain, islice
from typing import Any, TypeVar, cast

from fitcarl.core.distributed import local_processes
from fitcarl.core.subnormals import as_in_this_thread

_MIN_ITEMS_PER_THREAD = 64
_AHEAD = 2
"""Items per thread that ``parallel_map`` has begun or finished before the caller takes their results."""

Item = TypeVar("Item")
Result = TypeVar("Result")

_local = threading.local()
"""``pooled``: whether a thread is one of those that are kept here; ``maps``: whether it computes all of an item."""
_pools_lock = threading.Lock()
_map_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
"""By process, because a forked one has none of the threads, and number of threads."""


def _renew_lock() -> None:
    """A lock of its own for a forked process: the thread that held the one of its parent does not exist in it."""
    global _pools_lock
    _pools_lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_lock)


def thread_count() -> int:
    """Threads of the compiled loops: ``FITCARL_THREADS``, or the cores this process may use.

    The ranks of a distributed training that run on the same machine divide its cores among them. One inside
    ``parallel_map``, whose items are computed on all threads already.

    Non-numeric values are ignored; ``fitcarl doctor`` reports them.
    """
    if getattr(_local, "maps", False):
        return 1
    value = os.environ.get("FITCARL_THREADS", "")
    return max(1, int(value)) if is_number(value) else max(1, usable_cores() // local_processes())


def is_number(text: str) -> bool:
    """Whether a text consists of ASCII digits only (``isdigit`` alone accepts ², too)."""
    return text.isascii() and text.isdigit()


def usable_cores() -> int:
    """The number of cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split_range(count: int, min_items: int = _MIN_ITEMS_PER_THREAD) -> list[tuple[int, int]]:
    """Splits ``range(count)`` into contiguous ranges of nearly equal length, one per thread.

    Args:
        count: The number of items.
        min_items: The least number of items for which another thread is started.
    """
    parts = max(1, min(thread_count(), count // min_items))
    return [(count * i // parts, count * (i + 1) // parts) for i in range(parts)]


def parallel_for(ranges: list[tuple[int, int]], work: Callable[[int, int, int], None]) -> None:
    """Calls ``work(part, low, high)`` for every range, each on its own thread; errors reach the caller."""
    if len(ranges) == 1:
        work(0, *ranges[0])
        return
    work = as_in_this_thread(work)
    pool = _pool(len(ranges), os.getpid())
    started = [pool.submit(work, part, low, high) for part, (low, high) in enumerate(ranges)]
    for finished in started:
        finished.result()


def parallel_map(items: Iterable[Item], work: Callable[[Item], Result]) -> Generator[Result, None, None]:
    """``work(item)`` of every item, in order; items are computed on all threads, each on one.

    Better than threads within each loop and tensor operation where an item needs many short ones. A single item is
    computed by the calling thread, which uses all threads within it.

    The threads compute gradients unless ``work`` itself turns them off: ``torch.no_grad`` and ``torch.inference_mode``
    of the caller apply to its own thread alone.

    Args:
        items: Taken by the calling thread, a few at a time, which bounds the memory of results that are not taken yet.
        work: A function that changes nothing that another call of it reads.
    """
    waiting = iter(items)
    first = list(islice(waiting, 2))
    threads = thread_count()
    if len(first) < 2 or threads == 1:
        yield from map(work, chain(first, waiting))
        return
    pool, started = _map_pool(threads), deque[Future[Result]]()
    work = as_in_this_thread(work)
    try:
        for item in chain(first, waiting):
            started.append(pool.submit(work, item))
            if len(started) >= _AHEAD * threads:
                yield started.popleft().result()
        while started:
            yield started.popleft().result()
    finally:
        for left in started:
            left.cancel()
        _wait(started)


def computed_ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """The items, in order; another thread takes the next one while the caller works on the one before it.

    With one thread, each is taken when it is needed. A caller that may end early closes the generator, so that no item
    is computed any more afterwards.

    Args:
        items: May compute them; nothing that they read may be changed by the caller.
    """
    if thread_count() == 1:
        yield from items
        return
    waiting, end = iter(items), object()
    pool, take = _pool(1, os.getpid()), as_in_this_thread(lambda: next(waiting, end))
    started = pool.submit(take)
    try:
        while (item := started.result()) is not end:
            started = pool.submit(take)
            yield cast(Item, item)
    finally:
        _wait([started])


def _wait(started: Sequence[Future[Any]]) -> None:
    """Waits for items that are being computed: they read what the caller may change from now on.

    Not in a thread of a pool. Garbage collection in such a thread may close a generator that was abandoned elsewhere,
    and what it would wait for may be the work of that same thread.
    """
    if not getattr(_local, "pooled", False):
        wait(started)


def _map_pool(size: int) -> ThreadPoolExecutor:
    """Threads on which loops and PyTorch start no others."""
    key = os.getpid(), size
    with _pools_lock:
        if key not in _map_pools:
            _map_pools[key] = _new_map_pool(size)
        return _map_pools[key]


def _new_map_pool(size: int) -> ThreadPoolExecutor:
    import torch

    ready = threading.Barrier(size + 1)
    failed: list[Exception] = []

    def begin() -> None:
        _local.pooled = _local.maps = True
        try:
            torch.get_num_threads()  # otherwise the first operation sets the number that new threads begin with
            torch.set_num_threads(1)
            ready.wait()
        except threading.BrokenBarrierError:  # the caller or another thread failed
            pass
        except Exception as error:
            failed.append(error)
            ready.abort()

    within = torch.get_num_threads()
    pool = ThreadPoolExecutor(size, thread_name_prefix="fitcarl-map", initializer=begin)
    try:
        for _ in range(size):
            pool.submit(int)
        ready.wait()
    except BaseException as error:  # a thread cannot be started or prepared, or the user interrupts
        ready.abort()
        pool.shutdown(wait=False)
        if failed and isinstance(error, threading.BrokenBarrierError):
            raise failed[0] from None
        raise
    finally:
        torch.set_num_threads(within)  # a thread's own number, but also the one that threads of others begin with
    return pool


@cache
def _pool(size: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a forked process has none of the threads
    return ThreadPoolExecutor(size, thread_name_prefix="fitcarl", initializer=_begin_pooled)


def _begin_pooled() -> None:
    _local.pooled = True
