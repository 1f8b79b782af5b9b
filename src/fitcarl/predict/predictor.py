"""Prediction by name on a trained run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.core.progress import OnProgress
from fitcarl.data.calendar import Calendar
from fitcarl.data.io.frames import is_frame
from fitcarl.data.io.read_options import ReadKeywords, ReadOptions
from fitcarl.data.moments import AnyTime
from fitcarl.data.name_search import NameSearch
from fitcarl.errors import InputError, did_you_mean
from fitcarl.predict.answering import answer_queries, answer_rows, check_rows
from fitcarl.predict.entities import EntityIndex
from fitcarl.predict.event_scores import End, EventScores, parse_events, score_events
from fitcarl.predict.example import Example, read_example
from fitcarl.predict.explainer import AnswerContext, base_rate, explain_in_context
from fitcarl.predict.explanation import Explanation
from fitcarl.predict.fact import AnyFact, CheckedFact, Fact, make_fact, make_facts
from fitcarl.predict.parsing import FactParser
from fitcarl.predict.planner import QueryPlanner
from fitcarl.predict.prediction import Prediction
from fitcarl.predict.predictions import OnError, Predictions
from fitcarl.predict.query import Query, query_time
from fitcarl.predict.questions import parse_queries
from fitcarl.predict.views import GraphViewCache
from fitcarl.runs.evaluate import validation_shares
from fitcarl.runs.run import Run


class Predictor:
    """Predicts links of entities that a run has never seen, from a few facts about each, with explanations.

    Nothing is trained and the background is never rebuilt: facts are added to the graph for the duration of a query.
    The same call always returns the same result. All methods are thread-safe.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.parser = FactParser(run.vocabulary, run.calendar)
        """Parser of facts with the names and the calendar of the run."""
        self._views = GraphViewCache(run.model, run.context)
        self._observed: dict[CheckedFact, None] = {}
        self._lock = Lock()
        self._validation: dict[Setting, NDArray[np.float64]] = {}

    @classmethod
    def load(cls, run: str | Path | Run) -> Predictor:
        """A predictor for a run or a run folder.

        Args:
            run: A loaded run, or a folder created by ``fitcarl train``.
        """
        return cls(run if isinstance(run, Run) else Run.load(run))

    @property
    def entities(self) -> tuple[str, ...]:
        """Names of the entities of the run."""
        return self.run.vocabulary.entities

    @property
    def relations(self) -> tuple[str, ...]:
        """Names of the relations of the run."""
        return self.run.vocabulary.relations

    @property
    def calendar(self) -> Calendar:
        """The calendar of the run: conversion between times and ticks."""
        return self.run.calendar

    @property
    def observed(self) -> tuple[Fact, ...]:
        """The observed facts in the order of their arrival, with times in the notation of the run's calendar."""
        with self._lock:
            facts = tuple(self._observed)
        return tuple(self.parser.normalise(fact) for fact in facts)

    def observe(self, facts: Iterable[AnyFact] | Any) -> int:
        """Adds facts about new or known entities; if one of them is invalid, none is added.

        Args:
            facts: Tuples (subject, relation, object, time), mappings with these keys, ``Fact`` objects, or a DataFrame
                whose columns are found as ``fitcarl.read_facts`` does.

        Returns:
            The number of facts that were not observed before.

        Raises:
            InputError: If a fact has an unknown relation or an invalid time.
        """
        checked = self._checked(facts)
        with self._lock:
            before = len(self._observed)
            self._observed.update(dict.fromkeys(checked))
            return len(self._observed) - before

    def read(self, source: Any, **options: Unpack[ReadKeywords]) -> list[Fact]:
        """Reads facts from a file or a DataFrame without observing them; errors contain row and field.

        Args:
            source: A TSV, CSV, JSONL or Parquet file, or a DataFrame.
            options: Those of ``fitcarl.read_facts`` about the file, such as ``columns``.
        """
        return self.parser.read(source, ReadOptions(**options), self.run.reading).facts

    def forget(self, entity: str | None = None, facts: Iterable[AnyFact] | None = None) -> int:
        """Removes observed facts. Background facts cannot be removed; exclude them from a query with ``without``.

        Args:
            entity: Remove the facts that mention this entity.
            facts: Remove these facts. Without any argument all observed facts are removed.

        Returns:
            The number of removed facts.
        """
        if entity is not None and facts is not None:
            raise InputError("entity and facts given", expected="at most one of them")
        given = None if facts is None else {self.check(fact) for fact in facts}
        with self._lock:
            removed = [
                fact
                for fact in self._observed
                if (fact in given if given is not None else entity is None or entity in (fact.subject, fact.object))
            ]
            for fact in removed:
                del self._observed[fact]
        return len(removed)

    def ask(
        self,
        subject: str | None = None,
        relation: str | None = None,
        at: AnyTime | None = None,
        top: int = 10,
        *,
        object: str | None = None,
        paths: int = 3,
        without: Iterable[AnyFact] = (),
        as_of: AnyTime | None = None,
        hindsight: bool = False,
        horizon: str | None = None,
        min_share: float = 0.0,
    ) -> Prediction:
        """Answers one query over the background and the observed facts.

        The answer is a forecast: only facts strictly before ``at`` are used, unless ``hindsight`` is set.

        Args:
            subject: Subject of the query; the object is predicted.
            relation: Relation of the query; without one, relation, direction and entity are predicted together.
            at: Time of the query; with a horizon, its first time (by default the one after the last busy time).
            top: Maximum number of answers.
            object: Object of the query instead of a subject; the subject is predicted.
            paths: Maximum number of paths per answer.
            without: Facts that are treated as unknown.
            as_of: Use only facts up to this time, which is not later than ``at``.
            hindsight: Use facts at and after ``at`` too; path steps later than ``at`` are marked.
            horizon: A duration such as ``30d``: predict also when the next such fact occurs.
            min_share: Answers with a smaller share are left out.

        Raises:
            InputError: If a name or a time is unknown, or nothing is known about the entity.
        """
        facts = self._given(None)
        if at is None:
            if horizon is None:
                raise InputError("missing argument", field="at", expected="a time, or a horizon")
            at = self.next_time(facts)
        known_until = None if as_of is None else query_time(as_of, "as_of")
        asked = subject, object, relation, query_time(at, "at"), top, paths
        query = Query(*asked, make_facts(without), known_until, hindsight, horizon, min_share)
        return self.answer_checked([query], facts)[0]

    def ask_many(
        self,
        queries: Any,
        *,
        facts: Iterable[AnyFact] | Any | None = None,
        errors: OnError = "raise",
        top: int = 10,
        paths: int = 1,
        without: Iterable[AnyFact] = (),
        as_of: AnyTime | None = None,
        hindsight: bool = False,
        horizon: str | None = None,
        min_share: float = 0.0,
        on_progress: OnProgress | None = None,
    ) -> Predictions:
        """Answers a table of queries; queries that share facts share work. All are checked before any is answered.

        Args:
            queries: A data frame (polars, pandas, pyarrow or any other with the Arrow stream protocol) or a sequence of
                mappings, with the columns subject, relation, object and at and, if wanted, as_of, horizon and id; or
                a sequence of ``Query`` objects, which the options below do not change.
            facts: Facts about new or known entities; by default the observed facts.
            errors: For queries that cannot be answered: ``raise`` the first error, ``skip`` them, or ``return`` them as
                rows of the frame. The result lists them in ``errors`` in both cases.
            top: Maximum number of answers per query.
            paths: Maximum number of paths per answer; the frame shows the best one.
            without: Facts that are treated as unknown.
            as_of: Use only facts up to this time, where a row has none of its own.
            hindsight: Use facts at and after the time of a query too.
            horizon: A duration such as ``30d``, where a row has none of its own.
            min_share: Answers with a smaller share are left out.
            on_progress: Called after every batch of queries.

        Returns:
            The predictions; ``to_frame()`` is a table of all answers.

        Raises:
            InputError: With the number of the row, if a query cannot be answered and ``errors`` is ``raise``.
        """
        options = {"top": top, "paths": paths, "without": make_facts(without), "hindsight": hindsight}
        options |= {"as_of": as_of, "horizon": horizon, "min_share": min_share}
        planner = self.planner(self._given(facts))
        rows = check_rows(planner, parse_queries(queries, options), errors)
        return Predictions(tuple(rows), tuple(answer_rows(planner, rows, on_progress)), errors == "return")

    def answer(self, queries: Sequence[Query], facts: Iterable[AnyFact]) -> list[Prediction]:
        """Answers queries over the background and the given facts; observed facts are not used.

        Args:
            queries: Queries; those that use the same facts are scored together.
            facts: Facts about new or known entities.

        Returns:
            One prediction per query.
        """
        return self.answer_checked(queries, self._checked(facts))

    def answer_checked(self, queries: Sequence[Query], facts: Sequence[CheckedFact]) -> list[Prediction]:
        """Answers ``queries`` as ``answer`` does; ``facts`` are distinct facts that ``check`` returned."""
        return answer_queries(self.planner(facts), queries)

    def score(
        self,
        events: Any,
        facts: Iterable[AnyFact] | None = None,
        *,
        predict: End = "object",
        errors: OnError = "raise",
        hindsight: bool = False,
        against_validation: bool = False,
        on_progress: OnProgress | None = None,
    ) -> EventScores:
        """Scores given facts: how likely each was as the answer to its own query. A fact is not visible to its scoring.

        Args:
            events: A data frame or a sequence of mappings with the columns subject, relation, object and time and, if
                wanted, id; or a sequence of tuples.
            facts: Facts about new or known entities; by default the observed facts.
            predict: The end that is predicted from the other one: ``object`` or ``subject``.
            errors: For facts that cannot be scored: ``raise``, ``skip`` or ``return``, as in ``ask_many``.
            hindsight: Use facts at and after the time of each fact too.
            against_validation: Also compare each share with those of the true answers of meta-validation, which needs
                the dataset of the run and takes some seconds.
            on_progress: Called after every batch of facts.

        Returns:
            Share, rank and percentile of each fact; ``to_frame()`` is a table of them.

        Raises:
            InputError: With the number of the row, if a fact cannot be scored and ``errors`` is ``raise``.
        """
        rows = parse_events(events, predict, {"hindsight": hindsight})
        validation = self.validation_shares("completion" if hindsight else "forecast") if against_validation else None
        planner = self.planner(self._given(facts))
        return score_events(planner, rows, errors, predict, validation, on_progress=on_progress)

    def validation_shares(self, setting: Setting) -> NDArray[np.float64]:
        """The shares of the true answers of meta-validation in a ``setting``, ascending; computed once."""
        if setting not in self._validation:
            self._validation[setting] = validation_shares(self.run, setting)
        return self._validation[setting]

    def explain(self, query: Query, entity: str, facts: Iterable[AnyFact] | None = None, paths: int = 3) -> Explanation:
        """Explains one entity as an answer: evidence, measured effects of facts, and paths.

        Args:
            query: The query, with a relation.
            entity: Name of the entity.
            facts: Facts about new or known entities; by default the observed facts.
            paths: Maximum number of paths.

        Returns:
            The explanation; its ``rank`` is None if the model does not list the entity.

        Raises:
            InputError: If a name is unknown, the relation is open, or nothing is known about the query entity.
        """
        return self.explain_checked(query, entity, self._given(facts), paths)

    def explain_checked(self, query: Query, entity: str, facts: Sequence[CheckedFact], paths: int = 3) -> Explanation:
        """Explains an entity as ``explain`` does.

        Args:
            query: The query, with a relation.
            entity: Name of the entity.
            facts: Distinct facts that ``check`` returned.
            paths: Maximum number of paths.
        """
        if query.is_open:
            raise InputError("missing argument", field="relation", expected="the relation to explain")
        return self.explain_with(self.planner(facts), query, entity, paths)[1]

    def explain_with(
        self, planner: QueryPlanner, query: Query, entity: str, paths: int = 3
    ) -> tuple[AnswerContext, Explanation]:
        """Explains an entity as ``explain`` does, over the facts of a planner.

        Args:
            planner: The planner of a call.
            query: The query, with a relation.
            entity: Name of the entity.
            paths: Maximum number of paths.

        Returns:
            What the explanation was made from, and the explanation.
        """
        number = planner.entities.find(entity)
        if number is None:
            hint = did_you_mean(entity, planner.entities.vocabulary.entities)
            raise InputError("unknown entity", field="entity", found=entity, expected="a known name", hint=hint)
        if entity == query.entity:
            problem = "the query entity cannot be its own answer"
            raise InputError(problem, field="entity", found=entity, expected="another entity")
        query = replace(query, paths=paths)  # checks the number
        batch, context = planner.context(query, number)
        answer = batch.answer_for(0, number, paths)
        rate = base_rate(context.graph, context.query, number)
        if answer is None:
            link = str(query.relation), query.direction
            return context, Explanation(query, entity, None, None, 0.0, (), *link, rate)
        about = answer.rank, answer.score, answer.share, answer.concepts, answer.relation, answer.direction
        explanation = Explanation(query, entity, *about, rate, paths=answer.paths)
        return context, explain_in_context(context, explanation)

    def check(self, fact: AnyFact) -> CheckedFact:
        """Checks the names of a fact, looks up its relation and parses its time.

        Args:
            fact: Subject, relation, object and time, by name.

        Raises:
            InputError: If a name or the time is invalid, or the relation is unknown.
        """
        return self.parser.check(make_fact(fact))

    def knows(self, fact: AnyFact, facts: Iterable[AnyFact] = ()) -> bool:
        """Whether ``fact`` is in the background or among ``facts``."""
        checked = self.check(fact)
        if checked in {self.check(other) for other in facts}:
            return True
        row = self.parser.quadruples([checked], EntityIndex.from_facts(self.run.vocabulary, ()))
        known = row.subject[0] >= 0 and row.object[0] >= 0
        return bool(known and self.run.context.graph.contains(row)[0])

    def next_time(self, facts: Iterable[CheckedFact] = ()) -> str:
        """The time after the last busy time of the background and the last of ``facts``: where a horizon starts.

        Args:
            facts: Facts besides those of the background.
        """
        last = max([self.run.last_busy_tick, *(fact.tick for fact in facts)])
        return self.calendar.label(last + 1)

    def suggest(self, text: str, kind: Literal["entity", "relation"] = "entity", limit: int = 8) -> list[str]:
        """Known names that are similar to a text: by prefix, by words, by substring, then by spelling.

        Args:
            text: The text to complete or correct.
            kind: Whether to search entities or relations.
            limit: Maximum number of names.
        """
        return (self._entity_names if kind == "entity" else self._relation_names).near(text, limit)

    def example(self) -> Example | None:
        """The example query of the run, or None."""
        return read_example(self.run.folder)

    @cached_property
    def _entity_names(self) -> NameSearch:
        return NameSearch(self.entities)

    @cached_property
    def _relation_names(self) -> NameSearch:
        return NameSearch(self.relations)

    def _checked(self, facts: Iterable[AnyFact] | Any) -> tuple[CheckedFact, ...]:
        if is_frame(facts):
            facts = self.read(facts)
        return tuple(dict.fromkeys(self.check(fact) for fact in facts))

    def _given(self, facts: Iterable[AnyFact] | None) -> tuple[CheckedFact, ...]:
        """Facts of a call, checked; the observed facts if there are none."""
        if facts is not None:
            return self._checked(facts)
        with self._lock:
            return tuple(self._observed)

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes: the run folder, which is loaded there, and the observed facts."""
        folder, as_trained = self.run.folder.path.resolve(), not self.run.updates
        return _load_with_facts, (str(folder), as_trained, self._given(None))

    def planner(self, facts: Sequence[CheckedFact]) -> QueryPlanner:
        """The planner of a call with these ``facts``, which ``check`` returned."""
        return QueryPlanner.of(self.run, self._views, self.parser, facts)


def _load_with_facts(folder: str, as_trained: bool, facts: Sequence[CheckedFact]) -> Predictor:
    """The predictor that was sent to another process."""
    predictor = Predictor(Run.load(folder, as_trained=as_trained))
    predictor._observed.update(dict.fromkeys(facts))
    return predictor
