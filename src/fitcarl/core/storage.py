"""Checksummed tensors in atomic files, and the artifacts of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fitcarl.core.files import write_atomically
from fitcarl.errors import InputError


def write_tensors(file: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> None:
    """Writes tensors and a little JSON to one safetensors file, atomically and with a checksum."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"about": about or {}, "sha256": _digest(contiguous, about or {})}
    # A single key, because safetensors does not fix the order of several: equal tensors give equal bytes.
    write_atomically(file, save(contiguous, metadata={"fitcarl": json.dumps(metadata)}))


def read_tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads what ``write_tensors`` wrote.

    Raises:
        InputError: If the file is missing, unreadable, or differs from its checksum.
    """
    try:
        with safe_open(file, framework="pt") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - not a mapping
            metadata = stored.metadata() or {}
        about, sha256 = (json.loads(metadata["fitcarl"])[key] for key in ("about", "sha256"))
        if sha256 != _digest(tensors, about):
            raise InputError(
                "has changed since it was written", file=file, expected="the file as `fitcarl train` wrote it"
            )
        return tensors, about
    except FileNotFoundError:
        raise InputError("is missing", file=file, expected="a file that `fitcarl train` writes") from None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot be read ({error})", file=file, expected="a safetensors file") from None


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

    def path(self, name: str) -> Path:
        """The file of an artifact; if there is none yet, where it will be written."""
        files = [folder / f"{name}.safetensors" for folder in (self.folder, *self.newer)]
        return next((file for file in reversed(files) if file.exists()), files[-1])

    def exists(self, name: str) -> bool:
        return self.path(name).exists()

    def read(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors of an artifact and the JSON beside them."""
        return read_tensors(self.path(name))

    def write(self, name: str, tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> None:
        write_tensors((self.folder, *self.newer)[-1] / f"{name}.safetensors", tensors, about)
