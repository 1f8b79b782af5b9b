"""Parts of a long computation: which part a process computes, the name of its file, and what it was computed from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitcarl.core.distributed import launched_rank
from fitcarl.errors import InputError


@dataclass(frozen=True)
class Shard:
    """The I-th of N contiguous parts."""

    number: int = 1
    """I, from 1."""
    parts: int = 1
    """N."""

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Reads ``I/N``.

        Args:
            text: The value of ``--shard``.

        Raises:
            InputError: If it is not a part.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError("not a part", field="--shard", found=text, expected="I/N with I from 1 to N, such as 3/8")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def from_environment(cls) -> Shard:
        """The part of a process that ``torchrun`` started (RANK + 1 of WORLD_SIZE); otherwise everything."""
        rank, world = launched_rank()
        return cls(rank + 1, world)

    @property
    def is_all(self) -> bool:
        """Whether the part is everything."""
        return self.parts == 1

    @property
    def label(self) -> str:
        """The part in a file name, such as ``03-of-16``: files in the order of their names are in that of the parts."""
        return f"{self.number:0{len(str(self.parts))}}-of-{self.parts}"

    def bounds(self, count: int) -> tuple[int, int]:
        """The range ``low:high`` of this part of ``count`` items; parts differ by at most one item.

        Args:
            count: Items of all parts.
        """
        return count * (self.number - 1) // self.parts, count * self.number // self.parts

    def path(self, out: Path) -> Path:
        """The file of the part: ``answers.parquet`` becomes ``answers-03-of-16.parquet``; ``out`` if it is everything.

        Args:
            out: The file of the complete result.
        """
        if self.is_all:
            return out
        return out.with_name(f"{out.stem}-{self.label}{out.suffix}")

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"


def shards(parts: int) -> list[Shard]:
    """All parts, in order.

    Args:
        parts: Their number.
    """
    return [Shard(number, parts) for number in range(1, parts + 1)]


def check_record(file: Path, found: Mapping[str, Any] | None, expected: Mapping[str, Any], hint: str) -> None:
    """Raises an InputError unless a part was computed from the same inputs.

    Args:
        file: The file of the part.
        found: What the part says it was computed from; None if it says nothing.
        expected: What it would be computed from now.
        hint: What the user can do.
    """
    if found is None:
        raise InputError("does not say what it was computed from", file=file, expected="a part", hint=hint)
    for field in (*expected, *(found.keys() - expected.keys())):
        if found.get(field) != expected.get(field):
            raise InputError(
                "was computed from something else",
                file=file,
                field=field,
                found=_shown(found.get(field)),
                expected=_shown(expected.get(field)),
                hint=hint,
            )


def _shown(value: Any) -> str:
    """A recorded value in a message; a checksum by its first digits."""
    text = str(value)
    return text[:12] if re.fullmatch(r"[0-9a-f]{64}", text) else text
