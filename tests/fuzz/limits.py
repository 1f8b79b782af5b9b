"""The memory that an input may use, and a folder in memory."""

from __future__ import annotations

import os
import resource
from pathlib import Path

MEMORY = 2 * 2**30
"""Bytes that an input may use."""


def limit_memory() -> None:
    """Lets larger allocations fail from now on, which Python reports as a MemoryError with its place."""
    used = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (int(used.split()[1]) * 1024 + MEMORY, resource.RLIM_INFINITY))


def memory_folder() -> str | None:
    """A folder of temporary files in memory; None for the usual one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
