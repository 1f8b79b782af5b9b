"""Facts as arrays: subject, relation, object and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.data.relations import RelationIds

Ids = NDArray[np.int32]
Row = tuple[int, int, int, int]
"""A fact by its ids: subject, relation, object, tick."""


@dataclass(frozen=True, eq=False)
class Quadruples:
    """Facts (s, r, o, t) in columns of equal length. The order is significant: support facts come first."""

    subject: Ids
    """int32 [facts], entity ids."""
    relation: Ids
    """int32 [facts], relation ids in [0, R)."""
    object: Ids
    """int32 [facts], entity ids."""
    time: Ids
    """int32 [facts], ticks of the dataset's calendar."""

    def __post_init__(self) -> None:
        if not len(self.subject) == len(self.relation) == len(self.object) == len(self.time):
            raise ValueError("columns of quadruples differ in length")

    @classmethod
    def of(cls, subject: ArrayLike, relation: ArrayLike, object: ArrayLike, time: ArrayLike) -> Quadruples:
        """Quadruples from anything array-like, as contiguous int32."""
        return cls(*(np.ascontiguousarray(column, dtype=np.int32) for column in (subject, relation, object, time)))

    @classmethod
    def empty(cls) -> Quadruples:
        return cls.of([], [], [], [])

    @classmethod
    def from_rows(cls, rows: ArrayLike) -> Quadruples:
        """Quadruples from an array of shape [facts, 4]."""
        table = np.asarray(rows, dtype=np.int32).reshape(-1, 4)
        return cls.of(*table.T)

    @classmethod
    def concat(cls, parts: Sequence[Quadruples]) -> Quadruples:
        if not parts:
            return cls.empty()
        return cls(
            np.concatenate([part.subject for part in parts]),
            np.concatenate([part.relation for part in parts]),
            np.concatenate([part.object for part in parts]),
            np.concatenate([part.time for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.subject)

    def __iter__(self) -> Iterator[Row]:
        return zip(self.subject.tolist(), self.relation.tolist(), self.object.tolist(), self.time.tolist(), strict=True)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Quadruples) and np.array_equal(self.rows(), other.rows())

    __hash__ = None  # type: ignore[assignment]

    def take(self, index: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Quadruples:
        """The facts at these positions, or where this mask is true."""
        if isinstance(index, np.ndarray) and index.dtype.kind == "i":  # NumPy's index operator is slower
            columns = (self.subject, self.relation, self.object, self.time)
            return Quadruples(*(column.take(index) for column in columns))
        return Quadruples(self.subject[index], self.relation[index], self.object[index], self.time[index])

    def distinct(self) -> Quadruples:
        """The facts without later duplicates, in the same order."""
        if self._are_distinct():
            return self
        import polars as pl

        columns = {"s": self.subject, "r": self.relation, "o": self.object, "t": self.time}
        kept = pl.DataFrame(columns).unique(keep="first", maintain_order=True)
        return Quadruples(*(column.to_numpy(writable=True) for column in kept.get_columns()))

    def _are_distinct(self) -> bool:
        """Whether all facts differ; False also if they do not fit in one number each, which is sorted fastest."""
        columns = (self.subject, self.relation, self.object, self.time)
        if len(self) < 2:
            return True
        first = [int(column.min()) for column in columns]
        bits = [(int(column.max()) - low).bit_length() for column, low in zip(columns, first, strict=True)]
        if sum(bits) > 63:
            return False
        key = np.zeros(len(self), dtype=np.int64)
        for column, low, width in zip(columns, first, bits, strict=True):
            key <<= width
            key |= column.astype(np.int64) - low
        key.sort()
        return bool((key[1:] != key[:-1]).all())

    def rows(self) -> NDArray[np.int32]:
        """int32 [facts, 4], one fact per row."""
        return np.stack([self.subject, self.relation, self.object, self.time], axis=1)

    def inverted(self, relations: RelationIds) -> Quadruples:
        """The inverse of every fact: (o, r⁻¹, s, t)."""
        return Quadruples(self.object, relations.inverse(self.relation), self.subject, self.time)

    def both_directions(self, relations: RelationIds) -> Quadruples:
        """The facts followed by their inverses."""
        return Quadruples.concat([self, self.inverted(relations)])

    def in_real_direction(self, relations: RelationIds) -> Quadruples:
        """Every fact with a relation in [0, R): facts with an inverse relation are inverted, the others kept."""
        inverse = relations.is_inverse(self.relation)
        return Quadruples(
            np.where(inverse, self.object, self.subject),
            np.where(inverse, relations.inverse(self.relation), self.relation),
            np.where(inverse, self.subject, self.object),
            self.time,
        )

    def seen_from(self, entity: Ids, relations: RelationIds) -> Quadruples:
        """Every fact inverted if needed so that its subject is ``entity[i]``, which must be its subject or object."""
        forward = self.subject == entity
        if not np.all(forward | (self.object == entity)):
            raise ValueError("an entity is neither subject nor object of its fact")
        return Quadruples(
            np.where(forward, self.subject, self.object),
            np.where(forward, self.relation, relations.inverse(self.relation)),
            np.where(forward, self.object, self.subject),
            self.time,
        )
