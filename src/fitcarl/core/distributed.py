"""The place of this process among those of a launcher such as torchrun, read from the environment and without torch."""

from __future__ import annotations

import os


def launched_rank() -> tuple[int, int]:
    """(rank, number of processes) by RANK and WORLD_SIZE; (0, 1) if they are not set."""
    rank, world = _number("RANK"), _number("WORLD_SIZE")
    return (0, 1) if rank is None or world is None or rank >= world else (rank, world)


def training_rank() -> tuple[int, int]:
    """(rank, number of processes) that train a model together; (0, 1) without MASTER_ADDR, through which they meet."""
    return launched_rank() if os.environ.get("MASTER_ADDR") else (0, 1)


def local_processes() -> int:
    """The number of processes on this machine that train a model together."""
    return max(1, _number("LOCAL_WORLD_SIZE") or 1) if training_rank()[1] > 1 else 1


def _number(name: str) -> int | None:
    value = os.environ.get(name, "")
    return int(value) if value.isascii() and value.isdigit() else None
