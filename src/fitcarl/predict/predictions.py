"""Predictions for a table of queries, and the table of their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fitcarl.errors import InputError
from fitcarl.predict.answer_table import answer_frame, rows_of_prediction
from fitcarl.predict.prediction import Prediction
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


@dataclass(frozen=True, repr=False)
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
        records = [record for pair in zip(self.rows, self.by_row, strict=True) for record in self._records(*pair)]
        return answer_frame(records, has_numbers(self.rows), self.with_errors)

    def __repr__(self) -> str:
        errors = f", {len(self.errors):,} errors" if self.errors else ""
        return f"Predictions({len(self):,} of {len(self.rows):,} queries answered{errors})"

    def _records(self, row: QueryRow, prediction: Prediction | None) -> Iterator[tuple[Any, ...]]:
        if prediction is not None:
            for record in rows_of_prediction(row.id, prediction):
                yield (*record, *[None] * self.with_errors)
        elif self.with_errors:
            relation, *ends = (row.text(name) for name in ("relation", "subject", "object", "at"))
            yield (row.id, *[None] * 5, relation, None, *ends, None, None, str(row.error))


def has_numbers(rows: Sequence[QueryRow]) -> bool:
    """Whether the ids of all rows of a table are integers."""
    return all(isinstance(row.id, int) for row in rows)
