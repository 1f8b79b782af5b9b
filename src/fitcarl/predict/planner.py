"""Questions that see the same facts are answered together: what they see, what comes out, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError, did_you_mean
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.fact import Fact
from fitcarl.predict.parsing import FactParser
from fitcarl.predict.prediction import Answer
from fitcarl.predict.probabilities import shares
from fitcarl.predict.query import NOTHING_KNOWN, Query
from fitcarl.predict.support import MOST_FACTS, edges_of, supports
from fitcarl.predict.views import GraphViewCache, Row
from fitcarl.runs.run import Run
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scorer import Explainer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task


@dataclass(frozen=True)
class VisibleFacts:
    """What a question sees; questions with equal views share a scene."""

    as_of: int | None
    hidden: frozenset[Row]
    """Facts left out: those of ``without``, and those that the question itself is about."""
    focus: tuple[int, int] | None
    """(actor, tick) where the actor has more facts than a question looks at, so that the time decides which."""


@dataclass(frozen=True)
class _Asked:
    """A question by its ids."""

    number: int
    entity: int
    relation: int
    """An inverse where the object is given."""
    time: int


@dataclass(frozen=True, eq=False)
class AnsweredBatch:
    """Questions about actors over one graph, answered."""

    run: Run
    roster: EntityIndex
    numbers: list[int]
    """Which of the caller's questions these are."""
    task: Task
    scorer: Explainer
    answers: Scores

    def best(self, place: int, top: int, most: int) -> Iterator[Answer]:
        """The best answers to a question, each with so many paths at most."""
        entity, score, share = self._ranked(place)
        paths = self._paths(place, entity[:top].tolist(), most)
        for rank, reasons in enumerate(paths):
            yield self._answer(rank, int(entity[rank]), float(score[rank]), float(share[rank]), reasons)

    def answer(self, place: int, entity: int, most: int) -> Answer | None:
        """One entity as an answer, None where no path leads to it."""
        listed, score, share = self._ranked(place)
        found = np.flatnonzero(listed == entity)
        if not len(found):
            return None
        rank = int(found[0])
        [paths] = self._paths(place, [entity], most)
        return self._answer(rank, entity, float(score[rank]), float(share[rank]), paths)

    def _ranked(self, place: int) -> tuple[Ids, NDArray[np.float64], NDArray[np.float64]]:
        """Entities, scores and shares of a question's answers, best first. Nobody is an answer about themselves."""
        part = slice(int(self.answers.offsets[place]), int(self.answers.offsets[place + 1]))
        entity, score = self.answers.entity[part], self.answers.score[part]
        others = entity != self.task.queries.entity[place]
        entity, score = entity[others], score[others]
        order = np.lexsort((entity, -score))
        return entity[order], score[order], shares(score[order], self.run.calibration)

    def _answer(self, rank: int, entity: int, score: float, share: float, paths: list[ExplanationPath]) -> Answer:
        known = entity < len(self.run.vocabulary.entities)
        concepts = self.run.concepts.of(entity) if known else ()
        return Answer(rank + 1, self.roster.vocabulary.entities[entity], score, share, concepts, tuple(paths))

    def _paths(self, place: int, entities: list[int], most: int) -> list[list[ExplanationPath]]:
        if not most:
            return [[] for _ in entities]
        query = self.task.queries.take(slice(place, place + 1))
        return self.scorer.explain_all(self.task, query, entities, self.roster.vocabulary, self.run.calendar, most)


def answer_batches(
    run: Run, sights: GraphViewCache, reader: FactParser, questions: Sequence[Query], facts: Sequence[Fact]
) -> list[AnsweredBatch]:
    """The batches of some questions over the same facts: as few as what they see allows."""
    roster = EntityIndex.of(run.vocabulary, facts)
    stage = QueryPlanner(run, sights, reader, roster, reader.quadruples(facts, roster))
    views: dict[VisibleFacts, list[_Asked]] = {}
    for number, question in enumerate(questions):
        asked = stage.read(number, question)
        views.setdefault(stage.view(question, asked), []).append(asked)
    return [stage.scene(view, asked, questions) for view, asked in views.items()]


