"""Files and folders are complete or absent, and a disk that cannot be written is one line."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fitcarl.core import files
from fitcarl.core.files import (
    WriteError,
    append_line,
    complete_folder,
    move_into_place,
    read_json,
    remove_leftovers,
    replacing,
    temporary_sibling,
    write_atomically,
    write_json,
    writing,
)
from fitcarl.core.tables import table_writer
from fitcarl.errors import InputError

REFUSALS = [
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES),
    *(errno.ENAMETOOLONG, errno.EISDIR, errno.EIO, errno.EFBIG),
]


def refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Lets every fsync fail, which is after the content was written."""

    def fsync(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_failed_sync_keeps_the_old_file(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    write_json(file, 1)
    refuse(monkeypatch, number)
    with pytest.raises(WriteError) as raised:
        write_json(file, 2)
    assert str(raised.value) == f"{file}: cannot be written: {os.strerror(number)}"
    assert raised.value.errno == number
    assert file.read_text() == "1\n"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("number", REFUSALS)
def test_refused_file_is_one_line_that_names_it(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, *_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "open", refused)
    file = tmp_path / "a.bin"
    for write in (write_atomically, lambda path, _: append_line(path, "x")):
        with pytest.raises(InputError) as raised:
            write(file, b"x")
        assert str(raised.value) == f"{file}: cannot be written: {os.strerror(number)}"
    assert not list(tmp_path.iterdir())


def test_error_about_another_file_is_not_changed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), replacing(tmp_path / "a"):
        Path("elsewhere").read_bytes()
    assert not list(tmp_path.iterdir())


def test_error_of_a_missing_folder_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "no" / "a"
    with pytest.raises(WriteError, match=f"{file}: cannot be written: No such file or directory"):
        write_atomically(file, b"")


def test_folder_in_place_of_a_file_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(WriteError, match="cannot be written: Is a directory"):
        write_atomically(tmp_path / "a", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_too_long_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written: File name too long"):
        write_atomically(tmp_path / ("a" * 300), b"")
    assert not list(tmp_path.iterdir())


def test_longest_allowed_name_is_written(tmp_path: Path) -> None:
    file = tmp_path / ("é" * 127)
    write_atomically(file, b"x")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "failure",
    [
        OSError("No space left on device (os error 28)"),
        pl.exceptions.ComputeError("parquet: underlying IO error: No space left on device (os error 28)"),
    ],
)
def test_errors_of_polars_about_the_disk_are_recognized(failure: Exception, tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written: No space left on device") as raised, writing(tmp_path):
        raise failure
    assert raised.value.errno == errno.ENOSPC


def test_other_errors_of_polars_are_not_about_the_disk(tmp_path: Path) -> None:
    with pytest.raises(pl.exceptions.ComputeError), writing(tmp_path):
        raise pl.exceptions.ComputeError("lengths do not match")


def test_incomplete_array_means_a_full_disk_only_if_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = OSError("100 requested and 7 written")
    with pytest.raises(WriteError, match="100 requested and 7 written"), writing(tmp_path / "a"):
        raise short
    monkeypatch.setattr(files.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 4096}))
    with pytest.raises(WriteError, match="No space left on device"), writing(tmp_path / "a"):
        raise short


def test_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "above" / "new"
    with complete_folder(folder) as unfinished:
        np.save(unfinished / "a.npy", np.arange(3))
        assert not folder.exists()
    assert [path.name for path in folder.iterdir()] == ["a.npy"]
    assert not unfinished.exists()


def test_failed_folder_is_removed(tmp_path: Path) -> None:
    def fill() -> None:
        with complete_folder(tmp_path / "new") as unfinished:
            (unfinished / "a").write_bytes(b"x")
            raise OSError(errno.ENOSPC, "No space left on device", str(unfinished / "a"))

    with pytest.raises(WriteError, match=f"{tmp_path / 'new'}: cannot be written: No space left"):
        fill()
    assert not list(tmp_path.iterdir())


