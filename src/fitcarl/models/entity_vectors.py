"""Vectors of known entities, for use outside of a model: search for similar entities, clustering, features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.tensors import array_of


@dataclass(frozen=True, eq=False)
class EntityVectors:
    """One row per entity."""

    kind: str
    """What the rows are, in words."""
    rows: NDArray[np.float32]
    """float32 [entities, dimensions]."""
    known: NDArray[np.bool_]
    """bool [entities]: whether the entity has a row of its own; other rows have no meaning."""

    @classmethod
    def of(cls, kind: str, rows: NDArray[np.float32] | Tensor) -> EntityVectors:
        """Rows in which entities without a vector have zeros only."""
        array = array_of(rows) if isinstance(rows, Tensor) else rows
        return cls(kind, array, np.any(array != 0, axis=1))

    def nearest(self, entity: int, count: int) -> list[tuple[int, float]]:
        """The most similar other entities with their cosine similarity, most similar first.

        Args:
            entity: A known entity.
            count: Maximum number of entities.
        """
        similarity = self._directions @ self._directions[entity]
        others = np.flatnonzero(self.known)
        others = others[others != entity]
        order = others[np.lexsort((others, -similarity[others]))][:count]
        return [(int(other), float(similarity[other])) for other in order]

    @cached_property
    def _directions(self) -> NDArray[np.float64]:
        """float64 [entities, dimensions]: rows of length 1."""
        rows = self.rows.astype(np.float64)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(length > 0, length, 1)


@runtime_checkable
class HasEntityVectors(Protocol):
    """A model with a vector for each known entity."""

    def entity_vectors(self) -> EntityVectors:
        """The vectors of the entities of the background."""
        ...
