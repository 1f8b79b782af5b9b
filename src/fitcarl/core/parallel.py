"""Compiled loops on several threads; the loops release the GIL, so plain threads suffice."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from fitcarl.core.distributed import local_processes

_MIN_ITEMS_PER_THREAD = 64


def thread_count() -> int:
    """Threads of the compiled loops: ``FITCARL_THREADS``, or the cores this process may use.

    The ranks of a distributed training that run on the same machine divide its cores among them.

    Non-numeric values are ignored; ``fitcarl doctor`` reports them.
    """
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
    started = [_pool(len(ranges)).submit(work, part, low, high) for part, (low, high) in enumerate(ranges)]
    for finished in started:
        finished.result()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="fitcarl")
