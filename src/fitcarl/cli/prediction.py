"""A prediction as text for the terminal: a table of answers and the best paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fitcarl.cli import console
from fitcarl.core.files import write_atomically

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from fitcarl.predict.explanation import Explanation
    from fitcarl.predict.prediction import Answer, Prediction, TimePrediction
    from fitcarl.predict.query import Query
    from fitcarl.scoring.path import ExplanationPath

DRAWN = 3
"""Number of answers whose best path is shown below the table and in the SVG drawing."""
_BAR_WIDTH = 24


def draw(file: Path, query: Query, answers: Sequence[Answer | Explanation]) -> None:
    from fitcarl.predict.explanation import Explanation
    from fitcarl.reporting.path_svg import draw_paths

    if not any(answer.paths or isinstance(answer, Explanation) for answer in answers):
        console.log.info(f"{file}: not written, because there is no path to draw")
        return
    write_atomically(file, draw_paths(query, answers).encode())
    console.log.info(f"paths drawn in {file}")


def rendered_prediction(prediction: Prediction) -> Group:
    """A table of the answers and the best paths of the first ones."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(str(prediction.query), style="bold"), _setting(prediction), Text()]
    if prediction.when is not None:
        parts += [_timing(prediction.when), Text()]
    if not len(prediction):
        if prediction.best_share is None:
            return Group(*parts, Text("No answer: no path leads to any entity."))
        least, best = f"{prediction.query.min_share:.1%}", f"{prediction.best_share:.1%}"
        return Group(*parts, Text(f"None of these is likely: the best answer has {best}, less than {least}."))
    parts.append(_table(prediction))
    parts.append(Text(f"All other answers together: {prediction.unlisted:.1%}.", style="dim"))
    if prediction.query.is_open:
        note = f"Relations with {1 - prediction.left_out:.1%} of the probability were scored."
        parts.append(Text(note, style="dim"))
    for answer in prediction.answers[:DRAWN]:
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
    has_concepts = any(answer.concepts for answer in prediction)
    if has_concepts:
        table.add_column("concept")
    largest = max(answer.share for answer in prediction)
    for answer in prediction:
        best = answer.rank == 1
        entity = Text(answer.entity, style="bold red" if best else "")
        bar = Text("█" * max(1, round(_BAR_WIDTH * answer.share / largest)), style="red" if best else "blue")
        relation = [_arrow(answer)] * is_open
        concept = [", ".join(answer.concepts[:1])] * has_concepts
        table.add_row(str(answer.rank), *relation, entity, f"{answer.share:.1%}", bar, *concept)
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
