"""Subnormal numbers: those below 1.2e-38 in float32, with which many processors compute very slowly.

The gradients of a trained policy are full of them, although they change no weight. In training they are taken as 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_SMALLEST_NORMAL = sys.float_info.min


def subnormals_are_zero() -> bool:
    """Whether the processor takes subnormal numbers as 0 in this thread."""
    return _SMALLEST_NORMAL / 2 == 0


@contextmanager
def subnormals(as_zero: bool = True) -> Iterator[None]:
    """Within the block, this thread takes subnormal numbers as 0, or computes with them.

    Threads of ``core/parallel.py`` do as their caller does. Those of OpenMP begin with what the thread does that starts
    them, and keep to it. Without effect on processors that have no such mode.

    Args:
        as_zero: Whether they are taken as 0.
    """
    if as_zero == subnormals_are_zero():
        yield
        return
    import torch

    torch.set_flush_denormal(as_zero)
    try:
        yield
    finally:
        torch.set_flush_denormal(not as_zero)


def as_in_this_thread(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that another thread calls, with subnormal numbers treated as in this one.

    Args:
        work: The function.
    """
    as_zero = subnormals_are_zero()

    def treated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with subnormals(as_zero):
            return work(*args, **kwargs)

    return treated
