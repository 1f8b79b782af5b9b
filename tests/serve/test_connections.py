"""Bounds on connections and heads, and protocol errors, through real sockets."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fitcarl.serve import descriptors
from fitcarl.serve.access import SECURITY_HEADERS
from fitcarl.serve.descriptors import fit_connections
from fitcarl.serve.limits import Limits
from tests.serve.test_server import Served

HALF = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: "
COMPLETE = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSING = COMPLETE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
CONNECTIONS = 20


@pytest.fixture(scope="module")
def served(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = tmp_path_factory.mktemp("store") / "observed.sqlite"
    limits = [f"connections={CONNECTIONS}", "head_seconds=1", "body_seconds=2"]
    one = Served(str(run), "--store", str(store), *(part for limit in limits for part in ("--limit", limit)))
    yield one
    one.process.kill()
    _, logged = one.process.communicate()
    assert "Traceback" not in logged
    assert len(logged) < 2000


def connect(served: Served, content: bytes = b"") -> socket.socket:
    address = urlsplit(served.address)
    assert address.hostname
    assert address.port
    connection = socket.create_connection((address.hostname, address.port), timeout=10)
    connection.sendall(content)
    return connection


def response(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """Status, headers and body of a response after which the connection is closed; status 0 if nothing was sent."""
    content = b""
    while part := connection.recv(65536):
        content += part
    head, _, body = content.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]) if content else 0, headers, json.loads(body) if body else None


def assert_healthy(connection: socket.socket) -> None:
    """Reads the response to ``COMPLETE`` on a connection that stays open."""
    content = b""
    while not content.endswith(b'{"status":"ok"}'):
        part = connection.recv(65536)
        assert part, content
        content += part
    assert content.startswith(b"HTTP/1.1 200 OK")


def check_error(connection: socket.socket, status: int, message: str) -> None:
    found, headers, body = response(connection)
    assert found == status
    assert {name: value.lower() for name, value in SECURITY_HEADERS.items()}.items() <= headers.items()
    assert headers["content-type"] == "application/json"
    assert message in body["error"]["message"]
    assert set(body["error"]) == {"message", "field", "suggestions"}


def test_half_sent_head_times_out(served: Served) -> None:
    began = time.monotonic()
    silent, half = connect(served), connect(served, HALF)
    check_error(half, 408, "the head of the request did not arrive within 1 seconds")
    assert response(silent)[0] == 0
    assert 0.8 < time.monotonic() - began < 8


def test_slowly_sent_head_times_out(served: Served) -> None:
    slow, began = connect(served, HALF), time.monotonic()
    with suppress(OSError):  # closed by the service
        while time.monotonic() - began < 12:  # a byte from time to time does not extend the time
            slow.sendall(b"x")
            time.sleep(0.1)
    assert time.monotonic() - began < 10


def test_second_head_of_a_connection_times_out(served: Served) -> None:
    kept = connect(served, COMPLETE)
    assert_healthy(kept)
    time.sleep(1.5)  # between requests a connection may stay open for longer
    kept.sendall(COMPLETE)
    assert_healthy(kept)
    kept.sendall(HALF)
    check_error(kept, 408, "did not arrive")


def test_waiting_connections_make_room_for_new_ones(served: Served) -> None:
    kept = connect(served, COMPLETE)
    assert_healthy(kept)
    running = connect(served, b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
    running.sendall(b"Content-Length: 2\r\nConnection: close\r\n\r\n{")  # in progress until the rest arrives
    half = [connect(served, HALF) for _ in range(5 * CONNECTIONS)]
    began = time.monotonic()
    assert served.ask("GET", "/v1/health")[0] == 200
    assert time.monotonic() - began < 1
    half[0].settimeout(0.5)  # sooner than the time limit for heads
    with suppress(ConnectionResetError):
        assert half[0].recv(1) == b""  # closed without a response
    kept.sendall(COMPLETE)  # connections that never sent a request are closed first
    assert_healthy(kept)
    running.sendall(b"}")
    check_error(running, 422, "Field required")
    for connection in half:
        connection.close()


def test_connections_wait_if_all_have_a_request_in_progress(served: Served) -> None:
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    running = [connect(served, head + b"Connection: close\r\n\r\n{") for _ in range(CONNECTIONS)]
    time.sleep(0.3)
    further = connect(served, CLOSING)
    further.settimeout(0.3)
    with pytest.raises(TimeoutError):
        further.recv(1)
    running[0].sendall(b"}")
    check_error(running[0], 422, "Field required")
    further.settimeout(5)
    assert response(further)[0] == 200
    for connection in running[1:]:
        check_error(connection, 408, "the body did not arrive")


def answered_early(served: Served, host: bytes, length: int, status: int) -> socket.socket:
    """A connection whose request was answered before its body was complete, and that goes on sending the body."""
    head = b"POST /v1/predict HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\nx" % (host, length)
    connection, content = connect(served, head), b""
    while not content.endswith(b"}}"):
        part = connection.recv(65536)
        assert part, content
        content += part
    assert content.startswith(b"HTTP/1.1 %d " % status)
    connection.sendall(b"x")
    return connection


@pytest.mark.parametrize(
    ("host", "length", "status"),
    [(b"evil.example", 100_000, 400), (b"localhost", 10_000_000, 413), (b"localhost", 100_000, 408)],
)
def test_connections_with_an_early_answer_make_room(served: Served, host: bytes, length: int, status: int) -> None:
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        answers = [threads.submit(answered_early, served, host, length, status) for _ in range(CONNECTIONS)]
    connections = [answer.result() for answer in answers]
    time.sleep(0.2)  # the second byte has arrived
    further = connect(served, CLOSING)
    further.settimeout(1)  # sooner than the time limit for bodies
    assert response(further)[0] == 200
    for connection in connections:
        connection.close()


def test_body_after_an_early_answer_is_bounded_in_time(served: Served) -> None:
    slow, began = answered_early(served, b"evil.example", 100_000, 400), time.monotonic()
    with suppress(OSError):  # closed by the service
        while time.monotonic() - began < 12:
            slow.sendall(b"x")
            time.sleep(0.1)
    assert 1.5 < time.monotonic() - began < 10


def test_connection_is_of_use_after_the_rest_of_a_body(served: Served) -> None:
    kept = answered_early(served, b"evil.example", 1000, 400)
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    time.sleep(1.5)
    kept.sendall(998 * b"x" + COMPLETE + head + b"\r\n{")
    assert_healthy(kept)
    time.sleep(1)  # longer than the first body may take, not the second one
    kept.sendall(b"}" + CLOSING)
    found = b""
    while part := kept.recv(65536):
        found += part
    assert found.startswith(b"HTTP/1.1 422 ")
    assert found.endswith(b'{"status":"ok"}')


@pytest.mark.parametrize(
    "content",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /v1/health HTTP/1.1\r\nX: " + 100_000 * b"x" + b"\r\n\r\n",
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_protocol_errors_have_the_shape_of_errors(served: Served, content: bytes) -> None:
    check_error(connect(served, content), 400, "Invalid HTTP request received.")


def test_invalid_chunk_ends_the_request(served: Served) -> None:
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    check_error(connect(served, head + b"\r\nnot a chunk\r\n\r\n"), 400, "Invalid HTTP request")


def test_absolute_form_is_accepted_and_its_host_is_checked(served: Served) -> None:
    end = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert response(connect(served, b"GET http://localhost/v1/health" + end))[::2] == (200, {"status": "ok"})
    check_error(connect(served, b"GET http://evil.example/v1/health" + end), 400, "is not allowed")


def test_connections_fit_the_file_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_allow_descriptors", lambda _wanted: 1024)
    assert fit_connections(Limits(connections=100), workers=2).connections == 100
    assert fit_connections(Limits(connections=5000), workers=2).connections == 1024 - 128 - 16
