"""Who may ask, and what a browser is told about what it gets."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fitcarl.serve.errors import ApiError

HEADERS: Mapping[str, str] = {
    # No script but our own files; styles may be inline because the drawing of paths sets them on its elements.
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_ALWAYS_OPEN = ("/v1/health",)
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class AccessPolicy:
    """Lets requests in. Without a token and without hosts everybody who reaches the address may ask."""

    token: str | None = None
    """What must follow ``Authorization: Bearer``; the page itself and health are open."""
    hosts: frozenset[str] | None = None
    """Names a request may have come by: a page elsewhere whose name is made to point at this machine has another."""

    @classmethod
    def of(cls, host: str, token: str | None, more_hosts: Iterable[str] = ()) -> AccessPolicy:
        """The guard of an address: a local one without a token answers to local names only."""
        local = is_local(host) and token is None
        return cls(token, _LOCAL_NAMES | {host.lower()} | {name.lower() for name in more_hosts} if local else None)

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Raises an ApiError unless a request may come in."""
        if self.hosts is not None and (name := _name_of(headers.get("host", ""))) not in self.hosts:
            raise ApiError(400, f"this service does not answer to the name {name!r}; start it with --allow-host {name}")
        if self.token is None or not path.startswith("/v1/") or path in _ALWAYS_OPEN:
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.token.encode()):
            raise ApiError(401, "a token is needed: send the header 'Authorization: Bearer TOKEN'")


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
