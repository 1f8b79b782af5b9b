"""Wall-clock timing."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Wall-clock seconds of the fastest of several runs, the one with the least disturbance."""
    fastest = float("inf")
    for _ in range(repeats):
        began = perf_counter()
        work()
        fastest = min(fastest, perf_counter() - began)
    return fastest
