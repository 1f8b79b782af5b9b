"""The JSON that goes in and comes out, as OpenAPI describes it."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, model_validator

from fitcarl.data.io.table import name_problem
from fitcarl.predict.fact import Fact
from fitcarl.predict.query import Query

_ONE_LINE = r"^[^\x00-\x1f\x7f]+$"


def _name(text: str) -> str:
    if problem := name_problem(text):
        raise ValueError(problem)
    return text


Name = Annotated[str, Field(pattern=_ONE_LINE), AfterValidator(_name)]
"""The name of an entity or a relation."""
Time = Annotated[
    Annotated[str, Field(pattern=_ONE_LINE, max_length=40)] | StrictInt,
    Field(examples=["2014-05-13"], union_mode="left_to_right"),
    AfterValidator(str),
]
"""An ISO date, or an integer where the data's times are integers."""
Count = Annotated[int, Field(strict=True)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FactBody(_Body):
    """Who did what to whom, and when."""

    subject: Name
    relation: Name
    object: Name
    time: Time

    def fact(self) -> Fact:
        return Fact(self.subject, self.relation, self.object, str(self.time))


class ObserveBody(_Body):
    facts: Annotated[list[FactBody], Field(min_length=1)]


class PredictBody(_Body):
    """A question. Either ``subject`` or ``object`` is given, and the other end is asked for."""

    subject: Name | None = None
    object: Name | None = None
    relation: Name
    at: Time
    facts: Annotated[list[FactBody], Field(description="used for this question only, beside what is stored")] = []
    top: Annotated[Count, Field(ge=1, description="answers at most")] = 10
    paths: Annotated[Count, Field(ge=0, description="paths of each answer at most")] = 3
    without: Annotated[list[FactBody], Field(description="facts to leave out: what if they were not known?")] = []
    as_of: Annotated[Time | None, Field(description="look at facts up to this time only")] = None

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.subject is None) == (self.object is None):
            raise ValueError("a question has one end: give either subject or object")
        return self

    def question(self) -> Query:
        return Query(
            self.subject,
            self.object,
            self.relation,
            str(self.at),
            self.top,
            self.paths,
            tuple(one.fact() for one in self.without),
            None if self.as_of is None else str(self.as_of),
        )


class ExplainBody(PredictBody):
    """A question and one of its answers."""

    entity: Name


class Health(BaseModel):
    status: str


class Model(BaseModel):
    """What is served."""

    name: str
    preset: str
    shots: int
    data: str
    entities: int
    relations: int
    facts: int
    first_time: str
    last_time: str
    granularity: str
    version: str
    signature: str
    limits: dict[str, float]


class Entity(BaseModel):
    name: str
    concepts: list[str]
    facts: Annotated[int, Field(description="facts the model knows of it, without those that were observed")]
    observed: Annotated[bool, Field(description="whether stored facts mention it")]


class Entities(BaseModel):
    entities: list[Entity]


class Relation(BaseModel):
    name: str
    facts: int


class Relations(BaseModel):
    relations: list[Relation]


class StoredFact(BaseModel):
    id: str
    subject: str
    relation: str
    object: str
    time: str


class Observed(BaseModel):
    added: Annotated[int, Field(description="facts that were not stored before")]
    facts: list[StoredFact]


class ActorLine(BaseModel):
    name: str
    facts: int
    known: Annotated[bool, Field(description="whether the model knows facts of it, too")]


class Actors(BaseModel):
    actors: list[ActorLine]


class Actor(BaseModel):
    name: str
    known: bool
    facts: list[StoredFact]


class Removed(BaseModel):
    removed: int


class PlainFact(BaseModel):
    subject: str
    relation: str
    object: str
    time: str


class QueryEcho(BaseModel):
    subject: str | None
    relation: str
    object: str | None
    at: str
    top: int
    paths: int
    without: list[PlainFact]
    as_of: str | None


class Step(BaseModel):
    """A fact on the way, in its real direction."""

    subject: str
    relation: str
    object: str
    time: str
    probability: float
    confidence: float | None
    forward: Annotated[bool, Field(description="whether the path goes from subject to object")]


class Path(BaseModel):
    log_prob: float
    steps: list[Step]
    is_context: Annotated[
        bool, Field(description="no path from the actor, but what happened between the answer and others")
    ]
    text: str


class Answer(BaseModel):
    rank: int
    entity: str
    score: float
    share: float
    concepts: list[str]
    paths: list[Path]


class Prediction(BaseModel):
    query: QueryEcho
    answers: list[Answer]


class Explanation(BaseModel):
    query: QueryEcho
    entity: str
    rank: Annotated[int | None, Field(description="null where the model does not reach the entity")]
    share: float
    paths: list[Path]


class Example(BaseModel):
    """Facts about a new actor and a question that shows something."""

    facts: list[PlainFact]
    subject: str
    relation: str
    at: str


class Problem(BaseModel):
    message: str
    field: str | None
    suggestions: list[str]


class Error(BaseModel):
    """The shape of every error."""

    error: Problem


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route may refuse, for OpenAPI."""
    return {status: {"model": Error} for status in statuses}
