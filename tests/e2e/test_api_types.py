"""The TypeScript types of the explorer match web/openapi.json."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

WEB = Path(__file__).parents[2] / "web"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    script = WEB / "generate_types.py"
    if not script.is_file():
        pytest.skip("the sources of the explorer are not part of this distribution")
    spec = importlib.util.spec_from_file_location("generate_types", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_types_are_up_to_date(generator: ModuleType) -> None:
    expected = generator.generate(json.loads((WEB / "openapi.json").read_text()))
    assert (WEB / "src" / "api" / "schema.ts").read_text() == expected, "the types are stale; run make web"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer", "minimum": 1}, "number"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Fact"}}, "readonly Fact[]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, "readonly (readonly string[])[]"),
        ({"type": "array", "items": {"enum": ["day", "hour"]}}, 'readonly ("day" | "hour")[]'),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "Readonly<Record<string, number>>"),
    ],
)
def test_property_types(generator: ModuleType, schema: dict[str, object], expected: str) -> None:
    component = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    source = generator.generate({"components": {"schemas": {"Example": component}}, "paths": {}})
    assert f"readonly value: {expected};" in source


def test_properties_that_are_not_required_are_optional(generator: ModuleType) -> None:
    component = {"type": "object", "properties": {"value": {"type": "string"}}}
    source = generator.generate({"components": {"schemas": {"Example": component}}, "paths": {}})
    assert "readonly value?: string;" in source


def test_unsupported_schema_is_an_error(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="unsupported schema"):
        generator.generate({"components": {"schemas": {"Odd": {"not": {"type": "string"}}}}, "paths": {}})
