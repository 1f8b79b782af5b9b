"""``fitcarl names``: search the relations and entities of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError

_KINDS = ("relation", "entity")
_DEFAULT_MATCHES = 20


def list_names(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    near: Annotated[str | None, typer.Argument(metavar="TEXT", help="Show names similar to this text.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="relation or entity.")] = "relation",
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", min=1, help="Maximum number of names. [default: all; 20 with TEXT]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the relations or entities of a run, or search them by similarity to a text."""
    if kind not in _KINDS:
        raise InputError("no such kind", field="--kind", found=kind, expected=" or ".join(_KINDS))
    from fitcarl.data.name_search import NameSearch
    from fitcarl.runs.names import read_run_names

    vocabulary, _, _ = read_run_names(run)
    names = vocabulary.relations if kind == "relation" else vocabulary.entities
    found = NameSearch(names).near(near, top or _DEFAULT_MATCHES) if near else list(names)[:top]
    if json:
        console.show_json(found)
    elif found:
        console.show(*found)
    else:
        console.log.info(f"no {kind} of this run has a name similar to {near!r}")
