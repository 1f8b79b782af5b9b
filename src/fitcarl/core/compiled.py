"""Compilation of loops over arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def loop(**options: Any) -> Callable[[Loop], Loop]:
    """Compiles a function that reads and writes elements of its arguments and creates no arrays.

    References to arrays are not counted: the caller holds all of them. Counting would take most of the time of a short
    function whose arguments are tuples of many arrays.

    Args:
        options: Further options of ``numba.njit``.
    """
    return njit(cache=True, nogil=True, _nrt=False, **options)  # type: ignore[call-overload]
