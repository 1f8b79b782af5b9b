"""The process that listens: it says when it is ready, and on SIGTERM or Ctrl-C finishes what it began."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from fitcarl.errors import InputError

_BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 is any free one."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = places[0]
        # With the protocol named, asyncio sends what it has at once; otherwise every answer waits 40 ms for an ACK.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as trouble:
        raise InputError(
            f"cannot listen at {host}, port {port} ({trouble.strerror})",
            expected="an address of this machine and a free port; --port 0 takes any",
        ) from None
    return listening


def address_of(listening: socket.socket, host: str) -> str:
    """The URL of a socket, as a browser on this machine takes it."""
    port = listening.getsockname()[1]
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host == "::" else host
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def serve(app: FastAPI, listening: socket.socket, ready: Callable[[], None], patience: float) -> None:
    """Serves until SIGTERM or SIGINT, then waits at most ``patience`` seconds for requests under way."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=max(1, round(patience)),
    )
    asyncio.run(_Server(config, ready).serve([listening]))


class _Server(uvicorn.Server):
    """Says when it is ready; a signal ends it in order, and is not raised again afterwards."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
