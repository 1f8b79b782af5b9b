"""``fitcarl names``: which names a run knows, so that a question can be written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError

_KINDS = ("relation", "entity")
_LIKE = 20


def list_names(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that 'fitcarl train' made.")],
    near: Annotated[str | None, typer.Argument(metavar="TEXT", help="Only names that are like this.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="relation or entity.")] = "relation",
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", min=1, help="So many at most. [default: all; 20 like TEXT]")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show the relations (or entities) that a run knows, or those that are like what you remember of one."""
    if kind not in _KINDS:
        raise InputError("no such kind", field="--kind", found=kind, expected=" or ".join(_KINDS))
    from fitcarl.predict.entities import NameSearch
    from fitcarl.runs.layout import RunFolder

    vocabulary, _, _ = RunFolder(run).read_names()
    names = vocabulary.relations if kind == "relation" else vocabulary.entities
    found = NameSearch(names).near(near, top or _LIKE) if near else list(names)[:top]
    if json:
        console.show_json(found)
    elif found:
        console.show(*found)
    else:
        console.log.info(f"no {kind} of this run is called anything like {near!r}")
