"""Limits on requests, on entities and on all clients together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from fitcarl.errors import InputError, did_you_mean

_MIN_BODY_BYTES = 64
"""The smallest meaningful request body is larger than this."""


@dataclass(frozen=True)
class Limits:
    """The limits of the service; ``GET /v1/model`` returns them."""

    body_bytes: int = 262_144
    """Size of a request body; larger ones fail with 413."""
    body_seconds: float = 10.0
    """Time to receive a request body; slower ones fail with 408."""
    head_seconds: float = 10.0
    """Time to receive the head of a request; slower ones fail with 408, and unused connections are closed."""
    connections: int = 1_000
    """Open connections; at this number those that have waited longest for a request are closed for new ones."""
    facts_per_request: int = 200
    """Facts in one request, including those of ``without``; more fail with 422."""
    queries_per_request: int = 100
    """Queries in one list; more fail with 422."""
    facts_per_update: int = 10_000
    """Facts in one update of the background; more fail with 422. ``body_bytes`` bounds them, too."""
    facts_per_actor: int = 1_000
    """Stored facts about one new entity; more fail with 422. For a known entity the latest ones are used."""
    stored_facts: int = 200_000
    """Facts in the store; more fail with 503."""
    name_length: int = 300
    """Characters of a name; longer ones fail with 422."""
    top: int = 100
    """Answers to a query; more fail with 422."""
    paths: int = 10
    """Paths per answer; more fail with 422."""
    listed: int = 200
    """Names in one search result; more fail with 422."""
    waiting: int = 64
    """Concurrent queries; further ones fail with 503 immediately."""
    seconds: float = 10.0
    """Time for a query, including waiting; slower ones fail with 503."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), _MIN_BODY_BYTES if field.name == "body_bytes" else 0
            if not least < value < float("inf"):
                raise InputError("invalid limit", field=field.name, found=value, expected=f"more than {least}")

    @classmethod
    def from_assignments(cls, assignments: Iterable[str]) -> Limits:
        """The default limits with changes such as ``top=20``."""
        types = {name: type(value) for name, value in asdict(cls()).items()}
        changes: dict[str, Any] = {}
        for assignment in assignments:
            name, _, text = assignment.partition("=")
            if name not in types:
                hint = did_you_mean(name, types)
                raise InputError("unknown limit", found=name, expected="one of " + ", ".join(types), hint=hint)
            try:
                changes[name] = types[name](text)
            except ValueError:
                raise InputError("not a number", field=name, found=text, expected=f"{name}=NUMBER") from None
        return cls(**changes)

    def to_json(self) -> dict[str, float]:
        return asdict(self)
