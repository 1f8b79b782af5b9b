"""What happens to a request before anybody looks at what it asks."""

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
    """Status and body for a request whose body comes in parts; after None, the client says nothing more."""
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
    gate = Middleware(app, AccessPolicy(), Limits(**limits), metrics or Metrics())  # type: ignore[arg-type]
    asyncio.run(gate(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_a_body_in_parts_arrives_whole() -> None:
    assert answer([b"one ", b"two ", b"three"]) == (200, b"one two three")


def test_a_body_of_the_greatest_size_passes_and_one_byte_more_does_not() -> None:
    assert answer([b"x" * 60, b"y" * 40], body_bytes=100)[0] == 200
    assert answer([b"x" * 60, b"y" * 41], body_bytes=100)[0] == 413


def test_a_body_that_says_it_is_too_large_is_not_waited_for() -> None:
    assert answer([None], headers=[*JSON, (b"content-length", b"101")], body_bytes=100)[0] == 413


def test_a_client_that_stops_sending_is_not_waited_for_for_ever() -> None:
    assert answer([b"one", None], body_seconds=0.05)[0] == 408


def test_a_fault_has_the_shape_of_every_error_and_is_counted() -> None:
    metrics = Metrics()
    status, body = answer([b"{}"], app=broken, metrics=metrics)
    assert (status, b'"error"' in body, b"ZeroDivision" in body) == (500, True, False)
    assert 'status="500"} 1' in metrics.text()


def test_a_method_that_a_client_invents_makes_no_new_count() -> None:
    metrics = Metrics()
    for method in ("BREW", "WHEN"):
        answer([b""], metrics=metrics, method=method)
    assert 'method="other",route="other",status="200"} 2' in metrics.text()
    assert "BREW" not in metrics.text()
