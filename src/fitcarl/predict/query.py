"""The query that a predictor answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fitcarl.config.base import Setting
from fitcarl.data.moments import AnyTime, time_text
from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact

Direction = Literal["out", "in"]
"""Role of the query entity in a predicted fact: ``out`` if it is the subject, ``in`` if it is the object."""

NO_KNOWN_FACTS = "no facts are known about this entity"
"""Problem text of a NoKnownFactsError."""


class NoKnownFactsError(InputError):
    """There is no fact about the entity of a query, or none that may be used for it."""


def query_time(time: AnyTime, field: str) -> str:
    """A time as text, of whatever type it is given.

    Args:
        time: The time.
        field: Name of the field, for the error.
    """
    try:
        return time_text(time)
    except InputError as error:
        raise error.about(field) from None


@dataclass(frozen=True)
class Query:
    """A query (entity, relation, ?, time), by name.

    Either ``subject`` is given and the object is predicted, or ``object`` is given and the subject is predicted.
    Without a relation, ``subject`` is the entity, and facts in both directions are predicted.
    """

    subject: str | None
    object: str | None
    relation: str | None
    """None for any relation in any direction."""
    at: str
    """Time of the predicted fact; with a horizon, its first time."""
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
    horizon: str | None = None
    """A duration from ``at`` on, such as ``30d``: when does the next such fact occur? None to ask about ``at`` only."""
    min_share: float = 0.0
    """Answers with a smaller share are left out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", query_time(self.at, "at"))
        if self.as_of is not None:
            object.__setattr__(self, "as_of", query_time(self.as_of, "as_of"))
        if (self.subject is None) == (self.object is None):
            found = "neither" if self.subject is None else "both"
            raise InputError("incomplete query", found=found, expected="either subject or object")
        if self.relation is None and self.subject is None:
            expected = "a relation, or the entity as subject: facts in both directions are predicted"
            raise InputError("object without a relation", field="object", found=str(self.object), expected=expected)
        if self.relation is None and self.horizon is not None:
            expected = "a relation as well"
            raise InputError("horizon without a relation", field="horizon", found=self.horizon, expected=expected)
        if self.hindsight and (self.relation is None or self.horizon is not None):
            expected = "a relation and no horizon, or no hindsight"
            raise InputError("a query with open relation or time is a forecast", field="hindsight", expected=expected)
        if self.horizon is not None and self.as_of is not None:
            expected = "no as_of: facts before the start of the horizon are used"
            raise InputError("as_of with a horizon", field="as_of", found=self.as_of, expected=expected)
        for name, least in (("top", 1), ("paths", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                expected = f"an integer, at least {least}"
                raise InputError("invalid number", field=name, found=str(value), expected=expected)
        share = self.min_share
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share <= 1:
            raise InputError("invalid share", field="min_share", found=str(share), expected="a number from 0 to 1")

    @property
    def entity(self) -> str:
        """The query entity: the given one of subject and object."""
        return self.object if self.subject is None else self.subject  # type: ignore[return-value]

    @property
    def is_open(self) -> bool:
        """Whether the relation is left open."""
        return self.relation is None

    @property
    def direction(self) -> Direction:
        """The role of the query entity, if the relation is given."""
        return "out" if self.object is None else "in"

    @property
    def setting(self) -> Setting:
        """``forecast`` if only facts before the time of the query are used, ``completion`` with hindsight."""
        return "completion" if self.hindsight else "forecast"

    def __str__(self) -> str:
        subject, object = self.subject or "?", self.object or "?"
        as_of = f", facts up to {self.as_of}" if self.as_of else ""
        hindsight = ", with hindsight" if self.hindsight else ""
        without = f", without {len(self.without)} fact{'s' * (len(self.without) > 1)}" if self.without else ""
        time = self.at if self.horizon is None else f"{self.horizon} from {self.at}"
        link = "—?—" if self.relation is None else f"—{self.relation}→"
        return f"{subject} {link} {object} ({time}{as_of}{hindsight}{without})"
