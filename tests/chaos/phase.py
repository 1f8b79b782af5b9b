"""One phase: clients and faults for some seconds on one kind of store, then the checks."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from fitcarl.predict import Predictor
from tests.chaos.client import Client
from tests.chaos.database import Database
from tests.chaos.faults import Faults
from tests.chaos.results import Results
from tests.chaos.service import ServiceProcess

CLIENTS = 6
QUIET_SECONDS = 15.0
"""Without faults, at the end: every request must succeed again in the second half of it."""
FAULT_PAUSE = (1.0, 6.0)
"""Seconds between two faults."""
MAX_P99 = 10.0
"""Seconds."""
MAX_MEMORY_MB = 4096.0


@dataclass(frozen=True)
class Phase:
    """What is done.

    Attributes:
        store: ``sqlite``, ``postgresql`` or ``full disk``.
        seconds: Duration.
        seed: Of all random choices.
    """

    store: str
    seconds: float
    seed: int


def run_phase(phase: Phase, run: Path, folder: Path) -> Results:
    """Clients and faults until the time is over, then all checks.

    Args:
        phase: What is done.
        run: Run folder.
        folder: Folder for the store and logs; a small file system for ``full disk``.
    """
    results, random = Results(), Random(f"{phase.seed} {phase.store}")
    known = Predictor.load(run)
    names = known.entities[:50], known.relations[:10]
    with TemporaryDirectory(prefix="chaos-", dir="/tmp") as scratch:
        database = Database(_folder(Path(scratch) / "pg")) if phase.store == "postgresql" else None
        store = database.url if database else str(folder / "observed.sqlite")
        service = ServiceProcess(run, store, Path(scratch) / "log")
        disk = folder if phase.store == "full disk" else None
        faults = Faults(service, results, random, database, disk)
        service.start()
        clients = [Client(number, service, names, results, phase.seed) for number in range(CLIENTS)]
        try:
            for client in clients:
                client.start()
            _cause_faults(faults, service, results, random, phase.seconds - QUIET_SECONDS)
            _check_recovery(results, service)
        finally:
            for client in clients:
                client.stopping.set()
            for client in clients:
                client.join(60)
        if any(client.is_alive() for client in clients):
            results.problem("a client waits for a response for more than 60 s")
        faults.restart_service()
        for client in clients:
            client.check()
        code = service.stop()
        if code != 0:
            results.problem(f"exit code {code} at the end; expected 0")
        if database:
            database.crash()
        _check_bounds(results)
    return results


def _folder(path: Path) -> Path:
    path.parent.chmod(0o755)
    path.mkdir()
    return path


def _cause_faults(faults: Faults, service: ServiceProcess, results: Results, random: Random, seconds: float) -> None:
    end = time.monotonic() + seconds
    time.sleep(2)
    while time.monotonic() < end:
        faults.cause()
        time.sleep(random.uniform(*FAULT_PAUSE))
        results.memory_mb.append(service.memory_mb())
        assert service.process is not None
        if service.process.poll() is not None:
            results.problem(f"the service ended by itself with exit code {service.process.poll()}")
            service.start()


def _check_recovery(results: Results, service: ServiceProcess) -> None:
    """After half of the quiet time nothing fails any more."""
    time.sleep(QUIET_SECONDS / 2)
    before = results.share_of_errors() * results.responses.total()
    time.sleep(QUIET_SECONDS / 2)
    results.memory_mb.append(service.memory_mb())
    failed = results.share_of_errors() * results.responses.total() - before
    if failed > 0.5:
        results.problem(f"{failed:.0f} requests fail {QUIET_SECONDS / 2:.0f} s after the last fault")


def _check_bounds(results: Results) -> None:
    if results.percentile(0.99) > MAX_P99:
        results.problem(f"99 % of the responses within {results.percentile(0.99):.1f} s; expected {MAX_P99:.0f}")
    if max(results.memory_mb, default=0) > MAX_MEMORY_MB:
        results.problem(f"{max(results.memory_mb):.0f} MB of memory; expected at most {MAX_MEMORY_MB:.0f}")
    stored = [key for key in results.responses if key.startswith("observe 201")]
    if not stored or not results.faults:
        results.problem("nothing was stored, or no fault was caused: the phase was too short to show anything")


def to_json(results: Results) -> str:
    """The results as one line, for a parent process."""
    content = {"responses": results.responses, "faults": results.faults, "seconds": results.seconds}
    return json.dumps({**content, "problems": results.problems, "memory_mb": results.memory_mb})


def from_json(text: str) -> Results:
    found, results = json.loads(text), Results()
    results.responses.update(found["responses"])
    results.faults.update(found["faults"])
    results.seconds, results.problems, results.memory_mb = found["seconds"], found["problems"], found["memory_mb"]
    return results
