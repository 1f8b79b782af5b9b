"""Facts by name, as users write them, and the same facts after their names and times were checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fitcarl.data.io.roles import COLUMNS
from fitcarl.data.moments import time_text
from fitcarl.data.name_rules import name_problem
from fitcarl.errors import InputError


class Fact(NamedTuple):
    """A fact by name: subject, relation, object and time."""

    subject: str
    relation: str
    object: str
    time: str

    def to_json(self) -> dict[str, str]:
        return self._asdict()

    def __str__(self) -> str:
        return f"{self.subject} —{self.relation}→ {self.object} ({self.time})"


class CheckedFact(NamedTuple):
    """A fact that a run can use: its names are valid, its relation is known, and its time is parsed."""

    subject: str
    relation: str
    object: str
    tick: int


AnyFact = Fact | Sequence[Any] | Mapping[str, Any]
"""A fact as callers may give it, in order or by field name: three names, and a time as text, date or number."""


def make_fact(given: AnyFact) -> Fact:
    """Converts what a caller gave into a fact.

    Raises:
        InputError: If it does not consist of three valid names and a time.
    """
    if isinstance(given, Fact):
        fact = given
    elif isinstance(given, Mapping):
        unknown = [str(key) for key in given if key not in COLUMNS]
        missing = [column for column in COLUMNS if column not in given]
        if unknown or missing:
            found = ", ".join(map(str, given)) or "nothing"
            raise InputError("not a fact", found=found, expected="subject, relation, object and time")
        fact = Fact(**{column: given[column] for column in COLUMNS})
    else:
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(COLUMNS):
            raise InputError("not a fact", found=str(given), expected="subject, relation, object and time")
        fact = Fact(*given)
    try:
        fact = fact._replace(time=time_text(fact.time))
    except InputError as error:
        raise error.about("time") from None
    for column, value in zip(COLUMNS, fact, strict=True):
        if not isinstance(value, str):
            raise InputError("not a string", field=column, found=str(value), expected="a name as a string")
        if problem := name_problem(value):
            raise InputError(problem, field=column, found=value, expected="a name on one line")
    return fact


def make_facts(given: Iterable[AnyFact]) -> tuple[Fact, ...]:
    """Converts what a caller gave into distinct facts, in order."""
    return tuple(dict.fromkeys(make_fact(fact) for fact in given))
