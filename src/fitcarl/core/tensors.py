"""Conversions between NumPy arrays and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def long_tensor(array: NDArray[Any]) -> Tensor:
    """An int64 copy of an integer array, as index operations of PyTorch need it."""
    return torch.from_numpy(array.astype(np.int64))
