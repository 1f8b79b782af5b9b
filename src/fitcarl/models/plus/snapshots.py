"""Snapshots of graph statistics: rates, rules and embeddings of growing parts of the past."""

from __future__ import annotations

import operator
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.compression import compress, decompress
from fitcarl.core.storage import Artifacts
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.event_index import EVENT_INDEX
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.stored_checks import Layout

_FIRST_SNAPSHOT = 1000
"""Edges before the first snapshot; each further one has twice as many."""
_BEGINNING = int(np.iinfo(np.int32).min)

CountStatistics = Callable[[TemporalGraph], GraphStatistics]
"""Computes the statistics of a graph of the same entities."""
CheckLayout = Callable[[Layout], None]
"""Raises a ValueError unless stored arrays have types and shapes that belong to the graph."""
RestoreStatistics = Callable[[int, dict[str, NDArray[Any]]], GraphStatistics | None]
"""Statistics of the facts before a tick from stored arrays; None if they do not fit the graph."""


class Snapshots:
    """Statistics of the past, each made or read when it is needed first, and kept.

    There is one for every doubling of the number of facts, so all of them together cost about twice as much as one
    computation on all facts. Where they are depends on earlier facts only. Thread-safe.
    """

    def __init__(
        self, graph: TemporalGraph, times: NDArray[np.int32], count: CountStatistics, stored: StoredSnapshots | None
    ) -> None:
        """Args:
        graph: The background.
        times: int32 [edges], ascending: the times of its edges.
        count: Computes the statistics of a part of it.
        stored: Snapshots of the same background in a run folder, if there are any.
        """
        self.ticks = snapshot_ticks(times)
        self._times = times
        self._graph, self._count, self._stored = graph.without_overlay, count, stored
        self._made: dict[int, GraphStatistics] = {}
        self._lock = Lock()

    def get(self, number: int) -> GraphStatistics:
        """Statistics of the facts before ``ticks[number - 1]``; number 0 is the graph without any fact."""
        with self._lock:
            if number not in self._made:
                tick = int(self.ticks[number - 1]) if number else _BEGINNING
                found = self._stored.read(number, tick, self._edges(tick)) if self._stored is not None else None
                self._made[number] = self._count(self._graph.before(tick)) if found is None else found
            return self._made[number]

    def save(self, artifacts: Artifacts) -> None:
        """Writes all snapshots but the empty one, so that a loaded run need not compute them.

        Those that are made for this are not kept in memory.
        """
        for number in range(1, len(self.ticks) + 1):
            tick, needed = int(self.ticks[number - 1]), number in self._made
            _write(artifacts, number, self.get(number), {"tick": tick, "edges": self._edges(tick)})
            if not needed:
                with self._lock:
                    self._made.pop(number, None)

    def _edges(self, tick: int) -> int:
        """The number of edges before a tick."""
        return int(np.searchsorted(self._times, tick))


class StoredSnapshots:
    """The snapshots of a run folder."""

    def __init__(self, artifacts: Artifacts, check: CheckLayout, restore: RestoreStatistics) -> None:
        """Args:
        artifacts: The files.
        check: Checks types and shapes before anything is decompressed.
        restore: Makes statistics of the arrays.
        """
        self._artifacts, self._check, self._restore = artifacts, check, restore

    def read(self, number: int, tick: int, edges: int) -> GraphStatistics | None:
        """A snapshot; None if it is not there or belongs to other facts, so that it has to be computed.

        Args:
            number: The number of the snapshot.
            tick: The tick before which its facts are.
            edges: The number of edges before that tick.

        Raises:
            InputError: If the file is damaged.
        """
        name = artifact_name(number)
        if not self._artifacts.exists(name):
            return None
        tensors, about = self._artifacts.read(name)
        if (about.get("tick"), about.get("edges")) != (tick, edges):
            return None
        try:
            layout = {
                key: (np.dtype(str(kind)), tuple(operator.index(size) for size in shape))
                for key, (kind, shape) in about["arrays"].items()
            }
            self._check(layout)
            arrays = {key: decompress(_bytes(tensors[key]), kind.str, shape) for key, (kind, shape) in layout.items()}
            return self._restore(tick, arrays)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, SyntaxError, OverflowError) as error:
            raise InputError(f"is damaged ({error})", file=self._artifacts.path(name)) from None


def _bytes(tensor: Tensor) -> NDArray[np.uint8]:
    if tensor.dtype != torch.uint8 or tensor.ndim != 1:
        raise ValueError("not compressed bytes")
    content: NDArray[np.uint8] = tensor.numpy()
    return content


def artifact_name(number: int) -> str:
    """The name of the artifact with a snapshot."""
    return f"snapshot-{number:02d}"


def snapshot_ticks(times: NDArray[np.int32]) -> NDArray[np.int64]:
    """int64, ascending: ticks before which there are at least 1,000, 2,000, 4,000 … of the ascending times."""
    sizes = []
    size = _FIRST_SNAPSHOT
    while size <= len(times):
        sizes.append(size)
        size *= 2
    return np.unique(times[np.array(sizes, dtype=np.int64) - 1].astype(np.int64) + 1)


def _write(artifacts: Artifacts, number: int, snapshot: GraphStatistics, of: dict[str, int]) -> None:
    """Indices are left out: they are read from the index of the whole background."""
    arrays = {name: array for name, array in snapshot.arrays().items() if name not in EVENT_INDEX}
    packed = {name: torch.from_numpy(compress(array).copy()) for name, array in arrays.items()}
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    artifacts.write(artifact_name(number), packed, {**of, "arrays": shapes})
