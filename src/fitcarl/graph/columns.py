"""The columns of a stored graph, read and checked without compiled code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.files import read_json
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError

COLUMNS: dict[str, type[np.integer[Any]]] = {
    "offsets": np.int64,
    "relation": np.int32,
    "target": np.int32,
    "time": np.int32,
}
"""Name → type of each column."""
VERSION = 1
"""Version of the format."""


@dataclass(frozen=True, eq=False)
class StoredColumns:
    """Edges in CSR form, memory-mapped."""

    relations: int
    """R: relations in [0, R) are those of the facts, those in [R, 2R) their inverses."""
    offsets: NDArray[np.int64]
    """int64 [entities + 1]: edges of entity e are ``offsets[e]:offsets[e + 1]``."""
    relation: NDArray[np.int32]
    """int32 [edges]."""
    target: NDArray[np.int32]
    """int32 [edges]."""
    time: NDArray[np.int32]
    """int32 [edges], ticks."""

    def facts(self) -> Quadruples:
        """The facts in their real direction."""
        source = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        real = self.relation < self.relations
        return Quadruples(source[real], self.relation[real], self.target[real], self.time[real])


_MAX_RELATIONS = 1 << 22
"""Relations of a stored graph: what is counted for each of them is allocated before the edges are read."""


def write_description(folder: Path, relations: int, edges: int, sha256: Mapping[str, str]) -> None:
    """Writes ``graph.json``, the description of stored columns.

    Args:
        folder: The folder of the columns.
        relations: R.
        edges: The number of edges.
        sha256: The checksum of each column.
    """
    about = {"version": VERSION, "relations": relations, "edges": edges, "sha256": dict(sha256)}
    (folder / "graph.json").write_text(json.dumps(about), encoding="utf-8")


def open_columns(folder: Path, *, thorough: bool = False, verified: bool = False) -> StoredColumns:
    """Opens the columns of a stored graph.

    Args:
        folder: The folder of the graph.
        thorough: Also read all edges and check their checksums (if stored) and ids.
        verified: Whether the files were compared with a manifest already, so that checksums are not computed again.

    Raises:
        InputError: If the folder does not hold an intact graph.
    """
    try:
        about = read_json(folder / "graph.json")
    except InputError:
        raise InputError("not a stored graph", file=folder, expected="a folder with graph.json and columns") from None
    if not isinstance(about, dict):
        raise InputError("not a stored graph", file=folder / "graph.json", expected="a JSON object")
    version = about.get("version")
    if version != VERSION:
        found = version if type(version) is int else type(version).__name__
        raise InputError("unknown version", file=folder / "graph.json", found=found, expected=str(VERSION))
    edges, relations = (_count(folder / "graph.json", about, key) for key in ("edges", "relations"))
    if relations > _MAX_RELATIONS:
        file, expected = folder / "graph.json", f"at most {_MAX_RELATIONS:,}"
        raise InputError(
            "too many relations", file=file, field="relations", found=str(relations)[:20], expected=expected
        )
    columns = {name: _mapped(folder / f"{name}.npy", dtype) for name, dtype in COLUMNS.items()}
    for name in ("relation", "target", "time"):
        length = len(columns[name])
        if length != edges:
            raise InputError("incomplete column", file=folder / f"{name}.npy", found=length, expected=f"{edges} edges")
    _check_offsets(folder / "offsets.npy", columns["offsets"], edges)
    if thorough:
        if not verified:
            _check_sums(folder, columns, about.get("sha256"))
        _check_ids(folder / "target.npy", columns["target"], len(columns["offsets"]) - 1, "entities")
        _check_ids(folder / "relation.npy", columns["relation"], 2 * relations, "relations, inverse ones included")
    return StoredColumns(relations, *(columns[name] for name in COLUMNS))


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
    if len(ids) and not 0 <= ids.min() <= ids.max() < count:  # two passes that copy nothing
        position = int(np.argmax((ids < 0) | (ids >= count)))
        raise InputError(
            f"unknown id at position {position}", file=file, found=int(ids[position]), expected=f"{count} {what}"
        )


def _mapped(file: Path, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    try:
        if not file.is_file():
            raise OSError("no such file")
        column = np.load(file, mmap_mode="r", allow_pickle=False)
    except (
        OSError,
        ValueError,
        EOFError,
        SyntaxError,
        TokenError,
        RecursionError,
        MemoryError,
        OverflowError,
    ) as error:
        raise InputError(f"cannot be opened ({error})", file=file, expected="a stored column") from None
    if not isinstance(column, np.ndarray):
        raise InputError("is an archive of arrays", file=file, expected="a stored column")
    if column.dtype != dtype or column.ndim != 1:
        raise InputError(
            "wrong kind of column", file=file, found=f"{column.dtype}{column.shape}", expected=dtype.__name__
        )
    return np.asarray(column)  # a plain view: numba does not accept np.memmap
