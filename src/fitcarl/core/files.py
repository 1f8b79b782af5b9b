"""Atomic files and JSON: a file is complete or absent, whenever a process is killed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import get_ident
from typing import Any

from fitcarl.errors import InputError


def write_atomically(file: Path, content: bytes) -> None:
    """Writes a temporary sibling, syncs it to disk and renames it over the file."""
    sibling = file.with_name(f".{file.name}.{os.getpid()}.{get_ident()}")
    try:
        with sibling.open("wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        sibling.replace(file)
    except BaseException:
        sibling.unlink(missing_ok=True)
        raise


def write_json(file: Path, content: Any) -> None:
    write_atomically(file, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("is missing", file=file, expected="a file that `fitcarl train` writes") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", file=file, expected="JSON") from None
