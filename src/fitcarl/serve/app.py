"""The HTTP face: routes under ``/v1``, the page at ``/``, and one shape for every error."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Match

import fitcarl
from fitcarl.errors import InputError
from fitcarl.serve import schemas
from fitcarl.serve.access import AccessPolicy
from fitcarl.serve.api_docs import render
from fitcarl.serve.errors import ApiError
from fitcarl.serve.metrics import CONTENT_TYPE
from fitcarl.serve.middleware import Middleware
from fitcarl.serve.schemas import error_responses
from fitcarl.serve.service import Service
from fitcarl.serve.static import Page, StaticFiles

_LOG = logging.getLogger(__name__)
_ABOUT = "Whom will a new actor deal with, how, when, and why? Facts in by name, explained answers out."
_COMMON = error_responses(400, 401, 408, 413, 422, 503)


async def _json_only(request: Request) -> None:
    """Keeps out other bodies, also those that pages of other origins may post without asking for permission."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ApiError(415, "the body must be JSON: send the header 'Content-Type: application/json'")


_BODY: dict[str, Any] = {"dependencies": [Depends(_json_only)], "responses": error_responses(415)}
"""What every route with a body has."""
Search = Annotated[str, Query(max_length=200, description="what somebody typed; empty for the most frequent")]
Limit = Annotated[int, Query(ge=1, alias="limit", description="names at most")]


