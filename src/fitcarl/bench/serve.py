"""Throughput, latency and memory of the service under concurrent clients."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import numpy as np

from fitcarl.bench.predict import KNOWN, new_entity_cases
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact
from fitcarl.predict.query import Query
from fitcarl.runs.run import Run

_MAX_QUERIES = 2_000
"""Distinct queries; further requests repeat them."""
_WARM_UP = 0.1
"""Fraction of the requests after which memory should not grow any more."""


@dataclass(frozen=True)
class ServeTimes:
    """Measurements of clients that each send the next request when the previous one is answered."""

    per_second: float
    p50_ms: float
    p99_ms: float
    slowest_ms: float
    errors: int
    """Responses other than 200, and failed connections."""
    requests: int
    clients: int
    known: int
    """Facts sent with each query."""
    warm_mb: float
    """Memory of all processes of the service after a tenth of the requests; shared libraries count in each."""
    last_mb: float
    """The same at the end."""


@dataclass
class _Load:
    """The remaining requests and the results so far."""

    bodies: Iterator[bytes]
    address: str
    seconds: list[float]
    errors: int
    lock: threading.Lock
    on_response: Callable[[int], None]

    def run_client(self) -> None:
        """One client: sends requests until none is left."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=60)
        while (body := self._next()) is not None:
            began = perf_counter()
            try:
                connection.request("POST", "/v1/predict", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                ok = answer.status == 200
            except (OSError, http.client.HTTPException):
                connection.close()
                ok = False
            self._count(perf_counter() - began, ok)
        connection.close()

    def _next(self) -> bytes | None:
        with self.lock:
            return next(self.bodies, None)

    def _count(self, seconds: float, ok: bool) -> None:
        with self.lock:
            self.seconds.append(seconds)
            self.errors += not ok
            self.on_response(len(self.seconds))


def time_serve(
    run: str | Path,
    requests: int = 2_000,
    clients: int = 16,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> ServeTimes:
    """Serves a run in another process and queries it about new entities with three facts each."""
    cases = new_entity_cases(Run.load(run), min(requests, _MAX_QUERIES), 10, 3, seed)
    bodies = [_body(facts, question) for facts, question in cases]
    memory: list[float] = []
    with _served(run) as (address, process):

        def on_response(done: int) -> None:
            if done == max(1, int(_WARM_UP * requests)):
                memory.append(_resident_mb(process))
            if on_progress is not None:
                on_progress(Progress("predictions", done, requests, "requests"))

        planned = (bodies[number % len(bodies)] for number in range(requests))
        load = _Load(planned, address, [], 0, threading.Lock(), on_response)
        threads = [threading.Thread(target=load.run_client) for _ in range(clients)]
        began = perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = perf_counter() - began
        memory.append(_resident_mb(process))
    p50, p99 = np.percentile(load.seconds, [50, 99])
    return ServeTimes(
        requests / elapsed,
        float(1e3 * p50),
        float(1e3 * p99),
        1e3 * max(load.seconds),
        load.errors,
        requests,
        clients,
        KNOWN,
        memory[0],
        memory[-1],
    )


def _body(facts: list[Fact], question: Query) -> bytes:
    query = {"subject": question.subject, "object": question.object, "relation": question.relation, "at": question.at}
    return json.dumps({**query, "facts": [fact.to_json() for fact in facts], "top": question.top}).encode()


@contextmanager
def _served(run: str | Path) -> Iterator[tuple[str, int]]:
    """The address and process id of a service with a temporary store."""
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "observed.sqlite"
        line = [sys.executable, "-m", "fitcarl", "serve", str(run), "--port", "0", "--store", str(store)]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                address = process.stdout.readline().strip()
                if not address:
                    raise InputError(f"the service did not start ({process.stderr.read().strip()})", file=run)
                yield address, process.pid
            finally:
                process.terminate()


def _resident_mb(process: int) -> float:
    """Resident memory of a process and its children in MB (10⁶ bytes); 0 if the platform does not report it."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0.0
    own = next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmRSS:")), 0.0)
    return own + sum(_resident_mb(int(child)) for child in children)
