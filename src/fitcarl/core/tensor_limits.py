"""An upper bound of the tensors that a block creates, for networks whose size comes from a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_CREATED = frozenset({"empty", "zeros", "ones", "full", "rand", "randn", "normal", "eye", "new_empty", "new_zeros"})
"""Functions that create a tensor of a given size."""


class TensorLimitError(Exception):
    """A block wanted to create more or larger tensors than it may."""


class _Limit(TorchFunctionMode):
    def __init__(self, largest: int, total: int) -> None:
        super().__init__()
        self._largest, self._left = largest, total

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        device = torch.device(kwargs.get("device") or torch.get_default_device())
        if getattr(func, "__name__", "") in _CREATED and device.type != "meta":
            shape = _shape(args, kwargs)
            elements = math.prod(shape)
            self._left -= elements
            if elements > self._largest or self._left < 0:
                raise TensorLimitError(f"a tensor of shape {list(shape)}")
        return func(*args, **kwargs)


def _shape(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
    """The size argument: a sequence, or the first arguments if these are integers."""
    given = [*args, kwargs.get("size", ())]
    sequence = next((part for part in given if isinstance(part, list | tuple) and len(part)), None)
    return tuple(sequence) if sequence is not None else tuple(part for part in args if isinstance(part, int))


@contextmanager
def limited_tensors(largest: int, total: int) -> Iterator[None]:
    """Refuses to create larger tensors, or more elements in all, before any memory is allocated for them.

    Args:
        largest: Elements of a single tensor.
        total: Elements of all tensors.

    Raises:
        TensorLimitError: If the block wants more.
    """
    with _Limit(largest, total):
        yield
