"""``fitcarl predict``: queries to a run, with additional facts from a small file."""

from __future__ import annotations

from typing import Annotated

import typer

from fitcarl.cli import batch, console, options, queries
from fitcarl.cli.prediction import DRAWN, draw, rendered_prediction
from fitcarl.errors import InputError


@options.with_fact_file_options
def predict_links(
    run: queries.Run,
    relation: queries.OpenRelation = None,
    at: queries.OpenAt = None,
    horizon: queries.Horizon = None,
    facts: queries.Facts = None,
    subject: queries.Subject = None,
    object: queries.Object = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Maximum number of answers.")] = 10,
    paths: Annotated[int, typer.Option("--paths", metavar="N", min=0, help="Maximum number of paths per answer.")] = 3,
    without: queries.Without = None,
    as_of: queries.AsOf = None,
    hindsight: queries.Hindsight = False,
    how: options.ReadHow = options.AS_DETECTED,
    min_share: queries.MinShare = 0.0,
    questions: batch.Questions = None,
    out: batch.Out = None,
    errors: batch.Errors = "raise",
    shard: batch.ShardOption = None,
    overwrite: batch.Overwrite = False,
    engine: batch.Engine = "local",
    shards: batch.Shards = None,
    svg: queries.Svg = None,
    json: queries.Json = False,
) -> None:
    """Predict links of a new entity from a few facts about it: ranked answers with explaining paths.

    With --questions, answer a file of queries.
    """
    console.check_image_path("--svg", svg, (".svg",))
    file = queries.FactFile.from_options(facts, how)
    single = {"--subject": subject, "--object": object, "--relation": relation, "--svg": svg, "--json": json}
    many = batch.BatchOptions.from_options(questions, out, errors, shard, overwrite, engine, shards, single)
    if many is not None:
        fields = {"top": top, "paths": min(paths, 1), "hindsight": hindsight, "min_share": min_share}
        times = {"at": at, "as_of": as_of, "horizon": horizon}
        batch.predict_file(run, many, file, {**fields, **times}, without)
        return
    if at is None and horizon is None:
        raise InputError("missing option", field="--at", expected="a time, or --horizon")
    inputs = queries.Inputs.from_options(
        run, file, subject, object, relation, at, top, paths, without, as_of, hindsight, horizon, min_share
    )
    with queries.errors_name_options():
        [prediction] = inputs.predictor.answer([inputs.query], inputs.facts)
    queries.show_columns(inputs.file, inputs.read)
    if svg is not None:
        draw(svg, inputs.query, prediction.answers[:DRAWN])
    if json:
        console.show_json(prediction.to_json() | inputs.mapping)
    else:
        console.show(rendered_prediction(prediction))
