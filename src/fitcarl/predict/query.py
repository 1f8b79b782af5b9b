"""The query that a predictor answers."""

from __future__ import annotations

from dataclasses import dataclass

from fitcarl.config.base import Setting
from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact

NO_KNOWN_FACTS = "no facts are known about this entity"
"""Problem text of the error for a query about an entity without facts."""


@dataclass(frozen=True)
class Query:
    """A query (entity, relation, ?, time), by name.

    Either ``subject`` is given and the object is predicted, or ``object`` is given and the subject is predicted.
    """

    subject: str | None
    object: str | None
    relation: str
    at: str
    """Time of the predicted fact."""
    top: int = 10
    """Maximum number of answers."""
    paths: int = 3
    """Maximum number of paths per answer."""
    without: tuple[Fact, ...] = ()
    """Facts that are treated as unknown (what if they had not happened?)."""
    as_of: str | None = None
    """Only facts up to this time are used; None for no further limit."""
    hindsight: bool = False
    """Whether facts at and after the time of the query are used too; otherwise the query is a forecast."""

    def __post_init__(self) -> None:
        if (self.subject is None) == (self.object is None):
            found = "neither" if self.subject is None else "both"
            raise InputError("incomplete query", found=found, expected="either subject or object")
        for name, least in (("top", 1), ("paths", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                expected = f"an integer, at least {least}"
                raise InputError("invalid number", field=name, found=str(value), expected=expected)

    @property
    def entity(self) -> str:
        """The query entity: the given one of subject and object."""
        return self.object if self.subject is None else self.subject  # type: ignore[return-value]

    @property
    def setting(self) -> Setting:
        """``forecast`` if only facts before the time of the query are used, ``completion`` with hindsight."""
        return "completion" if self.hindsight else "forecast"

    def __str__(self) -> str:
        subject, object = self.subject or "?", self.object or "?"
        as_of = f", facts up to {self.as_of}" if self.as_of else ""
        hindsight = ", with hindsight" if self.hindsight else ""
        without = f", without {len(self.without)} fact{'s' * (len(self.without) > 1)}" if self.without else ""
        return f"{subject} —{self.relation}→ {object} ({self.at}{as_of}{hindsight}{without})"
