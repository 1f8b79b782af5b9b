"""Memory usage of this process."""

from __future__ import annotations

import sys


def peak_mb() -> float:
    """Peak resident memory of this process in MB (10⁶ bytes); 0 if the platform does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