@dataclass(frozen=True, eq=False)
class QueryPlanner:
    """What the questions of one call have in common."""

    run: Run
    sights: GraphViewCache
    reader: FactParser
    roster: EntityIndex
    observed: Quadruples

    def read(self, number: int, question: Query) -> _Asked:
        """A question by its ids; an actor nobody has heard of is an InputError."""
        relation = self.reader.relation(question.relation)
        forward = question.object is None
        actor = self.roster.find(question.entity)
        if actor is None:
            raise self._nothing_known(question, hint=did_you_mean(question.entity, self.roster.vocabulary.entities))
        directed = relation if forward else self.run.vocabulary.relation_ids.inverse(relation)
        return _Asked(number, actor, directed, self.reader.tick(question.at, "at"))

    def view(self, question: Query, asked: _Asked) -> VisibleFacts:
        as_of = None if question.as_of is None else self._as_of(question.as_of)
        hidden = frozenset(self._left_out(question.without)) | frozenset(self._own_facts(asked))
        base = self._background.degree(np.array([asked.entity], dtype=np.int32))[0] if self._known(asked.entity) else 0
        mine = np.count_nonzero((self.observed.subject == asked.entity) | (self.observed.object == asked.entity))
        focus = (asked.entity, asked.time) if base or mine > MOST_FACTS else None
        return VisibleFacts(as_of, hidden, focus)

    def scene(self, view: VisibleFacts, asked: list[_Asked], questions: Sequence[Query]) -> AnsweredBatch:
        cut = view.as_of if view.as_of is None or view.as_of < self._background.time_range[1] else None
        sight = self.sights.of(len(self.roster.newcomers), cut, self._in_background(view.hidden))
        graph = sight.graph.with_facts(self._visible(view))
        for one in asked:
            if not graph.degree(np.array([one.entity], dtype=np.int32))[0]:
                raise self._nothing_known(questions[one.number])
        actors = {one.entity: one.time for one in asked} | self._other_newcomers(graph, {one.entity for one in asked})
        columns = ([getattr(one, name) for one in asked] for name in ("entity", "relation", "time"))
        entity, relation, time = (np.array(column, dtype=np.int32) for column in columns)
        task = Task(supports(graph, list(actors.items())), Queries(entity, relation, time, np.full_like(entity, -1)))
        first, last = graph.time_range
        reach = max(last, int(time.max())) - min(first, int(time.min()))
        names = {number: name for name, number in self.roster.newcomers.items()}
        scorer = sight.model.with_graph(graph).scorer(reach, names)
        answers = scorer.score(task, task.queries)
        return AnsweredBatch(self.run, self.roster, [one.number for one in asked], task, scorer, answers)

    @property
    def _background(self) -> TemporalGraph:
        return self.run.context.graph

    def _known(self, entity: int) -> bool:
        return entity < self._background.entities

    def _as_of(self, text: str) -> int:
        tick, first = self.reader.tick(text, "as_of"), self._background.time_range[0]
        if tick < first:
            expected = f"{self.run.calendar.label(first)} or later"
            raise InputError("nothing had happened yet", field="as_of", found=text, expected=expected)
        return tick

    def _left_out(self, without: Sequence[Fact]) -> Iterator[Row]:
        """Facts of ``without`` by their ids; one that nobody knows cannot be left out, and is passed over."""
        return (row for row in self.reader.quadruples(without, self.roster) if row[0] >= 0 and row[2] >= 0)

    def _own_facts(self, asked: _Asked) -> Quadruples:
        """Known facts that would answer the question by repeating it: same actor, relation and time."""
        relations = self.run.vocabulary.relation_ids
        parts = [self.observed.both_directions(relations)]
        if self._known(asked.entity):
            parts.append(edges_of(self._background.base, asked.entity))
        edges = Quadruples.concat(parts)
        same = (edges.subject == asked.entity) & (edges.relation == asked.relation) & (edges.time == asked.time)
        found = edges.take(same)
        return found.inverted(relations) if relations.is_inverse(asked.relation) else found

    def _in_background(self, hidden: frozenset[Row]) -> frozenset[Row]:
        rows = [row for row in sorted(hidden) if self._known(row[0]) and self._known(row[2])]
        there = self._background.contains(Quadruples.from_rows(rows))
        return frozenset(row for row, found in zip(rows, there, strict=True) if found)

    def _visible(self, view: VisibleFacts) -> Quadruples:
        """Observed facts that may be seen."""
        seen = np.array([row not in view.hidden for row in self.observed], dtype=np.bool_)
        if view.as_of is not None:
            seen &= self.observed.time <= view.as_of
        return self.observed.take(seen)

    def _other_newcomers(self, graph: TemporalGraph, asked: set[int]) -> dict[int, int]:
        """Who else is known by observed facts only, with the last tick: their latest facts speak for them."""
        ends = np.unique(np.concatenate([self.observed.subject, self.observed.object]))
        new = ends[(graph.base.degree(ends) == 0) & (graph.overlay.degree(ends) > 0)]
        last = graph.time_range[1]
        return {int(entity): last for entity in new if int(entity) not in asked}

    def _nothing_known(self, question: Query, hint: str = "") -> InputError:
        limits = [] if question.as_of is None else [f"up to {question.as_of}"]
        limits += ["without those left out"] if question.without else []
        problem = " ".join([NOTHING_KNOWN, *limits])
        field = "subject" if question.object is None else "object"
        expected = "at least one fact about it"
        return InputError(problem, field=field, found=question.entity, expected=expected, hint=hint)
