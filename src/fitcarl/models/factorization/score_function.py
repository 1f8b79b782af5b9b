"""The interface of score functions: pure functions on rows of embedding tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Tables:
    """The embedding tables of a model."""

    entity: Tensor
    """[E, d]."""
    relation: Tensor
    """[2R, ·]; row r + R is the inverse of relation r."""
    time: Tensor | None = None
    """[T, ·], one row per timestamp of the training facts in ascending order; None for models without time."""
    drift: Tensor | None = None
    """[·], the expected difference of successive rows of ``time``; None for most models."""

    def time_rows(self, tick: Tensor) -> Tensor | None:
        """The rows of timestamps; None for models without time."""
        return None if self.time is None else self.time[tick]

    def inverse(self, relation: Tensor) -> Tensor:
        """The ids of the inverse relations."""
        directed = len(self.relation)
        return (relation + directed // 2) % directed


class ScoreFunction(Protocol):
    """A score of (s, r, o, t) that is the dot product of a composed query row and the row of o."""

    name: ClassVar[str]
    components: ClassVar[int]
    """Real numbers per coordinate; a row holds the first component of all coordinates, then the second, and so on."""
    relation_parts: ClassVar[int]
    """Width of a relation row, in multiples of the width of an entity row."""
    temporal: ClassVar[bool]
    """Whether timestamps have rows, as wide as those of entities."""
    drifts: ClassVar[bool]
    """Whether the regulariser of timestamps has a learned drift."""

    def compose(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:
        """q, [n, d], so that the score of (e, r, o, t) is q · o."""
        ...

    def query_penalty(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:
        """[n]: the regulariser of the query rows of a fact."""
        ...

    def answer_penalty(self, entity: Tensor) -> Tensor:
        """[n]: the regulariser of the answer's row of a fact."""
        ...

    def time_penalty(self, tables: Tables) -> Tensor:
        """Scalar: the regulariser of the rows of all timestamps; 0 for models without time."""
        ...
