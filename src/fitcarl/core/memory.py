"""Memory usage of this process."""

from __future__ import annotations

import sys
from pathlib import Path


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
