"""Metrics of the service in the text format of Prometheus.

``prometheus_client`` was considered: it would replace about 50 of these lines, but adds a dependency with a global
registry and its own process metrics to a service that exposes one counter, two histograms and some gauges.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_BATCH_SIZE_BOUNDS = (1, 2, 4, 8, 16, 32)


class Histogram:
    """Counts of values by upper bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Adds a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterator[str]:
        """The histogram as lines of text, with cumulative counts."""
        total = 0
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            label = "+Inf" if bound == float("inf") else f"{bound:g}"
            yield _line(f"{name}_bucket", {**labels, "le": label}, total)
        yield _line(f"{name}_sum", labels, self._sum)
        yield _line(f"{name}_count", labels, total)


class Metrics:
    """Requests since the start, their durations, batch sizes, and current values."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._batch_sizes = Histogram(_BATCH_SIZE_BOUNDS)
        self._gauges: dict[str, tuple[str, Callable[[], float | None]]] = {}

    def record_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a completed request."""
        self._requests[method, route, status] += 1
        self._seconds.setdefault(route, Histogram(_SECONDS_BOUNDS)).add(seconds)

    def record_batch(self, size: int) -> None:
        """Counts a batch of queries."""
        self._batch_sizes.add(size)

    def set_gauge(self, name: str, description: str, value: Callable[[], float | None]) -> None:
        """Defines a gauge; ``value`` is called whenever the metrics are read. If it returns None, there is no line."""
        self._gauges[name] = description, value

    def text(self) -> str:
        """All metrics."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _header("fitcarl_requests_total", "counter", "Completed requests.")
        for (method, route, status), count in sorted(self._requests.items()):
            yield _line("fitcarl_requests_total", {"method": method, "route": route, "status": str(status)}, count)
        yield from _header("fitcarl_request_seconds", "histogram", "Seconds from the request headers to the response.")
        for route, times in sorted(self._seconds.items()):
            yield from times.lines("fitcarl_request_seconds", {"route": route})
        yield from _header("fitcarl_queries_per_batch", "histogram", "Queries that were answered in one call.")
        yield from self._batch_sizes.lines("fitcarl_queries_per_batch", {})
        for name, (description, value) in self._gauges.items():
            if (number := value()) is not None:
                yield from _header(name, "gauge", description)
                yield _line(name, {}, number)


def _header(name: str, kind: str, description: str) -> Iterable[str]:
    return f"# HELP {name} {description}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    """A number as text; integers with all digits, because a counter must not lose its last ones."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
