"""The web application: API routes under ``/v1``, the explorer at ``/``, and one JSON shape for all errors."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

import fitcarl
from fitcarl.errors import InputError
from fitcarl.serve.access import AccessPolicy
from fitcarl.serve.errors import ApiError, shortened
from fitcarl.serve.middleware import Middleware
from fitcarl.serve.routes import router
from fitcarl.serve.schemas import REQUEST_FIELDS, error_responses
from fitcarl.serve.service import Service
from fitcarl.serve.static import StaticFile, StaticFiles

_log = logging.getLogger(__name__)
_MAX_LOGGED = 300
_DESCRIPTION = (
    "Predicts links of new entities in a temporal knowledge graph from a few facts about them, "
    "with the paths that explain each prediction."
)


def create_app(service: Service, access: AccessPolicy | None = None, static: StaticFiles | None = None) -> FastAPI:
    """The application of a service.

    Args:
        service: The service.
        access: Who may send requests; everyone by default.
        static: Files of the explorer; those of the package by default.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = create_api(lifespan=lifespan)
    app.state.service = service
    app.add_middleware(Middleware, access=access or AccessPolicy(), limits=service.limits, metrics=service.metrics)
    for path, file in (static or StaticFiles()).items():
        app.add_route(path, _handler(file), methods=["GET", "HEAD"], include_in_schema=False)
    return app


def create_api(**options: Any) -> FastAPI:
    """The API routes and error handlers without a service; enough for the OpenAPI document."""
    app = FastAPI(
        title="fitcarl",
        version=fitcarl.__version__,
        description=_DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=error_responses(400, 401, 403, 408, 413, 422, 429, 503),
        **options,
    )
    app.include_router(router)
    _add_error_handlers(app)
    return app


def _handler(file: StaticFile) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        return file.response(request.headers.get("if-none-match"))

    return send


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(ApiError)
    async def api_error(_: Request, error: ApiError) -> Response:
        return error.response()

    @app.exception_handler(InputError)
    async def input_error(_: Request, error: InputError) -> Response:
        return ApiError(422, str(error), error.field).response()

    @app.exception_handler(RequestValidationError)
    async def validation_error(_: Request, error: RequestValidationError) -> Response:
        return _from_validation(error.errors()[0]).response()

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        problem = f"not found: {shortened(request.url.path)}" if error.status_code == 404 else str(error.detail)
        response = ApiError(error.status_code, problem).response()
        response.headers.update(error.headers or {})
        if error.status_code == 405:
            response.headers["allow"] = ", ".join(_methods(app, request))
        return response

    @app.exception_handler(SQLAlchemyError)
    async def store_error(_: Request, error: SQLAlchemyError) -> Response:
        # Only the first line of the driver: further ones, and the statement, may contain facts.
        reason = str(getattr(error, "orig", None) or type(error).__name__).strip().partition("\n")[0]
        _log.error("store: %s: %s", type(error).__name__, reason[:_MAX_LOGGED])
        return ApiError(503, "the store is not available at the moment; try again soon").response()


def _methods(app: FastAPI, request: Request) -> list[str]:
    """All methods of a path, which several routes may share."""
    matching = (route for route in (*app.routes, *router.routes) if route.matches(request.scope)[0] != Match.NONE)
    return sorted({method for route in matching for method in getattr(route, "methods", None) or ()})


def _from_validation(error: dict[str, Any]) -> ApiError:
    """The API error for the first validation error of a request."""
    if error["type"] == "json_invalid":
        return ApiError(400, f"the body is not JSON: {error['ctx']['error']} at character {error['loc'][-1]}")
    part, *inside = error["loc"]
    unknown = inside[-1:] if error["type"] == "extra_forbidden" else []
    # The other parts are names that pydantic gives to alternatives of a type.
    path = [str(key) for key in inside if isinstance(key, int) or key in REQUEST_FIELDS or [key] == unknown]
    field = ".".join(path) or None
    problem = error["msg"].removeprefix("Value error, ")
    return ApiError(422, f"{field or part}: {problem}", field)
