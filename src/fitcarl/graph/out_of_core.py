"""Builds a stored graph of more facts than fit into memory.

Both directions of every fact are distributed to partitions by (source, time), whose bounds are quantiles of a sample,
so that even the edges of a single entity can be divided. Each partition is then sorted in memory, by the same code as a
graph in memory, repeated facts are merged, and the columns are appended to the stored ones. Facts are read twice (for
the sample and for the distribution), edges are written once to partitions and once to the result.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.columns import COLUMNS, write_description
from fitcarl.graph.temporal import Adjacency

_SAMPLE = 500_000
"""Facts that the bounds of the partitions are chosen from."""
_HEADER = 128
"""Bytes of the header of a ``.npy`` file with one axis of any length."""


@dataclass(frozen=True)
class StoredFacts:
    """Facts on disk, int32 [facts, 4]; ids are provisional and become final when they are read."""

    file: Path
    rows: int
    entity_ids: NDArray[np.int32]
    """int32 [provisional ids]: final ids of the entities."""
    relation_ids: NDArray[np.int32]
    ticks: NDArray[np.int32]
    """int32 [provisional times]: the tick of each."""

    def read(self, chunk_rows: int) -> Iterator[Quadruples]:
        """The facts in order.

        Args:
            chunk_rows: Facts of a chunk.
        """
        for chunk in self._chunks(chunk_rows):
            yield self._final(chunk)

    def sample(self, size: int, chunk_rows: int) -> Quadruples:
        """Every n-th fact, so that there are about ``size``; all facts if there are fewer.

        The file is read and not mapped: mapped pages would count as memory of the process.

        Args:
            size: Number of facts.
            chunk_rows: Facts that are read at once.
        """
        step = max(1, self.rows // size)
        chunks = (chunk[-(number * chunk_rows) % step :: step] for number, chunk in enumerate(self._chunks(chunk_rows)))
        return Quadruples.concat([self._final(np.array(chunk)) for chunk in chunks])

    def _chunks(self, chunk_rows: int) -> Iterator[NDArray[np.int32]]:
        with self.file.open("rb") as file:
            while len(chunk := np.fromfile(file, dtype=np.int32, count=4 * chunk_rows)):
                yield chunk.reshape(-1, 4)

    def _final(self, rows: NDArray[np.int32]) -> Quadruples:
        subject, relation, object, time = rows.T
        entity = self.entity_ids
        return Quadruples(entity[subject], self.relation_ids[relation], entity[object], self.ticks[time])


@dataclass(frozen=True)
class BuiltGraph:
    """What is known of a stored graph."""

    facts: int
    """Distinct facts."""
    self_loops: int
    """Distinct facts with equal subject and object."""
    partitions: int
    largest_partition: int
    """Edges of the largest partition, which was sorted in memory."""


def build_graph(
    facts: StoredFacts,
    entities: int,
    relations: RelationIds,
    folder: Path,
    scratch: Path,
    *,
    chunk_rows: int,
    partition_edges: int,
    on_progress: OnProgress | None = None,
) -> BuiltGraph:
    """Writes the graph of facts to a folder, equal to what ``save_graph`` writes for the distinct facts.

    Args:
        facts: The facts.
        entities: |E|.
        relations: Relation ids.
        folder: The folder of the graph, which exists and is empty.
        scratch: A folder for partitions: 32 bytes per fact.
        chunk_rows: Facts that are distributed at once.
        partition_edges: Edges that are sorted at once. A partition may be larger by the error of the sample, and if
            more facts have the same entity and time.
        on_progress: Called after every chunk and every partition.
    """
    report = on_progress or (lambda _: None)
    span = int(facts.ticks.max()) + 1 if len(facts.ticks) else 1
    bounds = _bounds(facts, relations, span, chunk_rows, partition_edges)
    files = [scratch / f"edges-{number}" for number in range(len(bounds) + 1)]
    done = 0
    for chunk in facts.read(chunk_rows):
        _distribute(chunk.both_directions(relations), span, bounds, files)
        done += len(chunk)
        report(Progress("distributing", done, facts.rows, "facts"))
    facts.file.unlink()
    writer = _GraphWriter.create(folder, entities)
    self_loops = largest = 0
    for number, file in enumerate(files):
        if file.exists():
            sizes = _append_partition(file, entities, relations, writer)
            largest, self_loops = max(largest, sizes[0]), self_loops + sizes[1]
            file.unlink()
        report(Progress("sorting", number + 1, len(files), "partitions"))
    edges = writer.close(relations)
    return BuiltGraph(edges // 2, self_loops, len(files), largest)


def _bounds(
    facts: StoredFacts, relations: RelationIds, span: int, chunk_rows: int, partition_edges: int
) -> NDArray[np.int64]:
    """int64 [partitions - 1], ascending: the first key of every partition but the first."""
    partitions = -(-2 * facts.rows // partition_edges)
    if partitions < 2:
        return np.empty(0, dtype=np.int64)
    sample = facts.sample(_SAMPLE, chunk_rows).both_directions(relations)
    keys = np.sort(_keys(sample, span))
    places = (len(keys) * np.arange(1, partitions, dtype=np.int64)) // partitions
    return np.unique(keys[places])


def _keys(edges: Quadruples, span: int) -> NDArray[np.int64]:
    """int64 [edges]: ascending by source, then by time."""
    keys: NDArray[np.int64] = edges.subject.astype(np.int64) * span + edges.time
    return keys


def _distribute(edges: Quadruples, span: int, bounds: NDArray[np.int64], files: list[Path]) -> None:
    """Appends edges to the files of their partitions."""
    rows = edges.rows()
    if not len(bounds):
        parts, counts = np.zeros(1, np.int64), np.array([len(rows)])
    else:
        partition = np.searchsorted(bounds, _keys(edges, span), side="right")
        kind = np.uint16 if len(files) <= np.iinfo(np.uint16).max else np.int64
        rows = rows[np.argsort(partition.astype(kind), kind="stable")]  # a radix sort for 16 bits
        parts, counts = np.unique(partition, return_counts=True)
    offsets = offsets_of(counts)
    for place, number in enumerate(parts.tolist()):
        with files[number].open("ab") as file:
            rows[offsets[place] : offsets[place + 1]].tofile(file)


def _append_partition(file: Path, entities: int, relations: RelationIds, writer: _GraphWriter) -> tuple[int, int]:
    """Sorts a partition and appends it without repeated edges; its size, and the self-loops among its facts."""
    rows = np.fromfile(file, dtype=np.int32).reshape(-1, 4)
    first, last = int(rows[:, 0].min()), int(rows[:, 0].max())
    edges = Quadruples(rows[:, 0] - np.int32(first), *(np.ascontiguousarray(column) for column in rows.T[1:]))
    del rows
    ordered = Adjacency.from_edges(edges, entities, relations)
    source = np.repeat(np.arange(first, last + 1, dtype=np.int32), np.diff(ordered.offsets)[: last - first + 1])
    columns = {"relation": ordered.relation, "target": ordered.target, "time": ordered.time}
    is_new = np.ones(len(source), dtype=np.bool_)
    if len(source):
        is_new[1:] = source[1:] != source[:-1]
        for column in columns.values():
            is_new[1:] |= column[1:] != column[:-1]
    if not is_new.all():
        source = source[is_new]
        columns = {name: column[is_new] for name, column in columns.items()}
    writer.append(source, columns)
    loops = (source == columns["target"]) & (columns["relation"] < relations.count)
    return len(is_new), int(np.count_nonzero(loops))


@dataclass
class _GraphWriter:
    """Appends sorted edges to the columns of a stored graph."""

    folder: Path
    degree: NDArray[np.int64]
    """int64 [entities], edges so far."""
    files: Mapping[str, IO[bytes]]
    sums: dict[str, Any] = field(default_factory=dict)
    edges: int = 0

    @classmethod
    def create(cls, folder: Path, entities: int) -> _GraphWriter:
        names = [name for name in COLUMNS if name != "offsets"]
        files = {name: (folder / f"{name}.npy").open("wb") for name in names}
        for file in files.values():
            file.write(bytes(_HEADER))
        return cls(folder, np.zeros(entities, np.int64), files, {name: hashlib.sha256() for name in names})

    def append(self, source: NDArray[np.int32], columns: Mapping[str, NDArray[np.int32]]) -> None:
        """Appends edges that follow those before."""
        if not len(source):
            return
        first = int(source[0])
        counts = np.bincount(source - first)
        self.degree[first : first + len(counts)] += counts
        for name, column in columns.items():
            content = np.ascontiguousarray(column, dtype=COLUMNS[name]).data
            self.files[name].write(content)
            self.sums[name].update(content)
        self.edges += len(source)

    def close(self, relations: RelationIds) -> int:
        """Writes headers, offsets and description; returns the number of edges."""
        for name, file in self.files.items():
            file.seek(0)
            kind = npy.dtype_to_descr(np.dtype(COLUMNS[name]))
            npy.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": (self.edges,)})
            if file.tell() != _HEADER:
                raise RuntimeError(f"the header of {name}.npy has {file.tell()} bytes, not {_HEADER}")
            file.flush()
            os.fsync(file.fileno())
            file.close()
        offsets = offsets_of(self.degree)
        np.save(self.folder / "offsets.npy", offsets)
        sums = {"offsets": hashlib.sha256(offsets.data)} | self.sums
        digests = {name: sums[name].hexdigest() for name in COLUMNS}
        write_description(self.folder, relations.count, self.edges, digests)
        return self.edges
