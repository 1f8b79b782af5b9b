"""A graph on disk, opened by mapping it into memory, so that it may be larger than memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """Writes a bare graph as one ``.npy`` file a column; the folder appears only when all of it is written."""
    if len(graph.over):
        raise ValueError("only a bare graph is stored: overlays belong to tasks")
    folder = Path(folder)
    if folder.exists():
        raise InputError("exists already", file=folder, expected="a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for name in _COLUMNS:
        np.save(unfinished / f"{name}.npy", getattr(graph.base, name))
    about = {"version": _VERSION, "relations": graph.relations.count, "edges": len(graph.base)}
    (unfinished / "graph.json").write_text(json.dumps(about), encoding="utf-8")
    unfinished.rename(folder)
    return folder


def open_graph(folder: str | Path) -> TemporalGraph:
    """The graph that ``save_graph`` wrote; its columns are read-only and paged in as they are touched."""
    folder = Path(folder)
    try:
        about = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError("not a stored graph", file=folder, expected="a folder with graph.json and columns") from None
    version = about.get("version")
    if version != _VERSION:
        raise InputError("unknown version", file=folder / "graph.json", found=version, expected=str(_VERSION))
    columns = {name: _mapped(folder / f"{name}.npy", dtype) for name, dtype in _COLUMNS.items()}
    for name in ("relation", "target", "time"):
        length = len(columns[name])
        if length != about["edges"]:
            raise InputError(
                "incomplete column", file=folder / f"{name}.npy", found=length, expected=f"{about['edges']} edges"
            )
    return TemporalGraph.over_base(Adjacency(**columns), RelationIds(int(about["relations"])))


def _mapped(file: Path, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    try:
        column = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as trouble:
        raise InputError(f"cannot be opened ({trouble})", file=file, expected="a stored column") from None
    if column.dtype != dtype or column.ndim != 1:
        raise InputError(
            "wrong kind of column", file=file, found=f"{column.dtype}{column.shape}", expected=dtype.__name__
        )
    return np.asarray(column)  # a plain view of the mapped pages: compiled loops know no np.memmap
