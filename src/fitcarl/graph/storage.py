"""A graph on disk. Columns are memory-mapped when it is opened, so it may be larger than memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fitcarl.core.arrays import read_only, sha256_of_arrays
from fitcarl.core.files import complete_folder
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.graph.columns import COLUMNS, StoredColumns, open_columns, write_description
from fitcarl.graph.edge_hash import random_key
from fitcarl.graph.kernels import edges_in_order
from fitcarl.graph.temporal import Adjacency, TemporalGraph


def save_graph(graph: TemporalGraph, folder: str | Path) -> Path:
    """Writes a graph as one ``.npy`` file per column; the folder appears only when it is complete.

    Args:
        graph: A graph without overlay.
        folder: A folder that does not exist yet.

    Raises:
        ValueError: If the graph has an overlay.
        InputError: If the folder exists or cannot be written.
    """
    if len(graph.overlay):
        raise ValueError("a graph with an overlay cannot be stored: overlays belong to tasks")
    folder = Path(folder)
    if folder.exists():
        raise InputError("exists already", file=folder, expected="a new folder")
    with complete_folder(folder) as unfinished:
        sha256 = {}
        for name in COLUMNS:
            column = getattr(graph.base, name)
            np.save(unfinished / f"{name}.npy", column)
            sha256[name] = sha256_of_arrays(column)
        write_description(unfinished, graph.relations.count, len(graph.base), sha256)
    return folder


def open_graph(folder: str | Path, *, thorough: bool = False) -> TemporalGraph:
    """Opens a graph written by ``save_graph``; its columns are read-only and paged in on access.

    Args:
        folder: The folder of the graph.
        thorough: Also read all edges and check their checksums (if stored), ids and order. Otherwise only the
            description and the offsets are checked.

    Raises:
        InputError: If the folder does not hold an intact graph.
    """
    found = open_columns(Path(folder), thorough=thorough)
    return graph_of_columns(found, Path(folder), check_order=thorough)


def graph_of_columns(found: StoredColumns, folder: Path, *, check_order: bool = True) -> TemporalGraph:
    """The graph of stored columns.

    Args:
        found: The columns; their ids have been checked.
        folder: Their folder, for error messages.
        check_order: Whether to check that edges are sorted and contain both directions: searches depend on it.

    Raises:
        InputError: If they are not.
    """
    if check_order:
        relation, target, time = (read_only(column) for column in (found.relation, found.target, found.time))
        in_order, both_directions = edges_in_order(
            read_only(found.offsets), relation, target, time, found.relations, random_key()
        )
        if in_order < len(found.time):
            raise InputError("edges are not sorted by time", file=folder / "time.npy", expected="the stored order")
        if not both_directions:
            raise InputError("inverse edges are missing", file=folder / "relation.npy", expected="both directions")
    adjacency = Adjacency(found.offsets, found.relation, found.target, found.time)
    return TemporalGraph.from_adjacency(adjacency, RelationIds(found.relations))
