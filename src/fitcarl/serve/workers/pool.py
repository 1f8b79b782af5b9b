"""Worker processes: each has its own interpreter, so that queries are answered in parallel.

Not ``concurrent.futures.ProcessPoolExecutor``, ``multiprocessing.Pool`` or loky: one dead worker breaks the whole
executor there (or hangs the pool), a single call cannot be stopped after a time limit, and arguments are pickled.
Here a worker that dies or hangs is replaced and only its own requests fail.
"""

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
from fitcarl.predict.fact import CheckedFact
from fitcarl.predict.predictor import Predictor
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.ipc import receive_outcomes, send_jobs
from fitcarl.serve.workers.jobs import Job, Outcome

_START_SECONDS = 300.0
"""Time limit for starting; enough to compile all kernels on a busy machine."""
_STOP_SECONDS = 10.0


class WorkerPool:
    """Worker processes for one run. A process that ends or exceeds the time limit is replaced."""

    def __init__(self, run: str | Path, size: int, seconds: float) -> None:
        """Starts the processes without waiting for them.

        Args:
            run: Run folder.
            size: Number of processes.
            seconds: Time after which a call is considered hanging and its process is killed.
        """
        self._run = str(run)
        self._size = size
        self._seconds = seconds
        self._generation = 0  # raised by every reload; processes of earlier ones get no further jobs
        self._free: queue.SimpleQueue[_Slot] = queue.SimpleQueue()
        self._all = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in list(self._all):
            process.stop()

    def wait_until_ready(self) -> None:
        """Waits until all processes have loaded the model; separate from the start, to do other work meanwhile."""
        if not _wait_for(self._all):
            raise InputError("the worker process did not start", file=self._run, expected="a run that can be loaded")
        for process in self._all:
            self._free.put((self._generation, process))

    def run(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> list[Outcome]:
        """Executes jobs on a free process; if it fails, each outcome is an ApiError."""
        generation, process = self._take()
        try:
            if process is None:
                process = self._replacement()
            return process.run(jobs, facts, self._seconds)
        except (EOFError, OSError, ValueError):  # the process has ended, or its output is invalid
            if process is not None:
                self._discard(process)
            process = None
            return [ApiError(503, "the worker process ended before it had an answer; try again")] * len(jobs)
        finally:
            self._give_back((generation, process))

    def reload(self, predictor: Predictor) -> None:  # noqa: ARG002 - every process loads the run itself
        """Replaces all processes by new ones, which load the run as it is now; jobs are answered all the time.

        Raises:
            InputError: If the new processes cannot be started; the old ones stay.
        """
        fresh = self._start()
        self._all += fresh
        if not _wait_for(fresh):
            for process in fresh:
                self._discard(process)
            raise InputError("the worker process did not start", file=self._run, expected="a run that can be loaded")
        self._generation += 1
        for process in fresh:
            self._free.put((self._generation, process))
        slots = []
        with suppress(queue.Empty):
            while True:
                slots.append(self._free.get_nowait())
        for slot in slots:
            self._give_back(slot)

    def _start(self) -> list[_WorkerProcess]:
        return [_WorkerProcess(self._run) for _ in range(self._size)]

    def _take(self) -> _Slot:
        """A slot of the current generation; those of earlier ones are given up."""
        while (slot := self._free.get())[0] != self._generation:
            self._give_back(slot)
        return slot

    def _give_back(self, slot: _Slot) -> None:
        generation, process = slot
        if generation == self._generation:
            self._free.put(slot)
        elif process is not None:
            self._discard(process)

    def _replacement(self) -> _WorkerProcess:
        process = _WorkerProcess(self._run)
        self._all.append(process)
        process.wait_until_ready()
        if not process.ready:
            self._discard(process)
            raise EOFError
        return process

    def _discard(self, process: _WorkerProcess) -> None:
        process.stop()
        self._all.remove(process)


def _wait_for(processes: Sequence[_WorkerProcess]) -> bool:
    """Waits for processes that have been started; whether all of them are ready."""
    waiting = [threading.Thread(target=process.wait_until_ready, daemon=True) for process in processes]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        while thread.is_alive():
            thread.join(0.2)  # in short intervals, so that Ctrl-C is handled
    return all(process.ready for process in processes)


class _WorkerProcess:
    """One process and its pipes. It ends when its stdin is closed, also if this process is killed."""

    def __init__(self, run: str) -> None:
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

    def wait_until_ready(self) -> None:
        """Waits for the first message and sets ``ready``."""
        with suppress(EOFError):
            self._receive(_START_SECONDS)
            self.ready = True

    def run(self, jobs: Sequence[Job], facts: Sequence[CheckedFact], seconds: float) -> list[Outcome]:
        """Executes jobs; an EOFError if the process ends or exceeds the time limit."""
        send_jobs(self._stdin, jobs, facts)
        return self._receive(seconds)

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

    def _receive(self, seconds: float) -> list[Outcome]:
        """The next outcomes; after the time limit the process is killed, which ends its output."""
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            return receive_outcomes(self._stdout)
        finally:
            timer.cancel()


_Slot = tuple[int, _WorkerProcess | None]
"""A generation and a free process of it; None if the process has ended and must be replaced."""
