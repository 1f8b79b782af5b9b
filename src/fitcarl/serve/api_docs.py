"""The API reference as one HTML page, rendered from the OpenAPI document.

Not Swagger UI or ReDoc, which load scripts from other servers: the page must work offline and without scripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
h2{margin-top:2rem}code{font-family:ui-monospace,monospace}table{border-collapse:collapse;margin:.5rem 0}
td,th{text-align:left;padding:.15rem 1rem .15rem 0;vertical-align:top}th{font-weight:600}
section{border-top:1px solid #8886;padding-top:.5rem}.verb{font-weight:700;margin-right:.5rem}
"""


def render(openapi: Mapping[str, Any]) -> str:
    """The page with all routes and schemas."""
    info = openapi["info"]
    title = f"{info['title']} {info['version']}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}: API</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1><p>{escape(info.get('description', ''))} "
        f'Machine-readable: <a href="/v1/openapi.json">openapi.json</a>.</p>'
        f"<h2>Routes</h2>{''.join(_routes(openapi))}<h2>Schemas</h2>{''.join(_schemas(openapi))}</body></html>"
    )


def _routes(openapi: Mapping[str, Any]) -> Iterator[str]:
    for path, verbs in openapi["paths"].items():
        for verb, route in verbs.items():
            yield f'<section><h3><span class="verb">{verb.upper()}</span><code>{escape(path)}</code></h3>'
            yield f"<p>{escape(route.get('description', ''))}</p>"
            rows = [
                (item["name"], _kind(item["schema"]), item.get("description", ""))
                for item in route.get("parameters", ())
            ]
            if "requestBody" in route:
                rows.append(("body", _kind(_schema(route["requestBody"])), ""))
            for status, response in route["responses"].items():
                rows.append((status, _kind(_schema(response)), response.get("description", "")))
            yield f"{_table(rows)}</section>"


def _schemas(openapi: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in openapi.get("components", {}).get("schemas", {}).items():
        required = schema.get("required", ())
        rows = [
            (f"{field}{'' if field in required else '?'}", _kind(kind), kind.get("description", ""))
            for field, kind in schema.get("properties", {}).items()
        ]
        yield f'<section><h3 id="{escape(name)}"><code>{escape(name)}</code></h3>'
        yield f"<p>{escape(schema.get('description', ''))}</p>{_table(rows)}</section>"


def _schema(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((content.get("schema", {}) for content in part.get("content", {}).values()), {})


def _kind(schema: Mapping[str, Any]) -> str:
    """A type in words, with links to the schemas it refers to; HTML-escaped."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " or ".join(_kind(option) for option in schema[union])
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    return escape(str(schema.get("type", "")))


def _table(rows: list[tuple[str, str, str]]) -> str:
    lines = (
        f"<tr><td><code>{escape(name)}</code></td><td>{kind}</td><td>{escape(text)}</td></tr>"
        for name, kind, text in rows
    )
    return f"<table>{''.join(lines)}</table>"
