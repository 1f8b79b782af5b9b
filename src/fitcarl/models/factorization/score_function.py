"""What a score function consists of."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class BilinearScore(Protocol):
    """A score of (s, r, o) that is the dot product of a composed query row and the row of o."""

    name: str
    components: int
    """Real numbers per coordinate; a row holds the first component of all coordinates, then the second, and so on."""

    def compose(self, entity: Tensor, relation: Tensor) -> Tensor:
        """q, [n, d], so that the score of (e, r, o) is q · o."""
        ...
