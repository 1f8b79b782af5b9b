"""Log lines of the service and its workers: with times, and without the contents of facts and queries."""

from __future__ import annotations

import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

_LOGGERS = ("fitcarl.serve", "uvicorn.error", "asyncio")
_ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class ServiceFormatter(logging.Formatter):
    """One line per record: time in UTC, level and message. Exceptions follow without their messages, which may
    contain names; with ``FITCARL_TRACEBACK=1`` they are complete."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def formatException(self, ei: _ExceptionInfo) -> str:  # noqa: N802 - the name of the base class
        if os.environ.get("FITCARL_TRACEBACK") == "1":
            return super().formatException(ei)
        kind, _, place = ei
        return "".join(traceback.format_tb(place)) + (kind.__name__ if kind else "no exception")


@contextmanager
def service_logs() -> Iterator[None]:
    """Writes the log of the service to stderr in its own form for a while."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(ServiceFormatter())
    before = []
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        before.append((logger, logger.level, logger.propagate))
        logger.addHandler(handler)
        logger.propagate = False
        # Warnings of uvicorn are about single requests, so that clients could fill the log with them.
        logger.setLevel(logging.INFO if name == "fitcarl.serve" else logging.ERROR)
    try:
        yield
    finally:
        for logger, level, propagate in before:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate
