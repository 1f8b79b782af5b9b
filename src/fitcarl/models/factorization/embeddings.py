"""Embeddings of entities and relations, their file format, and the import of published ``.npy`` files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError

EmbeddingRows = NDArray[np.float32]

_TENSORS = {"entity": np.float32, "relation": np.float32, "trained": np.bool_}


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Rows of d real numbers; for ComplEx the real parts of d/2 complex numbers, then their imaginary parts."""

    entity: EmbeddingRows
    """float32 [E, d]; untrained rows are zero."""
    relation: EmbeddingRows
    """float32 [2R, d]; row r + R is the inverse of relation r."""
    trained: NDArray[np.bool_]
    """bool [E]: whether the entity occurs in the background."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Provenance, such as method, seed and settings; any JSON value."""

    def __post_init__(self) -> None:
        if self.entity.ndim != 2 or self.relation.ndim != 2 or self.entity.shape[1] != self.relation.shape[1]:
            raise ValueError("entity and relation embeddings differ in dimension")
        if self.dimension % 2 or len(self.relation) % 2 or self.trained.shape != self.entity.shape[:1]:
            raise ValueError("the dimension and the number of relation rows must be even, with one flag per entity")
        if np.any(self.entity[~self.trained]):
            raise ValueError("untrained rows must be zero")

    @property
    def dimension(self) -> int:
        """d, real numbers per row."""
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
        """sha256 of the arrays, without their provenance."""
        return sha256_of_arrays(self.entity, self.relation, self.trained)

    def save(self, file: str | Path) -> None:
        """Writes a safetensors file atomically; equal embeddings give equal bytes."""
        write_tensors(Path(file), self.tensors(), dict(self.about))

    def tensors(self) -> dict[str, torch.Tensor]:
        """The arrays as they are stored."""
        return {name: torch.from_numpy(np.array(getattr(self, name))) for name in _TENSORS}

    @classmethod
    def load(cls, file: str | Path, *, verified: bool = False) -> Embeddings:
        """Reads what ``save`` wrote.

        Args:
            file: The file.
            verified: Whether the file was compared with a manifest already.

        Raises:
            InputError: If the file is missing, is no file of embeddings, or has changed since it was written.
        """
        tensors, about = read_tensors(Path(file), finite=True, verified=verified)
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        try:
            if {name: array.dtype.type for name, array in arrays.items()} != _TENSORS:
                raise ValueError("other arrays")
            return cls(**arrays, about=about)
        except ValueError as error:
            raise InputError(f"cannot be read ({error})", file=file, expected="embeddings") from None


def trained_entities(background: Quadruples, entities: int) -> NDArray[np.bool_]:
    """bool [E]: whether the entity has a fact in the background."""
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
    """Imports embeddings from two ``.npy`` files with rows and columns in the order of ``Embeddings``.

    Rows of entities without a background fact are set to zero, because they were not trained (the files published for
    ICEWS14-OOG hold the same vector for all of them).

    Args:
        entity: File of shape [entities, d].
        relation: File of shape [2 × relations, d].
        background: The facts that the embeddings were trained on.
        entities: The number of entities.
        relations: The relation ids.

    Raises:
        InputError: If a file is missing or does not have the expected shape and type.
    """
    rows = _read_npy(entity, entities, f"one row for each of {entities} entities")
    expected = f"one row for each of {relations.count} relations, then one for each inverse"
    relation_rows = _read_npy(relation, relations.directed, expected)
    if rows.shape[1] != relation_rows.shape[1]:
        found = f"{relation_rows.shape[1]} columns"
        raise InputError("wrong shape", file=relation, found=found, expected=f"{rows.shape[1]}, as in {entity}")
    trained = trained_entities(background, entities)
    rows[~trained] = 0
    about = {"origin": "imported", "entity": Path(entity).name, "relation": Path(relation).name}
    return Embeddings(rows, relation_rows, trained, about)


def _read_npy(file: str | Path, rows: int, meaning: str) -> EmbeddingRows:
    try:
        # Memory-mapped, so that the shape is checked before the file is read.
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError("no such file", file=file, expected="a .npy file") from None
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"cannot be read ({error})", file=file, expected="a .npy file of numbers") from None
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
    not_finite = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(not_finite):
        raise InputError(
            "a number is not finite", file=file, found=f"array row {not_finite[0]}", expected="finite numbers"
        )
    return numbers
