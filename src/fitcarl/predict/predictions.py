"""Predictions for a table of queries, and the table of their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fitcarl.errors import InputError
from fitcarl.predict.prediction import Answer, Prediction
from fitcarl.predict.questions import QueryRow

if TYPE_CHECKING:
    import polars as pl

OnError = Literal["raise", "skip", "return"]
"""What happens to a query that cannot be answered: an error, no row, or a row with the error."""


class RowError(NamedTuple):
    """A row of a table that cannot be used."""

    question: str | int
    """Id of the row."""
    row: int
    """Line of the file, or number of the row, from 1."""
    error: InputError


@dataclass(frozen=True)
class Predictions:
    """Predictions for a table of queries: a sequence of those that could be made, in the order of the table."""

    rows: tuple[QueryRow, ...]
    """All rows of the table."""
    by_row: tuple[Prediction | None, ...]
    """The prediction for each row; None if it has an error."""
    with_errors: bool = False
    """Whether ``to_frame`` has a column ``error``, and a row for each query that cannot be answered."""

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """The predictions, without rows that have an error."""
        return tuple(prediction for prediction in self.by_row if prediction is not None)

    @property
    def errors(self) -> tuple[RowError, ...]:
        """The rows that cannot be answered."""
        return tuple(RowError(row.id, row.line, row.error) for row in self.rows if row.error is not None)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self.predictions)

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, index: int) -> Prediction:
        return self.predictions[index]

    def to_frame(self) -> pl.DataFrame:
        """One row per answer: question, rank, entity, share, score, explanation, relation, direction, and the query.

        A query without answers has one row with an empty rank.
        """
        import polars as pl

        records = [record for pair in zip(self.rows, self.by_row, strict=True) for record in self._records(*pair)]
        schema = frame_schema(self.rows, self.with_errors)
        columns = list(zip(*records, strict=True)) if records else [()] * len(schema)
        return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)

    def _records(self, row: QueryRow, prediction: Prediction | None) -> Iterator[tuple[Any, ...]]:
        if prediction is None:
            if self.with_errors:
                relation, *ends = (row.text(name) for name in ("relation", "subject", "object", "at"))
                yield (row.id, *[None] * 5, relation, None, *ends, None, None, str(row.error))
            return
        query = prediction.query
        when = None if prediction.when is None else 1 - prediction.when.none
        about = (query.subject, query.object, query.at, prediction.unlisted, when, *[None] * self.with_errors)
        for answer in prediction:
            place = answer.rank, answer.entity, answer.share, answer.score, explanation_of(answer)
            yield (row.id, *place, answer.relation, answer.direction, *about)
        if not len(prediction):
            yield (row.id, *[None] * 5, query.relation, None if query.is_open else query.direction, *about)


def explanation_of(answer: Answer) -> str | None:
    """The best path of an answer in one line; None without paths."""
    return answer.paths[0].text if answer.paths else None


def frame_schema(rows: Sequence[QueryRow], with_errors: bool) -> dict[str, Any]:
    """Columns of the table of answers with their types.

    Args:
        rows: All rows of the table of queries; their ids decide the type of the column ``question``.
        with_errors: Whether there is a column ``error``.
    """
    import polars as pl

    numbered = all(isinstance(row.id, int) for row in rows)
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
