"""Bounds on connections: how many there are, and how long each may take to send the head of a request.

uvicorn has neither: connections that never send a complete request stay open until no file descriptor is left.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from fitcarl.serve.access import SECURITY_HEADERS
from fitcarl.serve.errors import ApiError
from fitcarl.serve.limits import Limits
from fitcarl.serve.metrics import Metrics

_log = logging.getLogger(__name__)
_RESPONSE_SECONDS = 60.0
"""How long a client may leave a response unread before its connection is closed."""
_MIN_WAIT = 0.05
"""Seconds before a connection may be closed for another one; its request may be on its way."""
_FULL_PAUSE = 1.0
"""How long no connection is accepted if the operating system has no room for one."""
_LOG_SECONDS = 60.0
"""Time between two log lines about the same state."""


class Connections:
    """The open connections. All methods belong to one event loop."""

    def __init__(self, limit: int) -> None:
        """Creates the bound.

        Args:
            limit: Maximum number of connections.
        """
        self._limit = limit
        self._new: dict[BoundedProtocol, float] = {}
        """Connections without any complete request so far and the times of their arrival, the oldest first."""
        self._idle: dict[BoundedProtocol, float] = {}
        """Connections that wait for a further request, and since when; the longest waiting first."""
        self._busy: set[BoundedProtocol] = set()
        self._changed = asyncio.Event()
        self._logged: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._idle) + len(self._busy)

    def set_new(self, connection: BoundedProtocol) -> None:
        """Records a connection that was made."""
        self._new[connection] = asyncio.get_running_loop().time()

    def set_busy(self, connection: BoundedProtocol) -> None:
        """Records that a request is in progress."""
        if connection in self._new or connection in self._idle:
            self._drop(connection)
            self._busy.add(connection)

    def set_idle(self, connection: BoundedProtocol) -> None:
        """Records that a response is complete."""
        if connection in self._busy:
            self._busy.discard(connection)
            self._idle[connection] = asyncio.get_running_loop().time()
            self._changed.set()

    def remove(self, connection: BoundedProtocol) -> None:
        """Records that a connection is closed."""
        self._drop(connection)
        self._busy.discard(connection)
        self._changed.set()

    async def make_room(self) -> None:
        """Returns when there is room for one more connection. Waiting ones are closed for it; requests are finished."""
        while len(self) >= self._limit:
            if not self.close_longest_waiting():
                if not self._new and not self._idle:
                    self.log("all connections have a request in progress; further ones wait")
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _MIN_WAIT)

    def close_longest_waiting(self) -> bool:
        """Closes a connection that has waited for a request for some time; whether there was one."""
        connection, since = next(iter((self._new or self._idle).items()), (None, 0.0))
        if connection is None or asyncio.get_running_loop().time() - since < _MIN_WAIT:
            return False
        self.log("too many connections; those that have waited longest for a request are closed")
        self.remove(connection)
        connection.abort()
        return True

    def log(self, message: str) -> None:
        """Logs a state, not every time it is seen."""
        now = asyncio.get_running_loop().time()
        if now - self._logged.get(message, -_LOG_SECONDS) >= _LOG_SECONDS:
            self._logged[message] = now
            _log.warning("%s (%d of %d)", message, len(self), self._limit)

    def _drop(self, connection: BoundedProtocol) -> None:
        self._new.pop(connection, None)
        self._idle.pop(connection, None)


@dataclass(frozen=True)
class Bounds:
    """What all connections share."""

    connections: Connections
    limits: Limits
    metrics: Metrics


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a time limit for heads, one shape for all errors, and a bound on the number of connections."""

    def __init__(self, bounds: Bounds, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bounds = bounds
        self._head_timer: asyncio.TimerHandle | None = None
        self._response_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        """Runs while the rest of a body arrives whose request has been answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._bounds.connections.set_new(self)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._bounds.connections.remove(self)
        self._stop_timers()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        running = self.cycle is not None and not self.cycle.response_complete
        if self._body_timer is not None and (running or self.conn.their_state is not h11.SEND_BODY):
            self._stop_body_timer()
            if not running:
                self._start_keep_alive_timer()  # uvicorn stops it when something arrives
        if self.conn.their_state is not h11.IDLE:  # a head is complete
            self._stop_head_timer()
            if running:  # otherwise this is the rest of a body whose request has been answered
                self._bounds.connections.set_busy(self)
        elif self._head_timer is None and self.conn.trailing_data[0]:
            self._start_head_timer()

    def on_response_complete(self) -> None:
        self._bounds.connections.set_idle(self)
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete and not self.transport.is_closing():
            # Not closed at once: the client could then not read the response if it first sends the whole body.
            self._body_timer = self.loop.call_later(self._bounds.limits.body_seconds, self.abort)

    def send_400_response(self, msg: str) -> None:
        """Answers what is not HTTP; uvicorn calls this."""
        self._refuse(ApiError(400, msg))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._response_timer = self.loop.call_later(_RESPONSE_SECONDS, self.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._response_timer is not None:
            self._response_timer.cancel()
            self._response_timer = None

    def abort(self) -> None:
        """Closes the connection at once."""
        self.transport.abort()

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self._bounds.limits.head_seconds, self._head_timed_out)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_body_timer(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _start_keep_alive_timer(self) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def _stop_timers(self) -> None:
        self._stop_head_timer()
        self._stop_body_timer()
        if self._response_timer is not None:
            self._response_timer.cancel()

    def _head_timed_out(self) -> None:
        self._head_timer = None
        if not self.conn.trailing_data[0]:  # nothing was sent, so there is nothing to answer
            self.transport.close()
            return
        seconds = self._bounds.limits.head_seconds
        self._refuse(ApiError(408, f"the head of the request did not arrive within {seconds:g} seconds"))

    def _refuse(self, error: ApiError) -> None:
        """Sends an error outside the application and closes the connection."""
        self._bounds.metrics.record_request("other", "other", error.status, 0.0)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # no response has begun
            response = error.response()
            headers = [*response.raw_headers, (b"connection", b"close"), (b"cache-control", b"no-store")]
            headers += [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
            for event in (
                h11.Response(status_code=error.status, headers=headers),
                h11.Data(data=bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


@contextmanager
def _closing_on_error(accepted: socket.socket) -> Iterator[None]:
    """Closes a socket that did not become a connection.

    Args:
        accepted: The socket.
    """
    try:
        yield
    except OSError:  # the client has gone already
        accepted.close()
    except BaseException:
        accepted.close()
        raise


class Listener:
    """Accepts connections one by one, as long as there is room for them. Replaces ``asyncio.Server`` for uvicorn."""

    def __init__(
        self, listening: socket.socket, backlog: int, connections: Connections, make: Callable[[], BoundedProtocol]
    ) -> None:
        """Starts to accept connections.

        Args:
            listening: A bound socket.
            backlog: Connections that wait in the operating system to be accepted.
            connections: The bound on connections.
            make: Creates the protocol of a connection.
        """
        self._socket = listening
        self._connections = connections
        self._make = make
        listening.setblocking(False)
        listening.listen(backlog)
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Accepts no further connections."""
        self._accepting.cancel()

    async def wait_closed(self) -> None:
        """Waits until nothing is accepted any more."""
        await asyncio.gather(self._accepting, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._socket)
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._connections.log(f"cannot accept a connection ({error.strerror})")
                    if not self._connections.close_longest_waiting():
                        await asyncio.sleep(_FULL_PAUSE)
                await asyncio.sleep(0)  # others: the client has gone already
                continue
            with _closing_on_error(accepted):
                await self._connections.make_room()
                await loop.connect_accepted_socket(cast(Any, self._make), accepted)
