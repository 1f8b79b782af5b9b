"""A graph on disk. Columns are memory-mapped when it is opened, so it may be larger than memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.graph.temporal import Adjacency, TemporalGraph

_COLUMNS: dict[str, type[np.integer[Any]]] = {
    "offsets": np.int64,
    "relation": np.int32,
    "target": np.int32,
    "time": np.int32,
}
_VERSION = 1


def save_graph(graph: TemporalGraph, folder: str | Path) -> Path:
    """Writes a graph as one ``.npy`` file per column; the folder appears only when it is complete.

    Args:
        graph: A graph without overlay.
        folder: A folder that does not exist yet.

    Raises:
        ValueError: If the graph has an overlay.
        InputError: If the folder exists.
    """
    if len(graph.overlay):
        raise ValueError("a graph with an overlay cannot be stored: overlays belong to tasks")
    folder = Path(folder)
    if folder.exists():
        raise InputError("exists already", file=folder, expected="a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    sha256 = {}
    for name in _COLUMNS:
        column = getattr(graph.base, name)
        np.save(unfinished / f"{name}.npy", column)
        sha256[name] = sha256_of_arrays(column)
    about = {"version": _VERSION, "relations": graph.relations.count, "edges": len(graph.base), "sha256": sha256}
    (unfinished / "graph.json").write_text(json.dumps(about), encoding="utf-8")
    unfinished.rename(folder)
    return folder


def open_graph(folder: str | Path, *, thorough: bool = False) -> TemporalGraph:
    """Opens a graph written by ``save_graph``; its columns are read-only and paged in on access.

    Args:
        folder: The folder of the graph.
        thorough: Also read all edges and check their checksums (if stored) and ids. Otherwise only the description
            and the offsets are checked.

    Raises:
        InputError: If the folder does not hold an intact graph.
    """
    folder = Path(folder)
    try:
        about = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError("not a stored graph", file=folder, expected="a folder with graph.json and columns") from None
    if not isinstance(about, dict):
        raise InputError("not a stored graph", file=folder / "graph.json", expected="a JSON object")
    version = about.get("version")
    if version != _VERSION:
        raise InputError("unknown version", file=folder / "graph.json", found=version, expected=str(_VERSION))
    edges, relations = (_count(folder / "graph.json", about, key) for key in ("edges", "relations"))
    columns = {name: _mapped(folder / f"{name}.npy", dtype) for name, dtype in _COLUMNS.items()}
    for name in ("relation", "target", "time"):
        length = len(columns[name])
        if length != edges:
            raise InputError("incomplete column", file=folder / f"{name}.npy", found=length, expected=f"{edges} edges")
    _check_offsets(folder / "offsets.npy", columns["offsets"], edges)
    if thorough:
        _check_sums(folder, columns, about.get("sha256"))
        _check_ids(folder / "target.npy", columns["target"], len(columns["offsets"]) - 1, "entities")
        _check_ids(folder / "relation.npy", columns["relation"], 2 * relations, "relations, inverse ones included")
    adjacency = Adjacency(*(columns[name] for name in ("offsets", "relation", "target", "time")))
    return TemporalGraph.from_adjacency(adjacency, RelationIds(relations))


def _count(file: Path, about: dict[str, Any], key: str) -> int:
    value = about.get(key)
    if type(value) is not int or value < 0:
        raise InputError("not a count", file=file, field=key, found=json.dumps(value), expected="an integer from 0")
    return value


def _check_offsets(file: Path, offsets: NDArray[np.int64], edges: int) -> None:
    """Offsets must ascend within the columns: compiled loops follow them without checks."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != edges:
        found = f"{offsets[0]} to {offsets[-1]}" if len(offsets) else "none"
        raise InputError("wrong offsets", file=file, found=found, expected=f"0 to {edges}")
    decreases = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(decreases):
        position = int(decreases[0]) + 1
        expected = f"at least {offsets[position - 1]} at position {position}"
        raise InputError("offsets do not ascend", file=file, found=int(offsets[position]), expected=expected)


def _check_sums(folder: Path, columns: dict[str, NDArray[Any]], sums: object) -> None:
    """Raises if a column has changed since it was written; graphs of earlier versions have no checksums."""
    for name, column in columns.items():
        if isinstance(sums, dict) and sums.get(name) != sha256_of_arrays(column):
            raise InputError(
                "has changed since it was written", file=folder / f"{name}.npy", expected="the stored data"
            )


def _check_ids(file: Path, ids: NDArray[np.int32], count: int, what: str) -> None:
    """Ids must exist: compiled loops look them up without checks."""
    wrong = np.flatnonzero((ids < 0) | (ids >= count))
    if len(wrong):
        position = int(wrong[0])
        raise InputError(
            f"unknown id at position {position}", file=file, found=int(ids[position]), expected=f"{count} {what}"
        )


def _mapped(file: Path, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    try:
        column = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"cannot be opened ({error})", file=file, expected="a stored column") from None
    if column.dtype != dtype or column.ndim != 1:
        raise InputError(
            "wrong kind of column", file=file, found=f"{column.dtype}{column.shape}", expected=dtype.__name__
        )
    return np.asarray(column)  # a plain view: numba does not accept np.memmap
