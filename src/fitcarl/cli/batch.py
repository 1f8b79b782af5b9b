"""``fitcarl predict --questions``: a file of queries to a file of answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.cli import console, queries
from fitcarl.errors import InputError

if TYPE_CHECKING:
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
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Answer only the I-th of N parts of --questions; written beside --out, as a part.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing --out.")]


@dataclass(frozen=True)
class BatchOptions:
    """Options of a file of queries."""

    questions: Path
    out: Path
    errors: OnError
    shard: tuple[int, int]
    """(I, N): the I-th of N parts, from 1."""
    overwrite: bool

    @classmethod
    def from_options(
        cls,
        questions: Path | None,
        out: Path | None,
        errors: str,
        shard: str | None,
        overwrite: bool,
        single: Mapping[str, object],
    ) -> BatchOptions | None:
        """The options, checked; None without ``--questions``.

        Args:
            questions: The file of queries.
            out: The file of answers.
            errors: What happens to rows that cannot be answered.
            shard: The part of the queries.
            overwrite: Whether an existing file is replaced.
            single: Options of a single query, and their values.
        """
        if questions is None:
            changed = {"--out": out, "--shard": shard, "--overwrite": overwrite, "--errors": errors != "raise"}
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
        from fitcarl.core.tables import check_table_path

        check_table_path(out, "--out")
        return cls(questions, out, errors, parse_shard(shard), overwrite)  # type: ignore[arg-type]

    @property
    def file(self) -> Path:
        """The file that is written: ``--out``, or a part of it."""
        return part_path(self.out, *self.shard)


def parse_shard(text: str | None) -> tuple[int, int]:
    """The value of ``--shard``; (1, 1) for all queries."""
    if text is None:
        return 1, 1
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError("not a part", field="--shard", found=text, expected="I/N with I from 1 to N, such as 3/8")
    return int(match[1]), int(match[2])


def part_path(out: Path, number: int, parts: int) -> Path:
    """The file of a part: ``answers.parquet`` becomes ``answers-03-of-16.parquet``; the file itself if it is all."""
    if parts == 1:
        return out
    return out.with_name(f"{out.stem}-{number:0{len(str(parts))}}-of-{parts}{out.suffix}")


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
    if batch.file.exists() and not batch.overwrite:
        if batch.shard[1] > 1:
            console.log.info(f"{batch.file} exists and is complete; --overwrite computes it again")
            return
        raise InputError("exists already", file=batch.file, expected="another --out, or --overwrite")
    from fitcarl.core.tables import table_writer
    from fitcarl.predict.answering import answer_frames, check_rows
    from fitcarl.predict.predictor import Predictor
    from fitcarl.predict.questions import read_queries

    predictor = Predictor.load(run)
    read = None if facts is None else facts.read(predictor)
    given = [] if read is None else read.facts
    checked = list(dict.fromkeys(predictor.check(fact) for fact in given))
    excluded = tuple(queries.parse_excluded(text, predictor, given) for text in without or ())
    options = {**query_options, "without": excluded}
    if options.get("at") is None and options.get("horizon") is not None:
        options["at"] = predictor.next_time(checked)
    planner = predictor.planner(checked)
    number, parts = batch.shard
    with queries.errors_name_options():
        rows = read_queries(batch.questions, options)
    low, high = (len(rows) * end // parts for end in (number - 1, number))
    chosen = check_rows(planner, rows[low:high], batch.errors, batch.questions)
    with console.progress() as bar, table_writer(batch.file) as writer:
        for frame in answer_frames(planner, chosen, rows, batch.errors == "return", bar):
            writer.write(frame)
    queries.show_columns(facts, read)
    failed = [row.error for row in chosen if row.error is not None]
    if failed:
        console.log.info(f"{len(failed):,} of {len(chosen):,} queries cannot be answered; the first: {failed[0]}")
    console.log.info(f"answers to {len(chosen) - len(failed):,} queries written to {batch.file}")
