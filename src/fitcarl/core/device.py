"""The device of tensors: the choice ``auto``, ``cpu`` or ``cuda``, and compiled loops or PyTorch operations.

Compiled loops (numba) run on the CPU. An operation that has one also has an equivalent of PyTorch operations, which is
used for tensors elsewhere, so that a computation stays on its device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from fitcarl.errors import InputError

DeviceName = Literal["auto", "cpu", "cuda"]
"""``auto`` is a GPU if there is one, otherwise the CPU."""
CPU = torch.device("cpu")

_torch_only = ContextVar("torch_only", default=False)


def resolve_device(device: str | torch.device) -> torch.device:
    """The device of a name; a device is returned as it is.

    Args:
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        InputError: If the name is unknown, or is ``cuda`` and PyTorch finds no GPU.
    """
    if isinstance(device, torch.device):
        return device
    if device not in get_args(DeviceName):
        raise InputError("unknown device", field="device", found=device, expected="auto, cpu or cuda")
    found = torch.cuda.is_available()
    if device == "cuda" and not found:
        build = "" if torch.version.cuda else ": PyTorch is installed without CUDA"
        raise InputError(f"no GPU found{build}", field="device", found="cuda", expected="auto or cpu")
    return torch.device("cuda") if found and device != "cpu" else CPU


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's first parameter or buffer; the CPU if it has none."""
    for tensor in (*module.parameters(), *module.buffers()):
        return tensor.device
    return CPU


def seeded_devices(device: torch.device) -> list[torch.device]:
    """The devices whose random state ``torch.random.fork_rng`` keeps besides that of the CPU."""
    return [device] if device.type == "cuda" else []


def uses_compiled_loops(tensor: Tensor) -> bool:
    """Whether an operation on a tensor runs as a compiled loop; otherwise as PyTorch operations."""
    return tensor.device.type == "cpu" and not _torch_only.get()


@contextmanager
def torch_operations() -> Iterator[None]:
    """Within the block, tensors on the CPU are processed by PyTorch operations as well; for tests."""
    token = _torch_only.set(True)
    try:
        yield
    finally:
        _torch_only.reset(token)
