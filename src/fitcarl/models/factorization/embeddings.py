"""Embeddings of entities and relations, their file, and the importer of published pairs of ``.npy``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError

Rows = NDArray[np.float32]

_TENSORS = {"entity": np.float32, "relation": np.float32, "trained": np.bool_}
_EXPECTED = "embeddings that fitcarl wrote"


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Rows of d real numbers: first the real parts of d/2 complex numbers, then their imaginary parts."""

    entity: Rows
    """float32 [E, d]; rows that were not trained are zero."""
    relation: Rows
    """float32 [2R, d]; row r + R is the inverse of relation r."""
    trained: NDArray[np.bool_]
    """bool [E]: entities that occur in the background."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """How they came to be; anything JSON can hold."""

    def __post_init__(self) -> None:
        if self.entity.ndim != 2 or self.relation.ndim != 2 or self.entity.shape[1] != self.relation.shape[1]:
            raise ValueError("entities and relations differ in dimension")
        if self.dimension % 2 or len(self.relation) % 2 or len(self.trained) != len(self.entity):
            raise ValueError("an odd dimension, a relation without its inverse, or a flag without its entity")
        if np.any(self.entity[~self.trained]):
            raise ValueError("an untrained row is not zero")

    @property
    def dimension(self) -> int:
        """d, real numbers a row."""
        return int(self.entity.shape[1])

    @property
    def relations(self) -> RelationIds:
        return RelationIds(len(self.relation) // 2)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Embeddings) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _TENSORS
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def digest(self) -> str:
        """sha256 of the rows and flags: what they are, not how they came to be."""
        sha = hashlib.sha256()
        for name in _TENSORS:
            array = getattr(self, name)
            sha.update(f"{name} {array.shape}\n".encode() + np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()

    def save(self, file: str | Path) -> None:
        """Writes a safetensors file that is there whole or not at all; equal embeddings give equal bytes."""
        from safetensors.numpy import save

        # One key, because the order of several is not fixed.
        about = json.dumps({"about": dict(self.about), "sha256": self.digest}, sort_keys=True)
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in _TENSORS}
        content = save(arrays, metadata={"fitcarl": about})

        file = Path(file)
        sibling = file.with_name(f".{file.name}.{os.getpid()}.{get_ident()}")
        try:
            with sibling.open("wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            sibling.replace(file)
        except BaseException:
            sibling.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, file: str | Path) -> Embeddings:
        """What ``save`` wrote; an InputError where the file is none of ours or has changed since."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(file, framework="numpy") as stored:
                told = json.loads((stored.metadata() or {}).get("fitcarl", "{}"))
                arrays = {name: stored.get_tensor(name) for name in _TENSORS}
            found = cls(**arrays, about=told["about"])
        except FileNotFoundError:
            raise InputError("no such file", file=file, expected=_EXPECTED) from None
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as trouble:
            raise InputError(f"cannot be read ({trouble})", file=file, expected=_EXPECTED) from None
        if any(array.dtype != _TENSORS[name] for name, array in arrays.items()) or found.digest != told.get("sha256"):
            raise InputError("has changed since it was written", file=file, expected=_EXPECTED)
        return found


def trained_entities(background: Quadruples, entities: int) -> NDArray[np.bool_]:
    """bool [E]: which entities have a fact in the background, and so anything to be trained on."""
    trained = np.zeros(entities, dtype=np.bool_)
    trained[background.subject] = True
    trained[background.object] = True
    return trained


def import_npy(
    entity: str | Path,
    relation: str | Path,
    background: Quadruples,
    entities: int,
    relations: RelationIds,
) -> Embeddings:
    """Embeddings from two ``.npy`` files with our order of rows and columns.

    Rows of entities without a background fact become zero: whatever stands there was not trained (in the pair
    published for ICEWS14-OOG it is one and the same vector for all of them).
    """
    rows = _read_npy(entity, entities, f"one row for each of {entities} entities")
    expected = f"one row for each of {relations.count} relations, then one for each inverse"
    turns = _read_npy(relation, relations.directed, expected)
    if rows.shape[1] != turns.shape[1]:
        found = f"{turns.shape[1]} columns"
        raise InputError("wrong shape", file=relation, found=found, expected=f"{rows.shape[1]}, as in {entity}")
    trained = trained_entities(background, entities)
    rows[~trained] = 0
    about = {"origin": "imported", "entity": Path(entity).name, "relation": Path(relation).name}
    return Embeddings(rows, turns, trained, about)


def _read_npy(file: str | Path, rows: int, meaning: str) -> Rows:
    try:
        # Mapped, so that a file of the wrong shape is refused before it is read.
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError("no such file", file=file, expected="a .npy file") from None
    except (OSError, ValueError, EOFError) as trouble:
        raise InputError(f"cannot be read ({trouble})", file=file, expected="a .npy file of numbers") from None
    if not isinstance(array, np.ndarray):
        raise InputError("is an archive of arrays", file=file, expected="a .npy file with one array")
    if array.dtype.kind != "f":
        raise InputError("wrong type", file=file, found=f"dtype {array.dtype}", expected="float32")
    if array.ndim != 2 or array.shape[0] != rows:
        raise InputError("wrong shape", file=file, found=f"shape {array.shape}", expected=f"({rows}, d): {meaning}")
    if array.shape[1] == 0 or array.shape[1] % 2:
        found = f"{array.shape[1]} columns"
        raise InputError("wrong shape", file=file, found=found, expected="d/2 real, then d/2 imaginary parts")
    numbers = np.array(array, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(bad):
        raise InputError("a number is not finite", file=file, found=f"array row {bad[0]}", expected="finite numbers")
    return numbers
