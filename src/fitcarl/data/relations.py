"""Relation ids: inverse relations, the self-loop and the dummy relation. Defined here only.

``graph.kernels.inverse_relation`` is the twin of ``RelationIds.inverse`` that compiled loops call; a test holds them
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

IntOrArray = TypeVar("IntOrArray", int, NDArray[np.int32], NDArray[np.int64])


@dataclass(frozen=True)
class RelationIds:
    """Ids of ``count`` relations r in [0, R), their inverses r + R, the self-loop 2R and the dummy 2R + 1."""

    count: int

    @property
    def directed(self) -> int:
        """Number of ids that graph edges can have: every relation and its inverse."""
        return 2 * self.count

    @property
    def self_loop(self) -> int:
        """The action that stays at the current node."""
        return 2 * self.count

    @property
    def dummy(self) -> int:
        """The first relation of a search history (Eq. 3)."""
        return 2 * self.count + 1

    @property
    def total(self) -> int:
        """Rows of a table with one row per id."""
        return 2 * self.count + 2

    def inverse(self, relation: IntOrArray) -> IntOrArray:
        """The relation of the same fact read from its object; an involution, not defined for self-loop and dummy."""
        return (relation + self.count) % (2 * self.count)

    def base(self, relation: IntOrArray) -> IntOrArray:
        """The relation in [0, R) of a relation or its inverse."""
        return relation % self.count

    @overload
    def is_inverse(self, relation: int) -> bool: ...

    @overload
    def is_inverse(self, relation: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.bool_]: ...

    def is_inverse(self, relation: int | NDArray[np.int32] | NDArray[np.int64]) -> bool | NDArray[np.bool_]:
        """Whether a relation is an inverse one; False for self-loop and dummy."""
        return (relation >= self.count) & (relation < 2 * self.count)
