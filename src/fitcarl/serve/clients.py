"""Clients of the service: their scopes, their space, and their rate limit."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, get_args

from fitcarl.serve.errors import ApiError
from fitcarl.serve.tables import DEFAULT_SPACE

Scope = Literal["read", "observe", "admin"]
"""``read``: queries and lists; ``observe``: store and delete facts; ``admin``: update the background, read metrics."""
ALL_SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
_BURST_MINUTES = 1 / 6
"""A client that was idle may send the requests of this time at once."""


class RateLimit:
    """A number of requests per minute; some seconds' worth may arrive at once."""

    def __init__(self, requests_per_minute: float, clock: Callable[[], float] = monotonic) -> None:
        """Creates a limit.

        Args:
            requests_per_minute: Requests per minute in the long run.
            clock: Seconds that have passed since some time.
        """
        self._per_second = requests_per_minute / 60
        self._burst = max(1.0, requests_per_minute * _BURST_MINUTES)
        self._clock = clock
        self._left = self._burst
        self._updated = clock()

    def take(self) -> None:
        """Counts a request; an ApiError with the time to wait if there were too many."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._updated) * self._per_second)
        self._updated = now
        if self._left < 1:
            seconds = max(1, math.ceil((1 - self._left) / self._per_second))
            limit = f"{60 * self._per_second:g} requests per minute"
            raise ApiError(429, f"more than {limit}; try again in {seconds} s", retry_seconds=seconds)
        self._left -= 1

    def charge(self, requests: int) -> None:
        """Counts further requests without refusing them; later ones wait for them."""
        self._left -= requests


@dataclass(frozen=True)
class Client:
    """Who may send requests with a token, and what they may do."""

    name: str
    digest: bytes = field(repr=False)
    """SHA-256 of the token."""
    scopes: frozenset[Scope] = ALL_SCOPES
    space: str = DEFAULT_SPACE
    """Name of the space of stored facts that the client uses."""
    rate: RateLimit | None = field(default=None, compare=False)

    @classmethod
    def with_token(cls, token: str, name: str = "token") -> Client:
        """A client with all scopes and the default space."""
        return cls(name, token_digest(token))

    def has_token(self, digest: bytes) -> bool:
        """Whether this is the digest of the client's token; takes the same time for all digests."""
        return hmac.compare_digest(digest, self.digest)

    def require(self, scope: Scope) -> None:
        """Raises an ApiError unless the client has a scope."""
        if scope not in self.scopes:
            raise ApiError(403, f"the token {self.name!r} does not have the scope {scope!r}")

    def charge(self, requests: int) -> None:
        """Counts further requests, such as the queries of a list."""
        if self.rate is not None:
            self.rate.charge(requests)


ANONYMOUS = Client("anonymous", b"")
"""Every client of a service without tokens."""


def token_digest(token: str) -> bytes:
    """SHA-256 of a token."""
    return hashlib.sha256(token.encode()).digest()
