"""Ids of names by their hashes, against dictionaries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitcarl.data.io import name_ids, reader
from fitcarl.data.io.name_ids import ids_by_hash

_names = st.sampled_from(["", "a", "A", "ä", " a", "a longer name than a view holds", *map(str, range(30))])
_rows = st.lists(st.tuples(_names, _names), max_size=80)


def by_dictionary(rows: list[tuple[str, ...]]) -> tuple[list[str], list[list[int]]]:
    index: dict[str, int] = {}
    ids = [[index.setdefault(name, len(index)) for name in row] for row in rows]
    return list(index), [list(column) for column in zip(*ids, strict=True)]


@settings(deadline=None)
@given(rows=_rows, size=st.sampled_from([4, 16, 4096]), columns=st.integers(1, 2))
def test_names_are_numbered_row_by_row(rows: list[tuple[str, str]], size: int, columns: int) -> None:
    chosen = [row[:columns] for row in rows]
    values = [pl.Series([row[i] for row in chosen], dtype=pl.String) for i in range(columns)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(name_ids, "_FIRST_SIZE", size)
        found = ids_by_hash(values)
    assert found is not None
    names, ids = by_dictionary(chosen)
    assert found[0].to_list() == names
    assert [part.tolist() for part in found[1]] == (ids or [[]] * columns)
    assert all(part.dtype == np.int32 for part in found[1])


def test_names_with_equal_hashes_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MANY_ROWS", 0)
    monkeypatch.setattr(pl.Series, "hash", lambda self: self.str.len_bytes().cast(pl.UInt64))
    values = [pl.Series(["a", "bb", "c"]), pl.Series(["bb", "a", "dd"])]
    assert ids_by_hash(values) is None
    names, ids = reader._distinct(values)
    assert names.to_list() == ["a", "bb", "c", "dd"]
    assert [part.tolist() for part in ids] == [[0, 1, 2], [1, 0, 3]]
    assert ids_by_hash([pl.Series(["a", "a"]), pl.Series(["bb", "dd"])]) is None  # in the second column alone


@pytest.mark.parametrize("names", [["b", "a", "c"], [" 7", "7", "12"]])
def test_large_files_are_read_like_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(names, 40) for name in ("subject", "relation", "object")}
    pl.DataFrame({**columns, "time": [f"2020-01-{day:02}" for day in rng.integers(1, 29, 40)]}).write_parquet(
        tmp_path / "facts.parquet"
    )
    expected = reader.read_facts(tmp_path / "facts.parquet")
    monkeypatch.setattr(reader, "_MANY_ROWS", 0)
    found = reader.read_facts(tmp_path / "facts.parquet")
    assert found.quadruples == expected.quadruples
    assert found.vocabulary == expected.vocabulary
    assert found.calendar.labels == expected.calendar.labels
