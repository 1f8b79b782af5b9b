"""Evaluated queries of model ``plus``: the scores of a batch, and the paths behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Groups
from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.action_features import ActionFeatures
from fitcarl.models.plus.evidence.peers import PeerFacts
from fitcarl.models.plus.evidence.sources import group_paths
from fitcarl.models.plus.evidence.trace import Trace, excitation_chains, peer_chains, reach_chains
from fitcarl.models.plus.outcomes import MIN_PROBABILITY, Outcomes
from fitcarl.models.plus.policy import LogProbs
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.support import SupportFacts
from fitcarl.scoring.evidence import Chain, Edge
from fitcarl.scoring.path import ExplanationPath, PathKind, make_step
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries


@dataclass(frozen=True, eq=False)
class EvaluatedQueries:
    """A batch of queries with the probabilities of all their outcomes."""

    graph: TemporalGraph
    """The background with the support facts as overlay."""
    statistics: GraphStatistics
    support: SupportFacts
    """One row per query."""
    queries: Queries
    actions: ActionFeatures
    log_probs: LogProbs
    outcomes: Outcomes
    """The outcomes of all queries."""
    scores: Scores
    """Every entity at which a path or a candidate ends, with the log of its total probability."""

    @classmethod
    def of(
        cls,
        graph: TemporalGraph,
        statistics: GraphStatistics,
        support: SupportFacts,
        queries: Queries,
        actions: ActionFeatures,
        log_probs: LogProbs,
    ) -> EvaluatedQueries:
        """The queries with their outcomes and scores."""
        outcomes = Outcomes.from_policy(actions, log_probs)
        scores = outcomes.summed(len(queries), graph.entities)
        return cls(graph, statistics, support, queries, actions, log_probs, outcomes, scores)

    def explain(
        self, row: int, entities: Sequence[int], vocabulary: Vocabulary, calendar: Calendar, limit: int
    ) -> list[list[ExplanationPath]]:
        """The paths to each entity: those that the policy follows, most probable first.

        Paths that differ in their times only are one. An entity that no path leads to gets paths over peers, or over
        the facts that the reach network reads, or a context fact.

        Args:
            row: The query.
            entities: The entities.
            vocabulary: Names of entities and relations.
            calendar: Names of times.
            limit: Maximum number of paths per entity.
        """
        found = _QueryPaths(self, row, self._by_query.members(np.array([row]))[1], vocabulary, calendar)
        return [found.to(entity, limit) for entity in entities]

    def trace(self, row: int, entity: int) -> Trace:
        """The facts behind the features of an entity as the answer to the query in a row."""
        support, query = self.support.take(np.array([row])), self.queries.take(slice(row, row + 1))
        return Trace.of(self.graph, self.statistics, support, query, entity)

    def edges(self, outcome: int) -> tuple[Edge, ...]:
        """The edges of the path of an outcome."""
        ends, actions, space = self.outcomes, self.actions, self.actions.space
        row, shot, column = int(ends.query[outcome]), int(ends.shot[outcome]), int(ends.column[outcome])
        middle = int(actions.entity[row, shot])
        first = int(self.queries.entity[row]), int(actions.relation[row, shot]), middle, int(actions.time[row, shot])
        if column == 0:
            return (first,)
        state = row * actions.shots + shot
        second = int(space.relation[state, column]), int(space.entity[state, column]), int(space.time[state, column])
        return first, (middle, *second)

    def step_probabilities(self, outcome: int, steps: int) -> list[float]:
        """The probabilities of the first and of the second choice; stopping only counts in that of the path."""
        ends = self.outcomes
        start = float(self.log_probs.start[int(ends.query[outcome]), int(ends.shot[outcome])])
        return [math.exp(start)] + [math.exp(float(ends.score[outcome]) - start)] * (steps - 1)

    @cached_property
    def _by_query(self) -> Groups:
        return Groups.of(self.outcomes.query)


@dataclass(frozen=True, eq=False)
class _QueryPaths:
    """Explanations of the answers to one query."""

    evaluated: EvaluatedQueries
    row: int
    positions: NDArray[np.int64]
    """int64 [outcomes of the query], in the outcomes of the batch."""
    vocabulary: Vocabulary
    calendar: Calendar

    def to(self, entity: int, limit: int) -> list[ExplanationPath]:
        """At most ``limit`` explanations of one entity."""
        evaluated, ends = self.evaluated, self.evaluated.outcomes
        chosen = self.positions[self._entity == entity]
        walks = {evaluated.edges(index): index for index in chosen[ends.shot[chosen] >= 0].tolist()}
        found = []
        for group in group_paths([Chain(edges, math.exp(ends.score[index])) for edges, index in walks.items()])[:limit]:
            best, *others = sorted(group, key=lambda chain: (-chain.weight, chain.edges))
            probabilities = evaluated.step_probabilities(walks[best.edges], len(best.edges))
            log_prob = math.log(max(sum(chain.weight for chain in group), MIN_PROBABILITY))
            path = self._path(best.edges, probabilities, log_prob, "path")
            also = tuple(tuple(self.calendar.label(edge[3]) for edge in chain.edges) for chain in others)
            found.append(replace(path, also=also))
        if found or not len(chosen):
            return found
        log_prob = float(ends.score[chosen].max())
        return [self._path(edges, None, log_prob, kind) for edges, kind in self._other_chains(entity)[:limit]]

    @cached_property
    def _entity(self) -> NDArray[np.int32]:
        return self.evaluated.outcomes.entity[self.positions]

    @cached_property
    def _trace(self) -> Trace:
        return self.evaluated.trace(self.row, -1)

    @cached_property
    def _peers(self) -> PeerFacts:
        return PeerFacts.of(self._trace)

    def _other_chains(self, entity: int) -> list[tuple[tuple[Edge, ...], PathKind]]:
        """Explanations of an entity that the policy has no path to."""
        trace = replace(self._trace, candidate=entity)
        finders: tuple[tuple[PathKind, Callable[[Trace], list[Chain]]], ...] = (
            ("peers", partial(peer_chains, peers=self._peers)),
            ("peers", partial(peer_chains, same_relation=False, peers=self._peers)),
            ("path", reach_chains),
            ("context", excitation_chains),
        )
        for kind, find in finders:
            groups = group_paths(find(trace))
            if groups:
                shown = groups[:1] if kind == "context" else groups
                return [(max(group, key=lambda chain: chain.weight).edges, kind) for group in shown]
        return []

    def _path(
        self, edges: Sequence[Edge], probabilities: Sequence[float] | None, log_prob: float, kind: PathKind
    ) -> ExplanationPath:
        """Edges as a path with names; ``probabilities`` are those of the steps, if the policy follows them."""
        chances = [None] * len(edges) if probabilities is None else probabilities
        names = self.vocabulary, self.calendar
        steps = [make_step(*edge, chance, None, *names) for edge, chance in zip(edges, chances, strict=True)]
        start, end = (self.vocabulary.entities[number] for number in (self._trace.entity, edges[-1][2]))
        return ExplanationPath(start, end, log_prob, tuple(steps), kind)
