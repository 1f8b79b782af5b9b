"""Edits of the files of a folder. An input of the fuzzer is a short JSON list of them.

An edit is ``[file, operation, ...arguments]``. Edits of values keep the file well formed and its checksums valid, as
a deliberate edit would; ``cut``, ``flip`` and ``insert`` damage bytes and leave checksums alone.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch

from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.storage import write_tensors

Edit = list[Any]
Files = dict[str, bytes]
"""Content of each file by its path in the folder."""


class ImpossibleError(Exception):
    """An edit that does not apply: the file or the place is no longer there."""


def apply_edits(seed: Mapping[str, bytes], edits: list[Edit], scratch: Path) -> Files:
    """The files after the edits; edits that do not apply are ignored.

    Args:
        seed: The intact files.
        edits: The edits, in order.
        scratch: A file that may be overwritten.
    """
    files = dict(seed)
    for edit in edits:
        with suppress(Exception):  # of numpy, safetensors, JSON or tokenize: an earlier edit has damaged the file
            _apply(files, edit, scratch)
    return files


def _apply(files: Files, edit: Edit, scratch: Path) -> None:
    name, operation, *arguments = edit
    content = files[name]
    if operation in _BYTES:
        files[name] = _BYTES[operation](content, *arguments)
    elif operation == "remove":
        del files[name]
    elif operation == "copy":
        files[name] = files[arguments[0]]
    elif name.endswith(".json"):
        files[name] = edit_json(content, operation, *arguments)
    elif name.endswith(".safetensors"):
        files[name] = edit_tensors(content, operation, arguments, scratch)
    elif name.endswith(".npy"):
        files[name] = _npy(edit_array(np.load(io.BytesIO(content)), operation, *arguments))
        _seal_graph(files, name)
    else:
        files[name] = edit_rows(content, operation, *arguments)


def _cut(content: bytes, length: int) -> bytes:
    return content[: length % (len(content) + 1)]


def _flip(content: bytes, position: int, bit: int) -> bytes:
    place = position % len(content)
    return content[:place] + bytes([content[place] ^ (1 << bit % 8)]) + content[place + 1 :]


def _insert(content: bytes, position: int, text: str, times: int = 1) -> bytes:
    place = position % (len(content) + 1)
    return content[:place] + text.encode("utf-8", "surrogatepass") * min(times, 200_000) + content[place:]


_BYTES: dict[str, Callable[..., bytes]] = {"cut": _cut, "flip": _flip, "insert": _insert}


def edit_json(content: bytes, operation: str, path: list[Any], value: Any = None) -> bytes:
    """``set`` or ``delete`` the value at a path of keys and positions, ``repeat`` it, or ``nest`` it in lists."""
    tree = json.loads(content)
    if operation == "nest":
        depth = min(int(value), 200_000)
        mark = "\N{REPLACEMENT CHARACTER}nested"
        text = json.dumps(_changed(tree, path, lambda _: mark))
        return text.replace(json.dumps(mark), "[" * depth + "]" * depth).encode()
    if operation == "set":
        tree = _changed(tree, path, lambda _: value)
    elif operation == "repeat":
        tree = _changed(tree, path, lambda found: found * min(int(value), 1000))
    elif operation == "delete":
        parent = _at(tree, path[:-1])
        del parent[path[-1]]
    else:
        raise ImpossibleError
    return json.dumps(tree).encode()


def _at(tree: Any, path: list[Any]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _changed(tree: Any, path: list[Any], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(tree)
    parent = _at(tree, path[:-1])
    if isinstance(parent, dict):
        parent[path[-1]] = change(parent.get(path[-1]))
    else:
        parent[path[-1]] = change(parent[path[-1]])
    return tree


def edit_tensors(content: bytes, operation: str, arguments: list[Any], scratch: Path) -> bytes:
    """An edit of one tensor (see ``edit_array``), of the names of tensors, or of the JSON beside them (``about``)."""
    tensors = safetensors.numpy.load(content)
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    about = json.loads(metadata["fitcarl"])["about"]
    if operation == "about":
        about = json.loads(edit_json(json.dumps(about).encode(), *arguments))
    elif operation == "drop":
        del tensors[arguments[0]]
    elif operation == "rename":
        tensors[arguments[1]] = tensors.pop(arguments[0])
    elif operation == "assign":
        tensors[arguments[0]] = tensors[arguments[1]]
    else:
        name, *rest = arguments
        tensors[name] = edit_array(tensors[name], operation, *rest)
    write_tensors(scratch, {name: torch.from_numpy(array.copy()) for name, array in tensors.items()}, about)
    return scratch.read_bytes()


def edit_array(array: np.ndarray[Any, Any], operation: str, *arguments: Any) -> np.ndarray[Any, Any]:
    """``fill``, ``put`` or ``add`` a value, ``reverse``, ``resize``, ``reshape`` the array, or change its ``type``."""
    array = array.copy()
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):
        if operation == "fill":
            flat[:] = _number(arguments[0], array.dtype)
        elif operation == "put":
            flat[arguments[0] % len(flat)] = _number(arguments[1], array.dtype)
        elif operation == "add":
            flat += _number(arguments[0], array.dtype)
        elif operation == "reverse":
            array = array[::-1].copy()
        elif operation == "resize":
            array = np.resize(array, (min(abs(int(arguments[0])), 10_000), *array.shape[1:]))
        elif operation == "reshape":
            array = np.resize(array, [min(abs(int(side)), 20_000) for side in arguments[0]])
            if array.nbytes > 4_000_000:
                raise ImpossibleError
        elif operation == "type":
            array = array.astype(np.dtype(arguments[0]))
        else:
            raise ImpossibleError
    return array


def _number(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a value of a type; integers wrap around as in C."""
    if dtype.kind in "iu" and isinstance(value, int):
        return np.array(value & (2**64 - 1), dtype=np.uint64).astype(dtype)
    if dtype.kind == "b":
        return bool(value)
    return np.array(value).astype(dtype)


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _seal_graph(files: Files, column: str) -> None:
    """Puts the checksum of a changed column into the description of the graph."""
    description = column.rpartition("/")[0] + "/graph.json" if "/" in column else "graph.json"
    about = json.loads(files[description])
    array = np.load(io.BytesIO(files[column]))
    about["sha256"][column.rpartition("/")[2].removesuffix(".npy")] = sha256_of_arrays(array)
    files[description] = json.dumps(about).encode()


def edit_rows(content: bytes, operation: str, *arguments: Any) -> bytes:
    """Edits of a table in text: ``cell``, ``delete``, ``repeat`` or ``swap`` a row."""
    rows = content.decode("utf-8", "surrogateescape").split("\n")
    row = arguments[0] % len(rows)
    if operation == "cell":
        cells = re.split(r"([\t,])", rows[row])
        cells[2 * arguments[1] % (len(cells) + 1)] = str(arguments[2])
        rows[row] = "".join(cells)
    elif operation == "delete":
        del rows[row]
    elif operation == "repeat":
        rows[row:row] = [rows[row]] * min(int(arguments[1]), 1000)
    elif operation == "swap":
        other = arguments[1] % len(rows)
        rows[row], rows[other] = rows[other], rows[row]
    else:
        raise ImpossibleError
    return "\n".join(rows).encode("utf-8", "surrogatepass")
