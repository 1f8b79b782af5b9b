"""An index of a large file of facts: names, calendar and the memory-mapped graph, built with bounded memory.

Names and distinct times are held in memory, facts are not. The files are those that a run folder has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from fitcarl.core.files import complete_folder, read_json, remove, write_json
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.io.columns import FactColumns
from fitcarl.data.io.fact_chunks import FactChunks, open_chunks
from fitcarl.data.io.read_options import ReadKeywords, ReadOptions
from fitcarl.data.io.streamed_ids import StreamedNames, StreamedTimes
from fitcarl.data.io.timestamps import check_granularity
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.graph.columns import open_columns
from fitcarl.graph.out_of_core import StoredFacts, build_graph
from fitcarl.graph.storage import graph_of_columns
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.runs.names import read_names, write_names

_SUBJECT, _RELATION, _OBJECT, _TIME = range(4)
_BYTES_PER_ROW = 600
"""Memory for a row of text with its ids while a chunk is read; names of about 40 characters."""
_BYTES_PER_EDGE = 80
"""Memory for an edge while a partition is sorted: rows, columns, two orders, and the sorted columns."""
MEMORY_MB = 1000
"""Default of ``memory_mb``."""


@dataclass(frozen=True)
class IndexCounts:
    """What was indexed."""

    rows: int
    """Rows of the file that were read, repeated facts included."""
    facts: int
    """Distinct facts."""
    self_loops: int
    entities: int
    relations: int
    times_truncated: int
    """Rows whose time was finer than a tick."""
    incomplete: int
    """Rows that were left out because a value is missing."""
    partitions: int
    largest_partition: int
    """Edges of the largest partition, which was sorted in memory."""


@dataclass(frozen=True)
class FactIndex:
    """A folder that ``index_facts`` wrote."""

    folder: Path
    counts: IndexCounts
    columns: str
    """Which columns of the file were used."""

    @cached_property
    def names(self) -> tuple[Vocabulary, Calendar, Concepts]:
        """Names, calendar, and no concepts."""
        return read_names(self.folder / "vocabulary.json")

    def graph(self, *, checked: bool = True) -> TemporalGraph:
        """The graph of all facts, memory-mapped.

        Args:
            checked: Whether to read all edges once and to check their checksums, ids and order: compiled loops depend
                on them. Without it, the folder must be one that this machine wrote.

        Raises:
            InputError: If the graph is damaged or does not fit the names.
        """
        vocabulary, _, _ = self.names
        columns = open_columns(self.folder / "graph", thorough=checked)
        if (len(columns.offsets) - 1, columns.relations) != (len(vocabulary.entities), len(vocabulary.relations)):
            raise InputError("does not fit the names", file=self.folder / "graph", expected="a graph of these names")
        return graph_of_columns(columns, self.folder / "graph", check_order=checked)

    def to_json(self) -> dict[str, Any]:
        """Folder, columns and counts as plain values."""
        return {"folder": str(self.folder), "columns": self.columns, **asdict(self.counts)}


def index_facts(
    source: str | Path,
    out: str | Path,
    *,
    granularity: str = "auto",
    memory_mb: int = MEMORY_MB,
    chunk_rows: int | None = None,
    partition_edges: int | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[ReadKeywords],
) -> FactIndex:
    """Indexes a file of facts that may be larger than memory.

    Ids, ticks and graph are those that ``read_facts`` and ``TemporalGraph.from_facts`` give for the same file.

    Args:
        source: A Parquet, CSV or TSV file.
        out: A folder that does not exist yet; it appears only when it is complete.
        granularity: As in ``read_facts``.
        memory_mb: Memory for facts, in MB, besides names, distinct times and the libraries.
        chunk_rows: Rows that are read at once; by default from ``memory_mb``.
        partition_edges: Edges that are sorted at once; by default from ``memory_mb``.
        on_progress: Called after every chunk.
        options: Those of ``read_facts`` about the file.

    Raises:
        InputError: If the file cannot be read, a value is invalid, or the folder exists.
    """
    check_granularity(granularity)
    path, folder = Path(source), Path(out)
    if folder.exists():
        raise InputError("exists already", file=folder, expected="a new folder")
    chunk_rows = chunk_rows or max(10_000, memory_mb * 1_000_000 // _BYTES_PER_ROW)
    partition_edges = partition_edges or max(10_000, memory_mb * 1_000_000 // _BYTES_PER_EDGE)
    with _unfinished(folder) as (unfinished, scratch):
        chunks = open_chunks(path, ReadOptions(**options), scratch)
        read = _read_all(chunks, chunk_rows, scratch / "facts", granularity, on_progress)
        graph = unfinished / "graph"
        graph.mkdir()
        built = build_graph(
            read.facts,
            len(read.vocabulary.entities),
            read.vocabulary.relation_ids,
            graph,
            scratch,
            chunk_rows=chunk_rows,
            partition_edges=partition_edges,
            on_progress=on_progress,
        )
        vocabulary = read.vocabulary
        write_names(
            unfinished / "vocabulary.json",
            vocabulary,
            read.calendar,
            Concepts.from_pairs(len(vocabulary.entities), ()),
        )
        counts = IndexCounts(
            rows=read.rows,
            facts=built.facts,
            self_loops=built.self_loops,
            entities=len(vocabulary.entities),
            relations=len(vocabulary.relations),
            times_truncated=read.times_truncated,
            incomplete=read.incomplete,
            partitions=built.partitions,
            largest_partition=built.largest_partition,
        )
        columns = chunks.mapping.text
        write_json(unfinished / "index.json", {"version": 1, "columns": columns, "counts": asdict(counts)})
    return FactIndex(folder, counts, columns)


def open_index(folder: str | Path) -> FactIndex:
    """Opens an index.

    Args:
        folder: A folder that ``index_facts`` wrote.

    Raises:
        InputError: If it is not one.
    """
    folder = Path(folder)
    if not (folder / "index.json").is_file():
        raise InputError("not an index of facts", file=folder, expected="a folder that 'fitcarl data index' wrote")
    found = read_json(folder / "index.json")
    try:
        counts = IndexCounts(**found["counts"])
        if any(type(count) is not int or count < 0 for count in asdict(counts).values()):
            raise TypeError
        return FactIndex(folder, counts, str(found["columns"]))
    except (KeyError, TypeError):
        raise InputError("is damaged", file=folder / "index.json", expected="the counts of an index") from None


@dataclass(frozen=True)
class _ReadFacts:
    """The facts of a file on disk, and what their ids mean."""

    facts: StoredFacts
    vocabulary: Vocabulary
    calendar: Calendar
    rows: int
    times_truncated: int
    incomplete: int


def _read_all(
    chunks: FactChunks, chunk_rows: int, file: Path, granularity: str, on_progress: OnProgress | None
) -> _ReadFacts:
    """Reads the file once: provisional ids to disk, names and times to memory."""
    entities, relations = StreamedNames((_SUBJECT, _OBJECT)), StreamedNames((_RELATION,))
    times = StreamedTimes(_TIME)
    rows = incomplete = read = 0
    chunk: FactColumns | None = None
    uses = np.zeros(0, dtype=np.int64)
    with file.open("wb") as stored:
        for chunk in chunks.read(chunk_rows):
            subject, object = entities.add(chunk)
            [relation] = relations.add(chunk)
            time = times.add(chunk)
            np.stack([subject, relation, object, time], axis=1).tofile(stored)
            used = np.bincount(time, minlength=len(times.index))
            used[: len(uses)] += uses
            uses = used
            rows, incomplete = rows + len(subject), incomplete + chunk.incomplete
            read += chunk_rows
            if on_progress is not None:
                on_progress(Progress("reading", min(read, chunks.rows), chunks.rows, "rows"))
    if chunk is None or not rows:
        raise InputError("no facts", file=chunks.file, expected="at least one row")
    calendar, ticks, parsed = times.finish(granularity, chunk)
    try:
        names, entity_ids = entities.finish()
        relation_names, relation_ids = relations.finish()
    except InputError as error:
        raise InputError(error.problem, file=chunks.file, found=error.found, expected=error.expected) from None
    facts = StoredFacts(file, rows, entity_ids, relation_ids, ticks)
    truncated = int(uses[parsed.truncated].sum())
    return _ReadFacts(facts, Vocabulary(names, relation_names), calendar, rows, truncated, incomplete)


@contextmanager
def _unfinished(folder: Path) -> Iterator[tuple[Path, Path]]:
    """A folder that is renamed at the end, and one for temporary files; both are removed after an error."""
    scratch = folder.with_name(f"{folder.name}.scratch")
    with complete_folder(folder) as unfinished:
        remove(scratch)
        try:
            scratch.mkdir()
            yield unfinished, scratch
        finally:
            remove(scratch)
