"""Model ``plus`` as a scorer: scores are sums over paths and candidates, and the best paths explain them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from fitcarl.core.arrays import Positions, batches
from fitcarl.core.device import device_of
from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import MetaSet
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.action_features import action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.evaluation import EvaluatedQueries
from fitcarl.models.plus.evidence.contributions import contributions
from fitcarl.models.plus.evidence.sources import MAX_PATHS, evidence_sources, group_paths
from fitcarl.models.plus.hidden_facts import HiddenFacts
from fitcarl.models.plus.outcomes import Outcomes
from fitcarl.models.plus.policy import PlusPolicy
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.threads import map_batches
from fitcarl.models.plus.timeline import Timeline
from fitcarl.models.support import SupportFacts
from fitcarl.scoring.counterfactual import Counterfactual
from fitcarl.scoring.evidence import Chain, EvidenceSource
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_MAX_ROWS = 32_768
"""Actions and candidates of a batch of queries, about 600 bytes each; a few batches per thread are held at once."""
_MAX_VARIANTS = 32
"""Counterfactuals that are scored at once."""


class PlusScorer:
    """Scores entities by the log-probability that the policy ends at them."""

    def __init__(
        self,
        policy: PlusPolicy,
        background: TemporalGraph,
        timeline: Timeline,
        action_count: int,
        shortlist: int,
        encoder_scorer: EncoderScorer | None = None,
        label: str = "plus",
        reach: ReachNetwork | None = None,
    ) -> None:
        """Wraps trained parts.

        Args:
            policy: The trained policy.
            background: The graph to answer on.
            timeline: Statistics of that graph, as known at any time.
            action_count: Edges per second hop, nearest in time to t_q.
            shortlist: Candidates per query that get features.
            encoder_scorer: Scores of the encoder, if there is one.
            label: What the name of the scorer shows in brackets.
            reach: The reach network, if there is one.
        """
        self.name = f"fitcarl ({label})"
        self._policy = policy
        self._background = background
        self._timeline = timeline
        self._action_count = action_count
        self._shortlist = Shortlist(shortlist)
        self._encoder_scorer, self._reach = encoder_scorer, reach
        self._last_graph: tuple[MetaSet, TemporalGraph] | None = None
        self._last_query: tuple[MetaSet, EvaluatedQueries] | None = None

    def score(self, task: Task, queries: Queries) -> Scores:
        """Every entity at which a path or a candidate ends, with the log of its total probability."""
        if len(queries) == 1:
            return self._evaluate(task.support, queries).scores
        graph = self._graph(task.support)
        parts = self._parts(SupportFacts.of_queries(task.support, queries, self._background.relations), queries)
        work, device = lambda part: (part.rows, self._evaluated(graph, part).scores), device_of(self._policy)
        scored = list(map_batches(parts, work, device))
        if not scored:
            return Scores.empty(0)
        return Scores.concat([scores for _, scores in scored]).reordered(np.concatenate([rows for rows, _ in scored]))

    def evaluate(self, support: SupportFacts, queries: Queries) -> Iterator[tuple[Positions, EvaluatedQueries]]:
        """Queries with their own support facts, in batches of bounded memory, and their positions.

        Args:
            support: One row per query. The graph of the scorer has these facts.
            queries: The queries; each has its own limit.
        """
        graph, parts = self._background, self._parts(support, queries)
        return map_batches(parts, lambda part: (part.rows, self._evaluated(graph, part)), device_of(self._policy))

    def _parts(self, support: SupportFacts, queries: Queries) -> Iterator[_Part]:
        """Batches of queries that use the same statistics and have about as many support facts."""
        for statistics, chosen in self._timeline.groups(queries):
            rows = chosen[np.argsort(support.counts[chosen], kind="stable")]
            for piece in batches(self._cost(support.counts[rows]), _MAX_ROWS):
                part = rows[piece]
                yield _Part(part, statistics, support.take(part), queries.take(part))

    def _cost(self, facts: Positions) -> Positions:
        """Rows of features of queries with so many support facts, at most; the scores of the encoder count as well."""
        encoder_cost = 0 if self._encoder_scorer is None else self._encoder_scorer.scored // 20
        return self._shortlist.size + encoder_cost + (1 + facts) * self._action_count

    def score_counterfactuals(self, task: Task, query: Queries, variants: Sequence[Counterfactual]) -> Scores:
        """The scores of one query without the facts of each variant, in one batch; no scores without a support fact."""
        graph, relations = self._graph(task.support), self._background.relations
        [(statistics, _)] = self._timeline.groups(query)
        parts: list[Scores] = []
        most = max((len(variant.support) for variant in variants), default=0)
        size = max(1, min(_MAX_VARIANTS, _MAX_ROWS // int(self._cost(np.array([most]))[0])))
        for low in range(0, len(variants), size):
            chunk = variants[low : low + size]
            answerable = np.flatnonzero([len(variant.support) > 0 for variant in chunk])
            chosen = [chunk[index] for index in answerable.tolist()]
            if not chosen:
                parts.append(Scores.empty(len(chunk)))
                continue
            queries = query.take(np.zeros(len(chosen), dtype=np.int64))
            rows = [
                variant.support.seen_from(query.entity[:1].repeat(len(variant.support)), relations)
                for variant in chosen
            ]
            facts = SupportFacts.from_rows(rows)
            hidden = HiddenFacts.of(graph, statistics, queries, [variant.hidden for variant in chosen])
            encoder = None if self._encoder_scorer is None else self._encoder_scorer.with_hidden(hidden)
            arguments = hidden.statistics, queries, self._action_count, self._shortlist, encoder, self._reach
            actions = action_features(hidden.graph, facts, *arguments)
            with torch.no_grad():
                ends = Outcomes.from_policy(actions, self._policy(actions))
            parts.append(ends.summed(len(chunk), self._background.entities, answerable))
        return Scores.concat(parts)

    def evidence(self, task: Task, query: Queries, entity: int) -> list[EvidenceSource]:
        """The contributions of paths and feature families to the score of an entity, largest first, then the base."""
        evaluated = self._evaluate(task.support, query)
        ends = evaluated.outcomes
        chosen = np.flatnonzero(ends.entity == entity)
        if not len(chosen):
            return []
        paths = chosen[ends.shot[chosen] >= 0].tolist()
        groups = group_paths([Chain(evaluated.edges(index), math.exp(ends.score[index])) for index in paths])
        mass = [sum(chain.weight for chain in group) for group in groups]
        mass = mass[:MAX_PATHS] + ([sum(mass[MAX_PATHS:])] if len(mass) > MAX_PATHS else [])
        found = contributions(self._policy, evaluated.actions, evaluated.log_probs, entity, mass)
        return evidence_sources(evaluated.trace(0, entity), groups, found)

    def explain(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        limit: int = 3,
    ) -> list[list[ExplanationPath]]:
        """The paths of one query to each entity; the policy is evaluated once."""
        return self._evaluate(task.support, query).explain(0, entities, vocabulary, calendar, limit)

    def _graph(self, support: MetaSet) -> TemporalGraph:
        """The background with support facts; the last one is kept."""
        if self._last_graph is None or self._last_graph[0] is not support:
            self._last_graph = support, self._background.with_facts(support.facts)
        return self._last_graph[1]

    def _evaluate(self, support: MetaSet, query: Queries) -> EvaluatedQueries:
        """One query, evaluated; the last one is kept, since an explanation may follow."""
        last = self._last_query
        if last is not None and last[0] is support and last[1].queries.asks_the_same(query):
            return last[1]
        facts = SupportFacts.of_queries(support, query, self._background.relations)
        [part] = self._parts(facts, query)
        found = self._evaluated(self._graph(support), part)
        self._last_query = support, found
        return found

    def _evaluated(self, graph: TemporalGraph, part: _Part) -> EvaluatedQueries:
        """A batch of queries on a graph; changes nothing, so that batches can be evaluated at the same time."""
        arguments = (
            part.statistics,
            part.queries,
            self._action_count,
            self._shortlist,
            self._encoder_scorer,
            self._reach,
        )
        actions = action_features(graph, part.support, *arguments)
        with torch.no_grad():
            log_probs = self._policy(actions)
        return EvaluatedQueries.of(graph, part.statistics, part.support, part.queries, actions, log_probs)


@dataclass(frozen=True, eq=False)
class _Part:
    """A batch of queries that use the same statistics."""

    rows: Positions
    """Their positions among all queries."""
    statistics: GraphStatistics
    support: SupportFacts
    """One row per query."""
    queries: Queries
