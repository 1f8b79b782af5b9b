"""The example query that is stored in a run folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from fitcarl.core.files import read_json
from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact, make_fact
from fitcarl.predict.query import Query
from fitcarl.predict.schemas import ExampleSchema, FactSchema
from fitcarl.runs.layout import RunFolder


@dataclass(frozen=True)
class Example:
    """Facts about an entity that is new to the run, and a query about it."""

    facts: tuple[Fact, ...]
    query: Query

    def to_schema(self) -> ExampleSchema:
        return ExampleSchema(
            facts=tuple(FactSchema.model_validate(fact) for fact in self.facts),
            subject=self.query.subject,
            object=self.query.object,
            relation=str(self.query.relation),
            at=self.query.at,
        )

    def to_json(self) -> dict[str, Any]:
        """The example as JSON values; of subject and object only the given one is included."""
        return self.to_schema().model_dump(mode="json", exclude_none=True)

    @classmethod
    def from_json(cls, value: object) -> Example:
        """The inverse of ``to_json``; an InputError or a pydantic ValidationError for anything else."""
        schema = ExampleSchema.model_validate(value)
        facts = tuple(make_fact(fact.to_fact()) for fact in schema.facts)
        return cls(facts, Query(schema.subject, schema.object, schema.relation, schema.at))


def read_example(folder: RunFolder) -> Example | None:
    """The example of a run, or None if it has none."""
    if not folder.example.exists():
        return None
    try:
        return Example.from_json(read_json(folder.example))
    except (InputError, ValidationError):
        raise InputError("damaged file", file=folder.example, expected="facts and a query") from None
