"""``fitcarl score``: how likely given facts were."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console, options, queries
from fitcarl.errors import InputError

_SHOWN = 20
"""Facts that are printed without ``--out``."""


@options.with_fact_file_options
def score_facts(
    run: queries.Run,
    events: Annotated[
        Path,
        typer.Option("--events", metavar="FILE", help="Facts to score: subject, relation, object, time; optional id."),
    ],
    facts: queries.Facts = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the scores: .parquet, .csv, .tsv or .jsonl."),
    ] = None,
    predict: Annotated[
        str, typer.Option("--predict", metavar="END", help="The end that is predicted: object or subject.")
    ] = "object",
    against_validation: Annotated[
        bool,
        typer.Option("--against-validation", help="Compare with true answers of meta-validation; needs the dataset."),
    ] = False,
    hindsight: queries.Hindsight = False,
    errors: Annotated[
        str,
        typer.Option("--errors", metavar="HOW", help="Facts that cannot be scored: raise, skip or return."),
    ] = "raise",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing --out.")] = False,
    how: options.ReadHow = options.AS_DETECTED,
    json: queries.Json = False,
) -> None:
    """Score given facts: share, rank and percentile of each, from earlier facts only."""
    if predict not in ("object", "subject"):
        raise InputError("unknown value", field="--predict", found=predict, expected="object or subject")
    if errors not in ("raise", "skip", "return"):
        raise InputError("unknown value", field="--errors", found=errors, expected="raise, skip or return")
    if out is not None:
        from fitcarl.core.tables import check_table_path

        check_table_path(out, "--out")
        if out.exists() and not overwrite:
            raise InputError("exists already", file=out, expected="another --out, or --overwrite")
    file = queries.FactFile.from_options(facts, how)

    from fitcarl.core.tables import table_writer
    from fitcarl.predict.event_scores import read_events, score_events
    from fitcarl.predict.predictor import Predictor

    predictor = Predictor.load(run)
    read = None if file is None else file.read(predictor)
    given = [] if read is None else read.facts
    planner = predictor.planner(list(dict.fromkeys(predictor.check(fact) for fact in given)))
    rows = read_events(events, predict, {"hindsight": hindsight})  # type: ignore[arg-type]
    setting = "completion" if hindsight else "forecast"
    validation = predictor.validation_shares(setting) if against_validation else None  # type: ignore[arg-type]
    with console.progress() as bar:
        found = score_events(planner, rows, errors, predict, validation, events, bar)  # type: ignore[arg-type]
    queries.show_columns(file, read)
    frame = found.to_frame()
    if found.errors:
        about = f"{len(found.errors):,} of {len(rows):,} facts cannot be scored"
        console.log.info(f"{about}; the first: {found.errors[0].error}")
    if out is not None:
        with table_writer(out) as writer:
            writer.write(frame)
        console.log.info(f"scores of {len(rows) - len(found.errors):,} facts written to {out}")
    elif json:
        console.show_json(frame.to_dicts())
    else:
        _show(frame.to_dicts())


def _show(rows: list[dict[str, object]]) -> None:
    """The most surprising facts first."""
    from rich import box
    from rich.table import Table

    def order(row: dict[str, object]) -> float:
        return 101.0 if row["percentile"] is None else float(str(row["percentile"]))

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    compared = any(row["validation_percentile"] is not None for row in rows)
    for name in ("event", "fact", "time", "share", "rank", "percentile", *["of validation"] * compared):
        table.add_column(name, justify="left" if name in ("fact", "time") else "right")
    for row in sorted(rows, key=order)[:_SHOWN]:
        fact = f"{row['subject']} —{row['relation']}→ {row['object']}"
        if row["percentile"] is None:
            table.add_row(str(row["event"]), fact, str(row["time"]), "cannot be scored", "", "", *[""] * compared)
            continue
        last = [f"{row['validation_percentile']:.1f}"] if compared else []
        rank = "–" if row["rank"] is None else f"{row['rank']:,}"
        place = f"{row['share']:.2%}", rank, f"{row['percentile']:.1f}"
        table.add_row(str(row["event"]), fact, str(row["time"]), *place, *last)
    more = f"\n{len(rows) - _SHOWN:,} more; --out writes all of them" if len(rows) > _SHOWN else ""
    console.show(table, "Small percentiles are surprising to the model, which does not make a fact wrong." + more)
