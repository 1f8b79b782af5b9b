"""The rank of a process that a launcher such as ``torchrun`` started."""

from __future__ import annotations

import os

from fitcarl.core.parallel import is_number


def launched_rank() -> tuple[int, int]:
    """(rank, world size) from the environment variables RANK and WORLD_SIZE; (0, 1) if they are not set."""
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if is_number(rank) and is_number(world) and int(rank) < int(world):
        return int(rank), int(world)
    return 0, 1
