"""Counts and times in the text format that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32)


class Histogram:
    """How often a value was at most each bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterator[str]:
        total = 0
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            shown = "+Inf" if bound == float("inf") else f"{bound:g}"
            yield _line(f"{name}_bucket", {**labels, "le": shown}, total)
        yield _line(f"{name}_sum", labels, self._sum)
        yield _line(f"{name}_count", labels, total)


class Metrics:
    """What the service has done since it started, and what it is doing now."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._together = Histogram(_SIZES)
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request that was answered."""
        self._requests[method, route, status] += 1
        self._seconds.setdefault(route, Histogram(_SECONDS)).add(seconds)

    def call(self, questions: int) -> None:
        """Counts one call of the model, for so many questions."""
        self._together.add(questions)

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Shows a value as it is at the moment of asking."""
        self._gauges[name] = about, value

    def text(self) -> str:
        """All of it."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _heading("fitcarl_requests_total", "counter", "Requests answered.")
        for (method, route, status), count in sorted(self._requests.items()):
            yield _line("fitcarl_requests_total", {"method": method, "route": route, "status": str(status)}, count)
        yield from _heading("fitcarl_request_seconds", "histogram", "Time from a request's head to its answer.")
        for route, times in sorted(self._seconds.items()):
            yield from times.lines("fitcarl_request_seconds", {"route": route})
        yield from _heading("fitcarl_questions_per_call", "histogram", "Questions that one call of the model answered.")
        yield from self._together.lines("fitcarl_questions_per_call", {})
        for name, (about, value) in self._gauges.items():
            yield from _heading(name, "gauge", about)
            yield _line(name, {}, value())


def _heading(name: str, kind: str, about: str) -> Iterable[str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    """Whole numbers in full: a counter must not lose its last digits."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
