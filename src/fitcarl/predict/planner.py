"""Batched answering: queries that use the same facts are scored together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids, Quadruples, Row
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError, did_you_mean
from fitcarl.evaluation.calibration import Calibration
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.predict.counterfactuals import Counterfactuals
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.explainer import AnswerContext
from fitcarl.predict.fact import CheckedFact, Fact
from fitcarl.predict.parsing import FactParser
from fitcarl.predict.prediction import Answer
from fitcarl.predict.probabilities import shares
from fitcarl.predict.query import NO_KNOWN_FACTS, Direction, Query
from fitcarl.predict.views import GraphView, GraphViewCache
from fitcarl.runs.nearest_facts import MAX_SUPPORT, edges_of, nearest_facts, supports
from fitcarl.runs.run import Run
from fitcarl.scoring.counterfactual import Counterfactual, CounterfactualScorer
from fitcarl.scoring.evidence import EvidenceScorer
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scorer import Explainer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import NO_LIMIT, Queries, Task

OPEN = -1
"""Relation of a query that leaves it open."""


@dataclass(frozen=True)
class VisibleFacts:
    """Which facts a query may use; queries with equal values are answered in one batch."""

    setting: Setting
    """Shares are calibrated for it."""
    before: int
    """Only facts strictly before this tick are used; ``NO_LIMIT`` for all."""
    hidden: frozenset[Row]
    """Facts that are left out: those of ``without`` and, with hindsight, those that state the answer."""
    focus: tuple[int, int] | None
    """(entity, tick) if the support depends on the tick: with hindsight, and more than ``MAX_SUPPORT`` facts."""


@dataclass(frozen=True)
class EncodedQuery:
    """A query by its ids."""

    index: int
    """Position among the queries of the call."""
    entity: int
    relation: int
    """Inverse relation if the object is given; ``OPEN`` if no relation is given."""
    time: int


@dataclass(frozen=True, eq=False)
class AnsweredBatch:
    """Scored queries that use the same facts."""

    run: Run
    entities: EntityIndex
    indices: list[int]
    """Positions of the batch's queries among the queries of the call."""
    graph: TemporalGraph
    """The background with the observed facts."""
    task: Task
    scorer: Explainer
    scores: Scores
    calibration: Calibration | None

    def top_answers(self, row: int, top: int, paths: int) -> Iterator[Answer]:
        """The best answers to the query in a row of the batch, each with at most ``paths`` paths."""
        entity, score, share = self.ranked(row)
        explanations = self.paths(row, entity[:top].tolist(), paths)
        for rank, found in enumerate(explanations):
            yield self.make_answer(row, rank, int(entity[rank]), float(score[rank]), float(share[rank]), found)

    def answer_for(self, row: int, entity: int, paths: int) -> Answer | None:
        """One entity as an answer; None if it has no score."""
        listed, score, share = self.ranked(row)
        found = np.flatnonzero(listed == entity)
        if not len(found):
            return None
        rank = int(found[0])
        [explanations] = self.paths(row, [entity], paths)
        return self.make_answer(row, rank, entity, float(score[rank]), float(share[rank]), explanations)

    def ranked(self, row: int) -> tuple[Ids, NDArray[np.float64], NDArray[np.float64]]:
        """Entities, scores and shares of all answers to a query, best first, without the query entity itself."""
        part = slice(int(self.scores.offsets[row]), int(self.scores.offsets[row + 1]))
        entity, score = self.scores.entity[part], self.scores.score[part]
        others = entity != self.task.queries.entity[row]
        entity, score = entity[others], score[others]
        order = np.lexsort((entity, -score))
        return entity[order], score[order], shares(score[order], self.calibration)

    def make_answer(
        self, row: int, rank: int, entity: int, score: float, share: float, paths: list[ExplanationPath]
    ) -> Answer:
        """An entity as an answer to the query in a row; ``rank`` counts from 0."""
        known = entity < len(self.run.vocabulary.entities)
        concepts = self.run.concepts.of(entity) if known else ()
        relation, direction = named_relation(self.run.vocabulary, int(self.task.queries.relation[row]))
        name = self.entities.vocabulary.entities[entity]
        return Answer(rank + 1, name, score, share, concepts, tuple(paths), relation, direction)

    def paths(self, row: int, entities: list[int], limit: int) -> list[list[ExplanationPath]]:
        """The most probable paths to each entity, at most ``limit`` each."""
        if not limit:
            return [[] for _ in entities]
        query, calendar = self.task.queries.take(slice(row, row + 1)), self.run.calendar
        found = self.scorer.explain(self.task, query, entities, self.entities.vocabulary, calendar, limit)
        asked = int(query.time[0])

        def is_later(time: str) -> bool:
            return calendar.tick(time) > asked

        return [[path.marked(is_later) for path in paths] for paths in found]


def named_relation(vocabulary: Vocabulary, directed: int) -> tuple[str, Direction]:
    """The name of a directed relation, and the role of the query entity in its facts."""
    ids = vocabulary.relation_ids
    return vocabulary.relations[ids.base(directed)], "in" if ids.is_inverse(directed) else "out"


