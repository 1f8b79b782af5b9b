"""Options shared by all commands that read a file of facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fitcarl.cli import console

if TYPE_CHECKING:
    from fitcarl.data.facts import Facts

Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="S,R,O,T", help="Names or positions (from 1) of the four columns."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row is a header. [default: detected]"),
]
Granularity = Annotated[
    str, typer.Option("--granularity", help="auto, hour, day, month, year, or units per tick for integer times.")
]
Format = Annotated[str | None, typer.Option("--format", help="tsv, csv, jsonl or parquet. [default: by suffix]")]
Concepts = Annotated[
    Path | None, typer.Option("--concepts", metavar="FILE", help="Concepts of entities: TSV, CSV or JSON.")
]
Normalise = Annotated[
    bool,
    typer.Option("--normalise", help="Merge names that are equal but for case, spaces or Unicode form."),
]


OPTIONS = {
    **{name: f"--{name}" for name in ("columns", "granularity", "format", "concepts")},
    "header": "--header/--no-header",
}
"""Parameter name → option, for the commands that take these options."""
NORMALISE = {"normalise": "--normalise"}
"""The same for the option that changes names after reading."""


def read_fact_file(
    file: Path,
    columns: str | None,
    header: bool | None,
    granularity: str,
    format: str | None,
    concepts: Path | None,
    name: str | None = None,
) -> Facts:
    """Reads a file of facts with these options."""
    from fitcarl.data.io.reader import read_facts

    return read_facts(
        file,
        name=name,
        format=format,
        header=parse_header(header),
        columns=parse_columns(columns),
        granularity=granularity,
        concepts=concepts,
    )


def merge_names(facts: Facts) -> Facts:
    """Facts with similar names merged (``--normalise``); logs how many were."""
    from fitcarl.data.similar_names import find_similar_names, merge_similar_names

    groups = find_similar_names(facts)
    merged = merge_similar_names(facts)
    found = f"{groups.superfluous:,} name{'' if groups.superfluous == 1 else 's'} merged with a similar one"
    examples = [f"{other!r} → {kept!r}" for kept, *others in (*groups.entities, *groups.relations) for other in others]
    shown = f": {', '.join(examples[:3])}{', …' if len(examples) > 3 else ''}" if examples else ""
    equal = len(facts.quadruples) - len(merged.quadruples)
    console.log.info(f"{facts.name}: {found}{shown}; facts that became equal: {equal:,}")
    return merged


def parse_columns(columns: str | None) -> list[str] | None:
    """The value of ``--columns``."""
    return None if columns is None else [column.strip() for column in columns.split(",")]


def parse_header(header: bool | None) -> bool | Literal["auto"]:
    """The value of ``--header`` and ``--no-header``."""
    return "auto" if header is None else header
