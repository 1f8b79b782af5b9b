"""Batched answering: queries that use the same facts are scored together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fitcarl.config.base import Setting
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples, Row
from fitcarl.errors import InputError, did_you_mean
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.per_query import Evaluated, PerQueryScorer
from fitcarl.predict.batch import OPEN, AnsweredBatch, EncodedQuery, VisibleFacts, query_columns
from fitcarl.predict.counterfactuals import Counterfactuals
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.explainer import AnswerContext
from fitcarl.predict.fact import CheckedFact, Fact
from fitcarl.predict.parsing import FactParser
from fitcarl.predict.query import NO_KNOWN_FACTS, NoKnownFactsError, Query
from fitcarl.predict.views import GraphView, GraphViewCache
from fitcarl.runs.nearest_facts import MAX_SUPPORT, edges_of, nearest_facts, supports, supports_of_queries
from fitcarl.runs.run import Run
from fitcarl.scoring.counterfactual import Counterfactual, CounterfactualScorer
from fitcarl.scoring.evidence import EvidenceScorer
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scorer import Explainer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import NO_LIMIT, Queries, Task

_MAX_QUERIES = 256
"""Queries per batch of a model that does not bound the memory of a batch itself."""


@dataclass(frozen=True, eq=False)
class QueryPlanner:
    """Encodes the queries of one call, decides which facts each of them may use, and scores them in batches."""

    run: Run
    views: GraphViewCache
    parser: FactParser
    entities: EntityIndex
    observed: Quadruples
    """The facts given with the call."""

    @classmethod
    def of(cls, run: Run, views: GraphViewCache, parser: FactParser, facts: Sequence[CheckedFact]) -> QueryPlanner:
        """The planner of a call with these facts."""
        entities = EntityIndex.from_facts(run.vocabulary, facts)
        return cls(run, views, parser, entities, parser.quadruples(facts, entities))

    def encode(self, index: int, query: Query) -> EncodedQuery:
        """The ids of a query; an InputError if its entity is unknown."""
        relation = OPEN if query.relation is None else self.parser.relation(query.relation)
        entity = self.entities.find(query.entity)
        if entity is None:
            raise self._no_known_facts(query, hint=did_you_mean(query.entity, self.entities.vocabulary.entities))
        directed = relation if query.object is None else self.run.vocabulary.relation_ids.inverse(relation)
        return EncodedQuery(index, entity, directed, self.parser.tick(query.at, "at"))

    def check(self, query: Query) -> None:
        """Raises an InputError if a query cannot be answered; nothing is scored.

        Args:
            query: The query.
        """
        ids = self.encode(0, query)
        visible = self.visible_facts(query, ids)
        if self._first_time(ids.entity) >= visible.before or (visible.hidden and not self._has_facts(ids, visible)):
            raise self._no_known_facts(query)

    def visible_facts(self, query: Query, ids: EncodedQuery) -> VisibleFacts:
        """Which facts a query may use."""
        hidden = frozenset(self._excluded(query.without)) if query.without else frozenset()
        before = self._visible_before(query, ids)
        if not query.hindsight:
            return VisibleFacts(query.setting, before, hidden, None)
        hidden |= frozenset(self._facts_with_answer(ids))
        base = self._background.degree(np.array([ids.entity], dtype=np.int32))[0] if self._known(ids.entity) else 0
        own = np.count_nonzero((self.observed.subject == ids.entity) | (self.observed.object == ids.entity))
        focus = (ids.entity, ids.time) if base or own > MAX_SUPPORT else None
        return VisibleFacts(query.setting, before, hidden, focus)

    def context(self, query: Query, entity: int) -> tuple[AnsweredBatch, AnswerContext]:
        """The answered query, and what is needed to explain an entity as its answer."""
        ids = self.encode(0, query)
        visible = self.visible_facts(query, ids)
        scored = self._score(visible, [ids], [query])
        graph, task, scorer, asked = scored.graph, scored.task, scored.scorer, scored.task.queries
        batch = self._answered(visible, [ids], scored)
        listed, entities = entity in batch.scores.entity.tolist(), self.entities.vocabulary
        sources = scorer.evidence(task, asked, entity) if listed and isinstance(scorer, EvidenceScorer) else []
        support = task.support.facts.take(task.support.entity_of_fact == ids.entity)

        def support_without(hidden: frozenset[Row]) -> Quadruples:
            return nearest_facts(graph, ids.entity, ids.time, visible.before, hidden)

        def score(variants: Sequence[Counterfactual]) -> Scores:
            if isinstance(scorer, CounterfactualScorer):
                with self.run.named_in_errors():
                    return scorer.score_counterfactuals(task, asked, variants)
            return Scores.concat([self._score_without(visible, ids, query, variant.hidden) for variant in variants])

        answers = Counterfactuals(score, support_without, ids.entity, entity, batch.calibration)
        fast, calendar = isinstance(scorer, CounterfactualScorer), self.run.calendar
        return batch, AnswerContext(graph, asked, entity, support, sources, answers, fast, entities, calendar)

    def _score_without(self, visible: VisibleFacts, ids: EncodedQuery, query: Query, hidden: Quadruples) -> Scores:
        """The scores of a query without some facts, on a graph that does not have them."""
        fewer = replace(visible, hidden=visible.hidden | frozenset(hidden))
        try:
            return self._score(fewer, [ids], [query], keep=False).scores
        except NoKnownFactsError:
            return Scores.empty(1)

    def prepare(
        self, visible: VisibleFacts, batch: list[EncodedQuery], queries: Sequence[Query], keep: bool = True
    ) -> tuple[GraphView, TemporalGraph, MetaSet]:
        """The view, the graph with the observed facts, and the support facts of a batch of queries.

        ``keep`` tells whether a view without facts is kept for further queries.
        """
        view = self.views.get(len(self.entities.new), self._in_background(visible.hidden), keep)
        observed = self._visible(visible.hidden)
        graph = view.graph.with_facts(observed.take(observed.time < visible.before))
        queried = {ids.entity: ids.time for ids in batch}
        others = {} if self._takes_own_support else self._other_new_entities(graph, set(queried))
        support = supports(graph, list((queried | others).items()), visible.before)
        known = set(support.entity_of_fact.tolist())
        for ids in batch:
            if ids.entity not in known:
                raise self._no_known_facts(queries[ids.index])
        return view, graph, support

    def answer(self, visible: VisibleFacts, batch: list[EncodedQuery], queries: Sequence[Query]) -> AnsweredBatch:
        """Scores queries that use the same facts in one batch."""
        return self._answered(visible, batch, self._score(visible, batch, queries))

    def answer_in_batches(self, queries: Sequence[Query]) -> Iterator[AnsweredBatch]:
        """Scores queries in as few batches as memory allows; those without a relation are left out.

        All queries are encoded before the first one is scored. A model that takes the support facts of each query
        scores queries with different limits together.
        """
        groups: dict[VisibleFacts, list[EncodedQuery]] = {}
        for index, query in enumerate(queries):
            if query.relation is not None:
                ids = self.encode(index, query)
                groups.setdefault(self.visible_facts(query, ids), []).append(ids)
        if not self._takes_own_support:
            for visible, group in groups.items():
                for low in range(0, len(group), _MAX_QUERIES):
                    yield self.answer(visible, group[low : low + _MAX_QUERIES], queries)
            return
        merged: dict[tuple[Setting, frozenset[Row]], list[tuple[EncodedQuery, int]]] = {}
        for visible, group in groups.items():
            together = merged.setdefault((visible.setting, visible.hidden), [])
            together += [(ids, visible.before) for ids in group]
        for (setting, hidden), limited in merged.items():
            yield from self._answer_together(setting, hidden, limited, queries)

    def _answer_together(
        self,
        setting: Setting,
        hidden: frozenset[Row],
        limited: Sequence[tuple[EncodedQuery, int]],
        queries: Sequence[Query],
    ) -> Iterator[AnsweredBatch]:
        """Scores queries of one setting from which the same facts are hidden; each has its own limit."""
        view = self.views.get(len(self.entities.new), self._in_background(hidden))
        graph = view.graph.with_facts(self._visible(hidden))
        asked = query_columns([ids for ids, _ in limited], [before for _, before in limited])
        support = supports_of_queries(graph, asked)
        for (ids, _), count in zip(limited, support.counts.tolist(), strict=True):
            if not count:
                raise self._no_known_facts(queries[ids.index])
        scorer = view.model.with_graph(graph).scorer(_max_delta(graph, asked), self._new_names)
        assert isinstance(scorer, PerQueryScorer)
        names = self.entities.vocabulary, self.run.calendar
        with self.run.named_in_errors():  # batches are evaluated when they are taken
            for rows, evaluated in scorer.evaluate(support, asked):
                indices = [limited[row][0].index for row in rows.tolist()]

                def paths(
                    row: int, entities: list[int], limit: int, found: Evaluated = evaluated
                ) -> list[list[ExplanationPath]]:
                    return found.explain(row, entities, *names, limit)

                found = asked.take(rows), evaluated.scores, setting
                yield AnsweredBatch(self.run, self.entities, indices, *found, paths)

    def _score(
        self, visible: VisibleFacts, batch: list[EncodedQuery], queries: Sequence[Query], keep: bool = True
    ) -> _ScoredTask:
        """Scores a batch of queries. The observed facts are added to the graph here, once for the whole batch: the
        scorer's own ``with_facts`` of the support, which is part of this graph, returns the graph unchanged."""
        view, graph, support = self.prepare(visible, batch, queries, keep)
        task = Task(support, query_columns(batch, visible.before))
        scorer = view.model.with_graph(graph).scorer(_max_delta(graph, task.queries), self._new_names)
        with self.run.named_in_errors():
            return _ScoredTask(graph, task, scorer, scorer.score(task, task.queries))

    def _answered(self, visible: VisibleFacts, batch: list[EncodedQuery], scored: _ScoredTask) -> AnsweredBatch:
        task, names = scored.task, (self.entities.vocabulary, self.run.calendar)

        def paths(row: int, entities: list[int], limit: int) -> list[list[ExplanationPath]]:
            return scored.scorer.explain(task, task.queries.take(slice(row, row + 1)), entities, *names, limit)

        found = task.queries, scored.scores, visible.setting
        return AnsweredBatch(self.run, self.entities, [ids.index for ids in batch], *found, paths)

    @cached_property
    def _takes_own_support(self) -> bool:
        """Whether the model takes the support facts of each query, and none of other entities."""
        return isinstance(self.run.model.scorer(), PerQueryScorer)

    @property
    def _new_names(self) -> dict[int, str]:
        return {number: name for name, number in self.entities.new.items()}

    @property
    def _background(self) -> TemporalGraph:
        return self.run.context.graph

    def _known(self, entity: int) -> bool:
        return entity < self._background.entities

    def _visible_before(self, query: Query, ids: EncodedQuery) -> int:
        """The tick before which facts are used; ``NO_LIMIT`` if all facts are, so that such queries share a batch."""
        before = NO_LIMIT if query.hindsight else ids.time
        if query.as_of is not None:
            before = min(before, self._as_of(query, ids) + 1)
        return before if before <= self._last_time else NO_LIMIT

    def _first_time(self, entity: int) -> int:
        """The tick of the first fact of an entity; ``NO_LIMIT`` if it has none."""
        base, first = self._background.base, self._first_observed.get(entity, NO_LIMIT)
        if self._known(entity) and base.offsets[entity] < base.offsets[entity + 1]:
            first = min(first, int(base.time[base.offsets[entity]]))
        return first

    @cached_property
    def _first_observed(self) -> dict[int, int]:
        """Entity → tick of the first of the given facts that mention it."""
        first: dict[int, int] = {}
        for subject, _, object, tick in self.observed:
            for entity in (subject, object):
                first[entity] = min(first.get(entity, NO_LIMIT), tick)
        return first

    def _has_facts(self, ids: EncodedQuery, visible: VisibleFacts) -> bool:
        """Whether an entity has facts that are visible, if some are hidden."""
        parts = [self.observed.take((self.observed.subject == ids.entity) | (self.observed.object == ids.entity))]
        if self._known(ids.entity):
            own = edges_of(self._background.base, ids.entity)
            parts.append(own.in_real_direction(self.run.vocabulary.relation_ids))
        rows = (row for part in parts for row in part)
        return any(row[3] < visible.before and row not in visible.hidden for row in rows)

    @cached_property
    def _last_time(self) -> int:
        return max(self._background.time_range[1], int(self.observed.time.max(initial=0)))

    def _as_of(self, query: Query, ids: EncodedQuery) -> int:
        text, label = str(query.as_of), self.run.calendar.label
        tick, first = self.parser.tick(text, "as_of"), self._background.time_range[0]
        if tick < first:
            expected = f"{label(first)} or later"
            raise InputError("time before the first fact", field="as_of", found=text, expected=expected)
        if tick > ids.time and not query.hindsight:
            problem = "time after that of the query, whose answer is a forecast"
            expected = f"{label(ids.time)} or earlier, or hindsight"
            raise InputError(problem, field="as_of", found=text, expected=expected)
        return tick

    def _excluded(self, without: Sequence[Fact]) -> Iterator[Row]:
        """Facts of ``without`` by their ids; facts about unknown entities are ignored."""
        checked = (self.parser.check(fact) for fact in without)
        return (row for row in self.parser.quadruples(checked, self.entities) if row[0] >= 0 and row[2] >= 0)

    def _facts_with_answer(self, ids: EncodedQuery) -> Quadruples:
        """Known facts that state the answer: same entity, relation and time as the query."""
        relations = self.run.vocabulary.relation_ids
        parts = [self.observed.both_directions(relations)]
        if self._known(ids.entity):
            parts.append(edges_of(self._background.base, ids.entity))
        edges = Quadruples.concat(parts)
        same = (edges.subject == ids.entity) & (edges.relation == ids.relation) & (edges.time == ids.time)
        found = edges.take(same)
        return found.inverted(relations) if relations.is_inverse(ids.relation) else found

    def _in_background(self, hidden: frozenset[Row]) -> frozenset[Row]:
        rows = [row for row in sorted(hidden) if self._known(row[0]) and self._known(row[2])]
        contained = self._background.contains(Quadruples.from_rows(rows))
        return frozenset(row for row, found in zip(rows, contained, strict=True) if found)

    def _visible(self, hidden: frozenset[Row]) -> Quadruples:
        """The observed facts that are not hidden."""
        if not hidden:
            return self.observed
        return self.observed.take(np.array([row not in hidden for row in self.observed], dtype=np.bool_))

    def _other_new_entities(self, graph: TemporalGraph, queried: set[int]) -> dict[int, int]:
        """Entity → last tick of the other entities that only observed facts mention; their latest facts are used."""
        ends = np.unique(np.concatenate([self.observed.subject, self.observed.object]))
        new = ends[(graph.base.degree(ends) == 0) & (graph.overlay.degree(ends) > 0)]
        last = graph.time_range[1]
        return {int(entity): last for entity in new if int(entity) not in queried}

    def _no_known_facts(self, query: Query, hint: str = "") -> NoKnownFactsError:
        limits = [] if query.hindsight else [f"before {query.at}"]
        limits += [] if query.as_of is None else [f"up to {query.as_of}"]
        limits += ["apart from the excluded ones"] if query.without else []
        entity = self.entities.find(query.entity)
        if query.hindsight and entity is not None and self._first_time(entity) < NO_LIMIT:
            limits.append("apart from those with the relation and time of the query")
        problem = " ".join([NO_KNOWN_FACTS, *limits])
        field = "subject" if query.object is None else "object"
        expected = "at least one fact about it" if query.hindsight else "an earlier fact about it, or hindsight"
        return NoKnownFactsError(problem, field=field, found=query.entity, expected=expected, hint=hint)


@dataclass(frozen=True, eq=False)
class _ScoredTask:
    """Queries that use the same facts, with their scores."""

    graph: TemporalGraph
    """The background with the observed facts."""
    task: Task
    scorer: Explainer
    scores: Scores


def _max_delta(graph: TemporalGraph, queries: Queries) -> int:
    first, last = graph.time_range
    return max(last, int(queries.time.max())) - min(first, int(queries.time.min()))