def answer_batches(planner: QueryPlanner, queries: Sequence[Query]) -> list[AnsweredBatch]:
    """Answers queries over the same facts in as few batches as possible; those without a relation are left out."""
    batches: dict[VisibleFacts, list[EncodedQuery]] = {}
    for index, query in enumerate(queries):
        if query.relation is None:
            continue
        ids = planner.encode(index, query)
        batches.setdefault(planner.visible_facts(query, ids), []).append(ids)
    return [planner.answer(visible, batch, queries) for visible, batch in batches.items()]


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

    def visible_facts(self, query: Query, ids: EncodedQuery) -> VisibleFacts:
        """Which facts a query may use."""
        hidden = frozenset(self._excluded(query.without))
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
        batch = self.answer(visible, [ids], [query])
        graph, asked = batch.graph, batch.task.queries
        listed = entity in batch.scores.entity.tolist()
        scorer, entities = batch.scorer, self.entities.vocabulary
        sources = scorer.evidence(batch.task, asked, entity) if listed and isinstance(scorer, EvidenceScorer) else []
        support = batch.task.support.facts.take(batch.task.support.entity_of_fact == ids.entity)

        def support_without(hidden: frozenset[Row]) -> Quadruples:
            return nearest_facts(graph, ids.entity, ids.time, visible.before, hidden)

        def score(variants: Sequence[Counterfactual]) -> Scores:
            if isinstance(scorer, CounterfactualScorer):
                return scorer.score_counterfactuals(batch.task, asked, variants)
            return Scores.concat([self._score_without(visible, ids, query, variant.hidden) for variant in variants])

        answers = Counterfactuals(score, support_without, ids.entity, entity, batch.calibration)
        fast, calendar = isinstance(scorer, CounterfactualScorer), self.run.calendar
        return batch, AnswerContext(graph, asked, entity, support, sources, answers, fast, entities, calendar)

    def _score_without(self, visible: VisibleFacts, ids: EncodedQuery, query: Query, hidden: Quadruples) -> Scores:
        """The scores of a query without some facts, on a graph that does not have them."""
        fewer = replace(visible, hidden=visible.hidden | frozenset(hidden))
        try:
            return self.answer(fewer, [ids], [query], keep=False).scores
        except InputError:  # nothing is known about the entity any more
            return Scores.empty(1)

    def prepare(
        self, visible: VisibleFacts, batch: list[EncodedQuery], queries: Sequence[Query], keep: bool = True
    ) -> tuple[GraphView, TemporalGraph, MetaSet]:
        """The view, the graph with the observed facts, and the support facts of a batch of queries.

        ``keep`` tells whether a view without facts is kept for further queries.
        """
        view = self.views.get(len(self.entities.new), self._in_background(visible.hidden), keep)
        graph = view.graph.with_facts(self._visible(visible))
        queried = {ids.entity: ids.time for ids in batch}
        others = self._other_new_entities(graph, set(queried))
        support = supports(graph, list((queried | others).items()), visible.before)
        for ids in batch:
            if not (support.entity_of_fact == ids.entity).any():
                raise self._no_known_facts(queries[ids.index])
        return view, graph, support

    def answer(
        self, visible: VisibleFacts, batch: list[EncodedQuery], queries: Sequence[Query], keep: bool = True
    ) -> AnsweredBatch:
        """Scores a batch of queries. The observed facts are added to the graph here, once for the whole batch: the
        scorer's own ``with_facts`` of the support, which is part of this graph, returns the graph unchanged."""
        view, graph, support = self.prepare(visible, batch, queries, keep)
        columns = ([getattr(ids, name) for ids in batch] for name in ("entity", "relation", "time"))
        entity, relation, time = (np.array(column, dtype=np.int32) for column in columns)
        limits = np.full_like(entity, visible.before)
        task = Task(support, Queries(entity, relation, time, np.full_like(entity, -1), limits))
        first, last = graph.time_range
        max_delta = max(last, int(time.max())) - min(first, int(time.min()))
        names = {number: name for name, number in self.entities.new.items()}
        scorer = view.model.with_graph(graph).scorer(max_delta, names)
        scores = scorer.score(task, task.queries)
        calibration = self.run.calibration_for(visible.setting)
        indices = [ids.index for ids in batch]
        return AnsweredBatch(self.run, self.entities, indices, graph, task, scorer, scores, calibration)

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
        last = max(self._background.time_range[1], int(self.observed.time.max(initial=0)))
        return before if before <= last else NO_LIMIT

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

    def _visible(self, visible: VisibleFacts) -> Quadruples:
        """The observed facts that may be used."""
        keep = np.array([row not in visible.hidden for row in self.observed], dtype=np.bool_)
        return self.observed.take(keep & (self.observed.time < visible.before))

    def _other_new_entities(self, graph: TemporalGraph, queried: set[int]) -> dict[int, int]:
        """Entity → last tick of the other entities that only observed facts mention; their latest facts are used."""
        ends = np.unique(np.concatenate([self.observed.subject, self.observed.object]))
        new = ends[(graph.base.degree(ends) == 0) & (graph.overlay.degree(ends) > 0)]
        last = graph.time_range[1]
        return {int(entity): last for entity in new if int(entity) not in queried}

    def _no_known_facts(self, query: Query, hint: str = "") -> InputError:
        limits = [] if query.hindsight else [f"before {query.at}"]
        limits += [] if query.as_of is None else [f"up to {query.as_of}"]
        limits += ["apart from the excluded ones"] if query.without else []
        problem = " ".join([NO_KNOWN_FACTS, *limits])
        field = "subject" if query.object is None else "object"
        expected = "at least one fact about it" if query.hindsight else "an earlier fact about it, or hindsight"
        return InputError(problem, field=field, found=query.entity, expected=expected, hint=hint)
