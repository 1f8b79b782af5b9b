"""Generates the reference pages of the documentation site when MkDocs builds it (see ``hooks`` in mkdocs.yml).

The command line, the settings, the features, the HTTP API and the list of public Python names are read from the
package, so these pages cannot disagree with it. CONTRIBUTING.md and CHANGELOG.md become pages too.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import fitcarl

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parent.parent


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site (called by MkDocs)."""
    from mkdocs.structure.files import File

    for path, content in PAGES.items():
        files.append(File.generated(config, path, content=content()))
    return files


def api_reference() -> str:
    """One section per public name, filled in by mkdocstrings from the docstrings."""
    from fitcarl.testing import check_scorer

    names = [name for name in fitcarl.__all__ if not name.startswith("_")]
    functions = [name for name in names if inspect.isfunction(getattr(fitcarl, name))]
    others = [name for name in names if name not in functions]
    parts = [
        "# Python API",
        "These names are importable from `fitcarl`. Each one is loaded on first use, so `import fitcarl` is fast.",
        "## Functions",
        *(_mkdocstrings(getattr(fitcarl, name), name) for name in functions),
        "## Classes",
        *(_mkdocstrings(getattr(fitcarl, name), name) for name in others),
        "## Testing your own scorer",
        _mkdocstrings(check_scorer, "testing.check_scorer"),
    ]
    return "\n\n".join(parts) + "\n"


def _mkdocstrings(value: Any, name: str) -> str:
    options = [f"heading: fitcarl.{name}", f"toc_label: {name}", "heading_level: 3"]
    return f"::: {value.__module__}.{value.__qualname__}\n    options:\n" + "\n".join(f"      {one}" for one in options)


def cli_reference() -> str:
    """Every command with its arguments and options."""
    from fitcarl.cli import build_cli

    root = typer.main.get_command(build_cli())
    return "\n".join(["# Command line", "", *_command(root, typer.Context(root, info_name="fitcarl"))]) + "\n"


def _command(command: Any, context: typer.Context) -> Iterator[str]:
    if context.parent is not None:
        yield f"## {context.command_path}\n"
    yield f"{_paragraphs(command.help)}\n"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    records = [record for one in command.params if (record := one.get_help_record(context))]
    if records:
        yield "| argument or option | meaning |\n|---|---|"
        for syntax, text in records:
            yield f"| `{_cell(syntax)}` | {_cell(text)} |"
        yield ""
    for name, inner in getattr(command, "commands", {}).items():
        yield from _command(inner, typer.Context(inner, info_name=name, parent=context))


