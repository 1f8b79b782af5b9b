"""Networks whose size comes from a file create no more tensors than they may."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from fitcarl.core.tensor_limits import TensorLimitError, limited_tensors


@pytest.mark.parametrize(
    "create",
    [
        lambda: nn.Linear(60_000, 60_000),
        lambda: nn.LSTM(30_000, 30_000),
        lambda: nn.Embedding(10**9, 10),
        lambda: torch.randn(10**6, 10**4),
        lambda: torch.zeros(size=(10**6, 10**4)),
        lambda: torch.full((10**6, 10**4), 1.0),
        lambda: torch.zeros(1).new_zeros(10**10),
    ],
)
def test_large_tensor_is_refused_before_it_exists(create: Callable[[], object]) -> None:
    with limited_tensors(10**6, 10**7), pytest.raises(TensorLimitError, match="a tensor of shape"):
        create()


def test_many_tensors_are_refused() -> None:
    with limited_tensors(100, 450):
        kept = [torch.zeros(100) for _ in range(4)]
        with pytest.raises(TensorLimitError):
            torch.zeros(100)
    assert len(kept) == 4
    assert torch.zeros(1000).numel() == 1000  # no limit outside of the block


def test_tensors_without_memory_are_not_counted() -> None:
    with limited_tensors(10, 10):
        assert torch.empty(10**6, 10**4, device="meta").numel() == 10**10
