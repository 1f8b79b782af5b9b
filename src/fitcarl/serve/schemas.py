"""Requests and responses of the HTTP service, built on the JSON shapes of ``fitcarl.predict.schemas``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from fitcarl.config.base import Setting
from fitcarl.data.calendar import Granularity
from fitcarl.data.name_rules import name_problem
from fitcarl.predict.schemas import FactSchema, JsonModel, QuerySchema

_ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
_MAX_TIME_LENGTH = 40


def _check_name(text: str) -> str:
    if problem := name_problem(text):
        raise ValueError(problem)
    return text


def _time_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Name = Annotated[str, Field(pattern=_ONE_LINE), AfterValidator(_check_name)]
"""Name of an entity or a relation."""
Time = Annotated[
    str,
    Field(pattern=_ONE_LINE, max_length=_MAX_TIME_LENGTH),
    BeforeValidator(_time_as_text),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _ONE_LINE, "maxLength": _MAX_TIME_LENGTH},
                {"type": "integer"},
            ],
            "examples": ["2014-05-13"],
        }
    ),
]
"""An ISO date, or an integer if the times of the data are integers."""
PositiveCount = Annotated[int, Field(strict=True, ge=1)]
Count = Annotated[int, Field(strict=True, ge=0)]

_REQUEST = ConfigDict(extra="forbid")


class FactRequest(FactSchema):
    """A fact by name: the subject is related to the object at a time."""

    model_config = _REQUEST

    subject: Name
    relation: Name
    object: Name
    time: Time


class ObserveRequest(JsonModel):
    """Facts to store."""

    model_config = _REQUEST

    facts: Annotated[tuple[FactRequest, ...], Field(min_length=1)]


class BackgroundRequest(JsonModel):
    """Facts to add to the background."""

    model_config = _REQUEST

    facts: Annotated[tuple[FactRequest, ...], Field(min_length=1)]


class PredictRequest(QuerySchema):
    """A query. Exactly one of subject and object is given; the other one is predicted."""

    model_config = _REQUEST

    subject: Name | None = None
    relation: Name | None = None
    """Without it, relation, direction and entity are predicted together."""
    object: Name | None = None
    at: Time
    """Time of the predicted fact; with a horizon, its first time."""
    facts: tuple[FactRequest, ...] = ()
    """Facts that are used for this query only, in addition to the stored ones."""
    top: PositiveCount = 10
    """Maximum number of answers."""
    paths: Count = 3
    """Maximum number of paths per answer."""
    without: tuple[FactRequest, ...] = ()
    """Facts that are treated as unknown (what if they had not happened?)."""
    as_of: Time | None = None
    """Use only facts up to this time, which is not later than ``at`` unless ``hindsight`` is set."""
    hindsight: Annotated[bool, Field(strict=True)] = False
    """Use facts at and after ``at`` too; otherwise only facts strictly before ``at`` are used."""
    horizon: Annotated[str, Field(pattern=_ONE_LINE, max_length=_MAX_TIME_LENGTH)] | None = None
    """A duration such as ``30d``: predict also when the next such fact occurs."""
    min_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Answers with a smaller share are left out."""


ONE, MANY = "query", "queries"
"""Tags of the two forms of a request to predict."""
PredictBody = Annotated[
    Annotated[PredictRequest, Tag(ONE)] | Annotated[tuple[PredictRequest, ...], Field(min_length=1), Tag(MANY)],
    Discriminator(lambda body: MANY if isinstance(body, list | tuple) else ONE),
]
"""One query, or a list of queries."""


class ExplainRequest(PredictRequest):
    """A query and the entity to explain as its answer."""

    relation: Name
    entity: Name


_PARAMETERS = ("search", "limit", "name", "identity")
REQUEST_FIELDS = frozenset(
    [
        *_PARAMETERS,
        *(
            name
            for model in (FactRequest, ObserveRequest, BackgroundRequest, ExplainRequest)
            for name in model.model_fields
        ),
    ]
)
"""Names of all fields and parameters that a client may send; the fields in errors consist of them."""


