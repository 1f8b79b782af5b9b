"""Tables that are written piece by piece."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fitcarl.core.tables import table_writer
from fitcarl.errors import InputError

ONE = pl.DataFrame({"a": [1, 2], "b": ["x", 'y, "z"\t']})
TWO = pl.DataFrame({"a": [3], "b": [None]}, schema=ONE.schema)


def read(file: Path) -> pl.DataFrame:
    if file.suffix == ".parquet":
        return pl.read_parquet(file)
    if file.suffix == ".jsonl":
        return pl.read_ndjson(file)
    return pl.read_csv(file, separator="," if file.suffix == ".csv" else "\t")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_pieces_are_one_table(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.{suffix}"
    with table_writer(file) as writer:
        writer.write(ONE)
        writer.write(TWO)
        assert not file.exists()
    assert read(file).equals(pl.concat([ONE, TWO]))
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_interrupted_table_leaves_the_old_file(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.{suffix}"
    file.write_text("old", encoding="utf-8")

    def interrupted() -> None:
        with table_writer(file) as writer:
            writer.write(ONE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["a.xlsx", "missing/a.csv"])
def test_table_that_cannot_be_written_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError), table_writer(tmp_path / name):
        pass
