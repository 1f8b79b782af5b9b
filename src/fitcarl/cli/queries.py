"""Options and inputs of the commands that ask a run: facts from a small file, and a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitcarl.cli import console, options
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from fitcarl.data.io.read_options import ReadKeywords
    from fitcarl.predict.fact import Fact
    from fitcarl.predict.parsing import ReadFacts
    from fitcarl.predict.predictor import Predictor
    from fitcarl.predict.query import Query

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder created by 'fitcarl train'.")]
Facts = Annotated[
    Path | None,
    typer.Option("--facts", metavar="FILE", help="New facts: subject, relation, object, time, by name."),
]
Subject = Annotated[
    str | None, typer.Option("--subject", metavar="E", help="Subject of the query; the object is predicted.")
]
Object = Annotated[
    str | None, typer.Option("--object", metavar="E", help="Object of the query; the subject is predicted.")
]
Relation = Annotated[str, typer.Option("--relation", metavar="R", help="Relation of the query.")]
At = Annotated[
    str,
    typer.Option("--at", metavar="T", help="Time of the query: a date, or an integer if the run has integer times."),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="FACT",
        help="Fact to treat as unknown: 'subject | relation | object | time' (or separated by tabs); repeatable.",
    ),
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="T", help="Use only facts up to this time, at most that of the query.")
]
Hindsight = Annotated[
    bool,
    typer.Option("--hindsight", help="Use facts at and after the time of the query too. [default: earlier facts only]"),
]
OpenRelation = Annotated[
    str | None,
    typer.Option(
        "--relation",
        metavar="R",
        help="Relation of the query; without it, relation, direction and entity are predicted together.",
    ),
]
OpenAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="T",
        help="Time of the query: a date, or an integer if the run has integer times; with --horizon its start, "
        "by default the time after the last one with real traffic.",
    ),
]
Horizon = Annotated[
    str | None,
    typer.Option("--horizon", metavar="D", help="Duration from --at on, such as 30d: when is the next such fact?"),
]
MinShare = Annotated[
    float, typer.Option("--min-share", metavar="S", min=0, max=1, help="Leave out answers with a smaller share.")
]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a drawing of the paths.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

OPTIONS = {
    **{name: f"--{name}" for name in ("subject", "object", "relation", "at", "horizon", "hindsight")},
    "as_of": "--as-of",
    "min_share": "--min-share",
    "entity": "--answer",
}
"""Field of a query → option of the command line."""


@contextmanager
def errors_name_options() -> Iterator[None]:
    """Replaces field names in errors by the options of the command line."""
    from fitcarl.predict.query import NoKnownFactsError

    try:
        yield
    except InputError as error:
        option = OPTIONS.get(error.field or "")
        if error.file is not None or option is None:
            raise
        expected = str(error.expected).replace("or hindsight", "or --hindsight")
        if isinstance(error, NoKnownFactsError):
            expected = expected.replace("about it", "about it in --facts FILE")
        raise error.about(option, expected) from None


@dataclass(frozen=True)
class FactFile:
    """A file of new facts and the options for reading it."""

    path: Path
    how: ReadKeywords

    @classmethod
    def from_options(cls, path: Path | None, how: ReadKeywords) -> FactFile | None:
        """The file with its options; None without a file.

        Raises:
            InputError: If there are options but no file.
        """
        if path is None and how != options.AS_DETECTED:
            raise InputError("options for a file without a file", expected="--facts FILE as well")
        return None if path is None else cls(path, how)

    def read(self, predictor: Predictor) -> ReadFacts:
        """The facts of the file and its columns."""
        from fitcarl.data.io.read_options import ReadOptions

        with options.errors_name_file_options():
            return predictor.parser.read(self.path, ReadOptions(**self.how), predictor.run.reading)


def show_columns(file: FactFile | None, read: ReadFacts | None) -> None:
    """A message that says which columns of a file were used."""
    if file is not None and read is not None:
        console.log.info(f"{file.path}: {read.mapping.text}")


@dataclass(frozen=True)
class Inputs:
    """Inputs of both commands."""

    predictor: Predictor
    facts: list[Fact]
    query: Query
    file: FactFile | None = None
    read: ReadFacts | None = None
    """The facts with the columns of the file; None without a file."""

    @property
    def mapping(self) -> dict[str, dict[str, str]]:
        """The columns of the file as they are added to JSON output."""
        return {} if self.read is None else {"mapping": self.read.mapping.to_json()}

    @classmethod
    def from_options(
        cls,
        run: Path,
        file: FactFile | None,
        subject: str | None,
        object: str | None,
        relation: str | None,
        at: str | None,
        top: int,
        paths: int,
        without: list[str] | None,
        as_of: str | None,
        hindsight: bool,
        horizon: str | None = None,
        min_share: float = 0.0,
    ) -> Inputs:
        if (subject is None) == (object is None):
            found = "neither" if subject is None else "both"
            raise InputError("incomplete query", found=found, expected="either --subject or --object")
        from fitcarl.predict.entities import likely_typos
        from fitcarl.predict.predictor import Predictor
        from fitcarl.predict.query import Query

        predictor = Predictor.load(run)
        read = None if file is None else file.read(predictor)
        facts = [] if read is None else read.facts
        names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
        for name, suggestion in likely_typos(names, predictor.run.vocabulary, subject or object or ""):
            console.log.info(f"note: {name!r} is new to this run; did you mean {suggestion!r}?")
        excluded = tuple(parse_excluded(text, predictor, facts) for text in without or ())
        at = predictor.next_time(map(predictor.check, facts)) if at is None else at
        with errors_name_options():
            further = excluded, as_of, hindsight, horizon, min_share
            query = Query(subject, object, relation, at, top, paths, *further)
        return cls(predictor, facts, query, file, read)


def parse_excluded(text: str, predictor: Predictor, facts: list[Fact]) -> Fact:
    """A fact of --without; an unknown fact is an error, because it is probably misspelled."""
    from fitcarl.predict.fact import Fact

    parts = [part.strip() for part in text.split("\t" if "\t" in text else "|")]
    if len(parts) != len(Fact._fields):
        expected = "'subject | relation | object | time'"
        raise InputError("not a fact", field="--without", found=text, expected=expected)
    fact = Fact(*parts)
    try:
        known = predictor.knows(fact, facts)
    except InputError as error:
        raise error.about(f"--without, {error.field}") from None
    if not known:
        expected = "a fact of the file or of the run's background"
        raise InputError("unknown fact", field="--without", found=text, expected=expected)
    return fact
