"""Subnormal numbers: those below 1.2e-38 in float32 and 2.2e-308 in float64, with which many processors compute very
slowly.

The gradients of a trained policy are full of them, far too small to change a weight. In training they are taken as 0.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_SMALLEST_NORMAL = sys.float_info.min
_SOFT_PAUSE = 1
"""A constant of OpenMP: threads are ended, settings are kept."""


def subnormals_are_zero() -> bool:
    """Whether the processor takes subnormal numbers as 0 in this thread."""
    return _SMALLEST_NORMAL / 2 == 0


@contextmanager
def subnormals(as_zero: bool = True) -> Iterator[None]:
    """Within the block, this thread takes subnormal numbers as 0, or computes with them.

    Threads of ``core/parallel.py`` do as their caller does. Those of OpenMP keep to what the thread did that started
    them, so they are ended at both ends of the block, and others are started when they are needed. Without effect on
    processors that have no such mode.

    Args:
        as_zero: Whether they are taken as 0.
    """
    if as_zero == subnormals_are_zero():
        yield
        return
    with _in_thread(as_zero):
        _end_openmp_threads()
        try:
            yield
        finally:
            _end_openmp_threads()


@contextmanager
def _in_thread(as_zero: bool) -> Iterator[None]:
    """The mode of this thread alone."""
    if as_zero == subnormals_are_zero():
        yield
        return
    import torch

    torch.set_flush_denormal(as_zero)
    try:
        yield
    finally:
        torch.set_flush_denormal(not as_zero)


def _end_openmp_threads() -> None:
    """Ends the OpenMP threads that this thread has started, if the OpenMP library has a function for it."""
    if (pause := _pause_function()) is not None:
        pause(_SOFT_PAUSE)


@cache
def _pause_function() -> Any:
    """``omp_pause_resource_all`` of the OpenMP library in this process, which PyTorch has loaded; None if not found."""
    try:
        return ctypes.CDLL(None).omp_pause_resource_all
    except (AttributeError, OSError, TypeError):
        return None


def as_in_this_thread(work: Callable[Arguments, Result], openmp: bool = False) -> Callable[Arguments, Result]:
    """A function that treats subnormal numbers as this thread does now, wherever and whenever it is called.

    Args:
        work: The function.
        openmp: Whether OpenMP threads within it do so, too. Ending and starting them takes some tenths of a
            millisecond for each call in the other mode.
    """
    as_zero, mode = subnormals_are_zero(), subnormals if openmp else _in_thread

    def treated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with mode(as_zero):
            return work(*args, **kwargs)

    return treated
