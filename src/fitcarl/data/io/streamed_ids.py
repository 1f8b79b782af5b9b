"""Ids of names and times that arrive in chunks; the result is that of ``read_facts`` on all rows at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.io.columns import FactColumns
from fitcarl.data.io.reader import check_fact_names, distinct_names, places_in, sorted_integers
from fitcarl.data.io.timestamps import Timestamps, read_timestamps
from fitcarl.data.quadruples import Ids
from fitcarl.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class StreamedNames:
    """Names of some columns in order of first appearance; all distinct names are in memory."""

    columns: tuple[int, ...]
    index: dict[str, int] = field(default_factory=dict)
    """Name → provisional id."""

    def add(self, chunk: FactColumns) -> list[Ids]:
        """The columns of a chunk as provisional ids.

        Args:
            chunk: The next rows.

        Raises:
            InputError: If a new name is not valid.
        """
        import polars as pl

        values = [chunk.values[column] for column in self.columns]
        names = distinct_names(values)
        texts = names.to_list()
        new = [text for text in texts if text not in self.index]
        check_fact_names(chunk, self.columns, pl.Series(new, dtype=pl.String))
        for text in new:
            self.index[text] = len(self.index)
        ids = np.fromiter((self.index[text] for text in texts), dtype=np.int32, count=len(texts))
        return [places_in(names, column, ids) for column in values]

    def finish(self) -> tuple[tuple[str, ...], Ids]:
        """The names by their final ids, and int32 [names]: the final id of each provisional one.

        Raises:
            InputError: If an id is written in two ways.
        """
        import polars as pl

        names = pl.Series(list(self.index), dtype=pl.String)
        twice = next((text for text in self.index if _is_decimal(text) and text[:-2] in self.index), None)
        if twice is not None:
            problem, expected = "an id that is also written without .0", "each id written in one way"
            raise InputError(problem, found=twice, expected=expected)
        integers = sorted_integers(names)
        if integers is None:
            return tuple(self.index), np.arange(len(self.index), dtype=np.int32)
        return tuple(integers.to_list()), places_in(integers, names.str.strip_chars(" "))


def _is_decimal(text: str) -> bool:
    return text.endswith(".0") and text[:-2].isascii() and text[:-2].isdigit()


@dataclass(frozen=True)
class StreamedTimes:
    """Times in order of first appearance; all distinct times are in memory."""

    column: int
    index: dict[str, int] = field(default_factory=dict)
    """Time as text → its index."""
    first_line: array[int] = field(default_factory=lambda: array("q"))
    """Line of the file where each first appears."""

    def add(self, chunk: FactColumns) -> Ids:
        """The times of a chunk as indices.

        Args:
            chunk: The next rows.
        """
        values = chunk.values[self.column]
        texts: pl.Series = values.unique(maintain_order=True)
        listed = texts.to_list()
        new = [text for text in listed if text not in self.index]
        if new:
            first = values.is_first_distinct().arg_true().to_list()
            row_of = dict(zip(listed, first, strict=True))
            for text in new:
                self.index[text] = len(self.index)
                self.first_line.append(chunk.line_of(row_of[text]))
        ids = np.fromiter((self.index[text] for text in listed), dtype=np.int32, count=len(listed))
        return places_in(texts, values, ids)

    def finish(self, granularity: str, chunk: FactColumns) -> tuple[Calendar, Ids, Timestamps]:
        """The calendar, int32 [times]: the tick of each index, and the parsed times.

        Args:
            granularity: As in ``read_facts``.
            chunk: Any chunk, for its column names.

        Raises:
            InputError: If a time is not valid.
        """
        texts = list(self.index)
        name = "" if chunk.mapping.names is None else chunk.mapping.column("time")
        try:
            times = read_timestamps(texts, granularity, name)
        except InputError as error:
            raise self._located(error, texts, chunk) from None
        calendar = Calendar.of_granules(times.granularity, times.granules, times.step)
        return calendar, ((times.granules - calendar.origin) // times.step).astype(np.int32), times

    def _located(self, error: InputError, texts: Sequence[str], chunk: FactColumns) -> InputError:
        """The same error with the row where the time first appears."""
        found = str(error.found)
        place = next((i for i, text in enumerate(texts) if text.strip(" ") == found), None)
        problem = error.problem if found.strip() else "an empty time"
        row = None if place is None else self.first_line[place]
        field_name = chunk.fields[self.column]
        return InputError(
            problem, file=chunk.file, row=row, field=field_name, found=error.found, expected=error.expected
        )
