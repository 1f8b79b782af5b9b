"""How much memory this process needed."""

from __future__ import annotations

import sys


def peak_mb() -> float:
    """The most memory this process ever held, in MB (10⁶ bytes); 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
