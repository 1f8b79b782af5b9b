"""Only one process at a time can lock a folder, if the system supports locks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fitcarl.core.lock import lock_folder
from fitcarl.errors import InputError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders cannot be held here")


def test_folder_is_locked_once_and_then_released(tmp_path: Path) -> None:
    with (
        lock_folder(tmp_path),
        pytest.raises(InputError, match="in use by another fitcarl process"),
        lock_folder(tmp_path),
    ):
        pass
    with lock_folder(tmp_path):
        pass


def test_child_with_the_descriptor_keeps_the_lock(tmp_path: Path) -> None:
    with lock_folder(tmp_path) as held:
        sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held,))
    try:
        with pytest.raises(InputError, match="in use"), lock_folder(tmp_path):
            pass
    finally:
        sleeper.communicate(b"\n")
    with lock_folder(tmp_path):
        pass


def test_unsupported_locks_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with lock_folder(tmp_path) as held:
        assert held == -1
