"""Access control and security headers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fitcarl.serve.clients import ANONYMOUS, Client, Scope, token_digest
from fitcarl.serve.errors import ApiError, shortened

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
_PUBLIC_PATHS = ("/v1/health", "/v1/ready")
_ADMIN_PATHS = ("/v1/background", "/v1/metrics")
_QUERY_PATHS = ("/v1/predict", "/v1/explain")
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]*)?")


@dataclass(frozen=True)
class AccessPolicy:
    """Decides which requests are accepted; without clients and hosts, all are."""

    clients: tuple[Client, ...] = ()
    """Those who have a token; the explorer's files, ``/v1/health`` and ``/v1/ready`` need none."""
    hosts: frozenset[str] | None = None
    """Accepted Host headers. Protects a local service against DNS rebinding by web pages of other origins."""

    @classmethod
    def for_address(cls, host: str, clients: Iterable[Client] = (), extra_hosts: Iterable[str] = ()) -> AccessPolicy:
        """The policy for an address: a local one without clients accepts local host names only.

        Args:
            host: Address that the service listens at.
            clients: Those who have a token.
            extra_hosts: Further host names to accept.
        """
        clients = tuple(clients)
        local = is_local(host) and not clients
        names = _LOCAL_NAMES | {host.lower()} | {name.lower() for name in extra_hosts}
        return cls(clients, names if local else None)

    def check(self, method: str, path: str, headers: Mapping[str, str]) -> Client:
        """Who has sent a request; an ApiError if it is not accepted.

        Args:
            method: The HTTP method.
            path: The path of the URL.
            headers: The headers, with names in lower case.
        """
        if self.hosts is not None and (name := _host_name(headers.get("host", ""))) not in self.hosts:
            hint = f"start the service with --allow-host {name}" if name else "send the name of this service"
            raise ApiError(400, f"the host name {shortened(headers.get('host', ''))} is not allowed; {hint}")
        if not self.clients or not path.startswith("/v1/") or path in _PUBLIC_PATHS:
            return ANONYMOUS
        client = self._authenticate(headers.get("authorization", ""))
        client.require(required_scope(method, path))
        if client.rate is not None:
            client.rate.take()
        return client

    def _authenticate(self, authorization: str) -> Client:
        scheme, _, token = authorization.partition(" ")
        digest = token_digest(token.strip())
        found = [client for client in self.clients if client.has_token(digest)]  # all, so that time tells nothing
        if scheme.lower() != "bearer" or not found:
            raise ApiError(401, "a token is required: send the header 'Authorization: Bearer TOKEN'")
        return found[0]


def required_scope(method: str, path: str) -> Scope:
    """The scope that a request under ``/v1/`` needs.

    Args:
        method: The HTTP method.
        path: The path of the URL.
    """
    if path in _ADMIN_PATHS:
        return "admin"
    if path in _QUERY_PATHS or method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    return "observe"


def is_local(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    """The name in a Host header; empty if it is malformed."""
    found = _HOST.fullmatch(host.lower())
    return "" if found is None else found["address"] or found["name"]
