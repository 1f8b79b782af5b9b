"""Generates src/api/schema.ts, the TypeScript types of the HTTP service, from openapi.json.

Run it with ``npm run generate`` (part of ``make web``). It needs only the standard library, so that a Python test can
compare its output with the committed file without Node. The npm package openapi-typescript is not used: it needs the
JavaScript API of TypeScript 5, which TypeScript 7 does not have.

Descriptions are left out: the types change only if the shapes change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WEB = Path(__file__).parent
DOCUMENT = WEB / "openapi.json"
TYPES = WEB / "src" / "api" / "schema.ts"

_HEADER = "/** Generated from openapi.json by generate_types.py (`npm run generate`). Do not edit. */\n"
_METHODS = ("get", "put", "post", "delete", "patch")
_PRIMITIVES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

Schema = dict[str, Any]


def generate(document: Schema) -> str:
    """Returns the TypeScript source with one declaration per schema and one entry per operation.

    Args:
        document: An OpenAPI 3.1 document.

    Raises:
        ValueError: If the document uses a schema keyword that is not supported.
    """
    schemas = document["components"]["schemas"]
    declarations = [_declaration(name, schemas[name]) for name in sorted(schemas)]
    return "\n".join([_HEADER, *declarations, _operations(document["paths"])])


def _declaration(name: str, schema: Schema) -> str:
    if "properties" in schema:
        return f"export interface {_identifier(name)} {_object(schema, '')}\n"
    return f"export type {_identifier(name)} = {_type(schema)};\n"


def _object(schema: Schema, indent: str) -> str:
    required = set(schema.get("required", ()))
    lines = [
        f"{indent}  readonly {name}{'' if name in required else '?'}: {_type(part, indent + '  ')};"
        for name, part in sorted(schema["properties"].items())
    ]
    return "\n".join(["{", *lines, f"{indent}}}"])


def _type(schema: Schema, indent: str = "") -> str:
    if "$ref" in schema:
        return _identifier(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(_type(part, indent) for part in schema[union]))
    kind = schema.get("type")
    if kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
    if kind == "array":
        item = _type(schema["items"], indent)
        return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
    if kind == "object" and "properties" in schema:
        return _object(schema, indent)
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"Readonly<Record<string, {_type(values, indent) if isinstance(values, dict) else 'unknown'}>>"
    if not schema.keys() - {"title", "description", "default", "examples"}:
        return "unknown"
    raise ValueError(f"unsupported schema: {json.dumps(schema)}")


def _operations(paths: Schema) -> str:
    entries = [
        f'  readonly "{method.upper()} {path}": {_operation(item[method])};'
        for path, item in sorted(paths.items())
        for method in _METHODS
        if method in item
    ]
    return "\n".join(["export interface Operations {", *entries, "}", ""])


def _operation(operation: Schema) -> str:
    return f"{{ readonly body: {_body(operation)}; readonly reply: {_reply(operation)} }}"


def _body(operation: Schema) -> str:
    return _content(operation["requestBody"]) if "requestBody" in operation else "undefined"


def _reply(operation: Schema) -> str:
    successful = [reply for status, reply in operation["responses"].items() if status.startswith("2")]
    return _content(successful[0]) if successful else "unknown"


def _content(part: Schema) -> str:
    for media_type, content in part.get("content", {}).items():
        return _type(content["schema"]) if media_type == "application/json" else "string"
    return "undefined"


def _identifier(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    TYPES.write_text(generate(json.loads(DOCUMENT.read_text())))
