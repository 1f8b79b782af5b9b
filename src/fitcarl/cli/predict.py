"""``fitcarl predict`` and ``fitcarl explain``: queries to a run, with additional facts from a small file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitcarl.cli import console, options
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from fitcarl.predict.explanation import Explanation
    from fitcarl.predict.fact import Fact
    from fitcarl.predict.prediction import Answer, Prediction, TimePrediction
    from fitcarl.predict.predictor import Predictor
    from fitcarl.predict.query import Query
    from fitcarl.scoring.path import ExplanationPath

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
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a drawing of the paths.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_DRAWN = 3
"""Number of answers whose best path is shown below the table and in the SVG drawing."""
_BAR_WIDTH = 24
_OPTIONS = {
    **{name: f"--{name}" for name in ("subject", "object", "relation", "at", "horizon", "hindsight")},
    "as_of": "--as-of",
    "entity": "--answer",
}
"""Field of a query → option of the command line."""


def predict_links(
    run: Run,
    relation: OpenRelation = None,
    at: OpenAt = None,
    horizon: Horizon = None,
    facts: Facts = None,
    subject: Subject = None,
    object: Object = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Maximum number of answers.")] = 10,
    paths: Annotated[int, typer.Option("--paths", metavar="N", min=0, help="Maximum number of paths per answer.")] = 3,
    without: Without = None,
    as_of: AsOf = None,
    hindsight: Hindsight = False,
    columns: options.Columns = None,
    header: options.Header = None,
    format: options.Format = None,
    svg: Svg = None,
    json: Json = False,
) -> None:
    """Predict links of a new entity from a few facts about it: ranked answers with explaining paths."""
    console.check_image_path("--svg", svg, (".svg",))
    file = _FactFile.from_options(facts, columns, header, format)
    if at is None and horizon is None:
        raise InputError("missing option", field="--at", expected="a time, or --horizon")
    inputs = _Inputs.from_options(
        run, file, subject, object, relation, at, top, paths, without, as_of, hindsight, horizon
    )
    with _errors_name_options():
        [prediction] = inputs.predictor.answer([inputs.query], inputs.facts)
    if svg is not None:
        _draw(svg, inputs.query, prediction.answers[:_DRAWN])
    if json:
        console.show_json(prediction.to_json())
    else:
        console.show(_rendered(prediction))


def explain_answer(
    run: Run,
    relation: Relation,
    at: At,
    answer: Annotated[str, typer.Option("--answer", metavar="E", help="Entity to explain.")],
    facts: Facts = None,
    subject: Subject = None,
    object: Object = None,
    paths: Annotated[int, typer.Option("--paths", metavar="N", min=1, help="Maximum number of paths.")] = 3,
    without: Without = None,
    as_of: AsOf = None,
    hindsight: Hindsight = False,
    columns: options.Columns = None,
    header: options.Header = None,
    format: options.Format = None,
    svg: Svg = None,
    json: Json = False,
) -> None:
    """Explain one entity as an answer: what it rests on, which facts matter, and the paths that lead to it."""
    console.check_image_path("--svg", svg, (".svg",))
    file = _FactFile.from_options(facts, columns, header, format)
    inputs = _Inputs.from_options(run, file, subject, object, relation, at, 1, paths, without, as_of, hindsight)
    if answer == inputs.query.entity:
        problem = "the query entity cannot be its own answer"
        raise InputError(problem, field="--answer", found=answer, expected="another entity")
    with _errors_name_options():
        found = inputs.predictor.explain(inputs.query, answer, inputs.facts, paths)
    if svg is not None:
        _draw(svg, inputs.query, [] if found.rank is None else [found])
    if json:
        console.show_json(found.to_json())
    elif found.rank is None:
        console.show(f"{inputs.query}", found.summary)
    else:
        from fitcarl.cli.explanation import rendered_explanation

        console.show(rendered_explanation(found))


@contextmanager
def _errors_name_options() -> Iterator[None]:
    """Replaces field names in errors by the options of the command line."""
    from fitcarl.predict.query import NO_KNOWN_FACTS

    try:
        yield
    except InputError as error:
        option = _OPTIONS.get(error.field or "")
        if error.file is not None or option is None:
            raise
        needs_facts = error.problem.startswith(NO_KNOWN_FACTS)
        expected = str(error.expected).replace("or hindsight", "or --hindsight")
        if needs_facts:
            expected = expected.replace("about it", "about it in --facts FILE")
        raise error.about(option, expected) from None


@dataclass(frozen=True)
class _FactFile:
    """A file of new facts and the options for reading it."""

    path: Path
    columns: str | None
    header: bool | None
    format: str | None

    @classmethod
    def from_options(
        cls, path: Path | None, columns: str | None, header: bool | None, format: str | None
    ) -> _FactFile | None:
        if path is None and (columns, header, format) != (None, None, None):
            raise InputError("options for a file without a file", expected="--facts FILE as well")
        return None if path is None else cls(path, columns, header, format)

    def read(self, predictor: Predictor) -> list[Fact]:
        columns, header = options.parse_columns(self.columns), options.parse_header(self.header)
        return predictor.read(self.path, format=self.format, header=header, columns=columns)


@dataclass(frozen=True)
class _Inputs:
    """Inputs of both commands."""

    predictor: Predictor
    facts: list[Fact]
    query: Query

    @classmethod
    def from_options(
        cls,
        run: Path,
        file: _FactFile | None,
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
    ) -> _Inputs:
        if (subject is None) == (object is None):
            found = "neither" if subject is None else "both"
            raise InputError("incomplete query", found=found, expected="either --subject or --object")
        from fitcarl.predict.entities import likely_typos
        from fitcarl.predict.predictor import Predictor
        from fitcarl.predict.query import Query

        predictor = Predictor.load(run)
        facts = [] if file is None else file.read(predictor)
        names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
        for name, suggestion in likely_typos(names, predictor.run.vocabulary, subject or object or ""):
            console.log.info(f"note: {name!r} is new to this run; did you mean {suggestion!r}?")
        excluded = tuple(_parse_excluded(text, predictor, facts) for text in without or ())
        at = predictor.next_time(map(predictor.check, facts)) if at is None else at
        with _errors_name_options():
            query = Query(subject, object, relation, at, top, paths, excluded, as_of, hindsight, horizon)
        return cls(predictor, facts, query)


def _parse_excluded(text: str, predictor: Predictor, facts: list[Fact]) -> Fact:
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


def _draw(file: Path, query: Query, answers: Sequence[Answer | Explanation]) -> None:
    from fitcarl.predict.explanation import Explanation
    from fitcarl.reporting.path_svg import draw_paths

    if not any(answer.paths or isinstance(answer, Explanation) for answer in answers):
        console.log.info(f"{file}: not written, because there is no path to draw")
        return
    file.write_text(draw_paths(query, answers), encoding="utf-8")
    console.log.info(f"paths drawn in {file}")


def _rendered(prediction: Prediction) -> Group:
    """A table of the answers and the best paths of the first ones."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(str(prediction.query), style="bold"), _setting(prediction), Text()]
    if prediction.when is not None:
        parts += [_timing(prediction.when), Text()]
    if not len(prediction):
        return Group(*parts, Text("No answer: no path leads to any entity."))
    parts.append(_table(prediction))
    if prediction.query.is_open:
        note = f"Relations with {1 - prediction.left_out:.1%} of the probability were scored."
        parts.append(Text(note, style="dim"))
    for answer in prediction.answers[:_DRAWN]:
        if answer.paths:
            parts += [Text(), _heading(answer, prediction.query.is_open), *path_lines(answer.paths[0])]
    return Group(*parts)


