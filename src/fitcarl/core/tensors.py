"""Conversions between NumPy arrays and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.device import CPU


def tensor_of(array: NDArray[Any], device: torch.device = CPU) -> Tensor:
    """An array as a tensor on a device; on the CPU it shares the memory of the array."""
    return torch.from_numpy(array).to(device)


def long_tensor(array: NDArray[Any], device: torch.device = CPU) -> Tensor:
    """An int64 copy of an integer array, as index operations of PyTorch need it."""
    return torch.from_numpy(array.astype(np.int64)).to(device)


def array_of(tensor: Tensor) -> NDArray[Any]:
    """The values of a tensor, without its gradient; on the CPU they share the memory of the tensor."""
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array
