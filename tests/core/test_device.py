"""The choice of a device, and the pretend device that other tests use."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from fitcarl.core.device import CPU, device_of, resolve_device, seeded_devices
from fitcarl.core.tensors import array_of, long_tensor, tensor_of
from fitcarl.errors import InputError
from tests.pretend_device import DEVICE, PretendDevice, PretendTensor


@pytest.mark.parametrize(("gpu", "expected"), [(True, "cuda"), (False, "cpu")])
def test_auto_is_a_gpu_if_there_is_one(gpu: bool, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert resolve_device("auto") == torch.device(expected)
    assert resolve_device("cpu") == CPU


def test_cuda_is_refused_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no GPU found"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("cuda") == torch.device("cuda")


def test_unknown_device_is_refused() -> None:
    with pytest.raises(InputError, match="unknown device"):
        resolve_device("gpu")


def test_device_is_returned_as_it_is() -> None:
    assert resolve_device(torch.device("cuda:1")) == torch.device("cuda:1")


def test_random_state_of_a_gpu_is_kept() -> None:
    assert seeded_devices(CPU) == []
    assert seeded_devices(torch.device("cuda:1")) == [torch.device("cuda:1")]


def test_device_of_a_module_is_that_of_its_tensors() -> None:
    assert device_of(nn.ReLU()) == CPU
    assert device_of(nn.Linear(2, 2)) == CPU
    assert device_of(nn.Linear(2, 2, device="meta")) == DEVICE


def test_arrays_are_moved_and_keep_their_values() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert tensor_of(array).numpy() is not array
    assert np.shares_memory(tensor_of(array).numpy(), array)
    with PretendDevice():
        for moved in (tensor_of(array, DEVICE), long_tensor(array, DEVICE)):
            assert moved.device == DEVICE
            assert np.array_equal(array_of(moved), array)


def test_pretend_device_refuses_what_a_gpu_refuses() -> None:
    with PretendDevice():
        there, here = torch.ones(3, device=DEVICE), torch.ones(3)
        for mixed in (
            lambda: there + here,
            lambda: torch.cat([there, here]),
            lambda: there.index_select(0, torch.tensor([0])),
            lambda: here[torch.tensor([0]).to(DEVICE)],
            lambda: torch.where(here > 0, there, there),
        ):
            with pytest.raises(RuntimeError, match="on the CPU"):
                mixed()
        for unreadable in (there.numpy, lambda: np.asarray(there)):
            with pytest.raises((RuntimeError, TypeError)):
                unreadable()


def test_pretend_device_computes() -> None:
    with PretendDevice():
        there = torch.arange(3.0, device=DEVICE).requires_grad_()
        total = (there * 2 + torch.tensor(1.0))[torch.tensor([0, 2])].sum()  # CUDA accepts scalars and indices too
        assert isinstance(total, PretendTensor)
        assert float(total.detach()) == 6
        total.backward()
        assert there.grad is not None
        assert there.grad.tolist() == [2, 0, 2]
        there.detach().add_(1)
        assert there.tolist() == [1, 2, 3]
