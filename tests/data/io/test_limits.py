"""Files that would take all time or memory are refused before they are decoded."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard

import fitcarl.data.io.limits as limits
import fitcarl.data.io.source as source_module
from fitcarl.core.memory import available_bytes
from fitcarl.data.io.parquet_footer import read_footer
from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError
from fitcarl.runs.fact_index import index_facts

HEADER = "subject,relation,object,time\n"
FACT = "a,r,b,2024-01-01\n"


def facts_frame(rows: int = 300) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "subject": [f"e{row % 50}" for row in range(rows)],
            "relation": [f"r{row % 5}" for row in range(rows)],
            "object": [f"e{row * 7 % 50}" for row in range(rows)],
            "time": [f"2024-01-{1 + row % 28:02}" for row in range(rows)],
            "note": ["x" * (row % 9) for row in range(rows)],
        }
    )


def parquet_bytes(frame: pl.DataFrame, **options: object) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out, **options)  # type: ignore[arg-type]
    return out.getvalue()


def test_too_many_columns_of_text_are_refused_quickly(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    file.write_text(",".join(map(str, range(200_000))) + "\n" + ",".join(["1"] * 200_000) + "\n")
    began = time.process_time()
    for read in (read_facts, lambda path: index_facts(path, tmp_path / "index")):
        with pytest.raises(InputError, match=r"wide.csv: too many columns; .* expected at most 10,000 columns"):
            read(file)
    assert time.process_time() - began < 5


def test_many_columns_are_read(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    extra = [f"c{number}" for number in range(3_000)]
    lines = [",".join([*extra, "subject", "relation", "object", "time"])]
    lines += [",".join([*["1"] * len(extra), f"a{row}", "r", "b", "2024-01-01"]) for row in range(40)]
    file.write_text("\n".join(lines) + "\n")
    began = time.process_time()
    assert len(read_facts(file).quadruples) == 40
    assert time.process_time() - began < 10


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_too_many_columns_of_other_formats_are_refused(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_COLUMNS", 4)
    file = tmp_path / f"facts.{format}"
    frame = facts_frame()
    frame.write_ndjson(file) if format == "jsonl" else frame.write_parquet(file)
    with pytest.raises(InputError, match="too many columns"):
        read_facts(file)


def test_too_long_line_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    file.write_bytes((HEADER + FACT).encode() + b"a" * (limits.MAX_LINE_BYTES + 1) + b",r,b,2024-01-01\n")
    with pytest.raises(InputError, match=r"facts\.csv, row 3: a line that is too long"):
        read_facts(file)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_measured_with_every_line_end(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 40)
    file = tmp_path / "facts.csv"
    file.write_bytes((HEADER + FACT * 9).replace("\n", end).encode())
    assert read_facts(file).rows == 9
    file.write_bytes((HEADER + FACT * 9 + "a" * 60 + FACT).replace("\n", end).encode())
    with pytest.raises(InputError, match="row 11: a line that is too long"):
        read_facts(file)


def test_long_first_line_of_an_indexed_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    file.write_bytes(b"a" * 5_000_000 + b",r,b,2024-01-01\n")
    with pytest.raises(InputError, match="row 1: a line that is too long"):
        index_facts(file, tmp_path / "index")


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_compressed_file_that_grows_too_large_is_refused(
    suffix: str, compress: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"facts.csv{suffix}"
    file.write_bytes(compress(HEADER.encode()) + compress(FACT.encode() * 10_000) + b"\0" * 512 * (suffix == ".gz"))
    assert read_facts(file).rows == 10_000
    monkeypatch.setattr(source_module, "available_bytes", lambda: 100_000)
    with pytest.raises(InputError, match="does not fit in memory when it is decompressed"):
        read_facts(file)


def test_parquet_file_that_does_not_fit_in_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "bomb.parquet"
    rows = 1_000_000
    columns = {"subject": "a", "relation": "r", "object": "b", "time": "2024-01-01"}
    pl.DataFrame({name: pl.Series([text]).new_from_index(0, rows) for name, text in columns.items()}).write_parquet(
        file
    )
    assert file.stat().st_size < 100_000
    monkeypatch.setattr(limits, "available_bytes", lambda: 100_000_000)
    with pytest.raises(InputError) as raised:
        read_facts(file)
    assert str(raised.value) == (
        f"{file}: does not fit in memory; found '1,000,000 rows, at least 0.1 GB'; expected at most 0.1 GB; "
        "'fitcarl data index' reads a file in chunks"
    )


def test_column_that_is_not_needed_may_be_large(tmp_path: Path) -> None:
    file = tmp_path / "facts.parquet"
    notes = pl.Series("note", ["x" * 50_000 + str(row) for row in range(300)])
    facts_frame().with_columns(notes).write_parquet(file, row_group_size=10)
    footer = read_footer(file, file.read_bytes())
    assert footer.check_pages(["note"]) > 300 * 50_000
    assert footer.check_pages(["subject", "time"]) < 100_000
    assert footer.check_pages(["note"], rows=10) < footer.check_pages(["note"])


def test_available_memory_is_known_and_limited_by_ulimit() -> None:
    if not Path("/proc/meminfo").exists():
        pytest.skip("this system does not report its memory")
    assert (available_bytes() or 0) > 0
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
    code += "from fitcarl.core.memory import available_bytes; print(available_bytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2**31


@pytest.mark.parametrize("options", [{"compression": "uncompressed"}, {"compression": "zstd"}, {"row_group_size": 50}])
def test_footer_says_what_the_file_contains(options: dict[str, object], tmp_path: Path) -> None:
    frame = facts_frame()
    footer = read_footer(tmp_path / "facts.parquet", parquet_bytes(frame, **options))
    assert (footer.rows, footer.columns) == (300, tuple(frame.columns))
    assert sum(footer.group_rows) == 300
    assert footer.check_pages(frame.columns) > 0


def test_nested_columns_count_once(tmp_path: Path) -> None:
    frame = facts_frame(3).with_columns(more=pl.Series([{"a": 1, "b": [1, 2]}] * 3), tags=pl.Series([["x"], [], ["y"]]))
    footer = read_footer(tmp_path / "f", parquet_bytes(frame))
    assert footer.columns == tuple(frame.columns)
    assert footer.check_pages(frame.columns) > 0


def test_pages_of_arrow_are_accepted(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for version in ("1.0", "2.0"):
        file = tmp_path / f"{version}.parquet"
        parquet.write_table(facts_frame().to_arrow(), file, data_page_version=version, data_page_size=200)
        assert read_facts(file).rows == 300


_FUZZ = """
import sys
from pathlib import Path
from fitcarl import InputError, read_facts
for file in sorted(Path(sys.argv[1]).iterdir()):
    try:
        read_facts(file)
    except InputError as error:
        assert "\\n" not in str(error)
"""


def test_damaged_files_neither_end_the_process_nor_pass_unnoticed(tmp_path: Path) -> None:
    """Damage of headers and footers; polars alone aborts or prints for some of them."""
    chance = random.Random(5)
    content = parquet_bytes(facts_frame(), compression="uncompressed")
    for number in range(250):
        copy = bytearray(content)
        place = chance.randrange(len(copy) - 900, len(copy) - 8)
        copy[place] = chance.randrange(256)
        (tmp_path / f"{number}.parquet").write_bytes(copy)
    done = subprocess.run([sys.executable, "-c", _FUZZ, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_stderr_stays_open_while_threads_read_parquet(tmp_path: Path) -> None:
    file = tmp_path / "facts.parquet"
    facts_frame().write_parquet(file)
    before, seen = os.fstat(2), []
    reading = threading.Event()

    def watch() -> None:
        while not reading.is_set():
            seen.append(os.fstat(2).st_ino)

    watcher = threading.Thread(target=watch)
    readers = [threading.Thread(target=read_facts, args=(file,)) for _ in range(4)]
    for thread in (watcher, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    reading.set()
    watcher.join()
    assert set(seen) == {before.st_ino}
    assert os.fstat(2).st_ino == before.st_ino
