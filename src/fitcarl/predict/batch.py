"""Queries by their ids, what they may use, and their scored batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.data.quadruples import Ids, Row
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.evaluation.calibration import Calibration
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.prediction import Answer
from fitcarl.predict.probabilities import shares
from fitcarl.predict.query import Direction, Query
from fitcarl.runs.run import Run
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries

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


PathFinder = Callable[[int, list[int], int], list[list[ExplanationPath]]]
"""Row of a query in its batch, entities, maximum number of paths → the paths to each entity."""


@dataclass(frozen=True, eq=False)
class AnsweredBatch:
    """Scored queries of one call."""

    run: Run
    entities: EntityIndex
    indices: list[int]
    """Positions of the batch's queries among the queries of the call."""
    queries: Queries
    scores: Scores
    setting: Setting
    """Shares are calibrated for it."""
    find_paths: PathFinder

    @property
    def calibration(self) -> Calibration | None:
        return self.run.calibration_for(self.setting)

    def top_answers(self, row: int, query: Query) -> tuple[tuple[Answer, ...], float | None]:
        """The best answers to the query in a row of the batch, and the share of the best one; None if there is none."""
        entity, score, share = self.ranked(row)
        best = float(share[0]) if len(share) else None
        count = min(query.top, int(np.count_nonzero(share >= query.min_share)))
        explanations = self.paths(row, entity[:count].tolist(), query.paths)
        listed = zip(entity.tolist(), score.tolist(), share.tolist(), explanations, strict=False)
        return tuple(self.make_answer(row, rank, *found) for rank, found in enumerate(listed)), best

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
        others = entity != self.queries.entity[row]
        entity, score = entity[others], score[others]
        order = np.lexsort((entity, -score))
        return entity[order], score[order], shares(score[order], self.calibration)

    def make_answer(
        self, row: int, rank: int, entity: int, score: float, share: float, paths: list[ExplanationPath]
    ) -> Answer:
        """An entity as an answer to the query in a row; ``rank`` counts from 0."""
        known = entity < len(self.run.vocabulary.entities)
        concepts = self.run.concepts.of(entity) if known else ()
        relation, direction = named_relation(self.run.vocabulary, int(self.queries.relation[row]))
        name = self.entities.vocabulary.entities[entity]
        return Answer(rank + 1, name, score, share, concepts, tuple(paths), relation, direction)

    def paths(self, row: int, entities: list[int], limit: int) -> list[list[ExplanationPath]]:
        """The most probable paths to each entity, at most ``limit`` each."""
        if not limit:
            return [[] for _ in entities]
        found = self.find_paths(row, entities, limit)
        if self.setting == "forecast":  # no fact is later than the query
            return found
        asked, calendar = int(self.queries.time[row]), self.run.calendar

        def is_later(time: str) -> bool:
            return calendar.tick(time) > asked

        return [[path.marked(is_later) for path in paths] for paths in found]


def named_relation(vocabulary: Vocabulary, directed: int) -> tuple[str, Direction]:
    """The name of a directed relation, and the role of the query entity in its facts."""
    ids = vocabulary.relation_ids
    return vocabulary.relations[ids.base(directed)], "in" if ids.is_inverse(directed) else "out"


def query_columns(batch: Sequence[EncodedQuery], before: int | Sequence[int]) -> Queries:
    """Encoded queries as columns; ``before`` is their limit, or the limit of each."""
    columns = ([getattr(ids, name) for ids in batch] for name in ("entity", "relation", "time"))
    entity, relation, time = (np.array(column, dtype=np.int32) for column in columns)
    limits = np.broadcast_to(np.array(before, dtype=np.int32), entity.shape).copy()
    return Queries(entity, relation, time, np.full_like(entity, -1), limits)
