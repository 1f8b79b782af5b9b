"""Processes that hold the model: each has an interpreter to itself, so that questions are answered side by side."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.ipc import receive_outcomes, send_jobs
from fitcarl.serve.workers.jobs import Job, Outcome

_START_SECONDS = 300.0
"""Long enough to compile every loop on a busy machine."""
_END_SECONDS = 10.0


class WorkerPool:
    """So many answerers over one run. One that ends, or does not answer in time, is replaced by a new one."""

    def __init__(self, run: str | Path, size: int, seconds: float) -> None:
        """``seconds`` is how long a call may take before its process is taken to hang."""
        self._run = str(run)
        self._seconds = seconds
        self._free: queue.SimpleQueue[_WorkerProcess | None] = queue.SimpleQueue()
        self._all = [_WorkerProcess(self._run) for _ in range(size)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for answerer in self._all:
            answerer.end()

    def wait_until_ready(self) -> None:
        """They load and warm up; the time is good for other things, so this is not part of making them."""
        waiting = [threading.Thread(target=answerer.wait_until_ready, daemon=True) for answerer in self._all]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            while thread.is_alive():
                thread.join(0.2)  # in short turns: Ctrl-C does not end a long one
        if not all(answerer.ready for answerer in self._all):
            raise InputError("the model's process did not start", file=self._run, expected="a run that can be loaded")
        for answerer in self._all:
            self._free.put(answerer)

    def perform(self, jobs: Sequence[Job], facts: Sequence[Fact]) -> list[Outcome]:
        answerer = self._free.get()
        try:
            if answerer is None:
                answerer = self._replacement()
            return answerer.perform(jobs, facts, self._seconds)
        except (EOFError, OSError, ValueError):  # gone, or it no longer makes sense
            if answerer is not None:
                self._dismiss(answerer)
            answerer = None
            return [ApiError(503, "the model's process ended before it had an answer; ask again")] * len(jobs)
        finally:
            self._free.put(answerer)

    def _replacement(self) -> _WorkerProcess:
        answerer = _WorkerProcess(self._run)
        self._all.append(answerer)
        answerer.wait_until_ready()
        if not answerer.ready:
            self._dismiss(answerer)
            raise EOFError
        return answerer

    def _dismiss(self, answerer: _WorkerProcess) -> None:
        answerer.end()
        self._all.remove(answerer)


class _WorkerProcess:
    """One process, and the pipes to it. It ends when its input does, however this process ends."""

    def __init__(self, run: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fitcarl.serve.workers.worker", run],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the service, which ends this one in order
            env={**os.environ, "FITCARL_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self.ready = False

    def wait_until_ready(self) -> None:
        with suppress(EOFError):
            self._receive(_START_SECONDS)
            self.ready = True

    def perform(self, jobs: Sequence[Job], facts: Sequence[Fact], seconds: float) -> list[Outcome]:
        send_jobs(self._stdin, jobs, facts)
        return self._receive(seconds)

    def end(self) -> None:
        """Lets it finish what it does, but does not wait for ever."""
        if not self.ready:
            self._process.kill()
        with suppress(OSError):  # it may have gone away with something unread
            self._stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()

    def _receive(self, seconds: float) -> list[Outcome]:
        """What it says; one that says nothing for so long is killed, which ends its output."""
        hanging = threading.Timer(seconds, self._process.kill)
        hanging.start()
        try:
            return receive_outcomes(self._stdout)
        finally:
            hanging.cancel()
