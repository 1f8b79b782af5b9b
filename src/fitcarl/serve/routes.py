"""Routes of the HTTP API under ``/v1``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact
from fitcarl.predict.query import Query as PredictQuery
from fitcarl.predict.schemas import ExampleSchema, ExplanationSchema, PredictionSchema
from fitcarl.serve import schemas
from fitcarl.serve.api_docs import render
from fitcarl.serve.clients import Client
from fitcarl.serve.errors import ApiError
from fitcarl.serve.metrics import CONTENT_TYPE
from fitcarl.serve.schemas import error_responses
from fitcarl.serve.service import Service
from fitcarl.serve.space import SpaceService

_JSON = "application/json"


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _client(request: Request) -> Client:
    """Who has sent the request, as the middleware has found out."""
    client: Client = request.scope["fitcarl.client"]
    return client


async def _space(request: Request) -> SpaceService:
    """The space of the client."""
    service: Service = request.app.state.service
    return service.space((await _client(request)).space)


async def _require_json(request: Request) -> None:
    """Rejects other content types, including those that web pages of other origins may send without a preflight."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise ApiError(415, "the body must be JSON: send the header 'Content-Type: application/json'")


ServiceDependency = Annotated[Service, Depends(_service)]
SpaceDependency = Annotated[SpaceService, Depends(_space)]
ClientDependency = Annotated[Client, Depends(_client)]
SearchText = Annotated[str, Query(max_length=200, description="Search text; empty for the most frequent names.")]
Limit = Annotated[int, Query(ge=1, description="Maximum number of names.")]

_WITH_BODY: dict[str, Any] = {"dependencies": [Depends(_require_json)], "responses": error_responses(415)}
_OR_404: dict[str, Any] = {"responses": error_responses(404)}

router = APIRouter(prefix="/v1")


@router.get("/health", tags=["service"])
async def health() -> schemas.HealthResponse:
    """Check that the service is alive, whether or not it can answer queries; no token is required."""
    return schemas.HealthResponse(status="ok")


@router.get("/ready", tags=["service"])
async def ready(service: ServiceDependency) -> schemas.HealthResponse:
    """Check that queries can be answered: a worker is running and the store is available; no token is required."""
    await service.check_ready()
    return schemas.HealthResponse(status="ready")


@router.get("/model", tags=["service"])
async def served_model(service: ServiceDependency) -> schemas.ModelResponse:
    """Describe the served run and the limits of the service."""
    return service.model()


@router.get("/metrics", response_class=PlainTextResponse, tags=["service"])
async def metrics(service: ServiceDependency) -> Response:
    """Counters and durations in the text format of Prometheus."""
    return Response(await service.metrics_text(), media_type=CONTENT_TYPE)


@router.get("/example", response_model_exclude_none=True, tags=["service"], **_OR_404)
async def example(service: ServiceDependency) -> ExampleSchema:
    """An example: facts about a new entity and a query about it."""
    return service.example()


@router.get("/docs", include_in_schema=False)
async def api_docs(request: Request) -> Response:
    """This API as one HTML page."""
    return HTMLResponse(render(request.app.openapi()))


@router.get("/entities", tags=["names"])
async def entities(space: SpaceDependency, search: SearchText = "", limit: Limit = 20) -> schemas.EntitiesResponse:
    """Search entities by name, new entities first; without a search text, list the entities with the most facts."""
    return await space.entities(search, limit)


@router.get("/relations", tags=["names"])
async def relations(
    service: ServiceDependency, search: SearchText = "", limit: Limit = 20
) -> schemas.RelationsResponse:
    """Search relations by name; without a search text, list the most frequent relations."""
    return await service.relations(search, limit)


@router.post("/observe", status_code=201, tags=["facts"], **_WITH_BODY)
async def observe(space: SpaceDependency, body: schemas.ObserveRequest) -> schemas.ObserveResponse:
    """Store facts about new or known entities. They are on disk before the response is sent; duplicates are ignored."""
    return await space.observe([fact.to_fact() for fact in body.facts])


@router.post(
    "/background",
    tags=["facts"],
    dependencies=[Depends(_require_json)],
    responses=error_responses(403, 409, 415),
)
async def update_background(service: ServiceDependency, body: schemas.BackgroundRequest) -> schemas.BackgroundResponse:
    """Add facts to the background of the run, permanently and without training. Off unless the service was started with
    --allow-updates. When the response is sent, all answers are from the updated run."""
    return await service.update_background([fact.to_fact() for fact in body.facts])


@router.get("/actors", tags=["facts"])
async def stored_entities(
    space: SpaceDependency, search: SearchText = "", limit: Limit = 100
) -> schemas.StoredEntitiesResponse:
    """List the entities that stored facts mention: new entities first, then by number of facts."""
    return await space.stored_entities(search, limit)


@router.get("/actors/{name:path}", tags=["facts"], **_OR_404)
async def stored_facts(space: SpaceDependency, name: str) -> schemas.StoredEntityResponse:
    """Return the stored facts that mention an entity."""
    return await space.stored_facts(name)


@router.delete("/actors/{name:path}", tags=["facts"], **_OR_404)
async def forget_entity(space: SpaceDependency, name: str) -> schemas.RemovedResponse:
    """Delete all stored facts that mention an entity."""
    return schemas.RemovedResponse(removed=await space.forget_entity(name))


@router.delete("/facts/{identity}", tags=["facts"], **_OR_404)
async def forget_fact(space: SpaceDependency, identity: str) -> schemas.RemovedResponse:
    """Delete one stored fact."""
    return schemas.RemovedResponse(removed=await space.forget_fact(identity))


@router.post("/predict", response_model=PredictionSchema | list[PredictionSchema], tags=["queries"], **_WITH_BODY)
async def predict(space: SpaceDependency, client: ClientDependency, body: schemas.PredictBody) -> Response:
    """Answer a query, or each of a list of queries, from the stored facts about its entity and the facts of the
    request: ranked answers with calibrated probabilities and paths. A list gets a list of predictions in the same
    order, or, if one of its queries is invalid, an error whose field begins with the index of that query."""
    if isinstance(body, schemas.PredictRequest):
        return Response(await space.predict(*_query_and_facts(body)), media_type=_JSON)
    client.charge(len(body) - 1)
    found = await space.predict_many([_query_and_facts(query, index) for index, query in enumerate(body)])
    return Response(b"[" + b",".join(found) + b"]", media_type=_JSON)


def _query_and_facts(body: schemas.PredictRequest, index: int | None = None) -> tuple[PredictQuery, list[Fact]]:
    """The query of a request and its facts; ``index`` is its place in a list."""
    try:
        return body.to_query(), [fact.to_fact() for fact in body.facts]
    except InputError as error:
        if index is None:
            raise
        raise ApiError(422, f"query {index}: {error}", ".".join(filter(None, (str(index), error.field)))) from None


@router.post("/explain", response_model=ExplanationSchema, tags=["queries"], **_WITH_BODY)
async def explain(space: SpaceDependency, body: schemas.ExplainRequest) -> Response:
    """Explain one entity as an answer to a query: evidence, effects of facts that are left out, and paths."""
    facts = [fact.to_fact() for fact in body.facts]
    return Response(await space.explain(body.to_query(), body.entity, facts), media_type=_JSON)
