"""Evidence: additive contributions to the score of an answer, each with the facts it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.tasks.task import Queries, Task

Edge = tuple[int, int, int, int]
"""A directed edge: source, relation (may be an inverse), target, tick."""

BASE, PATH, OTHER_PATHS, FACT = "base", "path", "other_paths", "fact"
"""Sources that are no family of features: a typical candidate, one path, all further paths, and a single fact."""


@dataclass(frozen=True)
class Chain:
    """Facts that belong together: a path from the query entity to the answer, or facts of the answer alone."""

    edges: tuple[Edge, ...]
    """Each begins where the one before ends. The last one ends at the answer, or at a contact that is similar to it."""
    weight: float
    """How strong it is among the chains of its source; not comparable between sources."""


@dataclass(frozen=True, eq=False)
class EvidenceSource:
    """One source of evidence for an answer."""

    source: str
    """``base``, ``path``, ``other_paths`` or the name of a family of features."""
    contribution: float
    """Its part of the score, in nats; those of all sources add up to the score."""
    chains: tuple[Chain, ...]
    """The facts it rests on, strongest first; empty if it rests on no single facts."""


@runtime_checkable
class EvidenceScorer(Protocol):
    """A scorer that can divide the score of an answer among its sources."""

    def evidence(self, task: Task, query: Queries, entity: int) -> list[EvidenceSource]:
        """The contributions to the score of an entity as the answer to one query; they add up to the score."""
        ...


def facts_of(chains: Sequence[Chain], relations: RelationIds) -> Quadruples:
    """The distinct facts of chains in their original direction, in the order of the chains."""
    edges = list(dict.fromkeys(edge for chain in chains for edge in chain.edges))
    facts = Quadruples.from_rows(edges).in_real_direction(relations)
    return Quadruples.from_rows(list(dict.fromkeys(facts)))
