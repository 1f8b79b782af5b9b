"""Model ``plus`` as a scorer: scores are sums over paths and candidates, and the best paths explain them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.core.arrays import batches
from fitcarl.data.calendar import Calendar
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.action_features import ActionFeatures, action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.network import EncoderScorer
from fitcarl.models.plus.evidence.contributions import contributions
from fitcarl.models.plus.evidence.sources import MAX_PATHS, evidence_sources, group_paths
from fitcarl.models.plus.evidence.trace import Trace, excitation_chains, peer_chains, reach_chains
from fitcarl.models.plus.hidden_facts import HiddenFacts
from fitcarl.models.plus.policy import LogProbs, PlusPolicy
from fitcarl.models.plus.reach.network import ReachNetwork
from fitcarl.models.plus.timeline import Timeline
from fitcarl.models.support import SupportFacts
from fitcarl.scoring.counterfactual import Counterfactual
from fitcarl.scoring.evidence import Chain, Edge, EvidenceSource
from fitcarl.scoring.path import ExplanationPath, PathKind, make_step
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task

_MAX_ROWS = 300_000
"""Actions and candidates whose features are held at once, about 600 bytes each; bounds memory."""
_MAX_VARIANTS = 32
"""Counterfactuals that are scored at once."""
_MIN_SCORE = 1e-300
"""Added before the logarithm of a sum of probabilities."""


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
        self._last_query: tuple[MetaSet, Queries, tuple[ActionFeatures, LogProbs]] | None = None

    def score(self, task: Task, queries: Queries) -> Scores:
        """Every entity at which a path or a candidate ends, with the log of its total probability."""
        groups = list(self._timeline.groups(queries))
        if len(groups) == 1:
            return self._score(task, queries)
        parts = [self._score(task, queries.take(chosen)) for _, chosen in groups]
        return Scores.concat(parts).reordered(np.concatenate([np.empty(0, np.int64), *(part for _, part in groups)]))

    def _score(self, task: Task, queries: Queries) -> Scores:
        """The scores of queries that use the same statistics."""
        parts = []
        for piece in batches(np.full(len(queries), self._cost()), _MAX_ROWS):
            part = queries.take(piece)
            ends = Outcomes.from_policy(*self._evaluate(task.support, part))
            parts.append(_summed(ends.query, ends.entity, ends.score, len(part), self._background.entities))
        return Scores.concat(parts)

    def _cost(self) -> int:
        """Rows of features that a query needs, at most; the scores of the encoder count as well."""
        encoder_cost = self._background.entities // 20 if self._encoder_scorer is not None else 0
        return self._shortlist.size + 4 * self._action_count + encoder_cost

    def score_counterfactuals(self, task: Task, query: Queries, variants: Sequence[Counterfactual]) -> Scores:
        """The scores of one query without the facts of each variant, in one batch; no scores without a support fact."""
        self._evaluate(task.support, query)  # the graph with the support facts
        assert self._last_graph is not None
        graph, relations = self._last_graph[1], self._background.relations
        [(statistics, _)] = self._timeline.groups(query)
        parts: list[Scores] = []
        size = max(1, min(_MAX_VARIANTS, _MAX_ROWS // self._cost()))
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
            parts.append(
                _summed(answerable[ends.query], ends.entity, ends.score, len(chunk), self._background.entities)
            )
        return Scores.concat(parts)

    def evidence(self, task: Task, query: Queries, entity: int) -> list[EvidenceSource]:
        """The contributions of paths and feature families to the score of an entity, largest first, then the base."""
        actions, log_probs = self._evaluate(task.support, query)
        ends = Outcomes.from_policy(actions, log_probs)
        chosen = np.flatnonzero(ends.entity == entity)
        if not len(chosen):
            return []
        paths = chosen[ends.shot[chosen] >= 0]
        chains = [Chain(self._edges(actions, query, ends, int(index)), math.exp(ends.score[index])) for index in paths]
        groups = group_paths(chains)
        mass = [sum(chain.weight for chain in group) for group in groups]
        mass = mass[:MAX_PATHS] + ([sum(mass[MAX_PATHS:])] if len(mass) > MAX_PATHS else [])
        found = contributions(self._policy, actions, log_probs, entity, mass)
        return evidence_sources(self._trace(task, query, entity), groups, found)

    def explain(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        limit: int = 3,
    ) -> list[list[ExplanationPath]]:
        """The paths to each entity: those that the policy follows, most probable first.

        Paths that differ in their times only are one. An entity that no path leads to gets paths over peers, or over
        the facts that the reach network reads, or a context fact. The policy is evaluated once.
        """
        actions, log_probs = self._evaluate(task.support, query)
        ends = Outcomes.from_policy(actions, log_probs)
        names = vocabulary, calendar
        return [self._explanations(task, query, actions, log_probs, ends, entity, limit, *names) for entity in entities]

    def _explanations(
        self,
        task: Task,
        query: Queries,
        actions: ActionFeatures,
        log_probs: LogProbs,
        ends: Outcomes,
        entity: int,
        limit: int,
        vocabulary: Vocabulary,
        calendar: Calendar,
    ) -> list[ExplanationPath]:
        """At most ``limit`` explanations of one entity."""
        chosen = np.flatnonzero(ends.entity == entity)
        walks = {self._edges(actions, query, ends, int(index)): int(index) for index in chosen[ends.shot[chosen] >= 0]}
        found = []
        for group in group_paths([Chain(edges, math.exp(ends.score[index])) for edges, index in walks.items()])[:limit]:
            best, *others = sorted(group, key=lambda chain: (-chain.weight, chain.edges))
            probabilities = self._step_probabilities(log_probs, ends, walks[best.edges], len(best.edges))
            log_prob = math.log(max(sum(chain.weight for chain in group), _MIN_SCORE))
            path = _explanation_path(best.edges, probabilities, log_prob, "path", query, vocabulary, calendar)
            also = tuple(tuple(calendar.label(edge[3]) for edge in chain.edges) for chain in others)
            found.append(replace(path, also=also))
        if found or not len(chosen):
            return found
        log_prob = float(ends.score[chosen].max())
        for edges, kind in self._other_chains(task, query, entity)[:limit]:
            found.append(_explanation_path(edges, None, log_prob, kind, query, vocabulary, calendar))
        return found

    def _other_chains(self, task: Task, query: Queries, entity: int) -> list[tuple[tuple[Edge, ...], PathKind]]:
        """Explanations of an entity that the policy has no path to."""
        trace = self._trace(task, query, entity)
        finders: tuple[tuple[PathKind, Callable[[Trace], list[Chain]]], ...] = (
            ("peers", peer_chains),
            ("peers", partial(peer_chains, same_relation=False)),
            ("path", reach_chains),
            ("context", excitation_chains),
        )
        for kind, find in finders:
            groups = group_paths(find(trace))
            if groups:
                shown = groups[:1] if kind == "context" else groups
                return [(max(group, key=lambda chain: chain.weight).edges, kind) for group in shown]
        return []

    def _trace(self, task: Task, query: Queries, entity: int) -> Trace:
        """The facts behind the features of an entity; the policy has been evaluated for the query."""
        assert self._last_graph is not None
        graph = self._last_graph[1]
        [(statistics, _)] = self._timeline.groups(query)
        return Trace.of(graph, statistics, SupportFacts.of_queries(task.support, query, graph.relations), query, entity)

    @staticmethod
    def _step_probabilities(log_probs: LogProbs, ends: Outcomes, index: int, steps: int) -> list[float]:
        """The probabilities of the first and of the second choice; stopping only counts in that of the path."""
        start = float(log_probs.start[0, int(ends.shot[index])])
        return [math.exp(start)] + [math.exp(float(ends.score[index]) - start)] * (steps - 1)

    @staticmethod
    def _edges(actions: ActionFeatures, query: Queries, ends: Outcomes, index: int) -> tuple[Edge, ...]:
        """The edges of a path."""
        shot, column, space = int(ends.shot[index]), int(ends.column[index]), actions.space
        middle = int(actions.entity[0, shot])
        first = (int(query.entity[0]), int(actions.relation[0, shot]), middle, int(actions.time[0, shot]))
        if column == 0:
            return (first,)
        second = int(space.relation[shot, column]), int(space.entity[shot, column]), int(space.time[shot, column])
        return first, (middle, *second)

    def _evaluate(self, support: MetaSet, queries: Queries) -> tuple[ActionFeatures, LogProbs]:
        """Actions and log-probabilities; those of the last single query are kept, since an explanation may follow."""
        last = self._last_query
        if last is not None and last[0] is support and last[1].asks_the_same(queries):
            return last[2]
        if self._last_graph is None or self._last_graph[0] is not support:
            self._last_graph = support, self._background.with_facts(support.facts)
        [(statistics, _)] = self._timeline.groups(queries)
        arguments = statistics, queries, self._action_count, self._shortlist, self._encoder_scorer, self._reach
        actions = action_features(self._last_graph[1], support, *arguments)
        with torch.no_grad():
            found = actions, self._policy(actions)
        self._last_query = (support, queries, found) if len(queries) == 1 else None
        return found


def _explanation_path(
    edges: Sequence[Edge],
    probabilities: Sequence[float] | None,
    log_prob: float,
    kind: PathKind,
    query: Queries,
    vocabulary: Vocabulary,
    calendar: Calendar,
) -> ExplanationPath:
    """Edges as a path with names; ``probabilities`` are those of the steps, if the policy follows them."""
    chances = [None] * len(edges) if probabilities is None else probabilities
    steps = [make_step(*edge, chance, None, vocabulary, calendar) for edge, chance in zip(edges, chances, strict=True)]
    names = vocabulary.entities
    return ExplanationPath(names[int(query.entity[0])], names[edges[-1][2]], log_prob, tuple(steps), kind)


def _summed(query: NDArray[np.int64], entity: Ids, score: NDArray[np.float64], queries: int, entities: int) -> Scores:
    """The log of the total probability of each entity that outcomes end at."""
    summed = Scores.summed(query, entity, np.exp(score), queries, entities)
    return Scores(summed.offsets, summed.entity, np.log(np.maximum(summed.score, _MIN_SCORE)))


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Every outcome of a batch of queries, by a path or by a candidate, as flat columns."""

    query: NDArray[np.int64]
    shot: NDArray[np.int64]
    """The support fact of the first hop; -1 for a candidate without a path."""
    column: NDArray[np.int64]
    """The action of the second hop; 0 for stopping."""
    entity: Ids
    score: NDArray[np.float64]
    """Log-probability."""

    @classmethod
    def from_policy(cls, actions: ActionFeatures, log_probs: LogProbs) -> Outcomes:
        """The outcomes of a batch with their log-probabilities."""
        queries, shots = actions.entity.shape
        query, shot = np.nonzero(actions.known)
        state, column = np.nonzero(actions.allowed[:, 1:] & actions.known.reshape(-1, 1))
        column = column + 1
        of_candidate = np.repeat(np.arange(queries), np.diff(actions.candidates.offsets))
        no_shot = np.full(len(of_candidate), -1)
        ends = actions.entity[query, shot], actions.space.entity[state, column], actions.candidates.entity
        return cls(
            np.concatenate([query, state // shots, of_candidate]),
            np.concatenate([shot, state % shots, no_shot]),
            np.concatenate([np.zeros_like(query), column, np.zeros_like(of_candidate)]),
            np.concatenate(ends),
            np.concatenate(
                [
                    log_probs.stop.numpy()[query, shot],
                    log_probs.second_hop.numpy().reshape(queries * shots, -1)[state, column],
                    log_probs.candidates.numpy(),
                ]
            ).astype(np.float64),
        )
