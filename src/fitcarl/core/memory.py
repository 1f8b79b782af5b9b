"""Memory usage of this process."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import cast


def peak_mb() -> float:
    """Peak resident memory of this process in MB (10⁶ bytes); 0 if the platform does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def private_mb() -> float:
    """Memory in MB (10⁶ bytes) that this process cannot share with others, which are pages that it has written.

    Pages of mapped files that were only read are shared by all processes that map them. 0 if the platform does not
    report it.
    """
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) * 1024 / 1e6


def release_memory() -> None:
    """Returns memory that is not used any more to the system.

    Objects that refer to each other are freed, and so is memory that the C library keeps for later requests, where it
    is that of GNU/Linux. Takes some hundredths of a second.
    """
    gc.collect()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        return cast("Callable[[int], int]", ctypes.CDLL("libc.so.6").malloc_trim)
    except (OSError, AttributeError):  # another system or C library
        return None


def available_bytes() -> int | None:
    """Memory that this process can still allocate: the least of what the system, its container and ``ulimit -v`` leave.

    Returns:
        Bytes; None if the platform does not report them.
    """
    known = [found for found in (_of_system(), _of_container(), _of_process()) if found is not None]
    return min(known, default=None)


def _of_system() -> int | None:
    return _kilobytes(Path("/proc/meminfo"), "MemAvailable:")


def _of_container() -> int | None:
    """What the memory limit of a control group (version 2) leaves; cached files can be dropped."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    cached = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    return max(limit - used + cached, 0)


def _of_process() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, used = resource.getrlimit(resource.RLIMIT_AS)[0], _kilobytes(Path("/proc/self/status"), "VmSize:")
    return None if limit == resource.RLIM_INFINITY or used is None else max(limit - used, 0)


def _kilobytes(file: Path, name: str) -> int | None:
    """A line such as ``MemAvailable: 123 kB``, in bytes."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
