"""Reads pip's requirement files with hashes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?![0-9a-f])")


@dataclass(frozen=True)
class Locked:
    """A package of a lock file."""

    name: str
    """As PyPI normalises it: lower case, hyphens."""
    version: str
    sha256: tuple[str, ...]
    """Of each file that may be installed."""


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(file: Path) -> list[Locked]:
    """The packages of a lock file.

    Args:
        file: A file that ``make lock`` wrote.

    Raises:
        ValueError: If a line is neither a package, a hash nor a comment.
    """
    found = []
    for line in file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        text = line.partition("#")[0].strip()
        if not text:
            continue
        entry = _ENTRY.match(text)
        if entry is None:
            raise ValueError(f"{file}: not a pinned package: {text[:80]}")
        found.append(Locked(normalised(entry[1]), entry[2], tuple(_HASH.findall(text))))
    return found


def read_constraints(file: Path) -> dict[str, str]:
    """Version of each package in a constraints file."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {normalised(name): version for name, _, version in (line.partition("==") for line in lines)}
