"""Middleware for every request: access policy, limits on the body, security headers, and metrics."""

from __future__ import annotations

import asyncio
import logging
import re
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fitcarl.serve.access import SECURITY_HEADERS, AccessPolicy
from fitcarl.serve.errors import ApiError, shortened
from fitcarl.serve.limits import Limits
from fitcarl.serve.metrics import Metrics

_log = logging.getLogger(__name__)
_ABSOLUTE = re.compile(r"https?://(?P<host>[^/]*)(?P<path>/.*)?$", re.IGNORECASE | re.DOTALL)
_METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH")


class Middleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, access: AccessPolicy, limits: Limits, metrics: Metrics) -> None:
        self._app = app
        self._access = access
        self._limits = limits
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, started = perf_counter(), 500, False

        async def respond(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                _add_headers(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            headers = _with_origin_form(scope)
            scope["fitcarl.client"] = self._access.check(scope["method"], scope["path"], headers)
            if "\n" in scope["path"]:  # patterns of routes end before a last line break
                raise ApiError(404, f"not found: {shortened(scope['path'])}")
            body = await self._body(headers, receive)
            await self._app(scope, _replay(body, receive), respond)
        except ApiError as error:
            await error.response()(scope, receive, respond)
        except Exception:
            route = getattr(scope.get("route"), "path", "other")  # not the path, which may contain a name
            _log.exception("%s %s failed", scope["method"], route)
            if not started:
                internal = ApiError(500, "internal error of the service; its log contains the details")
                await internal.response()(scope, receive, respond)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"  # bounds the number of labels
            self._metrics.record_request(method, route, status, perf_counter() - began)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The complete body of a request."""
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
                raise ApiError(400, "the client disconnected before the request was complete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limits.body_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> ApiError:
        return ApiError(413, f"the body is larger than {self._limits.body_bytes} bytes; send fewer facts per request")


def _with_origin_form(scope: Scope) -> Headers:
    """The headers of a request. If its target is a whole URL, as proxies send it, path and host are taken from it."""
    found = _ABSOLUTE.match(scope["path"])
    if found is not None:
        scope["path"] = found["path"] or "/"
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        scope["headers"] = [*others, (b"host", found["host"].encode("latin-1", "replace"))]
    return Headers(scope=scope)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive function that returns the body that was already read, then further messages."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _add_headers(headers: MutableHeaders, path: str) -> None:
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    if path.startswith("/v1/"):
        headers.setdefault("cache-control", "no-store")
