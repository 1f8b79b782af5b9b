"""Access control and security headers."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fitcarl.serve.errors import ApiError

SECURITY_HEADERS: Mapping[str, str] = {
    # Only the package's own scripts; styles may be inline because the graph drawing sets them on its elements.
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
_PUBLIC_PATHS = ("/v1/health",)
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class AccessPolicy:
    """Decides which requests are accepted; without a token and hosts, all are."""

    token: str | None = None
    """Required bearer token; the explorer's files and ``/v1/health`` are public."""
    hosts: frozenset[str] | None = None
    """Accepted Host headers. Protects a local service against DNS rebinding by web pages of other origins."""

    @classmethod
    def for_address(cls, host: str, token: str | None, extra_hosts: Iterable[str] = ()) -> AccessPolicy:
        """The policy for an address: a local one without a token accepts local host names only."""
        local = is_local(host) and token is None
        return cls(token, _LOCAL_NAMES | {host.lower()} | {name.lower() for name in extra_hosts} if local else None)

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Raises an ApiError if a request is not accepted."""
        if self.hosts is not None and (name := _without_port(headers.get("host", ""))) not in self.hosts:
            raise ApiError(400, f"the host name {name!r} is not allowed; start the service with --allow-host {name}")
        if self.token is None or not path.startswith("/v1/") or path in _PUBLIC_PATHS:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self.token.encode()):
            raise ApiError(401, "a token is required: send the header 'Authorization: Bearer TOKEN'")


def is_local(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _without_port(host: str) -> str:
    """The name in a Host header."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
