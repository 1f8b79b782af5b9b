"""The HTTP server: reports when it is ready, and finishes running requests on SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE

from fitcarl.errors import InputError
from fitcarl.serve.connections import BoundedProtocol, Bounds, Connections, Listener
from fitcarl.serve.service import Service

_BACKLOG = 4096
"""Connections that wait to be accepted; the operating system may allow fewer."""
_KEEP_ALIVE_SECONDS = 30


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 selects a free port."""
    expected = "an address of this machine and a free port; --port 0 selects one"
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        # With an explicit protocol asyncio sets TCP_NODELAY; otherwise every response waits 40 ms for an ACK.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        raise InputError(f"cannot listen at {host}, port {port} ({error.strerror})", expected=expected) from None
    except UnicodeError:
        raise InputError("not a host name", field="--host", found=host, expected=expected) from None
    return listening


def address_of(listening: socket.socket, host: str) -> str:
    """The URL of a socket for a browser on this machine."""
    port = listening.getsockname()[1]
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host == "::" else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def run_server(
    app: FastAPI, service: Service, listening: socket.socket, on_ready: Callable[[], None], grace_seconds: float
) -> None:
    """Serves until SIGTERM or SIGINT, then waits at most ``grace_seconds`` for running requests.

    Args:
        app: The application.
        service: Its service, for limits and metrics.
        listening: A bound socket.
        on_ready: Called when requests are accepted.
        grace_seconds: How long running requests may take at the end.
    """
    config = uvicorn.Config(
        app,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(grace_seconds)),
    )
    asyncio.run(_Server(config, service, on_ready).serve([listening]))


class _Server(uvicorn.Server):
    """Bounds connections and calls ``on_ready`` after the start; a signal shuts it down and is not raised again."""

    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        connections = Connections(self._service.limits.connections)
        metrics = self._service.metrics
        metrics.set_gauge("fitcarl_connections", "Open connections.", lambda: len(connections))
        make = partial(
            BoundedProtocol,
            Bounds(connections, self._service.limits, metrics),
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        self.servers = [Listener(one, _BACKLOG, connections, make) for one in sockets or []]  # type: ignore[misc]
        self.started = True
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
