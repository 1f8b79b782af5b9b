"""Limits on request bodies, error responses and metrics of the middleware."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from fitcarl.serve.access import AccessPolicy
from fitcarl.serve.limits import Limits
from fitcarl.serve.metrics import Metrics
from fitcarl.serve.middleware import Middleware

JSON = [(b"content-type", b"application/json")]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    await PlainTextResponse(message["body"])(scope, receive, send)


async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise ZeroDivisionError


def answer(
    parts: list[bytes | None],
    *,
    app: Any = echo,
    metrics: Metrics | None = None,
    headers: list[tuple[bytes, bytes]] = JSON,
    method: str = "POST",
    **limits: float,
) -> tuple[int, bytes]:
    """Status and body of the response to a request whose body arrives in parts; after None nothing more arrives."""
    sent: list[Message] = []
    coming = iter(parts)

    async def receive() -> Message:
        part = next(coming, None)
        if part is None:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": part, "more_body": part != parts[-1]}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/v1/predict", "headers": headers}
    middleware = Middleware(app, AccessPolicy(), Limits(**limits), metrics or Metrics())  # type: ignore[arg-type]
    asyncio.run(middleware(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_body_in_parts_is_joined() -> None:
    assert answer([b"one ", b"two ", b"three"]) == (200, b"one two three")


def test_body_size_limit_is_exact() -> None:
    assert answer([b"x" * 60, b"y" * 40], body_bytes=100)[0] == 200
    assert answer([b"x" * 60, b"y" * 41], body_bytes=100)[0] == 413


def test_declared_size_over_limit_fails_immediately() -> None:
    assert answer([None], headers=[*JSON, (b"content-length", b"101")], body_bytes=100)[0] == 413


def test_slow_body_returns_408() -> None:
    assert answer([b"one", None], body_seconds=0.05)[0] == 408


def test_internal_error_returns_500_without_details_and_is_counted() -> None:
    metrics = Metrics()
    status, body = answer([b"{}"], app=broken, metrics=metrics)
    assert (status, b'"error"' in body, b"ZeroDivision" in body) == (500, True, False)
    assert 'status="500"} 1' in metrics.text()


def test_unknown_methods_share_one_metric_label() -> None:
    metrics = Metrics()
    for method in ("BREW", "WHEN"):
        answer([b""], metrics=metrics, method=method)
    assert 'method="other",route="other",status="200"} 2' in metrics.text()
    assert "BREW" not in metrics.text()