def _paragraphs(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("<", "&lt;")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("[", "\\[")


def settings_reference() -> str:
    """The settings of every preset and of every model without a preset: name, value, description."""
    lines = [
        "# Settings",
        "",
        "`fitcarl train --set NAME=VALUE` changes a setting. A preset is a model plus values of its settings; each",
        "table lists exactly the settings that have an effect there. `fitcarl settings --preset NAME` prints the same.",
        "Models without a preset follow; `fitcarl train --model NAME` trains them.",
        "",
    ]
    for option, name in presets_and_models():
        lines += [f"## {option.capitalize()} `{name}`", "", "| setting | value | description |", "|---|---|---|"]
        for one in settings(option, name):
            lines.append(f"| `{one['name']}` | `{_value(one['value'])}` | {_cell(one['description'])} |")
        lines.append("")
    return "\n".join(lines) + "\n"


def presets_and_models() -> list[tuple[str, str]]:
    """("preset", name) of all presets, then ("model", name) of the trained models without one."""
    from fitcarl.config.presets import PRESETS
    from fitcarl.config.schema import CONFIGS

    with_preset = {preset.model for preset in PRESETS.values()}
    models = [("model", name) for name in CONFIGS if name not in with_preset]
    return [*(("preset", name) for name in PRESETS), *models]


def settings(option: str, name: str) -> list[dict[str, Any]]:
    """What ``fitcarl settings --json`` prints."""
    from fitcarl.cli import run

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run(["settings", f"--{option}", name, "--json"])
    listed: list[dict[str, Any]] = json.loads(printed.getvalue())
    return [{"description": one.get("about", ""), **one} for one in listed]


def _value(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def features_reference() -> str:
    """The candidate features of the plus model, from its feature table."""
    from fitcarl.models.plus.features.table import FEATURES

    lines = [
        "# Candidate features",
        "",
        "Inputs of the candidate network of the `plus` model, one row per feature, from",
        "`models/plus/features/table.py`. What the families mean is described in",
        "[Features of the plus model](../concepts/features.md).",
        "",
        "| family | feature | source | transformation |",
        "|---|---|---|---|",
    ]
    for one in FEATURES:
        source = one.source.name.lower() if hasattr(one.source, "name") else f"{_name(one.source)}()"
        lines.append(f"| `{one.family}` | `{one.name}` | `{source}` | `{_name(one.transform)}` |")
    return "\n".join(lines) + "\n"


def _name(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def http_reference() -> str:
    """Every route and every JSON schema of the service, from its OpenAPI document."""
    openapi = json.loads((ROOT / "web" / "openapi.json").read_text(encoding="utf-8"))
    lines = [
        "# HTTP API",
        "",
        openapi["info"].get("description", ""),
        "",
        "The service itself describes this API at `/v1/openapi.json` and, as a page, at `/v1/docs`. How to start it,",
        "its limits and its access control are in [Run the HTTP service](../guides/serve.md).",
        "",
        "## Routes",
        "",
    ]
    for path, methods in openapi["paths"].items():
        for method, route in methods.items():
            lines += [*_route(path, method, route), ""]
    lines += ["## Schemas", ""]
    for name, schema in openapi["components"]["schemas"].items():
        lines += [*_schema(name, schema), ""]
    return "\n".join(lines) + "\n"


def _route(path: str, method: str, route: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path.replace('{', '&#123;').replace('}', '&#125;')}\n"
    yield f"{_paragraphs(route.get('description', route.get('summary', '')))}\n"
    rows = [
        (f"`{one['name']}` ({one['in']})", _kind(one["schema"]), one.get("description", ""))
        for one in route.get("parameters", ())
    ]
    if "requestBody" in route:
        rows.append(("request body", _content(route["requestBody"]), ""))
    rows += [
        (f"response {status}", _content(response), response.get("description", ""))
        for status, response in route["responses"].items()
    ]
    yield "| part | type | description |\n|---|---|---|"
    for part, kind, about in rows:
        yield f"| {part} | {kind} | {_cell(about)} |"


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{_paragraphs(schema.get('description', ''))}\n"
    required = schema.get("required", ())
    yield "| field | type | description |\n|---|---|---|"
    for field, kind in schema.get("properties", {}).items():
        optional = "" if field in required else " (optional)"
        yield f"| `{field}`{optional} | {_kind(kind)} | {_cell(kind.get('description', ''))} |"


def _content(part: Mapping[str, Any]) -> str:
    schemas = [content.get("schema", {}) for content in part.get("content", {}).values()]
    return _kind(schemas[0]) if schemas and schemas[0] else "–"


def _kind(schema: Mapping[str, Any]) -> str:
    """A schema as short text, with links to the schemas that it refers to."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for joined in ("anyOf", "oneOf", "allOf"):
        if joined in schema:
            return " or ".join(_kind(one) for one in schema[joined])
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        items = schema.get("prefixItems")
        return f"array of {_kind(schema['items'])}" if not items else f"array of {len(items)}"
    kind = schema.get("type", "any")
    return kind if isinstance(kind, str) else " or ".join(kind)


def project_file(name: str) -> str:
    """A Markdown file of the repository's root as a page: links into docs/ become links within the site."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    text = re.sub(r"\]\(CONTRIBUTING\.md", "](contributing.md", text)
    text = re.sub(r"\]\(CHANGELOG\.md", "](changelog.md", text)
    return re.sub(r"\[([^]]+)\]\((?:README\.md|LICENSE|CITATION\.cff)\)", r"\1", text)


PAGES: dict[str, Callable[[], str]] = {
    "reference/api.md": api_reference,
    "reference/cli.md": cli_reference,
    "reference/http.md": http_reference,
    "reference/settings.md": settings_reference,
    "reference/features.md": features_reference,
    "contributing.md": lambda: project_file("CONTRIBUTING.md"),
    "changelog.md": lambda: project_file("CHANGELOG.md"),
}
"""Path of a generated page in the site → its Markdown."""
