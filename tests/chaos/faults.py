"""Faults that are caused on purpose while clients send requests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.chaos.database import Database
from tests.chaos.results import Results
from tests.chaos.service import ServiceProcess, alive

Fault = Callable[[], None]
_ORPHAN_SECONDS = 30.0


class Faults:
    """The faults that apply to a service and its store.

    Args:
        service: The service.
        results: Where faults and problems are counted.
        random: Chooses faults and processes.
        database: The server of the store, if it is PostgreSQL.
        disk: The folder of the store, if it is a small file system that may be filled.
    """

    def __init__(
        self, service: ServiceProcess, results: Results, random: Random, database: Database | None, disk: Path | None
    ) -> None:
        self._service, self._results, self._random = service, results, random
        self._database, self._disk = database, disk
        self.kinds: dict[str, Fault] = {
            "worker killed": self.kill_worker,
            "worker killed again": self.kill_worker,
            "worker stopped for 2 s": self.freeze_worker,
            "service killed": self.kill_service,
            "service restarted": self.restart_service,
        }
        if database is not None:
            self.kinds |= {"database crashed": self.crash_database, "database crashed again": self.crash_database}
        if disk is not None:
            self.kinds |= {"disk full": self.fill_disk, "disk full again": self.fill_disk}

    def cause(self) -> None:
        """Causes one random fault and waits until it is repaired."""
        name = self._random.choice(sorted(self.kinds))
        self._results.fault(name.removesuffix(" again"))
        self.kinds[name]()

    def kill_worker(self) -> None:
        workers = self._service.workers()
        if workers:
            with suppress(ProcessLookupError):
                os.kill(self._random.choice(workers), signal.SIGKILL)

    def freeze_worker(self) -> None:
        workers = self._service.workers()
        if workers:
            chosen = self._random.choice(workers)
            with suppress(ProcessLookupError):
                os.kill(chosen, signal.SIGSTOP)
                time.sleep(2)
                os.kill(chosen, signal.SIGCONT)

    def kill_service(self) -> None:
        workers = self._service.workers()
        self._expect(self._service.kill(), -signal.SIGKILL, "kill -9")
        end = time.monotonic() + _ORPHAN_SECONDS
        while any(map(alive, workers)) and time.monotonic() < end:
            time.sleep(0.2)
        if any(map(alive, workers)):
            self._results.problem(f"workers run {_ORPHAN_SECONDS:.0f} s after their service was killed")
        self._service.start()

    def restart_service(self) -> None:
        self._expect(self._service.stop(), 0, "SIGTERM")
        self._service.start()

    def crash_database(self) -> None:
        assert self._database is not None
        self._database.crash()
        time.sleep(self._random.uniform(0.2, 2))
        self._database.start()

    def fill_disk(self) -> None:
        assert self._disk is not None
        filler = self._disk / "filler"
        with filler.open("wb", buffering=0) as out:
            for size in (65536, 4096, 1):
                with suppress(OSError):
                    while out.write(b"\0" * size):
                        pass
        time.sleep(self._random.uniform(1, 4))
        filler.unlink()

    def _expect(self, code: int, expected: int, how: str) -> None:
        if code != expected:
            self._results.problem(f"exit code {code} after {how}; expected {expected}")
