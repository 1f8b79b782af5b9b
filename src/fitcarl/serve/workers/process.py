"""One worker process and its pipes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from fitcarl.predict.fact import CheckedFact
from fitcarl.serve.workers.ipc import receive_outcomes, send_jobs
from fitcarl.serve.workers.jobs import Job, Outcome

_START_SECONDS = 300.0
"""Time limit for starting; enough to compile all kernels on a busy machine."""
_STOP_SECONDS = 10.0


class WorkerProcess:
    """A process that has loaded a run. It ends when its stdin is closed, also if this process is killed."""

    def __init__(self, run: str) -> None:
        """Starts the process without waiting for it.

        Args:
            run: Run folder.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fitcarl.serve.workers.worker", run],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal reaches only the service, which then stops the workers
            env={**os.environ, "FITCARL_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self.ready = False
        """Whether it has loaded the run."""
        self.timed_out = False
        """Whether it was killed because a call took too long."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Waits for the first message and sets ``ready``."""
        with suppress(EOFError, OSError, ValueError):
            self.receive(_START_SECONDS)
            self.ready = True

    def wait_for_exit(self) -> int:
        """Waits until the process has ended; returns its exit code, or minus the number of a signal."""
        return self._process.wait()

    def send(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> None:
        """Sends jobs; an OSError or ValueError if the process has ended and will not execute them."""
        send_jobs(self._stdin, jobs, facts)

    def receive(self, seconds: float) -> list[Outcome]:
        """The outcomes of the jobs; an EOFError if the process ends, or exceeds the time limit and is killed."""
        timer = threading.Timer(seconds, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            return receive_outcomes(self._stdout)
        finally:
            timer.cancel()

    def stop(self) -> None:
        """Lets the process finish its current job, but kills it after a while."""
        if not self.ready:
            self._process.kill()
        with suppress(OSError):  # it may have ended with unread input
            self._stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()

    def _time_out(self) -> None:
        self.timed_out = True
        self._process.kill()
