"""A device that exists on every machine and keeps its tensors apart from those of the CPU.

A tensor on it reports the device ``meta`` and holds its values in a tensor on the CPU. Every operation checks that its
operands are all on one device, with the exceptions that CUDA makes, and then computes on these values: code that mixes
devices, or reads a tensor by ``numpy()`` without moving it, fails as it would on a GPU, and results can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim import optimizer
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("meta")
_CPU = torch.device("cpu")
_INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
"""Operations whose index may be on the CPU while the tensor is on a GPU."""
_COPIES = {"aten::_to_copy", "aten::copy_"}


class PretendTensor(Tensor):
    """A tensor on the pretend device."""

    values: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> PretendTensor:
        shape, strides = values.shape, values.stride()
        out: PretendTensor = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, shape, strides=strides, storage_offset=values.storage_offset(), dtype=values.dtype, device=DEVICE
        )
        out.values = values
        return out

    def tolist(self) -> Any:
        return self.values.tolist()

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"PretendTensor({self.values!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with PretendDevice():
            return func(*args, **(kwargs or {}))


class PretendDevice(TorchDispatchMode):
    """Makes ``torch.device("meta")`` a device with values while it is active."""

    operations = 0
    """Operations on tensors of the device so far."""

    def __enter__(self) -> PretendDevice:
        self._overwrites = torch.__future__.get_overwrite_module_params_on_conversion()
        torch.__future__.set_overwrite_module_params_on_conversion(True)  # assigning ``data`` would leave the values
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        torch.__future__.set_overwrite_module_params_on_conversion(self._overwrites)
        super().__exit__(*exception)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = func._schema.name
        flat = [value for value in tree_flatten((args, kwargs))[0] if isinstance(value, Tensor)]
        pretend = [value for value in flat if isinstance(value, PretendTensor)]
        if name == "aten::_local_scalar_dense":
            return func(*(_values(value) for value in args))
        if name == "aten::detach" and not pretend:
            return func(*args, **kwargs)
        target = kwargs.get("device")
        self.operations += bool(pretend)
        if pretend and name not in _COPIES:
            _check_operands(name, args, flat)
        on_device = bool(pretend)
        if target is not None:
            on_device = torch.device(target) == DEVICE
            kwargs["device"] = _CPU
            if name == "aten::_pin_memory" or kwargs.get("pin_memory"):
                kwargs.pop("pin_memory", None)
        if name == "aten::copy_":
            on_device = isinstance(args[0], PretendTensor)
        out = func(*tree_map(_values, args), **tree_map(_values, kwargs))
        if name == "aten::_to_copy" and target is not None:
            out = out.clone() if any(out is _values(value) for value in flat) else out
        if not on_device:
            return out
        # An operation in place returns its operand, not another wrapper around it.
        same = {id(value.values): value for value in pretend}
        if torch.Tag.inplace_view in func.tags:  # such as squeeze_: the wrapper changes its shape, too
            with no_dispatch():
                func(*args, **kwargs)
        return tree_map(lambda value: same[id(value)] if id(value) in same else _wrapped(value), out)


def _check_operands(name: str, args: Any, flat: list[Tensor]) -> None:
    """Raises a RuntimeError if operands are on different devices, unless CUDA accepts it."""
    for position, value in enumerate(flat):
        if isinstance(value, PretendTensor) or (value.ndim == 0):
            continue
        if name in _INDEXING and isinstance(args[0], PretendTensor) and _is_index(value, args):
            continue
        raise RuntimeError(f"{name}: operand {position} of shape {tuple(value.shape)} is on the CPU, others are not")


def _is_index(value: Tensor, args: Any) -> bool:
    return any(index is value for index in args[1] if index is not None)


def _values(value: Any) -> Any:
    return value.values if isinstance(value, PretendTensor) else value


def _wrapped(value: Any) -> Any:
    return PretendTensor(value) if isinstance(value, Tensor) and not isinstance(value, PretendTensor) else value


@contextmanager
def with_fused_optimizers() -> Iterator[None]:
    """Lets the fused optimizers of PyTorch run on the pretend device."""
    supported = optimizer._get_fused_kernels_supported_devices
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizer, "_get_fused_kernels_supported_devices", lambda: [*supported(), DEVICE.type])
        yield
