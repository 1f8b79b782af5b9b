"""Facts as people write them: by name, with a date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fitcarl.data.io.columns import COLUMNS
from fitcarl.data.io.table import name_problem
from fitcarl.errors import InputError


class Fact(NamedTuple):
    """Who did what to whom, and when."""

    subject: str
    relation: str
    object: str
    time: str

    def to_json(self) -> dict[str, str]:
        return self._asdict()

    def __str__(self) -> str:
        return f"{self.subject} —{self.relation}→ {self.object} ({self.time})"


AnyFact = Fact | Sequence[str] | Mapping[str, str]
"""A fact as callers may give it: four texts in order, or by their names."""


def fact_of(given: AnyFact) -> Fact:
    """The fact that somebody gave; an InputError where it is not four texts."""
    if isinstance(given, Fact):
        fact = given
    elif isinstance(given, Mapping):
        unknown = [str(key) for key in given if key not in COLUMNS]
        missing = [role for role in COLUMNS if role not in given]
        if unknown or missing:
            found = ", ".join(map(str, given)) or "nothing"
            raise InputError("not a fact", found=found, expected="subject, relation, object and time")
        fact = Fact(**{role: given[role] for role in COLUMNS})
    else:
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(COLUMNS):
            raise InputError("not a fact", found=str(given), expected="subject, relation, object and time")
        fact = Fact(*given)
    for role, value in zip(COLUMNS, fact, strict=True):
        if not isinstance(value, str):
            raise InputError("not a text", field=role, found=str(value), expected="a name or a time as text")
        if problem := name_problem(value):
            raise InputError(problem, field=role, found=value, expected="a name on one line")
    return fact


def facts_of(given: Iterable[AnyFact]) -> tuple[Fact, ...]:
    """The facts that somebody gave, each once, in their order."""
    return tuple(dict.fromkeys(fact_of(fact) for fact in given))