class HealthResponse(JsonModel):
    """State of the service."""

    status: str


class ModelResponse(JsonModel):
    """The served run and the limits of the service."""

    name: str
    """Name of the run folder."""
    preset: str
    shots: int
    """Number of support facts per new entity in training."""
    trained_for: Setting
    """The setting that the run was trained for."""
    data: str
    """Name of the training dataset."""
    entities: int
    relations: int
    facts: int
    """Number of facts in the background graph."""
    updates: int
    """Updates that have added facts to the background since the training."""
    first_time: str
    last_time: str
    granularity: Granularity
    """Unit of time."""
    version: str
    """Version of fitcarl."""
    signature: str
    """Preset, shots, data and version in one line."""
    limits: dict[str, float]


class EntityItem(JsonModel):
    """An entity in a search result."""

    name: str
    concepts: tuple[str, ...]
    facts: int
    """Number of background facts; stored facts are not counted."""
    observed: bool
    """Whether stored facts mention the entity."""


class EntitiesResponse(JsonModel):
    """Entities that match a search."""

    entities: tuple[EntityItem, ...]


class RelationItem(JsonModel):
    """A relation in a search result."""

    name: str
    facts: int
    """Number of background facts."""


class RelationsResponse(JsonModel):
    """Relations that match a search."""

    relations: tuple[RelationItem, ...]


class StoredFactSchema(FactSchema):
    """A stored fact."""

    id: str


class ObserveResponse(JsonModel):
    """The facts of the request as they are stored."""

    added: int
    """Number of facts that were not stored before."""
    facts: tuple[StoredFactSchema, ...]


class DriftSchema(JsonModel):
    """How well the run predicted facts before they were added: MRR as forecasts."""

    mrr: float | None
    """None if no fact could be judged."""
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    judged: int
    """Facts that were judged."""
    eligible: int
    """Facts that could be judged; a random sample of them was."""
    heuristic: str
    """Heuristic that gives the scale."""
    heuristic_mrr: float | None
    validation_mrr: float | None
    """MRR of the run on meta-validation."""
    validation_setting: Setting
    reason: str
    """Why no fact was judged; empty otherwise."""


class BackgroundResponse(JsonModel):
    """Result of an update of the background."""

    added: int
    """Facts that were new."""
    already_known: int
    """Facts that the background had already."""
    duplicates: int
    """Facts that the request repeats."""
    new_entities: int
    """Entities that became known."""
    facts: int
    """Number of facts in the background graph."""
    entities: int
    last_time: str
    updates: int
    """Updates of the run so far."""
    drift: DriftSchema


class StoredEntityItem(JsonModel):
    """An entity that stored facts mention."""

    name: str
    facts: int
    """Number of stored facts."""
    known: bool
    """Whether the background has facts about the entity, too."""


class StoredEntitiesResponse(JsonModel):
    """Entities that stored facts mention."""

    actors: tuple[StoredEntityItem, ...]  # the name is part of the HTTP contract, like the route /v1/actors


class StoredEntityResponse(JsonModel):
    """An entity and the stored facts that mention it."""

    name: str
    known: bool
    """Whether the background has facts about the entity, too."""
    facts: tuple[StoredFactSchema, ...]


class RemovedResponse(JsonModel):
    """Result of a deletion."""

    removed: int
    """Number of removed facts."""


class ErrorDetail(JsonModel):
    """Description of an error."""

    message: str
    field: str | None
    """Path of the invalid field in the request, such as ``facts.0.time``."""
    suggestions: tuple[str, ...]
    """Known names that are similar to an unknown one."""


class ErrorResponse(JsonModel):
    """Body of every error response."""

    error: ErrorDetail


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route for the OpenAPI document."""
    return {status: {"model": ErrorResponse} for status in statuses}
