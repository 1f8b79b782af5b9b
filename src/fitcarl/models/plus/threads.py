"""On which threads batches of queries are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch

from fitcarl.core.parallel import parallel_map

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_batches(items: Iterable[Item], work: Callable[[Item], Result], device: torch.device) -> Iterator[Result]:
    """``work(item)`` of every item, in order: on all threads, or one after the other on a GPU.

    Args:
        items: Batches of queries.
        work: Evaluates one of them.
        device: Where the networks are.
    """
    return parallel_map(items, work) if device.type == "cpu" else map(work, items)
