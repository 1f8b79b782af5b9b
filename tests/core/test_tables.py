"""Tables that are written piece by piece."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fitcarl.core.tables import join_tables, read_record, table_writer
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


@pytest.mark.parametrize("pieces", [[ONE], [ONE, TWO]])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_record_is_read_again(tmp_path: Path, suffix: str, pieces: list[pl.DataFrame]) -> None:
    file = tmp_path / f"a.{suffix}"
    with table_writer(file, {"run": "x", "rows": 2}) as writer:
        for piece in pieces:
            writer.write(piece)
    assert read_record(file) == {"run": "x", "rows": 2}
    assert read(file).equals(pl.concat(pieces))


def test_killed_process_leaves_no_old_table_with_a_new_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.csv"
    with table_writer(file, {"number": 1}) as writer:
        writer.write(ONE)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)

    def write_again() -> None:
        with table_writer(file, {"number": 2}) as writer:
            writer.write(TWO)

    with pytest.raises(KeyboardInterrupt):
        write_again()
    assert not file.exists()
    monkeypatch.undo()
    assert read_record(file) == {"number": 1}


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_joined_tables_are_one_table(tmp_path: Path, suffix: str) -> None:
    files = [tmp_path / f"{number}.{suffix}" for number in range(3)]
    for file, frame in zip(files, (ONE, ONE.clear(), TWO), strict=True):
        with table_writer(file) as writer:
            writer.write(frame)
    join_tables(files, tmp_path / f"all.{suffix}")
    assert read(tmp_path / f"all.{suffix}").equals(pl.concat([ONE, TWO]))
    assert len(list(tmp_path.iterdir())) == 4
