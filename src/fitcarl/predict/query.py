"""What is asked of a predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact

NOTHING_KNOWN = "nothing is known of this actor"
"""Why a question may have no answer at all."""


@dataclass(frozen=True)
class Query:
    """Whom will the subject deal with through the relation at a time? With ``object`` given, who will deal with it?"""

    subject: str | None
    object: str | None
    relation: str
    at: str
    top: int = 10
    """Answers wanted at most."""
    paths: int = 3
    """Paths wanted for each answer at most."""
    without: tuple[Fact, ...] = ()
    """Facts to leave out: what if they were not known?"""
    as_of: str | None = None
    """Only facts up to this time are looked at, whatever is known later."""

    def __post_init__(self) -> None:
        if (self.subject is None) == (self.object is None):
            found = "neither" if self.subject is None else "both"
            raise InputError("a question has one end", found=found, expected="either a subject or an object")
        for name, least in (("top", 1), ("paths", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InputError("not a number of them", field=name, found=str(value), expected=f"at least {least}")

    @property
    def entity(self) -> str:
        """The end that is given."""
        return self.object if self.subject is None else self.subject  # type: ignore[return-value]

    def to_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "relation": self.relation,
            "object": self.object,
            "at": self.at,
            "top": self.top,
            "paths": self.paths,
            "without": [fact.to_json() for fact in self.without],
            "as_of": self.as_of,
        }

    def __str__(self) -> str:
        subject, object = self.subject or "who", self.object or "who"
        known = f", as known on {self.as_of}" if self.as_of else ""
        left_out = f", without {len(self.without)} known fact{'s' * (len(self.without) > 1)}" if self.without else ""
        return f"{subject} —{self.relation}→ {object}? ({self.at}{known}{left_out})"
