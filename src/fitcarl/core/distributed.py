"""The place of this process among those that torchrun started, read from the environment and without torch."""

from __future__ import annotations

import os


def launched_rank() -> tuple[int, int]:
    """The rank of this process and the number of all ranks; (0, 1) if no launcher such as torchrun started it."""
    rank, world = (os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE"))
    if not (rank.isdecimal() and world.isdecimal() and os.environ.get("MASTER_ADDR")):
        return 0, 1
    return int(rank), int(world)


def local_ranks() -> int:
    """The number of ranks that the launcher started on this machine; 1 without a launcher."""
    value = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(value)) if launched_rank()[1] > 1 and value.isdecimal() else 1
