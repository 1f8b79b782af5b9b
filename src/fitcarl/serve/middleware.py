"""What every request passes: the guard, the limits on its body, the headers of its answer, and the count of it."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fitcarl.serve.access import HEADERS, AccessPolicy
from fitcarl.serve.errors import ApiError
from fitcarl.serve.limits import Limits
from fitcarl.serve.metrics import Metrics

_LOG = logging.getLogger(__name__)
_METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH")


class Middleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, guard: AccessPolicy, limits: Limits, metrics: Metrics) -> None:
        self._app = app
        self._guard = guard
        self._limits = limits
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, started = perf_counter(), 500, False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                _complete(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._guard.check(scope["path"], headers)
            body = await self._body(headers, receive)
            await self._app(scope, _replay(body, receive), answer)
        except ApiError as refusal:
            await refusal.response()(scope, receive, answer)
        except Exception:
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            if not started:
                fault = ApiError(500, "this is a fault of the service, not of the request; its log says more")
                await fault.response()(scope, receive, answer)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"  # a client may invent any number
            self._metrics.request(method, route, status, perf_counter() - began)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """A request's whole body, which is small."""
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > self._limits.body_bytes:
            raise self._too_large()
        try:
            return await asyncio.wait_for(self._receive_all(receive), self._limits.body_seconds)
        except TimeoutError:
            raise ApiError(408, f"the body did not arrive within {self._limits.body_seconds:g} seconds") from None

    async def _receive_all(self, receive: Receive) -> bytes:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ApiError(400, "the client went away before its request was complete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limits.body_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> ApiError:
        return ApiError(413, f"the body is larger than {self._limits.body_bytes} bytes; send fewer facts at once")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read already, then whatever else arrives."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _complete(headers: MutableHeaders, path: str) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if path.startswith("/v1/"):
        headers.setdefault("cache-control", "no-store")
