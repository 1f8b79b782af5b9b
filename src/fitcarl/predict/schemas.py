"""JSON shapes of facts, queries, predictions, explanations and examples.

This is their only definition: ``to_json`` of the Python classes, ``--json`` of the commands and the HTTP service all
use these models, and the explorer's types are generated from the service's OpenAPI document. A model reads the
Python object of the same name by attribute: ``PredictionSchema.model_validate(prediction)``.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from fitcarl.config.base import Setting
from fitcarl.predict.fact import Fact
from fitcarl.predict.query import Direction, Query
from fitcarl.scoring.path import PathKind


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
    min_share: float
    """Answers with a smaller share are left out."""

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
            min_share=self.min_share,
        )


class StepSchema(FactSchema):
    """One step of a path: a fact in its original direction."""

    probability: float | None
    """Probability of the step under the model's policy; null for facts that the search does not follow."""
    confidence: float | None
    """Confidence of the step; null if the model has no confidence learner."""
    forward: bool
    """Whether the path goes from the subject to the object of this fact."""
    after_question: bool
    """Whether the fact is later than the time of the query; only with hindsight."""


class PathSchema(JsonModel):
    """A path that explains an answer."""

    log_prob: float
    """Log-probability of the path; of paths that the search does not follow, of the answer without a path."""
    steps: tuple[StepSchema, ...]
    kind: PathKind
    """``path``: from the query entity to the answer; ``peers``: over an entity with a fact like that of the query
    entity; ``context``: a fact between the answer and another entity."""
    is_context: bool
    """True if this is not a path from the query entity but a fact between the answer and another entity."""
    also: tuple[tuple[str, ...], ...]
    """Times of the steps of further paths with the same facts at other times."""
    share_without: float | None
    """Share of the answer without the facts of the path; null if not measured."""
    rank_without: int | None
    """Rank of the answer then; null if there is none, or if it is not measured."""
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
    unlisted: float
    """Probability of everything that is not among the answers."""
    best_share: float | None
    """Share of the best answer, even if it is below ``min_share``; null if the model has no answer at all."""
    relations: tuple[RelationShareSchema, ...]
    """The most probable relations, if the relation is open; empty otherwise."""
    left_out: float
    """Probability of the relations whose entities were not scored, if the relation is open; 0 otherwise."""
    when: TimePredictionSchema | None
    """When the next such fact occurs, if the query has a horizon; null otherwise."""


class EvidenceSchema(JsonModel):
    """One source of evidence and its contribution to the score."""

    source: str
    """``base`` (a typical candidate), ``path``, ``other_paths``, a family of features, or ``fact``."""
    label: str
    """The source in words."""
    contribution: float
    """In nats; the contributions of all sources add up to the score."""
    facts: tuple[FactSchema, ...]
    """The strongest facts behind it; empty if it rests on no single facts."""


class FactEffectSchema(FactSchema):
    """A fact, and the answer recomputed without it."""

    share_without: float
    """Share of the answer without the fact; 0 if there is no such answer then."""
    rank_without: int | None
    """Rank of the answer without the fact; null if there is no such answer then."""
    effect: float
    """Nats of the share that rest on the fact; negative if it speaks against the answer."""
    together: tuple[FactSchema, ...]
    """Facts with which more is lost than by each alone."""


class PlaceSchema(JsonModel):
    """Share and rank of an answer."""

    share: float
    rank: int | None


class ExplanationSchema(JsonModel):
    """Why an entity is an answer to a query; it explains the model, not the world."""

    query: QuerySchema
    entity: str
    rank: int | None
    """Rank among all answers, from 1; null if the model does not list the entity."""
    score: float | None
    """Log-probability under the model; null if the model does not list the entity."""
    share: float
    """Calibrated probability of the entity among all entities; 0 if the model does not list it."""
    concepts: tuple[str, ...]
    """Concepts (types) of the entity."""
    relation: str
    """Relation of the query."""
    direction: Direction
    """``out`` if the query entity is the subject of the predicted fact, ``in`` if it is the object."""
    summary: str
    """The explanation in a few sentences."""
    kind: Literal["path", "peers", "base rate", "learned", "facts"] | None
    """What the answer rests on most; null if the model does not list the entity."""
    base_rate: float
    """Share of this answer among the background facts of the relation that the query may use and that are not about the
    query entity."""
    evidence: tuple[EvidenceSchema, ...]
    """Contributions to the score, largest first, then the base; they add up to the score."""
    facts: tuple[FactEffectSchema, ...]
    """The facts that matter most, largest effect first."""
    considered: int
    """Number of facts whose effects were measured."""
    necessary: tuple[FactSchema, ...]
    """A small set without which the answer loses its place; empty if none was found."""
    without_necessary: PlaceSchema | None
    """The place of the answer without that set."""
    sufficient: tuple[FactSchema, ...]
    """A small set that keeps the answer at its place without all other considered facts; empty if none was found."""
    with_sufficient: PlaceSchema | None
    """The place of the answer with nothing but that set of the considered facts."""
    paths: tuple[PathSchema, ...]
    """Paths to the answer, largest measured effect first."""
    later: tuple[FactSchema, ...]
    """Facts of the explanation that are later than the query; only with hindsight."""


class ExampleSchema(JsonModel):
    """Facts about a new entity and a query about it. Exactly one of subject and object is given."""

    facts: tuple[FactSchema, ...]
    subject: str | None = None
    object: str | None = None
    relation: str
    at: str
    """Time of the predicted fact."""
