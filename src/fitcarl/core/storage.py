"""Checksummed tensors in atomic files, and the artifacts of a run."""

from __future__ import annotations

import hashlib
import json
import math
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from fitcarl.core.files import write_atomically
from fitcarl.errors import InputError

_DTYPES = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""Names of types in a header, in the order in which safetensors writes tensors."""


def write_tensors(file: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> None:
    """Writes tensors and a little JSON to one safetensors file, atomically and with a checksum."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"about": about or {}, "sha256": _digest(contiguous, about or {})}
    # A single key, because safetensors does not fix the order of several: equal tensors give equal bytes.
    write_atomically(file, *_serialized(contiguous, {"fitcarl": json.dumps(metadata)}))


def _serialized(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """What ``safetensors.torch.save`` returns, in parts; that function copies all tensors twice."""
    order = list(_DTYPES)
    names = sorted(tensors, key=lambda name: (order.index(tensors[name].dtype), name))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in names:
        start, end = end, end + tensors[name].nbytes
        about = {"dtype": _DTYPES[tensors[name].dtype], "shape": list(tensors[name].shape)}
        header[name] = {**about, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in names:
        yield tensors[name].numpy().reshape(-1).view(np.uint8).data


def read_tensors(
    file: Path, *, expected: Mapping[str, Tensor] | None = None, finite: bool = False, verified: bool = False
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what ``write_tensors`` wrote. Tensors are memory-mapped.

    Args:
        file: The file.
        expected: Tensors with the same names, types and shapes, of any device; compared with the header of the file
            before anything else is read.
        finite: Refuse numbers that are not finite.
        verified: Whether the whole file was compared with a checksum already, so that its own one is not computed.

    Raises:
        InputError: If the file is missing, unreadable, not as expected, or differs from its checksum.
    """
    try:
        _require_regular(file)
        with safe_open(file, framework="pt") as stored:
            names = list(stored.keys())
            if expected is not None:
                _compare_header(file, {name: stored.get_slice(name) for name in names}, expected)
            tensors = {name: stored.get_tensor(name) for name in names}
            metadata = stored.metadata() or {}
        about, sha256 = (json.loads(metadata["fitcarl"])[key] for key in ("about", "sha256"))
        if not isinstance(about, dict):
            raise TypeError("no record beside the tensors")
        if not verified and sha256 != _digest(tensors, about):
            raise InputError(
                "has changed since it was written", file=file, expected="the file as `fitcarl train` wrote it"
            )
    except FileNotFoundError:
        raise InputError("is missing", file=file, expected="a file that `fitcarl train` writes") from None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", file=file, expected="a safetensors file") from None
    if finite:
        _require_finite(file, tensors)
    return tensors, about


def largest_tensors(files: Iterable[Path]) -> tuple[int, int]:
    """The elements of the largest tensor in some files and of all of them together, by their headers.

    Args:
        files: Files that ``write_tensors`` wrote.

    Raises:
        InputError: If a file cannot be read.
    """
    largest = total = 0
    for file in files:
        try:
            _require_regular(file)
            with safe_open(file, framework="pt") as stored:
                sizes = [math.prod(stored.get_slice(name).get_shape()) for name in stored.keys()]  # noqa: SIM118
        except (OSError, SafetensorError, ValueError, RecursionError) as error:
            raise InputError(f"cannot be read ({error})", file=file, expected="a safetensors file") from None
        largest, total = max([largest, *sizes]), total + sum(sizes)
    return largest, total


def _require_regular(file: Path) -> None:
    """A pipe would block, and a device could be read for ever."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError("not a regular file")


def _compare_header(file: Path, stored: Mapping[str, Any], expected: Mapping[str, Tensor]) -> None:
    wrong = sorted(stored.keys() ^ expected.keys())
    for name in sorted(stored.keys() & expected.keys()):
        shape, tensor = tuple(stored[name].get_shape()), expected[name]
        if shape != tuple(tensor.shape) or stored[name].get_dtype() != _DTYPES.get(tensor.dtype):
            wrong.append(f"{name} {stored[name].get_dtype()} {list(shape)}")
    if wrong:
        found = ", ".join(wrong[:3])
        raise InputError("does not fit the settings and names of the run", file=file, found=found[:200])


def _require_finite(file: Path, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        # Both ends are NaN if any number is, and nothing is copied.
        ends = torch.aminmax(tensor) if tensor.is_floating_point() and tensor.numel() else ()
        if not all(math.isfinite(float(end)) for end in ends):
            raise InputError("has numbers that are not finite", file=file, field=name, expected="finite numbers")


def _digest(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    """sha256 of the tensors with their names and shapes, and of the JSON beside them."""
    sha = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name].numpy()
        sha.update(f"{name} {array.dtype} {array.shape}\n".encode())
        sha.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)  # no copy, as tobytes makes
    return sha.hexdigest()


@dataclass(frozen=True)
class Artifacts:
    """Named tensor files in a folder: what a model prepares before training or saves after it."""

    folder: Path
    newer: tuple[Path, ...] = ()
    """Further folders, oldest first: a file is read from the last one that has it, and written to the last one."""
    verified: bool = False
    """Whether the files were compared with the manifest of their run, so that their own checksums are not computed."""
    deferred: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Name → sha256 of files that are compared with the manifest when they are read."""

    def path(self, name: str) -> Path:
        """The file of an artifact; if there is none yet, where it will be written."""
        files = [folder / f"{name}.safetensors" for folder in (self.folder, *self.newer)]
        return next((file for file in reversed(files) if file.exists()), files[-1])

    def exists(self, name: str) -> bool:
        return self.path(name).exists()

    def read(self, name: str, expected: Mapping[str, Tensor] | None = None) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors of an artifact, all of them finite, and the JSON beside them.

        Args:
            name: Name of the artifact.
            expected: Tensors with the names, types and shapes that it must have, if they are known.
        """
        file = self.path(name)
        if name in self.deferred and file.is_file():
            with file.open("rb", buffering=0) as content:
                if hashlib.file_digest(content, "sha256").hexdigest() != self.deferred[name]:
                    raise InputError("has changed", file=file, expected="the file that the manifest of the run lists")
        return read_tensors(file, expected=expected, finite=True, verified=self.verified)

    def write(self, name: str, tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> None:
        write_tensors((self.folder, *self.newer)[-1] / f"{name}.safetensors", tensors, about)
