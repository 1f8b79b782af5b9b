"""The OpenAPI document and the JSON shapes it is built from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.predict import Fact
from fitcarl.predict.schemas import ExampleSchema, FactSchema, PredictionSchema
from fitcarl.serve.openapi import openapi_json, write_openapi

FILE = Path(__file__).parents[2] / "web" / "openapi.json"


@pytest.mark.skipif(not FILE.parent.exists(), reason="no source tree")
def test_openapi_file_of_explorer_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == openapi_json(), "run: python -m fitcarl.serve.openapi web/openapi.json"


def test_document_is_written_to_file_or_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_openapi([str(tmp_path / "openapi.json")])
    write_openapi([])
    assert (tmp_path / "openapi.json").read_text(encoding="utf-8") == capsys.readouterr().out == openapi_json()


@pytest.mark.parametrize("model", [FactSchema, PredictionSchema, ExampleSchema])
def test_responses_use_the_shapes_of_predict(model: type) -> None:
    schemas = json.loads(openapi_json())["components"]["schemas"]
    assert set(schemas[model.__name__]["properties"]) == set(model.model_fields)  # type: ignore[attr-defined]


def test_fact_schema_has_the_fields_of_facts() -> None:
    assert tuple(FactSchema.model_fields) == Fact._fields
