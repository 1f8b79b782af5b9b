"""``fitcarl predict`` and ``fitcarl explain``: questions to a run, with facts of a small file laid over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.cli import console, options
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from fitcarl.predict.fact import Fact
    from fitcarl.predict.prediction import Answer, Prediction
    from fitcarl.predict.predictor import Predictor
    from fitcarl.predict.query import Query
    from fitcarl.scoring.path import ExplanationPath as Reason

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that 'fitcarl train' made.")]
Facts = Annotated[
    Path | None,
    typer.Option("--facts", metavar="FILE", help="What is new: subject, relation, object, time, by name."),
]
Subject = Annotated[str | None, typer.Option("--subject", metavar="E", help="Who acts; the object is asked for.")]
Object = Annotated[str | None, typer.Option("--object", metavar="E", help="Who is acted on; the subject is asked for.")]
Relation = Annotated[str, typer.Option("--relation", metavar="R", help="In what way.")]
At = Annotated[str, typer.Option("--at", metavar="T", help="When: a date, or whatever the run counts time in.")]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="FACT",
        help="'subject | relation | object | time' to leave out (tabs do as well); repeatable.",
    ),
]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="T", help="Look at facts up to this time only.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the paths.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

_DRAWN = 3
"""Answers whose best path is drawn below the table, and that a picture shows."""
_BAR = 24
_OPTIONS = {
    **{name: f"--{name}" for name in ("subject", "object", "relation", "at")},
    "as_of": "--as-of",
    "entity": "--answer",
}
"""Parts of a question, and how they are written."""


def predict(
    run: Run,
    relation: Relation,
    at: At,
    facts: Facts = None,
    subject: Subject = None,
    object: Object = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Answers at most.")] = 10,
    paths: Annotated[int, typer.Option("--paths", metavar="N", min=0, help="Paths an answer at most.")] = 3,
    without: Without = None,
    as_of: AsOf = None,
    columns: options.Columns = None,
    header: options.Header = None,
    format: options.Format = None,
    svg: Svg = None,
    json: Json = False,
) -> None:
    """Whom a new actor will deal with, and why: ranked answers from a run and a few facts."""
    console.check_image_path("--svg", svg, (".svg",))
    file = _File.of(facts, columns, header, format)
    case = _Case.of(run, file, subject, object, relation, at, top, paths, without, as_of)
    with _named_as_options():
        [prediction] = case.predictor.answer([case.query], case.facts)
    if svg is not None:
        _draw(svg, case.query, prediction.answers[:_DRAWN])
    if json:
        console.show_json(prediction.to_json())
    else:
        console.show(_shown(prediction))


def explain(
    run: Run,
    relation: Relation,
    at: At,
    answer: Annotated[str, typer.Option("--answer", metavar="E", help="The entity whose paths are wanted.")],
    facts: Facts = None,
    subject: Subject = None,
    object: Object = None,
    paths: Annotated[int, typer.Option("--paths", metavar="N", min=1, help="Paths at most.")] = 3,
    without: Without = None,
    as_of: AsOf = None,
    columns: options.Columns = None,
    header: options.Header = None,
    format: options.Format = None,
    svg: Svg = None,
    json: Json = False,
) -> None:
    """Why an entity is an answer: where it stands, and the most probable paths that lead there."""
    console.check_image_path("--svg", svg, (".svg",))
    file = _File.of(facts, columns, header, format)
    case = _Case.of(run, file, subject, object, relation, at, 1, paths, without, as_of)
    if answer == case.query.entity:
        raise InputError("nobody is an answer about themselves", field="--answer", found=answer, expected="another")
    with _named_as_options():
        found = case.predictor.explain_entity(case.query, answer, case.facts, paths)
    if svg is not None:
        _draw(svg, case.query, [] if found is None else [found])
    if json:
        told: dict[str, Any] = {
            "entity": answer,
            "rank": None,
            "score": None,
            "share": 0.0,
            "concepts": [],
            "paths": [],
        }
        console.show_json({"query": case.query.to_json(), **(told if found is None else found.to_json())})
    elif found is None:
        console.show(f"{case.query}", f"No path leads to {answer}: it is no answer.")
    else:
        console.show(_explained(case.query, found))


@contextmanager
def _named_as_options() -> Iterator[None]:
    """What is wrong with a question is told by the option that said it."""
    from fitcarl.predict.query import NOTHING_KNOWN

    try:
        yield
    except InputError as error:
        option = _OPTIONS.get(error.field or "")
        if error.file is not None or option is None:
            raise
        of_facts = error.problem.startswith(NOTHING_KNOWN)
        raise error.about(option, f"{error.expected}, in --facts FILE" if of_facts else None) from None


@dataclass(frozen=True)
class _File:
    """What is new, and how it is to be read."""

    path: Path
    columns: str | None
    header: bool | None
    format: str | None

    @classmethod
    def of(cls, path: Path | None, columns: str | None, header: bool | None, format: str | None) -> _File | None:
        if path is None and (columns, header, format) != (None, None, None):
            raise InputError("how a file is read, but no file", expected="--facts FILE as well")
        return None if path is None else cls(path, columns, header, format)

    def facts(self, predictor: Predictor) -> list[Fact]:
        columns, header = options.parse_columns(self.columns), options.parse_header(self.header)
        return predictor.read(self.path, format=self.format, header=header, columns=columns)


@dataclass(frozen=True)
class _Case:
    """What both commands are given."""

    predictor: Predictor
    facts: list[Fact]
    query: Query

    @classmethod
    def of(
        cls,
        run: Path,
        file: _File | None,
        subject: str | None,
        object: str | None,
        relation: str,
        at: str,
        top: int,
        paths: int,
        without: list[str] | None,
        as_of: str | None,
    ) -> _Case:
        if (subject is None) == (object is None):
            found = "neither" if subject is None else "both"
            raise InputError("a question has one end", found=found, expected="either --subject or --object")
        from fitcarl.predict.entities import likely_typos
        from fitcarl.predict.predictor import Predictor
        from fitcarl.predict.query import Query

        predictor = Predictor.load(run)
        facts = [] if file is None else file.facts(predictor)
        names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
        for name, meant in likely_typos(names, predictor.run.vocabulary, subject or object or ""):
            console.log.info(f"note: {name!r} is new to this run; did you mean {meant!r}?")
        left_out = tuple(_fact(text, predictor, facts) for text in without or ())
        return cls(predictor, facts, Query(subject, object, relation, at, top, paths, left_out, as_of))


def _fact(text: str, predictor: Predictor, facts: list[Fact]) -> Fact:
    """A fact of --without; one that is not known is more likely a slip than a wish."""
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
        raise InputError("not a known fact, so it cannot be left out", field="--without", found=text, expected=expected)
    return fact


def _draw(file: Path, question: Query, answers: list[Answer] | tuple[Answer, ...]) -> None:
    from fitcarl.reporting.path_svg import draw_paths

    if not any(answer.paths for answer in answers):
        console.log.info(f"{file}: not drawn, as there is no path to draw")
        return
    file.write_text(draw_paths(question, answers), encoding="utf-8")
    console.log.info(f"{file}: the paths, drawn")


def _shown(prediction: Prediction) -> Group:
    """A table of the answers, and the best paths of the first ones."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(str(prediction.query), style="bold"), Text()]
    if not len(prediction):
        return Group(*parts, Text("There is no answer: no path leads anywhere."))
    parts.append(_table(prediction))
    for answer in prediction.answers[:_DRAWN]:
        if answer.paths:
            parts += [Text(), _heading(answer), *_lines(answer.paths[0])]
    return Group(*parts)


