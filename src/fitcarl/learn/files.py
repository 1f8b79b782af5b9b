"""Files that are there whole or not at all, whenever a process is stopped."""

from __future__ import annotations

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
    """Tensors and a little JSON in one safetensors file, atomically."""
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    write_atomically(file, save(whole, metadata={"about": json.dumps(about or {})}))


def read_tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What ``write_tensors`` wrote."""
    try:
        with safe_open(file, framework="pt") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - not a mapping
            return tensors, json.loads((stored.metadata() or {}).get("about", "{}"))
    except FileNotFoundError:
        raise InputError("is missing", file=file, expected="a file that `fitcarl train` writes") from None
    except (OSError, SafetensorError, ValueError) as trouble:
        raise InputError(f"cannot be read ({trouble})", file=file, expected="a safetensors file") from None
