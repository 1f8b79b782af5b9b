"""How relations are numbered: the one place that knows inverses, the self-loop and the dummy relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

IntOrArray = TypeVar("IntOrArray", int, NDArray[np.int32], NDArray[np.int64])


@dataclass(frozen=True)
class RelationIds:
    """Ids of ``count`` relations r in [0, R), their inverses r + R, the self-loop 2R and the dummy 2R + 1."""

    count: int

    @property
    def directed(self) -> int:
        """How many ids edges of the graph can have: every relation and its inverse."""
        return 2 * self.count

    @property
    def self_loop(self) -> int:
        """The action that stays at the current node."""
        return 2 * self.count

    @property
    def dummy(self) -> int:
        """The relation that opens a search history (Eq. 3)."""
        return 2 * self.count + 1

    @property
    def total(self) -> int:
        """Rows of a table that has a row for every id."""
        return 2 * self.count + 2

    def inverse(self, relation: IntOrArray) -> IntOrArray:
        """The same fact's relation seen from its other end (not for self-loop and dummy); twice changes nothing."""
        return (relation + self.count) % (2 * self.count)

    def base(self, relation: IntOrArray) -> IntOrArray:
        """The relation as it stands in the facts, for a relation or its inverse."""
        return relation % self.count

    def is_inverse(self, relation: int) -> bool:
        return self.count <= relation < 2 * self.count
