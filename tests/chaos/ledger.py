"""What a client knows about its facts, and whether the service agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from random import Random
from typing import Any

FactKey = tuple[str, str, str, str]
"""Subject, relation, object and time."""


class State(Enum):
    """State of a fact as the client knows it."""

    STORED = "acknowledged"
    REMOVED = "acknowledged as removed"
    UNKNOWN = "no response, or an error: stored or not"


class Ledger:
    """The facts of one client. A fact in an unknown state is never used again: a late request may still change it."""

    def __init__(self) -> None:
        self.states: dict[FactKey, State] = {}
        self.ids: dict[FactKey, str] = {}

    def stored(self) -> list[FactKey]:
        return [key for key, state in self.states.items() if state is State.STORED]

    def pick(self, random: Random) -> FactKey | None:
        """A fact that is certainly stored."""
        found = self.stored()
        return random.choice(found) if found else None

    def differences(self, entity: str, found: Sequence[Mapping[str, Any]]) -> list[str]:
        """Problems of the facts that the service returned for an entity.

        Args:
            entity: The client's entity.
            found: Facts with their ids.
        """
        keys = [(item["subject"], item["relation"], item["object"], item["time"]) for item in found]
        problems = [f"lost: {key}" for key in self.stored() if key not in keys]
        problems += [f"twice: {key}" for key in set(keys) if keys.count(key) > 1]
        problems += [f"of another entity: {key}" for key in keys if entity not in (key[0], key[2])]
        problems += [f"never sent: {key}" for key in keys if key not in self.states]
        problems += [f"removed, but there: {key}" for key in keys if self.states.get(key) is State.REMOVED]
        return problems
