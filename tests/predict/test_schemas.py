"""JSON shapes: conversion of queries and examples in both directions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from fitcarl.core.files import write_json
from fitcarl.errors import InputError
from fitcarl.predict import Answer, Example, Fact, Prediction, Query
from fitcarl.predict.example import read_example
from fitcarl.predict.explanation import Explanation
from fitcarl.predict.schemas import AnswerSchema, ExampleSchema, ExplanationSchema, PredictionSchema, QuerySchema
from fitcarl.runs.layout import RunFolder

FACT = Fact("Ann", "meets", "Bob", "2024-01-01")


@pytest.mark.parametrize(("subject", "object"), [("Ann", None), (None, "Ann")])
def test_example_round_trips_in_both_directions(subject: str | None, object: str | None) -> None:
    example = Example((FACT,), Query(subject, object, "meets", "2024-02-01"))
    value = example.to_json()
    assert {"subject", "object"} & value.keys() == {"subject" if object is None else "object"}
    assert Example.from_json(value) == example
    assert ExampleSchema.model_validate(value).object == object


@pytest.mark.parametrize(
    "value", [{}, {"facts": [], "relation": "meets", "at": "1"}, {"facts": [{}], "subject": "Ann"}, []]
)
def test_invalid_example_is_rejected(value: object, tmp_path: Path) -> None:
    with pytest.raises((InputError, ValidationError)):
        Example.from_json(value)
    folder = RunFolder(tmp_path)
    write_json(folder.example, value)
    with pytest.raises(InputError, match="damaged file"):
        read_example(folder)


def test_query_round_trips() -> None:
    query = Query(None, "Ann", "meets", "2024-02-01", 4, 0, (FACT,), "2024-01-15")
    schema = QuerySchema.model_validate(query)
    assert QuerySchema.model_validate(schema.to_json()).to_query() == query


def test_prediction_and_explanation_share_the_shape_of_answers() -> None:
    query, answer = Query("Ann", None, "meets", "1"), Answer(1, "Bob", -0.5, 0.6, ("person",), (), "meets", "out")
    prediction = Prediction(query, (answer,)).to_json()
    explanation = Explanation(query, "Bob", 1, -0.5, 0.6, ("person",), "meets", "out", 0.1).to_json()
    assert PredictionSchema.model_validate(prediction).to_json() == prediction
    shared = {name: explanation[name] for name in prediction["answers"][0]}
    assert (explanation["query"], shared) == (prediction["query"], prediction["answers"][0])
    assert ExplanationSchema.model_validate(explanation).to_json() == explanation
    assert set(AnswerSchema.model_fields) == set(prediction["answers"][0])


def test_explanation_of_entity_without_score() -> None:
    explanation = Explanation(Query("Ann", None, "meets", "1"), "Bob", None, None, 0.0, (), "meets", "out", 0.0)
    value = explanation.to_json()
    assert (value["rank"], value["score"], value["kind"], value["paths"], value["facts"]) == (None, None, None, [], [])
    assert "not among the answers" in value["summary"]


def test_schemas_do_not_import_the_web_stack() -> None:
    code = "import sys, fitcarl.predict; print({'fastapi', 'starlette', 'sqlalchemy'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
