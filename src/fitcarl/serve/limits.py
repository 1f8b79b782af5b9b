"""How much one request, one actor and all clients together may ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from fitcarl.errors import InputError, did_you_mean

_REQUIRED_ROOM = 64
"""Bytes of the least body that says anything."""


@dataclass(frozen=True)
class Limits:
    """What the service accepts; all of it is shown by ``GET /v1/model``."""

    body_bytes: int = 262_144
    """A request's body; more is answered 413."""
    body_seconds: float = 10.0
    """How long a client may take to send it; longer is answered 408."""
    facts_per_request: int = 200
    """Facts in one request, those that ``without`` names included; more is answered 422."""
    facts_per_actor: int = 1_000
    """Stored facts about one new actor; more is answered 422. Of a known actor the latest so many are used."""
    stored_facts: int = 200_000
    """Facts in the store; more is answered 503."""
    name_length: int = 300
    """Characters of a name; more is answered 422."""
    top: int = 100
    """Answers to a question; more is answered 422."""
    paths: int = 10
    """Paths of an answer; more is answered 422."""
    listed: int = 200
    """Names in one answer to a search; more is answered 422."""
    waiting: int = 64
    """Questions under way at the same time; one more is answered 503 at once."""
    seconds: float = 10.0
    """How long a question may take, waiting included; longer is answered 503."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), _REQUIRED_ROOM if field.name == "body_bytes" else 0
            if not least < value < float("inf"):
                raise InputError("not a limit", field=field.name, found=value, expected=f"more than {least}")

    @classmethod
    def of(cls, settings: Iterable[str]) -> Limits:
        """Limits from assignments such as ``top=20``; the others as they are."""
        kinds = {name: type(value) for name, value in asdict(cls()).items()}
        given: dict[str, Any] = {}
        for setting in settings:
            name, _, text = setting.partition("=")
            if name not in kinds:
                hint = did_you_mean(name, kinds)
                raise InputError("no such limit", found=name, expected="one of " + ", ".join(kinds), hint=hint)
            try:
                given[name] = kinds[name](text)
            except ValueError:
                raise InputError("not a number", field=name, found=text, expected=f"{name}=NUMBER") from None
        return cls(**given)

    def to_json(self) -> dict[str, float]:
        return asdict(self)
