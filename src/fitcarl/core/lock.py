"""A folder that one process works in at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fitcarl.errors import InputError


@contextmanager
def alone(folder: Path) -> Iterator[int]:
    """Holds a folder for this process, and for those that are given the descriptor: they hold it even when this one is
    killed. Where folders cannot be held, as on some network drives, nothing is, and the descriptor is -1."""
    if os.name != "posix":
        yield -1
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = "another fitcarl is at work in it"
            raise InputError(problem, file=folder, expected="one at a time") from None
        except OSError:
            yield -1
            return
        yield held
    finally:
        os.close(held)
