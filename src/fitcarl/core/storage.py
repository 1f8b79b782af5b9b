"""Files that are there whole or not at all, whenever a process is stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from fitcarl.errors import InputError


def write_atomically(file: Path, content: bytes) -> None:
    """Replaces a file by writing a sibling, forcing it to disk and renaming it."""
    sibling = file.with_name(f".{file.name}.{os.getpid()}")
    with sibling.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    sibling.replace(file)


def write_json(file: Path, content: Any) -> None:
    write_atomically(file, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("is missing", file=file, expected="a file that `fitcarl train` writes") from None
    except (OSError, ValueError) as trouble:
        raise InputError(f"cannot be read ({trouble})", file=file, expected="JSON") from None


def write_tensors(file: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any] | None = None) -> None:
    """Tensors and a little JSON in one safetensors file, atomically, with what tells whether it has changed since."""
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    told = {"about": about or {}, "sha256": _digest(whole, about or {})}
    # One key, because the order of several is not fixed: equal tensors give equal bytes.
    write_atomically(file, save(whole, metadata={"fitcarl": json.dumps(told)}))


def read_tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What ``write_tensors`` wrote; a file of an earlier version, without checksum, is taken as it is."""
    try:
        with safe_open(file, framework="pt") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - not a mapping
            told = stored.metadata() or {}
        if "fitcarl" not in told:
            return tensors, json.loads(told.get("about", "{}"))
        about, sha256 = (json.loads(told["fitcarl"])[key] for key in ("about", "sha256"))
        if sha256 != _digest(tensors, about):
            raise InputError("has changed since it was written", file=file, expected="what `fitcarl train` wrote")
        return tensors, about
    except FileNotFoundError:
        raise InputError("is missing", file=file, expected="a file that `fitcarl train` writes") from None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as trouble:
        raise InputError(f"cannot be read ({trouble})", file=file, expected="a safetensors file") from None


def _digest(tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> str:
    """sha256 of tensors, with their names and shapes, and of what is told about them."""
    sha = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name].numpy()
        sha.update(f"{name} {array.dtype} {array.shape}\n".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()