def _setting(prediction: Prediction) -> RenderableType:
    """What the answers are based on, and whether the run was trained for that."""
    from rich.text import Text

    query = prediction.query
    used = "Uses facts of any time (hindsight)" if query.hindsight else f"Forecast: uses only facts before {query.at}"
    of_run = prediction.trained_for
    note = "" if of_run == prediction.setting else f"; the run was trained for {of_run}"
    return Text(f"{used}{note}.", style="dim")


def _table(prediction: Prediction) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    is_open = prediction.query.is_open
    if is_open:
        table.add_column("relation")
    table.add_column("answer")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("concept")
    largest = max(answer.share for answer in prediction)
    for answer in prediction:
        best = answer.rank == 1
        entity = Text(answer.entity, style="bold red" if best else "")
        bar = Text("█" * max(1, round(_BAR_WIDTH * answer.share / largest)), style="red" if best else "blue")
        relation = [_arrow(answer)] * is_open
        table.add_row(str(answer.rank), *relation, entity, f"{answer.share:.1%}", bar, ", ".join(answer.concepts[:1]))
    return table


def _timing(when: TimePrediction) -> Table:
    """Intervals of a horizon with their probabilities."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("next such fact")
    table.add_column("share", justify="right", no_wrap=True)
    for part in when.intervals:
        days = part.start if part.start == part.end else f"{part.start} to {part.end}"
        table.add_row(days, f"{part.share:.1%}")
    table.add_row("none of these", f"{when.none:.1%}")
    return table


def _heading(answer: Answer, is_open: bool = False) -> RenderableType:
    from rich.text import Text

    relation = f"{_arrow(answer)} " if is_open else ""
    return Text.assemble(f"{answer.rank}. {relation}", (answer.entity, "bold red"), f"  {answer.share:.1%}")


def _arrow(answer: Answer) -> str:
    """The relation of an answer as an arrow from subject to object; the query entity is on the left."""
    return f"—{answer.relation}→" if answer.direction == "out" else f"←{answer.relation}—"


def path_lines(path: ExplanationPath) -> list[RenderableType]:
    """A path from top to bottom; arrows point from the subject to the object of each fact."""
    from rich.text import Text

    from fitcarl.scoring.path import AFTER_QUESTION

    last = len(path.nodes) - 1
    heads = {"context": "   (context: other entities)", "peers": "   (peers: an entity with a fact like its own)"}
    lines: list[RenderableType] = [Text(heads[path.kind], style="dim")] if path.kind in heads else []
    for index, node in enumerate(path.nodes):
        style = "bold red" if index == last else "bold" if index == 0 and not path.is_context else ""
        lines.append(Text.assemble("   ", (node, style)))
        if index < last:
            step = path.steps[index]
            above, below = ("│", "▼") if step.forward else ("▲", "│")
            later = f" {AFTER_QUESTION}" if step.after_question else ""
            confidence = "" if step.confidence is None else f" · confidence {step.confidence:.1%}"
            lines.append(Text.assemble("    ", (above, "blue"), f"  {step.relation}"))
            chance = "" if step.probability is None else f" · {step.probability:.1%}"
            lines.append(Text.assemble("    ", (below, "blue"), (f"  {step.time}{later}{chance}{confidence}", "dim")))
    return lines
