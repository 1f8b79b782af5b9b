"""JSON shapes of facts, queries, predictions, explanations and examples.

This is their only definition: ``to_json`` of the Python classes, ``--json`` of the commands and the HTTP service all
use these models, and the explorer's types are generated from the service's OpenAPI document. A model reads the
Python object of the same name by attribute: ``PredictionSchema.model_validate(prediction)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from fitcarl.config.base import Setting
from fitcarl.predict.fact import Fact
from fitcarl.predict.query import Direction, Query

if TYPE_CHECKING:
    from fitcarl.predict.prediction import Answer


class JsonModel(BaseModel):
    """Base of all JSON shapes; the docstrings of the fields become their descriptions in the OpenAPI document."""

    model_config = ConfigDict(from_attributes=True, frozen=True, use_attribute_docstrings=True)

    def to_json(self) -> dict[str, Any]:
        """The model as plain JSON values."""
        return self.model_dump(mode="json")


class FactSchema(JsonModel):
    """A fact by name: the subject is related to the object at a time."""

    subject: str
    relation: str
    object: str
    time: str

    def to_fact(self) -> Fact:
        return Fact(self.subject, self.relation, self.object, self.time)


class QuerySchema(JsonModel):
    """A query. Exactly one of subject and object is given; the other one is predicted."""

    subject: str | None
    relation: str | None
    """Null for any relation, in both directions."""
    object: str | None
    at: str
    """Time of the predicted fact."""
    top: int
    """Maximum number of answers."""
    paths: int
    """Maximum number of paths per answer."""
    without: tuple[FactSchema, ...]
    """Facts that are treated as unknown (what if they had not happened?)."""
    as_of: str | None
    """Only facts up to this time are used; null for no further limit."""
    hindsight: bool
    """Whether facts at and after the time of the query are used too; otherwise the query is a forecast."""
    horizon: str | None
    """A duration from ``at`` on, such as ``30d``, to ask when the next such fact occurs; null otherwise."""

    def to_query(self) -> Query:
        """The query; an InputError unless exactly one of subject and object is given."""
        without = tuple(fact.to_fact() for fact in self.without)
        return Query(
            self.subject,
            self.object,
            self.relation,
            self.at,
            self.top,
            self.paths,
            without=without,
            as_of=self.as_of,
            hindsight=self.hindsight,
            horizon=self.horizon,
        )


class StepSchema(FactSchema):
    """One step of a path: a fact in its original direction."""

    probability: float
    """Probability of the step under the model's policy."""
    confidence: float | None
    """Confidence of the step; null if the model has no confidence learner."""
    forward: bool
    """Whether the path goes from the subject to the object of this fact."""
    after_question: bool
    """Whether the fact is later than the time of the query; only with hindsight."""


class PathSchema(JsonModel):
    """A path that explains an answer."""

    log_prob: float
    """Log-probability of the path."""
    steps: tuple[StepSchema, ...]
    is_context: bool
    """True if this is not a path from the query entity but a fact between the answer and another entity."""
    text: str
    """The path as one sentence."""


class AnswerSchema(JsonModel):
    """One entity as an answer, with its calibrated probability and the paths that lead to it."""

    rank: int
    """Rank among all answers, from 1."""
    entity: str
    score: float
    """Log-probability under the model."""
    share: float
    """Calibrated probability of this answer; if the relation is open, of relation, direction and entity together."""
    concepts: tuple[str, ...]
    """Concepts (types) of the entity."""
    paths: tuple[PathSchema, ...]
    """The most probable paths, best first."""
    relation: str
    """Relation of the predicted fact."""
    direction: Direction
    """``out`` if the query entity is the subject of the predicted fact, ``in`` if it is the object."""


class RelationShareSchema(JsonModel):
    """A relation and a direction with their calibrated probability."""

    relation: str
    direction: Direction
    share: float


class TimeIntervalSchema(JsonModel):
    """An interval in which the next fact may occur."""

    start: str
    end: str
    """Its last time, included."""
    share: float
    """Probability that the first such fact is in this interval."""


class TimePredictionSchema(JsonModel):
    """When the next fact with the relation of the query occurs, regardless of the other entity."""

    intervals: tuple[TimeIntervalSchema, ...]
    none: float
    """Probability of no such fact within the horizon."""


class PredictionSchema(JsonModel):
    """A query and its answers, best first."""

    query: QuerySchema
    setting: Setting
    """``forecast`` if only facts before the time of the query were used, ``completion`` with hindsight."""
    trained_for: Setting
    """The setting that the run was trained for."""
    answers: tuple[AnswerSchema, ...]
    relations: tuple[RelationShareSchema, ...]
    """The most probable relations, if the relation is open; empty otherwise."""
    left_out: float
    """Probability of the relations whose entities were not scored, if the relation is open; 0 otherwise."""
    when: TimePredictionSchema | None
    """When the next such fact occurs, if the query has a horizon; null otherwise."""


class ExplanationSchema(JsonModel):
    """One entity as an answer to a query: its rank, its share and the paths that lead to it."""

    query: QuerySchema
    entity: str
    rank: int | None
    """Rank among all answers, from 1; null if no path leads to the entity."""
    score: float | None
    """Log-probability under the model; null if no path leads to the entity."""
    share: float
    """Calibrated probability of the entity among all entities; 0 if no path leads to it."""
    concepts: tuple[str, ...]
    """Concepts (types) of the entity."""
    paths: tuple[PathSchema, ...]
    """The most probable paths, best first."""
    relation: str
    """Relation of the query."""
    direction: Direction
    """``out`` if the query entity is the subject of the predicted fact, ``in`` if it is the object."""

    @classmethod
    def from_answer(cls, query: Query, entity: str, answer: Answer | None) -> ExplanationSchema:
        """The explanation of an entity; ``answer`` is None if no path leads to it."""
        shown = QuerySchema.model_validate(query)
        if answer is None:
            link = {"relation": str(query.relation), "direction": query.direction}
            return cls(query=shown, entity=entity, rank=None, score=None, share=0.0, concepts=(), paths=(), **link)
        return cls(query=shown, **dict(AnswerSchema.model_validate(answer)))


class ExampleSchema(JsonModel):
    """Facts about a new entity and a query about it. Exactly one of subject and object is given."""

    facts: tuple[FactSchema, ...]
    subject: str | None = None
    object: str | None = None
    relation: str
    at: str
    """Time of the predicted fact."""
