"""``fitcarl predict --questions``: a file of queries to a file of answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.cli import console, queries
from fitcarl.errors import InputError, require_extra

if TYPE_CHECKING:
    from fitcarl.core.shards import Shard
    from fitcarl.predict.predictions import OnError

Questions = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="Queries, one per row: subject or object, relation, at; optional id, as_of, horizon. CSV, TSV, JSONL or "
        "Parquet. Needs --out.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Answers to --questions: .parquet, .csv, .tsv or .jsonl."),
]
Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        metavar="HOW",
        help="Rows of --questions that cannot be answered: raise (write nothing), skip, or return (column 'error').",
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Answer only the I-th of N parts of --questions; written beside --out, as a part. In a process of "
        "torchrun, RANK + 1 of WORLD_SIZE by default.",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="local (this process), or ray: the cores of this machine, or the Ray cluster at RAY_ADDRESS.",
    ),
]
Shards = Annotated[
    int | None,
    typer.Option("--shards", metavar="N", min=1, help="Parts of --engine ray. [default: two per core]"),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing --out.")]


@dataclass(frozen=True)
class BatchOptions:
    """Options of a file of queries."""

    questions: Path
    out: Path
    errors: OnError
    shard: Shard
    overwrite: bool
    engine: str
    """``local`` or ``ray``."""
    shards: int | None
    """Parts of engine ``ray``."""

    @classmethod
    def from_options(
        cls,
        questions: Path | None,
        out: Path | None,
        errors: str,
        shard: str | None,
        overwrite: bool,
        engine: str,
        shards: int | None,
        single: Mapping[str, object],
    ) -> BatchOptions | None:
        """The options, checked; None without ``--questions``.

        Args:
            questions: The file of queries.
            out: The file of answers.
            errors: What happens to rows that cannot be answered.
            shard: The part of the queries.
            overwrite: Whether an existing file is replaced.
            engine: What answers the queries.
            shards: Number of parts of engine ``ray``.
            single: Options of a single query, and their values.
        """
        if questions is None:
            changed: dict[str, object] = {
                "--out": out,
                "--shard": shard,
                "--overwrite": overwrite,
                "--errors": errors != "raise",
            }
            changed |= {"--engine": engine != "local", "--shards": shards}
            for option, given in changed.items():
                if given:
                    raise InputError("option of a file of queries", field=option, expected="--questions FILE as well")
            return None
        for option, value in single.items():
            if value:
                raise InputError("option of a single query", field=option, expected="no --questions")
        if out is None:
            raise InputError("missing option", field="--out", expected="a file for the answers")
        if errors not in ("raise", "skip", "return"):
            raise InputError("unknown value", field="--errors", found=errors, expected="raise, skip or return")
        if engine not in ("local", "ray"):
            raise InputError("unknown value", field="--engine", found=engine, expected="local or ray")
        if engine == "ray" and shard is not None:
            raise InputError("not available with --engine ray", field="--shard", expected="--shards N, or neither")
        if engine != "ray" and shards is not None:
            raise InputError("an option of --engine ray", field="--shards", expected="--engine ray as well")
        from fitcarl.core.shards import Shard
        from fitcarl.core.tables import check_table_path

        check_table_path(out, "--out")
        if engine == "ray":
            require_extra("ray", "ray", needed_by="--engine ray")
            chosen = Shard()
        else:
            chosen = Shard.from_environment() if shard is None else Shard.parse(shard)
        return cls(questions, out, errors, chosen, overwrite, engine, shards)  # type: ignore[arg-type]


def predict_file(
    run: Path,
    batch: BatchOptions,
    facts: queries.FactFile | None,
    query_options: Mapping[str, Any],
    without: list[str] | None,
) -> None:
    """Answers the queries of a file; the answers appear when all of them are written.

    Args:
        run: The run folder.
        batch: Options of the file.
        facts: The file of new facts.
        query_options: Values of the fields of all queries.
        without: Facts that are treated as unknown.
    """
    from fitcarl.predict.answer_file import AnswerJob, answer_part, answer_record, existing_part
    from fitcarl.predict.predictor import Predictor

    in_parts = batch.engine == "ray" or not batch.shard.is_all
    if batch.shard.is_all and batch.out.exists() and not batch.overwrite:
        raise InputError("exists already", file=batch.out, expected="another --out, or --overwrite")
    record = {}
    if in_parts:
        file, how = (None, {}) if facts is None else (facts.path, facts.how)
        recorded = {**query_options, "without": without or []}
        record = answer_record(run, batch.questions, file, how, recorded, batch.errors)
    job = AnswerJob(run, batch.questions, batch.out, (), query_options, batch.errors, record)
    if not batch.shard.is_all and not batch.overwrite and (part := existing_part(job, batch.shard)) is not None:
        console.log.info(f"{part.file} exists and is complete; --overwrite computes it again")
        return
    predictor = Predictor.load(run)
    read = None if facts is None else facts.read(predictor)
    given = [] if read is None else read.facts
    checked = tuple(dict.fromkeys(predictor.check(fact) for fact in given))
    excluded = tuple(queries.parse_excluded(text, predictor, given) for text in without or ())
    options = {**query_options, "without": excluded}
    if options.get("at") is None and options.get("horizon") is not None:
        options["at"] = predictor.next_time(checked)
    job = replace(job, facts=checked, options=options)
    with queries.errors_name_options(), console.progress() as bar:
        if batch.engine == "ray":
            from fitcarl.predict.ray_engine import answer_with_ray

            part = answer_with_ray(job, batch.shards, on_progress=bar)
        else:
            part = answer_part(job, batch.shard, predictor, on_progress=bar)
    queries.show_columns(facts, read)
    if part.failed:
        console.log.info(
            f"{part.failed:,} of {part.queries:,} queries cannot be answered; the first: {part.first_error}"
        )
    console.log.info(f"answers to {part.queries - part.failed:,} queries written to {part.file}")
