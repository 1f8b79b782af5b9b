"""Work that several processes share: each unit is done by one of them, under a lock of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from fitcarl.core.lock import FolderInUseError, lock_folder

_log = logging.getLogger(__name__)
_WAIT_SECONDS = 2.0
_LOCKS = ".locks"


class WorkUnit(Protocol):
    """Something to be done once."""

    @property
    def lock(self) -> Path:
        """The folder that is locked during the work; the same for all processes."""
        ...

    def is_done(self) -> bool:
        """Whether there is nothing left to do."""
        ...

    def run(self, lock: int) -> None:
        """Does the work; ``lock`` is the descriptor of the held lock, to be inherited by child processes."""
        ...


Unit = TypeVar("Unit", bound=WorkUnit)


def lock_path(out: Path, name: str) -> Path:
    """The folder that is locked for a unit of work in ``out``.

    Not the run folder itself, which the training process locks.
    """
    return out / _LOCKS / name


def work_through(units: Sequence[Unit], on_error: Callable[[Unit, Exception], None] | None = None) -> Iterator[Unit]:
    """Does all units and yields each as soon as it is done.

    Units that another process is working on are left for later; at the end this process waits for them, and takes over
    those whose process has ended early.

    Args:
        units: The units, in the order of the work.
        on_error: Called with a unit that failed and its error, which is then skipped; by default the error is raised.
    """
    left, waiting = list(units), False
    while left:
        busy: list[Unit] = []
        for unit in left:
            if not unit.is_done():
                try:
                    unit.lock.mkdir(parents=True, exist_ok=True)
                    with lock_folder(unit.lock) as lock:
                        if not unit.is_done():
                            unit.run(lock)
                except FolderInUseError:
                    busy.append(unit)
                    continue
                except Exception as error:
                    if on_error is None:
                        raise
                    on_error(unit, error)
                    continue
            yield unit
        if busy:
            if not waiting:
                _log.info("waiting for %d runs of other processes", len(busy))
            waiting = True
            time.sleep(_WAIT_SECONDS)
        left = busy


@contextmanager
def exclusive(out: Path, name: str) -> Iterator[None]:
    """Waits for the lock of a name in ``out`` and holds it, for a short update of shared files."""
    path = lock_path(out, name)
    path.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock_folder(path))
                break
            except FolderInUseError:
                time.sleep(0.05)
        yield
