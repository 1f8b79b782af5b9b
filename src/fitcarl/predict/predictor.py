"""The face of a trained run: facts in by name, explained answers out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Literal

from fitcarl.data.calendar import Calendar
from fitcarl.errors import InputError, did_you_mean
from fitcarl.predict.entities import EntityIndex, NameSearch
from fitcarl.predict.example import Example, read_example
from fitcarl.predict.fact import AnyFact, Fact, fact_of, facts_of
from fitcarl.predict.parsing import FactParser
from fitcarl.predict.planner import AnsweredBatch, answer_batches
from fitcarl.predict.prediction import Answer, Prediction
from fitcarl.predict.query import Query
from fitcarl.predict.views import GraphViewCache
from fitcarl.runs.run import Run
from fitcarl.scoring.path import ExplanationPath


class Predictor:
    """Answers questions about actors that a run has never met, from a few facts about each, and says why.

    Nothing is trained and the background is never rebuilt: facts are laid over it for as long as a question takes. The
    same call gives the same answer. All methods may be called from several threads.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._parser = FactParser(run.vocabulary, run.calendar)
        self._sights = GraphViewCache(run.model, run.context)
        self._observed: dict[Fact, None] = {}
        self._lock = Lock()

    @classmethod
    def load(cls, run: str | Path | Run) -> Predictor:
        """A predictor on a run, or on a folder that ``fitcarl train`` made."""
        return cls(run if isinstance(run, Run) else Run.load(run))

    @property
    def entities(self) -> tuple[str, ...]:
        """Names the run knows."""
        return self.run.vocabulary.entities

    @property
    def relations(self) -> tuple[str, ...]:
        return self.run.vocabulary.relations

    @property
    def calendar(self) -> Calendar:
        """What a time means in this run."""
        return self.run.calendar

    @property
    def observed(self) -> tuple[Fact, ...]:
        """What was observed and not forgotten, in the order it came in."""
        with self._lock:
            return tuple(self._observed)

    def observe(self, facts: Iterable[AnyFact]) -> int:
        """Adds facts, about new actors or known ones; all of them or, where one cannot be used, none. How many are new.

        Times are kept as the run's calendar writes them.
        """
        given = [self._parser.normalise(fact_of(fact)) for fact in facts]
        with self._lock:
            before = len(self._observed)
            self._observed.update(dict.fromkeys(given))
            return len(self._observed) - before

    def read(
        self,
        file: str | Path,
        *,
        format: str | None = None,
        header: bool | Literal["auto"] = "auto",
        columns: Sequence[str | int] | None = None,
    ) -> list[Fact]:
        """The facts of a TSV, CSV, JSONL or Parquet file, not observed yet; errors name the row and the field.

        The arguments are those of ``read_facts``.
        """
        return self._parser.file(file, format, header, columns)

    def forget(self, actor: str | None = None, facts: Iterable[AnyFact] | None = None) -> int:
        """Takes observed facts away: those of an actor, or these, or with no argument all. How many are gone.

        The background cannot be forgotten; ``without`` leaves some of it out of a question.
        """
        if actor is not None and facts is not None:
            raise InputError("two ways to say what to forget", expected="either an actor or facts")
        these = None if facts is None else {self._parser.normalise(fact_of(fact)) for fact in facts}
        with self._lock:
            gone = [
                fact
                for fact in self._observed
                if (fact in these if these is not None else actor is None or actor in (fact.subject, fact.object))
            ]
            for fact in gone:
                del self._observed[fact]
        return len(gone)

    def ask(
        self,
        subject: str | None = None,
        relation: str | None = None,
        at: str | None = None,
        top: int = 10,
        *,
        object: str | None = None,
        paths: int = 3,
        without: Iterable[AnyFact] = (),
        as_of: str | None = None,
    ) -> Prediction:
        """Whom the subject will deal with through the relation at a time; or, with ``object``, who will deal with it.

        Facts in ``without`` are taken as not known. With ``as_of`` only facts up to that time are looked at.
        """
        if relation is None or at is None:
            missing = "relation" if relation is None else "at"
            raise InputError("a question without it", field=missing, expected="a relation and a time")
        question = Query(subject, object, relation, at, top, paths, facts_of(without), as_of)
        return self.answer([question], self.observed)[0]

    def answer(self, questions: Sequence[Query], facts: Iterable[AnyFact]) -> list[Prediction]:
        """The answers to questions over the background and these facts; what was observed does not count here."""
        found: dict[int, Prediction] = {}
        for scene in self._answer_batches(questions, facts):
            for place, number in enumerate(scene.numbers):
                asked = questions[number]
                found[number] = Prediction(asked, tuple(scene.best(place, asked.top, asked.paths)))
        return [found[number] for number in range(len(questions))]

    def explain_entity(self, question: Query, entity: str, facts: Iterable[AnyFact], most: int = 3) -> Answer | None:
        """One entity as an answer: its rank, share and paths; None where no path leads there."""
        [scene] = self._answer_batches([question], facts)
        number = scene.roster.find(entity)
        if number is None:
            hint = did_you_mean(entity, scene.roster.vocabulary.entities)
            raise InputError("unknown entity", field="entity", found=entity, expected="a known name", hint=hint)
        return scene.answer(0, number, most)

    def explain(
        self, question: Query, entity: str, facts: Iterable[AnyFact], most: int = 3
    ) -> tuple[ExplanationPath, ...]:
        """The most probable paths to one entity, best first; none where none leads there."""
        answer = self.explain_entity(question, entity, facts, most)
        return () if answer is None else answer.paths

    def check(self, fact: AnyFact) -> None:
        """Raises an InputError if a fact cannot be used: an unknown relation or a time that cannot be read."""
        self._parser.normalise(fact_of(fact))

    def knows(self, fact: AnyFact, facts: Iterable[AnyFact] = ()) -> bool:
        """Whether a fact is in the background or among these."""
        wanted = self._parser.normalise(fact_of(fact))
        if wanted in {self._parser.normalise(fact_of(other)) for other in facts}:
            return True
        row = self._parser.quadruples([wanted], EntityIndex.of(self.run.vocabulary, ()))
        known = row.subject[0] >= 0 and row.object[0] >= 0
        return bool(known and self.run.context.graph.contains(row)[0])

    def suggest(self, name: str, kind: Literal["entity", "relation"] = "entity", most: int = 8) -> list[str]:
        """Known names near what somebody typed: those that begin so, that have such words, that are spelt alike."""
        return (self._entity_names if kind == "entity" else self._relation_names).near(name, most)

    def example(self) -> Example | None:
        """A question to begin with, if the run has one."""
        return read_example(self.run.folder)

    @cached_property
    def _entity_names(self) -> NameSearch:
        return NameSearch(self.entities)

    @cached_property
    def _relation_names(self) -> NameSearch:
        return NameSearch(self.relations)

    def _answer_batches(self, questions: Sequence[Query], facts: Iterable[AnyFact]) -> list[AnsweredBatch]:
        return answer_batches(self.run, self._sights, self._parser, questions, facts_of(facts))
