"""Mount namespaces: small disks and read-only folders for one process, without effect on others."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest

SMALL_DISK = 'mount -t tmpfs -o size={size},mode=700 none {folder} && exec "$@"'
"""Shell script: runs its arguments with an empty disk of a given size at a folder."""
READ_ONLY = 'mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} && exec "$@"'
"""Shell script: runs its arguments with a read-only folder."""


@cache
def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    test = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
    return subprocess.run(test, capture_output=True).returncode == 0


def namespace() -> list[str]:
    """The start of a command line that runs a shell script with mounts of its own; skips where that is not allowed."""
    if not _can_mount():
        pytest.skip("mount namespaces (unshare -rm) are not allowed here")
    return ["unshare", "-rm", "sh", "-c"]
