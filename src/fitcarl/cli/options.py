"""Options shared by all commands that read a file of facts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from fitcarl.cli import console
from fitcarl.data.reading import MAX_EXPANSION
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from fitcarl.data.facts import Facts
    from fitcarl.data.io.read_options import ReadKeywords
    from fitcarl.data.reading import Intervals

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="S,R,O,T",
        help="Names or positions (from 1) of the columns: subject, relation, object, time and, for intervals, end; "
        "or by role, such as time=when,subject=who,…",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row is a header. [default: detected]"),
]
Granularity = Annotated[
    str,
    typer.Option(
        "--granularity",
        help="auto, second, minute, hour, day, week, month, quarter, year, or units per tick for integer times.",
    ),
]
Format = Annotated[str | None, typer.Option("--format", help="tsv, csv, jsonl or parquet. [default: by suffix]")]
Separator = Annotated[
    str | None,
    typer.Option("--separator", help="comma, tab, semicolon, pipe or space. [default: detected]"),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of a text file, such as latin-1. [default: utf-8]")
]
Relation = Annotated[
    str | None,
    typer.Option("--relation", metavar="R", help="The relation of all facts, for a file without a column for it."),
]
FactsRelation = Annotated[
    str | None,
    typer.Option(
        "--facts-relation", metavar="R", help="The relation of all facts of the file, if it has no column for it."
    ),
]
Layout = Annotated[
    str | None,
    typer.Option("--layout", help="Source of the file: gdelt, gdelt-export, acled, icews-export, tkgl or snap."),
]
SkipIncomplete = Annotated[
    bool, typer.Option("--skip-incomplete", help="Leave out rows with a missing value and count them.")
]
IntervalsOption = Annotated[
    str | None,
    typer.Option(
        "--intervals",
        help="Facts with a start and an end as: events (begins, ends), expand (one fact per tick) or start. "
        "[default: events]",
    ),
]
MaxExpansion = Annotated[
    int | None,
    typer.Option("--max-expansion", metavar="N", min=1, help="Facts per expanded interval at most. [default: 50]"),
]
Concepts = Annotated[
    Path | None, typer.Option("--concepts", metavar="FILE", help="Concepts of entities: TSV, CSV or JSON.")
]
Normalise = Annotated[
    bool,
    typer.Option("--normalise", help="Merge names that are equal but for case, spaces or Unicode form."),
]

FILE_OPTIONS = {
    **{name: f"--{name}" for name in ("columns", "format", "separator", "encoding", "relation", "layout", "intervals")},
    "header": "--header/--no-header",
    "skip_incomplete": "--skip-incomplete",
    "max_expansion": "--max-expansion",
}
"""Parameter name → option, for what ``read_options`` takes."""
OPTIONS = {**FILE_OPTIONS, "granularity": "--granularity", "concepts": "--concepts"}
"""Parameter name → option, for the commands that take all these options."""
NORMALISE = {"normalise": "--normalise"}
"""The same for the option that changes names after reading."""


def parse_columns(columns: str | None) -> list[str] | dict[str, str] | None:
    """The value of ``--columns``: names in order, or by role."""
    if columns is None:
        return None
    parts = [column.strip() for column in columns.split(",")]
    if not all(re.match(r"(subject|relation|object|time|end)\s*=", part) for part in parts):
        return parts
    pairs = [part.split("=", 1) for part in parts]
    return {role.strip(): column.strip() for role, column in pairs}


def parse_header(header: bool | None) -> bool | Literal["auto"]:
    """The value of ``--header`` and ``--no-header``."""
    return "auto" if header is None else header


ReadHow = Any
"""Parameter of a command that ``with_file_options`` replaces by the options about a file; a ``ReadKeywords``."""
_PARAMETERS: dict[str, tuple[Any, Any]] = {
    "columns": (Columns, None),
    "header": (Header, None),
    "format": (Format, None),
    "separator": (Separator, None),
    "encoding": (Encoding, None),
    "relation": (Relation, None),
    "layout": (Layout, None),
    "skip_incomplete": (SkipIncomplete, False),
    "intervals": (IntervalsOption, None),
    "max_expansion": (MaxExpansion, None),
}
"""Parameters of a command about a file: type and default."""


def with_file_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameter ``how`` becomes the options about a file of facts.

    Args:
        command: Takes ``how``: keyword arguments of ``read_facts``.
    """
    return _with_options(command, _PARAMETERS)


def with_fact_file_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command whose option ``--relation`` is that of a query: ``--facts-relation`` is that of the file.

    Args:
        command: Takes ``how``: keyword arguments of ``read_facts``.
    """
    renamed = {name if name != "relation" else "facts_relation": kind for name, kind in _PARAMETERS.items()}
    return _with_options(command, {**renamed, "facts_relation": (FactsRelation, None)})


def _with_options(command: Callable[..., None], parameters: dict[str, tuple[Any, Any]]) -> Callable[..., None]:
    @wraps(command)
    def wrapper(**given: Any) -> None:
        chosen = {name.removeprefix("facts_"): given.pop(name) for name in parameters}
        command(**given, how=read_options(**chosen))

    signature = inspect.signature(command, eval_str=True)
    shown = [parameter for name, parameter in signature.parameters.items() if name != "how"]
    place = list(signature.parameters).index("how")
    kind = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(n, kind, default=d, annotation=a) for n, (a, d) in parameters.items()]
    ordered = [parameter.replace(kind=kind) for parameter in (*shown[:place], *added, *shown[place:])]
    wrapper.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    return wrapper


def read_options(
    columns: str | None = None,
    header: bool | None = None,
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    relation: str | None = None,
    layout: str | None = None,
    skip_incomplete: bool = False,
    intervals: str | None = None,
    max_expansion: int | None = None,
) -> ReadKeywords:
    """The options about a file as keyword arguments of ``read_facts``."""
    return {
        "format": format,
        "separator": separator,
        "encoding": encoding,
        "header": parse_header(header),
        "columns": parse_columns(columns),
        "relation": relation,
        "layout": layout,
        "skip_incomplete": skip_incomplete,
        "intervals": cast("Intervals | None", intervals),
        "max_expansion": max_expansion or MAX_EXPANSION,
    }


AS_DETECTED = read_options()
"""No option is given."""


def read_fact_file(
    file: Path, how: ReadKeywords, granularity: str = "auto", concepts: Path | None = None, name: str | None = None
) -> Facts:
    """Reads a file of facts with these options."""
    from fitcarl.data.io.reader import read_facts

    with errors_name_file_options():
        return read_facts(file, name=name, granularity=granularity, concepts=concepts, **how)


def reading_lines(file: Path, facts: Facts) -> list[str]:
    """Which columns were used, what was counted, and what looks wrong."""
    warnings = (f"warning: {file}: {warning}" for warning in facts.warnings)
    return [f"{file}: {facts.reading.text}", f"{file}: {facts.summary}", *warnings]


@contextmanager
def errors_name_file_options() -> Iterator[None]:
    """Errors about an argument of ``read_facts`` name the option of the command line."""
    try:
        yield
    except InputError as error:
        option = FILE_OPTIONS.get(str(error.field))
        raise (error if option is None or error.row is not None else error.about(option)) from None


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
