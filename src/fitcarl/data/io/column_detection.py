"""Finds the columns of subject, relation, object and time by their names and contents.

A header whose names do not settle the mapping is rejected with a proposal: a column is never chosen by its position
alone where a file has names, and without names only if the contents agree with the order subject, relation, object,
time.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import cast

from fitcarl.data.io.columns import NO_VALUE, OPEN_END, ColumnMapping, ColumnNames
from fitcarl.data.io.requested_columns import GIVE_COLUMNS, find_requested, position_of, requested_columns
from fitcarl.data.io.roles import COLUMNS, ROLES, Role, clock_columns, named_columns, role_of, words_of
from fitcarl.data.io.timestamps import is_time, looks_like_time
from fitcarl.data.moments import form_of
from fitcarl.errors import InputError

_CLEARLY_NAMED = 3
_MANY, _FEW_ROWS, _FEWEST_VALUES = 12, 20, 5
"""Distinct values of integers that may count time; rows, and values of a column, that are enough to judge by."""
_COMPARED = 40
"""Columns that are compared with each other for a proposal."""
_CLOCK = re.compile(r"\s*[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(\s*[AaPp][Mm])?\s*")
_SHORT_DATE = re.compile(r"\s*[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2}(\s.*)?")
_OTHER_DATES = {
    *("birth", "birthday", "birthdate", "dob", "born"),
    *("update", "updated", "modified", "due", "expiry", "expires"),
}
"""Words in names of dates that are not those of an event."""
_OVERLAP = 0.3
"""Share of the values of one column that occur in another from which on both contain the same entities."""


def has_header(first: Sequence[str], second: Sequence[str] | None, columns: ColumnNames | None) -> bool:
    """Whether the first row of a file is a header rather than a fact.

    It is a header if columns are requested by name, if it numbers the columns, if three of the four columns have known
    names and none of its values is a time, or if it has a word where the second row has a time or a number. A first row
    with an invalid date is a fact, and an error.
    """
    if columns is not None and any(
        isinstance(column, str) and not position_of(column) for column in requested_columns(columns)
    ):
        return True
    cells = [cell.strip() for cell in first]
    known = len(set(COLUMNS) & set(named_columns(cells)))
    if cells in ([str(i) for i in range(len(cells))], [str(i + 1) for i in range(len(cells))]) and len(cells) > 2:
        return True
    if known == len(COLUMNS) or (known >= _CLEARLY_NAMED and not any(map(is_time, cells))):
        return True
    if second is None:
        return False
    return any(
        cell[:1].isalpha() and cell.lower() not in NO_VALUE and not is_time(cell) and is_time(below.strip())
        for cell, below in zip(cells, second, strict=False)
    ) and not any(map(is_time, cells))


def missing_columns(names: Sequence[str]) -> list[Role]:
    """Those of subject, relation, object and time that none of these names stands for."""
    found = named_columns(names)
    return [column for column in COLUMNS if column not in found]


def map_columns(
    file: Path,
    names: Sequence[str] | None,
    sample: Sequence[Sequence[str]],
    columns: ColumnNames | None = None,
    relation: str | None = None,
    judge: bool = True,
) -> ColumnMapping:
    """The mapping of a file: as requested, or by the names and the contents of its columns.

    Args:
        file: The file, for error messages.
        names: Names of all columns; None without a header.
        sample: Values of some rows, by column.
        columns: The requested columns.
        relation: The relation of all facts, if no column has it.
        judge: Whether numbers of distinct values speak against a mapping. They do not in a few facts about one entity,
            whose relations are looked up in a vocabulary anyway.

    Raises:
        InputError: If columns are requested that do not exist, or if the mapping does not follow; with a proposal.
    """
    table = _Sample(file, None if names is None else tuple(names), sample, relation, judge)
    if columns is not None:
        return table.mapping(find_requested(file, columns, names, table.width, relation))
    return table.by_name() if names is not None else table.by_position()


class _Sample:
    """Some rows of a file and what they say about its columns."""

    def __init__(
        self,
        file: Path,
        names: tuple[str, ...] | None,
        columns: Sequence[Sequence[str]],
        relation: str | None,
        judge: bool,
    ) -> None:
        self.file, self.names, self.relation, self.judge = file, names, relation, judge
        self.values = [[value for value in column if value.strip().lower() not in OPEN_END] for column in columns]
        self.width, self.rows = len(columns), max(map(len, columns), default=0)
        self.times = [
            position
            for position, values in enumerate(self.values)
            if values and looks_like_time(values, names[position] if names else "")
        ]

    @property
    def dated(self) -> list[int]:
        """Columns with times that cannot be numbers of another kind."""
        return [position for position in self.times if not self._is_numeric(position)]

    def _is_numeric(self, position: int) -> bool:
        return all(form_of(value.strip()) in ("integer", "decimal") for value in self.values[position])

    def _named_times(self) -> list[int]:
        """Columns with times: dates, and numbers called like a time."""
        found = set(self.dated)
        for position in self.times:
            role = role_of(self._name(position))
            words = words_of(self._name(position))
            if (role is not None and role[0] in ("time", "end")) or words[-1:] in (["from"], ["to"]):
                found.add(position)
        ends = [p for p in range(self.width) if (role_of(self._name(p)) or ("", 0))[0] == "end" and self.values[p]]
        found |= {position for position in ends if looks_like_time(self.values[position][:1], self._name(position))}
        return sorted(found)

    def _name(self, position: int) -> str:
        return self.names[position] if self.names else ""

    @property
    def needed(self) -> list[Role]:
        return [role for role in COLUMNS if role != "relation" or self.relation is None]

    def mapping(self, positions: Mapping[Role, int], guessed: Sequence[Role] = ()) -> ColumnMapping:
        kept = {role: positions[role] for role in ROLES if role in positions}
        if self.relation is not None:
            kept.pop("relation", None)
        return ColumnMapping(kept, self.names, self.width, self.relation, tuple(guessed))

    def by_name(self) -> ColumnMapping:
        texts = [position for position in range(self.width) if not self._is_numeric(position)]
        found = named_columns(cast(tuple[str, ...], self.names), self._named_times(), self._measures(), texts)
        guessed: list[Role] = []
        self._settle_time(found, guessed)
        if self.judge and "relation" in found and self._numbers_rows(found["relation"]):
            del found["relation"]
        self._prefer_ids(found)
        missing = [role for role in self.needed if role not in found]
        if missing:
            raise self._unclear(missing, found)
        return self.mapping(found, guessed)

    def _settle_time(self, found: dict[Role, int], guessed: list[Role]) -> None:
        """Corrects the time that was found by name where the contents of the columns say otherwise."""
        names = cast(tuple[str, ...], self.names)
        parts = self._parts_of_dates()
        if len(parts) == 1 and found.get("time") == parts[0] and parts[0] not in self.times and not self.times:
            expected = "dates, or --columns and --granularity integer for plain integers"
            raise InputError(
                f"numbers without a year in the column {names[parts[0]]}", file=self.file, expected=expected
            )
        if len(parts) > 1 and any(position not in self.times for position in parts):
            shown = " and ".join(names[position] for position in parts)
            expected = "one column with the whole time; combine these first"
            raise InputError(f"the time is spread over the columns {shown}", file=self.file, expected=expected)
        self._add_clock(found)
        named = found.get("time")
        if "end" in found or named in self.times:
            return
        free = [position for position in self.times if position not in found.values()]
        known = [position for position in free if (role_of(names[position]) or ("", 0))[0] == "time"]
        plain = [
            position
            for position in free
            if position in self.dated and not set(words_of(names[position])) & _OTHER_DATES
        ]
        if named is not None:
            if len(known) == 1:
                found["time"] = known[0]
            elif free:
                del found["time"]
        elif len(plain) == 1 and not self._has_short_dates(found):
            found["time"] = plain[0]
            guessed.append("time")

    def _prefer_ids(self, found: dict[Role, int]) -> None:
        """Uses the ids of both ends instead of their names if several entities have the same name."""
        ends: tuple[Role, ...] = ("subject", "object")
        ids: dict[Role, int] = {}
        for role in ends:
            beside = self._id_beside(found[role]) if role in found else None
            if beside is not None:
                ids[role] = beside
        if len(ids) == 2 and any(self._distinct(ids[role]) > self._distinct(found[role]) for role in ends):
            found.update(ids)

    def _id_beside(self, position: int) -> int | None:
        """The column whose name has id where that of this column has name."""
        words = words_of(self._name(position))
        wanted = [*words[:-1], "id"] if words[-1:] == ["name"] else [*words, "id"]
        return next((other for other in range(self.width) if words_of(self._name(other)) == wanted), None)

    def _distinct(self, position: int) -> int:
        return len(set(self.values[position]))

    def _parts_of_dates(self) -> list[int]:
        """Columns with the parts of a date: a year, and numbers of months, days, quarters or weeks."""
        parts = []
        for position in range(self.width):
            word, values = (words_of(self._name(position)) or [""])[-1], self.values[position]
            small = bool(values) and all(re.fullmatch(r"[0-9]{1,2}(\.0)?", value.strip()) for value in values)
            is_year = word in ("year", "season") and position in self.times
            if is_year or (word in ("month", "day", "quarter", "week") and small):
                parts.append(position)
        return parts

    def _add_clock(self, found: dict[Role, int]) -> None:
        """Adds the time of day to a date in another column."""
        clocks = [p for p in range(self.width) if self.values[p] and all(map(_CLOCK.fullmatch, self.values[p]))]
        named = [position for position in clocks if position in clock_columns(cast(tuple[str, ...], self.names))]
        dates = [position for position in self.dated if position not in found.values() or found.get("time") == position]
        if len(named) == 1 and len(dates) == 1:
            found["time"], found["clock"] = dates[0], named[0]
            found.pop("end", None)

    def _has_short_dates(self, found: Mapping[Role, int]) -> bool:
        """Whether a further column has dates with a year of two digits, which are not read."""
        free = [values for position, values in enumerate(self.values) if values and position not in found.values()]
        return any(all(map(_SHORT_DATE.fullmatch, values)) for values in free)

    def _numbers_rows(self, position: int) -> bool:
        """Whether a column has another value in most rows, as an id has."""
        values = self.values[position]
        return len(values) >= _FEW_ROWS and len(set(values)) > len(values) / 2

    def by_position(self) -> ColumnMapping:
        order = self.needed
        if self.width < len(order):
            raise self._unclear(order[self.width - 1 :], {})
        found: dict[Role, int] = {role: position for position, role in enumerate(order)}
        time = found["time"]
        if self.width == len(order) + 1:
            if set(self.dated) == {time, time + 1} or self._are_years(time, time + 1):
                found["end"] = time + 1
            elif time in self.dated and all(map(_CLOCK.fullmatch, self.values[time + 1])):
                found["clock"] = time + 1
        others = [position for position in self.times if position not in (time, found.get("end"))]
        plausible = time in self.times or (not others and all(map(is_time, self.values[time][:1])))
        if others and not plausible:
            raise self._unclear(["time"], {})
        for role in order[:-1]:
            if self._is_measure(found[role]):
                raise self._unclear([role], {})
        if self.judge and self.rows >= _FEW_ROWS:
            if self.relation is None and self._swapped():
                raise self._unclear(["relation", "object"], {})
            if time not in self.times and self._other_is_sorted(time):
                raise self._unclear(["time"], {})
        return self.mapping(found)

    def _are_years(self, first: int, second: int) -> bool:
        """Whether two columns are years of which the second are never earlier, and sometimes later."""
        columns = [self.values[first], self.values[second]]
        if len(columns[0]) != len(columns[1]) or not all(re.fullmatch(r"[12][0-9]{3}", v) for c in columns for v in c):
            return False
        gaps = [int(end) - int(start) for start, end in zip(*columns, strict=True)]
        return bool(gaps) and min(gaps) >= 0 and max(gaps) > 0

    def _other_is_sorted(self, time: int) -> bool:
        """Whether the times are in no order while another column of integers is sorted."""
        return not self._is_sorted(time) and any(self._is_sorted(p) for p in range(self.width) if p != time)

    def _is_sorted(self, position: int) -> bool:
        values = self.values[position]
        if not all(form_of(value.strip()) == "integer" for value in values) or len(set(values)) <= _MANY:
            return False
        numbers = list(map(int, values))
        return numbers == sorted(numbers)

    def _measures(self) -> list[int]:
        return [position for position in range(self.width) if self._is_measure(position)]

    def _is_measure(self, position: int) -> bool:
        """Whether a column contains decimal numbers, such as amounts."""
        values = self.values[position]
        return (
            len(values) >= _FEWEST_VALUES
            and sum(form_of(value.strip()) == "decimal" for value in values) > len(values) / 2
        )

    def _swapped(self) -> bool:
        """Whether the contents contradict the order subject, relation, object: two other columns have entities in
        common, or the second has more values than the third."""
        both_ends, first, last = self._overlap(0, 2), self._overlap(0, 1), self._overlap(1, 2)
        distinct = [len(set(self.values[position])) for position in range(3)]
        if all(self._is_numeric(position) for position in range(3)):
            return distinct[1] > min(distinct[0], distinct[2])  # ids of entities and relations overlap
        if max(first, last) > both_ends + _OVERLAP:
            return True
        return distinct[1] > distinct[2] and (first >= _OVERLAP or both_ends < _OVERLAP)

    def _overlap(self, first: int, second: int) -> float:
        one, two = set(self.values[first]), set(self.values[second])
        return len(one & two) / max(min(len(one), len(two)), 1)

    def _unclear(self, missing: Sequence[Role], found: Mapping[Role, int]) -> InputError:
        shown = ", ".join(self.names) if self.names else " | ".join(column[0] for column in self.values if column)
        roles = " and the ".join(missing)
        problem, hint = f"cannot determine the column of the {roles}", self._proposal(found)
        if not hint and list(missing) == ["relation"]:
            hint = "if all facts have the same relation, name it with --relation NAME"
        return InputError(problem, file=self.file, found=shown, expected=GIVE_COLUMNS, hint=hint)

    def _proposal(self, found: Mapping[Role, int]) -> str:
        """A hint with a complete ``--columns``, if the contents suggest one."""
        guess = dict(found)
        if "time" not in guess and self.times:
            guess["time"] = self.times[0]
        free = [
            position
            for position, values in enumerate(self.values)
            if position not in guess.values() and position not in (*self._named_times(), *self._measures()) and values
        ]
        ends: list[Role] = [role for role in ("subject", "object") if role not in guess]
        if len(ends) == 2 and len(free) >= 2:
            usual = (free[0], free[min(2, len(free) - 1)])
            pair = max(combinations(free[:_COMPARED], 2), key=lambda pair: (self._overlap(*pair), pair == usual))
            guess["subject"], guess["object"] = pair
        elif len(ends) == 1 and free:
            guess[ends[0]] = max(free, key=lambda position: len(set(self.values[position])))
        free = [position for position in free if position not in guess.values()]
        if "relation" not in guess and self.relation is None and free:
            repeated = [position for position in free if not self._numbers_rows(position)]
            guess["relation"] = min(
                repeated or free,
                key=lambda position: (len(set(self.values[position])) < 2, len(set(self.values[position]))),
            )
        missing = [role for role in self.needed if role not in guess]
        if missing == ["relation"]:
            return f"{self._option(guess, ('subject', 'object', 'time'))} --relation NAME reads it with one relation"
        return "" if missing else f"possibly {self._option(guess, self.needed)}"

    def _option(self, guess: Mapping[Role, int], roles: Sequence[Role]) -> str:
        columns = [self._label(guess[role]) for role in roles]
        return f"--columns {shlex.quote(','.join(columns))}"

    def _label(self, position: int) -> str:
        name = self.names[position] if self.names else ""
        unique = bool(self.names) and self.names.count(name) == 1  # type: ignore[union-attr]
        usable = unique and name == name.strip() and name and not set(name) & set(",=") and not position_of(name)
        return name if usable else str(position + 1)
