"""``fitcarl explain``: why an entity is an answer to a query."""

from __future__ import annotations

from typing import Annotated

import typer

from fitcarl.cli import console, options, queries
from fitcarl.cli.prediction import draw
from fitcarl.errors import InputError


@options.with_fact_file_options
def explain_answer(
    run: queries.Run,
    relation: queries.Relation,
    at: queries.At,
    answer: Annotated[str, typer.Option("--answer", metavar="E", help="Entity to explain.")],
    facts: queries.Facts = None,
    subject: queries.Subject = None,
    object: queries.Object = None,
    paths: Annotated[int, typer.Option("--paths", metavar="N", min=1, help="Maximum number of paths.")] = 3,
    without: queries.Without = None,
    as_of: queries.AsOf = None,
    hindsight: queries.Hindsight = False,
    how: options.ReadHow = options.AS_DETECTED,
    svg: queries.Svg = None,
    json: queries.Json = False,
) -> None:
    """Explain one entity as an answer: what it rests on, which facts matter, and the paths that lead to it."""
    console.check_image_path("--svg", svg, (".svg",))
    file = queries.FactFile.from_options(facts, how)
    inputs = queries.Inputs.from_options(run, file, subject, object, relation, at, 1, paths, without, as_of, hindsight)
    if answer == inputs.query.entity:
        problem = "the query entity cannot be its own answer"
        raise InputError(problem, field="--answer", found=answer, expected="another entity")
    with queries.errors_name_options():
        found = inputs.predictor.explain(inputs.query, answer, inputs.facts, paths)
    queries.show_columns(inputs.file, inputs.read)
    if svg is not None:
        draw(svg, inputs.query, [] if found.rank is None else [found])
    if json:
        console.show_json(found.to_json() | inputs.mapping)
    elif found.rank is None:
        console.show(f"{inputs.query}", found.summary)
    else:
        from fitcarl.cli.explanation import rendered_explanation

        console.show(rendered_explanation(found))