def _table(prediction: Prediction) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("answer")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("kind")
    most = max(answer.share for answer in prediction)
    for answer in prediction:
        best = answer.rank == 1
        entity = Text(answer.entity, style="bold red" if best else "")
        bar = Text("█" * max(1, round(_BAR * answer.share / most)), style="red" if best else "blue")
        table.add_row(str(answer.rank), entity, f"{answer.share:.1%}", bar, ", ".join(answer.concepts[:1]))
    return table


def _explained(question: Query, answer: Answer) -> Group:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(str(question), style="bold"), Text(), _heading(answer)]
    for path in answer.paths:
        parts += [Text(), *_lines(path), Text(f"   {path.text}", style="italic")]
    return Group(*parts)


def _heading(answer: Answer) -> RenderableType:
    from rich.text import Text

    return Text.assemble(f"{answer.rank}. ", (answer.entity, "bold red"), f"  {answer.share:.1%}")


def _lines(reason: Reason) -> list[RenderableType]:
    """A path from top to bottom; arrows point as the facts do."""
    from rich.text import Text

    last = len(reason.nodes) - 1
    lines: list[RenderableType] = [Text("   (with others)", style="dim")] if reason.is_context else []
    for place, node in enumerate(reason.nodes):
        style = "bold red" if place == last else "bold" if place == 0 and not reason.is_context else ""
        lines.append(Text.assemble("   ", (node, style)))
        if place < last:
            step = reason.steps[place]
            above, below = ("│", "▼") if step.forward else ("▲", "│")
            sure = "" if step.confidence is None else f" · confidence {step.confidence:.1%}"
            lines.append(Text.assemble("    ", (above, "blue"), f"  {step.relation}"))
            lines.append(
                Text.assemble("    ", (below, "blue"), (f"  {step.time} · {step.probability:.1%}{sure}", "dim"))
            )
    return lines
