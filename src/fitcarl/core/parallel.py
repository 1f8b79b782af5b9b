"""Compiled loops on several threads: the loops release the interpreter's lock, so plain threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_WORTH_A_THREAD = 64


def thread_count() -> int:
    """How many threads the compiled loops use: ``FITCARL_THREADS``, or the cores this process may run on.

    What is no number is passed over, as if it were not set; ``fitcarl doctor`` tells.
    """
    given = os.environ.get("FITCARL_THREADS", "")
    return max(1, int(given)) if is_number(given) else usable_cores()


def is_number(text: str) -> bool:
    """Whether a text is a whole number in plain digits; ``isdigit`` alone says so of ², too."""
    return text.isascii() and text.isdigit()


def usable_cores() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split_range(count: int, min_items: int = _WORTH_A_THREAD) -> list[tuple[int, int]]:
    """``count`` items as contiguous ranges of nearly equal length, one for each thread that is worth starting.

    ``min_items`` is the least number of items per thread.
    """
    parts = max(1, min(thread_count(), count // min_items))
    return [(count * i // parts, count * (i + 1) // parts) for i in range(parts)]


def parallel_for(ranges: list[tuple[int, int]], work: Callable[[int, int, int], None]) -> None:
    """Calls ``work(part, low, high)`` for every range, each on a thread of its own."""
    if len(ranges) == 1:
        work(0, *ranges[0])
        return
    started = [_pool(len(ranges)).submit(work, part, low, high) for part, (low, high) in enumerate(ranges)]
    for finished in started:
        finished.result()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="fitcarl")
