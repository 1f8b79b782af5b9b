"""Worker processes: each has its own interpreter, so that queries are answered in parallel.

Not ``concurrent.futures.ProcessPoolExecutor``, ``multiprocessing.Pool`` or loky: one dead worker breaks the whole
executor there (or hangs the pool), a single call cannot be stopped after a time limit, and arguments are pickled.
Here a process that ends is replaced in the background, and its jobs go to another one where that is safe.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Self

from fitcarl.errors import InputError
from fitcarl.predict.fact import CheckedFact
from fitcarl.predict.predictor import Predictor
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.jobs import Job, Outcome
from fitcarl.serve.workers.process import WorkerProcess

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds before another attempt, if a replacement does not start; doubled each time."""


class WorkerPool:
    """Worker processes for one run. A process that ends or exceeds the time limit is replaced in the background."""

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
        self._changed = threading.Condition()
        """Protects everything below, and tells that a process is free or that the pool is closed."""
        self._closed = False
        self._all: list[WorkerProcess] = []
        """Processes of the current generation, ready or not."""
        self._retired: list[WorkerProcess] = []
        """Processes of earlier generations, each until its last call is done."""
        self._free: deque[WorkerProcess] = deque()
        self._all = [WorkerProcess(self._run) for _ in range(size)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            processes = [*self._all, *self._retired]
            self._changed.notify_all()
        for process in processes:
            process.stop()

    def wait_until_ready(self) -> None:
        """Waits until all processes have loaded the model; separate from the start, to do other work meanwhile."""
        if not _wait_for(self._all):
            raise self._not_started()
        for process in list(self._all):
            self._enlist(process)

    def ready_count(self) -> int:
        """Number of processes that can execute jobs now or after their current ones."""
        with self._changed:
            return sum(process.ready and process.alive for process in self._all)

    def run(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> list[Outcome]:
        """Executes jobs on a free process.

        If the process ends meanwhile, the jobs are executed once more, one by one. A job whose process ends again may
        be the reason: its outcome is an ApiError. So are those of a process that is killed after the time limit.
        """
        outcomes = self._attempt(jobs, facts)
        if outcomes is None:
            again = [self._attempt([job], facts) for job in jobs]
            outcomes = [_lost() if one is None else one[0] for one in again]
        return outcomes

    def _attempt(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> list[Outcome] | None:
        """Executes jobs on a free process; None if it ends for another reason than the time limit."""
        process = self._take_and_send(jobs, facts)
        try:
            outcomes = process.receive(self._seconds)
        except (EOFError, OSError, ValueError):  # the process has ended, or its output is invalid
            self._discard(process)
            return [_lost()] * len(jobs) if process.timed_out else None
        self._give_back(process)
        return outcomes

    def reload(self, predictor: Predictor) -> None:  # noqa: ARG002 - every process loads the run itself
        """Replaces all processes by new ones, which load the run as it is now; jobs are answered all the time.

        Raises:
            InputError: If the new processes cannot be started; the old ones stay.
        """
        fresh = [WorkerProcess(self._run) for _ in range(self._size)]
        if not _wait_for(fresh):
            for process in fresh:
                process.stop()
            raise self._not_started()
        with self._changed:
            idle = list(self._free)
            self._retired += self._all
            self._all = fresh
            self._free.clear()
        for process in fresh:
            self._enlist(process)
        for process in idle:
            self._discard(process)

    def _take_and_send(self, jobs: Sequence[Job], facts: Sequence[CheckedFact]) -> WorkerProcess:
        """Gives jobs to a free process; one that has ended meanwhile did not get them, so another one does."""
        while True:
            process = self._take()
            try:
                process.send(jobs, facts)
            except (OSError, ValueError):
                self._discard(process)
            else:
                return process

    def _take(self) -> WorkerProcess:
        """A free process; an ApiError if there is none for a long time."""
        limit = monotonic() + self._seconds
        with self._changed:
            while not self._free:
                remaining = limit - monotonic()
                if self._closed or remaining <= 0:
                    raise ApiError(503, "no worker process is available; try again in a moment")
                self._changed.wait(remaining)
            return self._free.popleft()

    def _give_back(self, process: WorkerProcess) -> None:
        """Lets a process take jobs; one of an earlier generation is ended instead."""
        with self._changed:
            if process in self._all:
                self._free.append(process)
                self._changed.notify()
                return
        self._discard(process)

    def _enlist(self, process: WorkerProcess) -> None:
        """Lets a process that is ready take jobs, and replaces it when it ends."""
        self._give_back(process)
        threading.Thread(target=self._watch, args=(process,), daemon=True, name="watch worker").start()

    def _watch(self, process: WorkerProcess) -> None:
        """Waits for the end of a process; unless the pool has ended it, starts another one."""
        code = process.wait_for_exit()
        if not self._remove(process):
            return
        _log.warning("a worker process has ended (%s); starting another one", _reason(code))
        began, pause = monotonic(), _FIRST_PAUSE
        while (fresh := self._start_one()) is not None:
            fresh.wait_until_ready()
            if fresh.ready:
                _log.warning("the new worker process is ready after %.1f seconds", monotonic() - began)
                self._enlist(fresh)
                return
            self._discard(fresh)
            _log.error("a worker process does not start; next attempt in %g seconds", pause)
            with self._changed:
                self._changed.wait_for(lambda: self._closed, pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _start_one(self) -> WorkerProcess | None:
        """A new process, if one is missing."""
        with self._changed:
            if self._closed or len(self._all) >= self._size:
                return None
            process = WorkerProcess(self._run)
            self._all.append(process)
            return process

    def _remove(self, process: WorkerProcess) -> bool:
        """Removes a process; returns whether a current one is missing now."""
        with self._changed:
            with suppress(ValueError):
                self._retired.remove(process)
            with suppress(ValueError):
                self._free.remove(process)
            if process not in self._all:
                return False
            self._all.remove(process)
            return not self._closed

    def _discard(self, process: WorkerProcess) -> None:
        """Ends a process; if it is a current one, the thread that watches it starts another one."""
        with self._changed:
            with suppress(ValueError):
                self._free.remove(process)
            if not process.ready:  # nothing watches it
                with suppress(ValueError):
                    self._all.remove(process)
        process.stop()
        with self._changed, suppress(ValueError):
            self._retired.remove(process)

    def _not_started(self) -> InputError:
        return InputError("the worker process did not start", file=self._run, expected="a run that can be loaded")


def _lost() -> ApiError:
    return ApiError(503, "the worker process ended before it had an answer; try again")


def _reason(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _wait_for(processes: Sequence[WorkerProcess]) -> bool:
    """Waits for processes that have been started; whether all of them are ready."""
    waiting = [threading.Thread(target=process.wait_until_ready, daemon=True) for process in processes]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        while thread.is_alive():
            thread.join(0.2)  # in short intervals, so that Ctrl-C is handled
    return all(process.ready for process in processes)
