"""A question to begin with, kept in the run's folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitcarl.core.storage import read_json
from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact, fact_of
from fitcarl.predict.query import Query
from fitcarl.runs.layout import RunFolder


@dataclass(frozen=True)
class Example:
    """Some facts about an actor the run has not met, and a question about it."""

    facts: tuple[Fact, ...]
    query: Query

    def to_json(self) -> dict[str, Any]:
        asked = self.query
        end = {"subject": asked.subject} if asked.object is None else {"object": asked.object}
        facts = [fact.to_json() for fact in self.facts]
        return {"facts": facts, **end, "relation": asked.relation, "at": asked.at}


def read_example(folder: RunFolder) -> Example | None:
    """The example of a run, None where it has none."""
    if not folder.example.exists():
        return None
    told = read_json(folder.example)
    try:
        facts = tuple(fact_of(fact) for fact in told["facts"])
        question = Query(told.get("subject"), told.get("object"), str(told["relation"]), str(told["at"]))
    except (InputError, KeyError, TypeError, AttributeError):
        raise InputError("is damaged", file=folder.example, expected="facts and a question") from None
    return Example(facts, question)
