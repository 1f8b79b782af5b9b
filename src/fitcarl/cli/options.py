"""How a file of facts is to be read: the options of every command that is given one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from fitcarl.data.facts import Facts

Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="S,R,O,T", help="Names or numbers (from 1) of a file's four columns."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether a file's first row holds names; found out if not said."),
]
Granularity = Annotated[
    str, typer.Option("--granularity", help="hour, day, month, year; for integer times the units a tick; or auto.")
]
Format = Annotated[str | None, typer.Option("--format", help="tsv, csv, jsonl or parquet; else the file's name tells.")]
Concepts = Annotated[
    Path | None, typer.Option("--concepts", metavar="FILE", help="Kinds of entities, as TSV, CSV or JSON.")
]


OPTIONS = {
    **{name: f"--{name}" for name in ("columns", "granularity", "format", "concepts")},
    "header": "--header/--no-header",
}
"""Parameters of a command that takes these options, and how they are written."""


def read(
    file: Path,
    columns: str | None,
    header: bool | None,
    granularity: str,
    format: str | None,
    concepts: Path | None,
    name: str | None = None,
) -> Facts:
    """The facts of a file, as the options say."""
    from fitcarl.data.io.reader import read_facts

    return read_facts(
        file,
        name=name,
        format=format,
        header=headed(header),
        columns=named(columns),
        granularity=granularity,
        concepts=concepts,
    )


def named(columns: str | None) -> list[str] | None:
    """The columns of --columns."""
    return None if columns is None else [column.strip() for column in columns.split(",")]


def headed(header: bool | None) -> bool | Literal["auto"]:
    """What --header and --no-header say."""
    return "auto" if header is None else header