def test_content_is_synced_before_the_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    sync, replace = os.fsync, Path.replace

    def recorded_sync(descriptor: int) -> None:
        calls.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        sync(descriptor)

    def recorded_replace(source: Path, target: Path) -> Path:
        calls.append("rename")
        return replace(source, target)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("descriptors have no names here")
    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "file").write_bytes(b"x")
    move_into_place(source, tmp_path / "target")
    assert calls == ["file", "inner", "source", "rename", tmp_path.name]


def test_only_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    kept = ["weights.safetensors", ".hidden", "graph.unfinished", ".a.unfinished", ".a.1.unfinished"]
    for name in kept:
        (tmp_path / name).write_bytes(b"")
    left = temporary_sibling(tmp_path / "statistics.safetensors")
    left.write_bytes(b"x")
    (tmp_path / "update-1").mkdir()
    below = temporary_sibling(tmp_path / "update-1" / "answers.parquet")
    below.mkdir()
    (below / "00000000.parquet").write_bytes(b"x")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "update-1"])
    assert not list((tmp_path / "update-1").iterdir())


def _write_table(file: Path) -> None:
    with table_writer(file) as writer:
        for _ in range(2):
            writer.write(pl.DataFrame({"a": ["x"]}))


def _fails(name: str) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise pl.exceptions.ComputeError(f"{name}: No space left on device (os error 28)")

    return call


@pytest.mark.parametrize(
    ("suffix", "method"),
    [(".csv", "write_csv"), (".tsv", "write_csv"), (".jsonl", "write_ndjson"), (".parquet", "write_parquet")],
)
def test_full_disk_leaves_the_old_table(
    suffix: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"answers{suffix}"
    _write_table(file)
    before = file.read_bytes()
    monkeypatch.setattr(pl.DataFrame, method, _fails(method))
    with pytest.raises(WriteError) as raised:
        _write_table(file)
    assert str(raised.value) == f"{file}: cannot be written: No space left on device"
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_error_of_the_computation_is_not_blamed_on_the_table(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), table_writer(tmp_path / "a.csv"):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "queries.csv")
    with pytest.raises(OSError, match="too many") as raised, table_writer(tmp_path / "a.csv"):
        raise OSError("too many sockets")
    assert not isinstance(raised.value, WriteError)
    assert not list(tmp_path.iterdir())


INSIDE_UNFINISHED_FOLDERS = {
    *("core/files.py", "core/tables.py", "data/io/dataset_folder.py", "data/io/download.py"),
    *("graph/columns.py", "graph/out_of_core.py", "runs/fact_index.py"),
}
"""Modules that open files for writing, all inside a block of ``writing``, ``replacing`` or ``complete_folder``, or that
turn errors of the disk into an InputError themselves."""


def test_other_modules_write_with_the_functions_of_core() -> None:
    package = Path(files.__file__).parents[1]
    writes = re.compile(
        r"\.write_text\(|\.write_bytes\(|open\([^)]*[\"'][wax]b?[\"']|savefig\((?!sibling)|shutil\.copyfile\("
    )
    found = {path.relative_to(package).as_posix() for path in package.rglob("*.py") if writes.search(path.read_text())}
    assert found == INSIDE_UNFINISHED_FOLDERS


def test_json_is_read_from_regular_files_of_a_bounded_size(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"[1, 2]")
    assert read_json(file, 6) == [1, 2]
    with pytest.raises(InputError, match=r"cannot be read \(6 bytes are too many\)"):
        read_json(file, 5)
    with file.open("wb") as out:
        out.truncate(1 << 40)  # a sparse file takes no space
    with pytest.raises(InputError, match=r"bytes are too many"):
        read_json(file)
    file.unlink()
    file.symlink_to(os.devnull)
    with pytest.raises(InputError, match=r"cannot be read \(not a regular file\)"):
        read_json(file)


@pytest.mark.parametrize("error", [MemoryError, OverflowError, RecursionError])
def test_json_that_cannot_be_held_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def loads(_text: str) -> None:
        raise error

    (tmp_path / "a.json").write_bytes(b"[]")
    monkeypatch.setattr(files.json, "loads", loads)
    with pytest.raises(InputError, match=rf"cannot be read \({error.__name__}\)"):
        read_json(tmp_path / "a.json")