def create_app(service: Service, guard: AccessPolicy | None = None, pages: StaticFiles | None = None) -> FastAPI:
    """The application over a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="fitcarl",
        version=fitcarl.__version__,
        description=_ABOUT,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        responses=_COMMON,
    )
    app.add_middleware(Middleware, guard=guard or AccessPolicy(), limits=service.limits, metrics=service.metrics)
    _add_error_shapes(app)
    _add_about(app, service)
    _add_names(app, service)
    _add_facts(app, service)
    _add_questions(app, service)
    _add_pages(app, pages or StaticFiles())
    return app


def _add_about(app: FastAPI, service: Service) -> None:
    model = service.catalog.model() | {"limits": service.limits.to_json()}

    @app.get("/v1/health", response_model=schemas.Health, tags=["service"])
    async def health() -> Response:
        """Whether the service answers; open without a token."""
        return JSONResponse({"status": "ok"})

    @app.get("/v1/model", response_model=schemas.Model, tags=["service"])
    async def served_model() -> Response:
        """What is served, and within which limits."""
        return JSONResponse(model)

    @app.get("/v1/metrics", response_class=PlainTextResponse, tags=["service"])
    async def metrics() -> Response:
        """Counts and times, for Prometheus."""
        return Response(await service.metrics_text(), media_type=CONTENT_TYPE)

    @app.get("/v1/example", response_model=schemas.Example, responses=error_responses(404), tags=["service"])
    async def example() -> Response:
        """Facts about a new actor and a question, to begin with."""
        return JSONResponse(service.example())

    @app.get("/v1/docs", include_in_schema=False)
    async def reference() -> Response:
        return HTMLResponse(render(app.openapi()))


def _add_names(app: FastAPI, service: Service) -> None:
    @app.get("/v1/entities", response_model=schemas.Entities, tags=["names"])
    async def entities(search: Search = "", most: Limit = 20) -> Response:
        """Entities that a text may mean, new actors first; without a text the most active."""
        return JSONResponse({"entities": await service.entities(search, most)})

    @app.get("/v1/relations", response_model=schemas.Relations, tags=["names"])
    async def relations(search: Search = "", most: Limit = 20) -> Response:
        """Relations that a text may mean; without a text the most frequent."""
        return JSONResponse({"relations": await service.relations(search, most)})


def _add_facts(app: FastAPI, service: Service) -> None:
    @app.post("/v1/observe", status_code=201, response_model=schemas.Observed, **_BODY, tags=["facts"])
    async def observe(body: schemas.ObserveBody) -> Response:
        """Store facts about new actors or known ones. They are on disk when this answers; the same fact counts once."""
        kept, added = await service.observe([one.fact() for one in body.facts])
        return JSONResponse({"added": added, "facts": [one.to_json() for one in kept]}, 201)

    @app.get("/v1/actors", response_model=schemas.Actors, tags=["facts"])
    async def actors(search: Search = "", most: Limit = 100) -> Response:
        """Names that stored facts mention, new actors first, then by the number of facts."""
        return JSONResponse({"actors": await service.actors(search, most)})

    @app.get("/v1/actors/{name:path}", response_model=schemas.Actor, responses=error_responses(404), tags=["facts"])
    async def actor(name: str) -> Response:
        """Stored facts that mention a name."""
        kept = await service.actor(name)
        known = service.catalog.knows(name)
        return JSONResponse({"name": name, "known": known, "facts": [one.to_json() for one in kept]})

    @app.delete(
        "/v1/actors/{name:path}", response_model=schemas.Removed, responses=error_responses(404), tags=["facts"]
    )
    async def forget_actor(name: str) -> Response:
        """Forget every stored fact that mentions a name."""
        return JSONResponse({"removed": await service.forget_actor(name)})

    @app.delete("/v1/facts/{identity}", response_model=schemas.Removed, responses=error_responses(404), tags=["facts"])
    async def forget_fact(identity: str) -> Response:
        """Forget one stored fact."""
        return JSONResponse({"removed": await service.forget_fact(identity)})


def _add_questions(app: FastAPI, service: Service) -> None:
    @app.post("/v1/predict", response_model=schemas.Prediction, **_BODY, tags=["questions"])
    async def predict(body: schemas.PredictBody) -> Response:
        """Whom an actor will deal with, with shares and reasons, from stored facts about it and those sent along."""
        prediction = await service.predict(body.question(), [one.fact() for one in body.facts])
        return Response(prediction, media_type="application/json")

    @app.post("/v1/explain", response_model=schemas.Explanation, **_BODY, tags=["questions"])
    async def explain(body: schemas.ExplainBody) -> Response:
        """Why one entity is an answer, and which place it has."""
        facts = [one.fact() for one in body.facts]
        return Response(await service.explain(body.question(), body.entity, facts), media_type="application/json")


def _add_pages(app: FastAPI, pages: StaticFiles) -> None:
    for path, found in pages.items():
        app.add_route(path, _sends(found), methods=["GET", "HEAD"], include_in_schema=False)


def _sends(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        return page.response(request.headers.get("if-none-match"))

    return send


def _add_error_shapes(app: FastAPI) -> None:
    @app.exception_handler(ApiError)
    async def refused(_: Request, refusal: ApiError) -> Response:
        return refusal.response()

    @app.exception_handler(InputError)
    async def mistaken(_: Request, mistake: InputError) -> Response:
        return ApiError(422, str(mistake), mistake.field).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, mistake: RequestValidationError) -> Response:
        return _of_validation(mistake.errors()[0]).response()

    @app.exception_handler(HTTPException)
    async def http(request: Request, trouble: HTTPException) -> Response:
        problem = f"there is nothing at {request.url.path}" if trouble.status_code == 404 else str(trouble.detail)
        response = ApiError(trouble.status_code, problem).response()
        response.headers.update(trouble.headers or {})
        if trouble.status_code == 405:
            response.headers["allow"] = ", ".join(_methods(app, request))
        return response

    @app.exception_handler(SQLAlchemyError)
    async def store_trouble(_: Request, trouble: SQLAlchemyError) -> Response:
        _LOG.error("the store: %s", " ".join(str(trouble).split()))
        return ApiError(503, "the store does not answer at the moment; try again soon").response()


def _methods(app: FastAPI, request: Request) -> list[str]:
    """All methods of a path, which several routes may share."""
    matching = (route for route in app.routes if route.matches(request.scope)[0] != Match.NONE)
    return sorted({method for route in matching for method in getattr(route, "methods", None) or ()})


def _of_validation(first: dict[str, Any]) -> ApiError:
    """What is wrong with a request, from what the schemas say of it."""
    if first["type"] == "json_invalid":
        return ApiError(400, f"the body is not JSON: {first['ctx']['error']} at character {first['loc'][-1]}")
    where, *inside = (str(part) for part in first["loc"])
    field = ".".join(inside) or None
    problem = first["msg"].removeprefix("Value error, ")
    return ApiError(422, f"{field or where}: {problem}", field)
