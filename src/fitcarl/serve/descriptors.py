"""File descriptors: how many connections the operating system allows."""

from __future__ import annotations

import logging
from dataclasses import replace

from fitcarl.errors import InputError
from fitcarl.serve.limits import Limits

_log = logging.getLogger(__name__)
_RESERVED = 128
"""Descriptors for the store, files of the run, and connections that are being closed."""
_PER_WORKER = 8
"""Pipes of a worker process and of its replacement."""


def fit_connections(limits: Limits, workers: int) -> Limits:
    """The limits with as many connections as file descriptors allow, after raising the soft limit where possible.

    Args:
        limits: The limits of the service.
        workers: Number of worker processes.

    Raises:
        InputError: If there are too few descriptors for any service.
    """
    reserved = _RESERVED + _PER_WORKER * workers
    available = _allow_descriptors(limits.connections + reserved)
    if available is None or limits.connections + reserved <= available:
        return limits
    fitting = available - reserved
    if fitting < 1:
        expected = f"more than {reserved} file descriptors (ulimit -n)"
        raise InputError("too few file descriptors", found=available, expected=expected)
    _log.warning("the limit of %d file descriptors allows %d connections", available, fitting)
    return replace(limits, connections=fitting)


def _allow_descriptors(wanted: int) -> int | None:
    """Raises the soft limit on file descriptors if necessary; returns it, or None if there is no such limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return None if soft == resource.RLIM_INFINITY else soft
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return raised
