"""An exclusive lock on a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fitcarl.errors import InputError


class FolderInUseError(InputError):
    """Another process holds the lock of a folder."""


@contextmanager
def lock_folder(folder: Path) -> Iterator[int]:
    """Locks a folder for this process and for children that inherit the yielded descriptor.

    ``flock`` on the folder itself instead of the package filelock: no lock file stays behind in a run folder, and a
    child keeps the lock when its parent is killed. Where folders cannot be locked (Windows, some network drives),
    nothing is locked and the descriptor is -1.

    Raises:
        FolderInUseError: If another process holds the lock.
    """
    if os.name != "posix":
        yield -1
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = "is in use by another fitcarl process"
            raise FolderInUseError(problem, file=folder, expected="one process at a time") from None
        except OSError:
            yield -1
            return
        yield descriptor
    finally:
        os.close(descriptor)
