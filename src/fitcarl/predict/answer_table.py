"""The table of answers: its columns, and the rows of one prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from fitcarl.predict.prediction import Answer, Prediction


def rows_of_prediction(question: str | int, prediction: Prediction) -> Iterator[tuple[Any, ...]]:
    """One row per answer; a prediction without answers has one row with an empty rank.

    Args:
        question: Id of the query.
        prediction: The prediction.
    """
    query = prediction.query
    when = None if prediction.when is None else 1 - prediction.when.none
    about = (query.subject, query.object, query.at, prediction.unlisted, when)
    for answer in prediction:
        place = answer.rank, answer.entity, answer.share, answer.score, explanation_of(answer)
        yield (question, *place, answer.relation, answer.direction, *about)
    if not len(prediction):
        yield (question, *[None] * 5, query.relation, None if query.is_open else query.direction, *about)


def answer_frame(rows: Sequence[tuple[Any, ...]], numbered: bool, with_errors: bool = False) -> pl.DataFrame:
    """Rows of answers as a polars DataFrame.

    Args:
        rows: The rows.
        numbered: Whether the ids of all queries are integers.
        with_errors: Whether there is a column ``error``.
    """
    import polars as pl

    schema = frame_schema(numbered, with_errors)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)


def frame_schema(numbered: bool, with_errors: bool = False) -> dict[str, Any]:
    """Columns of the table of answers with their types.

    Args:
        numbered: Whether the ids of all queries are integers.
        with_errors: Whether there is a column ``error``.
    """
    import polars as pl

    texts = dict.fromkeys(("explanation", "relation", "direction", "subject", "object", "at"), pl.String)
    return {
        "question": pl.Int64 if numbered else pl.String,
        "rank": pl.Int64,
        "entity": pl.String,
        "share": pl.Float64,
        "score": pl.Float64,
        **texts,
        **dict.fromkeys(("unlisted", "within_horizon"), pl.Float64),
        **({"error": pl.String} if with_errors else {}),
    }


def explanation_of(answer: Answer) -> str | None:
    """The best path of an answer in one line; None without paths."""
    return answer.paths[0].text if answer.paths else None
