"""Neighbourhoods without times: the distinct (relation, neighbour) messages of each entity, in CSR form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions, offsets_of, spans
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Ragged rows of messages. A message is a pair (relation, neighbour), which many rows may contain."""

    relation: Positions
    """int64 [messages] in [0, 2R), from the owner of a row to the neighbour; ascending."""
    neighbour: Positions
    """int64 [messages], entity ids."""
    offsets: Positions
    """int64 [rows + 1]: the messages of row i are ``message[offsets[i]:offsets[i + 1]]``."""
    message: Positions
    """int64 [elements], positions in ``relation`` and ``neighbour``; distinct within a row."""

    @classmethod
    def from_edges(
        cls, row: NDArray[np.integer], relation: NDArray[np.integer], neighbour: NDArray[np.integer], rows: int
    ) -> Neighbourhoods:
        """The neighbourhoods of directed edges in any order; repeated edges (facts that differ in time) count once.

        Args:
            row: Integer [edges] in [0, rows), the row that an edge belongs to.
            relation: Integer [edges] in [0, 2R).
            neighbour: Integer [edges], the entity at the other end.
            rows: Number of rows.
        """
        width = int(neighbour.max(initial=0)) + 1
        pair, message = np.unique(relation.astype(np.int64) * width + neighbour, return_inverse=True)
        count = max(1, len(pair))
        element = np.unique(row.astype(np.int64) * count + message)
        owner, message = np.divmod(element, count)
        relations, neighbours = np.divmod(pair, width)
        return cls(relations, neighbours, offsets_of(np.bincount(owner, minlength=rows)), message)

    @classmethod
    def of_facts(cls, facts: Quadruples, entities: int, relations: RelationIds) -> Neighbourhoods:
        """One row per entity: the messages of both directions of all facts."""
        both = facts.both_directions(relations)
        return cls.from_edges(both.subject, both.relation, both.object, entities)

    @classmethod
    def of_graph(cls, graph: TemporalGraph, sends: NDArray[np.bool_]) -> Neighbourhoods:
        """One row per entity of a graph, overlay included.

        Args:
            graph: Both directions of every fact.
            sends: bool [entities]: whether an entity is used as a neighbour; others have no trained input row.
        """
        edges = Quadruples.concat([graph.base.edges(), graph.overlay.edges()])
        edges = edges.take(sends[edges.object])
        return cls.from_edges(edges.subject, edges.relation, edges.object, graph.entities)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.offsets) - 1

    @property
    def counts(self) -> Positions:
        """int64 [rows], messages of each row."""
        return np.diff(self.offsets)

    @property
    def row(self) -> Positions:
        """int64 [elements]: the row of each element."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.counts)

    def take(self, rows: Positions) -> Neighbourhoods:
        """The given rows, in that order, and only the messages that they contain.

        Args:
            rows: int64 [rows wanted].
        """
        counts = self.counts[rows]
        used, message = np.unique(self.message[spans(self.offsets[rows], counts)[1]], return_inverse=True)
        return Neighbourhoods(self.relation[used], self.neighbour[used], offsets_of(counts), message)

    def find(self, relation: Ids, neighbour: Ids) -> Positions:
        """int64 [pairs]: the positions of messages, all of which must exist."""
        width = int(self.neighbour.max(initial=0)) + 1
        keys = self.relation * width + self.neighbour
        return np.searchsorted(keys, relation.astype(np.int64) * width + neighbour)

    def shuffled(self, rng: np.random.Generator) -> Neighbourhoods:
        """The same rows, each with its messages in random order."""
        order = np.lexsort((rng.random(len(self.message)), self.row))
        return Neighbourhoods(self.relation, self.neighbour, self.offsets, self.message[order])

    def sample(
        self, rows: Positions, limit: int, rng: np.random.Generator, leave_out: Positions | None = None
    ) -> Neighbourhoods:
        """Neighbourhoods of the given rows with at most ``limit`` messages each, and only the messages they contain.

        A row with more messages gets consecutive ones from a random start, cyclically: a sample without replacement,
        uniform if the rows were ``shuffled``.

        Args:
            rows: int64 [rows wanted]; a row may be wanted more than once.
            limit: Maximum number of messages per row.
            rng: Source of random numbers.
            leave_out: int64 [rows wanted], a message that the row must not contain; -1 for none.
        """
        degree = self.counts[rows]
        count = np.minimum(degree, limit)
        row = np.repeat(np.arange(len(rows), dtype=np.int64), count)
        rank = np.arange(len(row), dtype=np.int64) - np.repeat(offsets_of(count)[:-1], count)
        start = (rng.random(len(rows)) * degree).astype(np.int64)
        position = self.offsets[rows][row] + (start[row] + rank) % degree[row]
        message = self.message[position]
        if leave_out is not None:
            keep = message != leave_out[row]
            row, message = row[keep], message[keep]
        used, message = np.unique(message, return_inverse=True)
        offsets = offsets_of(np.bincount(row, minlength=len(rows)))
        return Neighbourhoods(self.relation[used], self.neighbour[used], offsets, message)
