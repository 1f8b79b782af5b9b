"""Responses, times and problems of all clients."""

from __future__ import annotations

import threading
import time
from collections import Counter

MAX_PROBLEMS = 20
"""Problems that are kept as text."""


class Results:
    """Collected by several threads."""

    def __init__(self) -> None:
        self.responses = Counter[str]()
        """By operation and status."""
        self.faults = Counter[str]()
        self.seconds: list[float] = []
        """Of every response."""
        self.problems: list[str] = []
        self.memory_mb: list[float] = []
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def response(self, operation: str, status: int | str, seconds: float) -> None:
        with self._lock:
            self.responses[f"{operation} {status}"] += 1
            if isinstance(status, int):
                self.seconds.append(seconds)

    def fault(self, name: str) -> None:
        with self._lock:
            self.faults[name] += 1

    def problem(self, text: str) -> None:
        with self._lock:
            if len(self.problems) < MAX_PROBLEMS:
                self.problems.append(f"after {time.monotonic() - self._began:.1f} s: {text}")

    def percentile(self, share: float) -> float:
        """Seconds within which this share of the responses arrived; 0 without responses."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

    def share_of_errors(self) -> float:
        """Share of requests that got no response, or one that says that the service is not available."""
        failed = sum(count for key, count in self.responses.items() if key.endswith((" 503", " no response")))
        return failed / max(1, self.responses.total())
