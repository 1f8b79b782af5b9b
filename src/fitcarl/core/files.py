"""Atomic files and folders, and JSON: complete or absent, whenever a process is killed or the disk is full.

Everything that fitcarl writes goes through this module, so that a disk that cannot be written is one line which names
the file. Contents are on disk before a rename makes them visible, and the rename is on disk before the call returns.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import Any

from fitcarl.errors import InputError

_UNFINISHED = ".unfinished"
_LEFTOVER = re.compile(r"\..*\.[0-9]+\.[0-9]+\.unfinished", re.DOTALL)
_KEPT_OF_NAME = 50
"""Characters of a file's name in that of its temporary sibling; with 4 bytes each they fit in 255 bytes."""
_CANNOT_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EROFS)
"""What systems answer that cannot sync a folder, or a file that is open for reading."""
_FULL_BYTES = 1_000_000
"""A disk with less is full, if a part of an array could be written and the rest could not."""
_MAX_JSON = 1 << 31
"""Bytes of a JSON file; the names of a hundred million entities fit."""
_RUST_ERROR = re.compile(r"\(os error ([0-9]+)\)")


class WriteError(InputError, OSError):
    """A file or folder cannot be written: no space, no permission, a read-only file system, or another reason.

    Args:
        reason: Why, as the operating system says it.
        file: The file or folder.
        number: The error number; None if it is unknown.
    """

    def __init__(self, reason: str, file: str | Path, number: int | None = None) -> None:
        super().__init__(f"cannot be written: {reason}", file=file)
        self.errno, self.strerror, self.filename = number, reason, str(file)

    def __str__(self) -> str:
        return str(self.args[0])  # OSError would print its number and name


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Raises failures to write inside the block as errors that name the file.

    Args:
        file: The file or folder that the block writes.

    Raises:
        WriteError: If the operating system refuses to write.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, WriteError) or not _concerns(file, error):
            raise
        number = error.errno or _number_of(file, error)
        reason = str(error) or type(error).__name__ if number is None else error.strerror or os.strerror(number)
        raise WriteError(reason, file, number) from None
    except Exception as error:
        if not (type(error).__module__.startswith("polars") and (found := _RUST_ERROR.search(str(error)))):
            raise
        number = int(found[1])
        raise WriteError(os.strerror(number), file, number) from None


def _number_of(file: Path, error: OSError) -> int | None:
    """The number of an error of polars, which is in its text, or of NumPy, which names the written items only."""
    if found := _RUST_ERROR.search(str(error)):
        return int(found[1])
    with suppress(OSError):
        if "requested and" in str(error) and shutil.disk_usage(file.parent).free < _FULL_BYTES:
            return errno.ENOSPC
    return None


def _concerns(file: Path, error: OSError) -> bool:
    """Whether an error is about a file: it names no other one, but the file, a temporary one, or one above or below."""
    if not isinstance(error.filename, str | Path):
        return True
    named = Path(error.filename)
    return (
        any(part.endswith(_UNFINISHED) for part in named.parts)
        or named.is_relative_to(file)
        or file.is_relative_to(named)
    )


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A path beside a file whose content replaces the file when the block ends; after an error it is removed.

    Args:
        file: The file to write; its folder exists.

    Raises:
        WriteError: If the file cannot be written.
    """
    sibling = temporary_sibling(file)
    try:
        with writing(file):
            yield sibling
            move_into_place(sibling, file)
    finally:
        remove(sibling)


@contextmanager
def complete_folder(folder: Path) -> Iterator[Path]:
    """A path beside a new folder that becomes the folder when the block ends; after an error it is removed.

    Args:
        folder: A folder that does not exist yet; missing folders above it are created.

    Raises:
        WriteError: If the folder cannot be written.
    """
    unfinished = folder.with_name(folder.name + _UNFINISHED)
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove(unfinished)
        try:
            unfinished.mkdir()
            yield unfinished
            move_into_place(unfinished, folder)
        except BaseException:
            remove(unfinished)
            raise


def temporary_sibling(file: Path) -> Path:
    """A hidden path in the same folder that no other thread or process uses; ``remove_leftovers`` knows its form."""
    return file.with_name(f".{file.name[:_KEPT_OF_NAME]}.{os.getpid()}.{get_ident()}{_UNFINISHED}")


def move_into_place(source: Path, target: Path) -> None:
    """Syncs a file, or a folder with all that it contains, renames it, and syncs the folder that contains it.

    Args:
        source: A complete file or folder.
        target: Its name; an existing file is replaced.
    """
    sync_tree(source)
    source.replace(target)
    sync(target.parent)


def sync_tree(path: Path) -> None:
    """Waits until a file, or a folder with all that it contains, is on disk."""
    if path.is_dir():
        for inner in path.iterdir():
            sync_tree(inner)
    sync(path)


def sync(path: Path) -> None:
    """Waits until a file, or the list of files of a folder, is on disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        if error.errno in _CANNOT_SYNC:
            return
        raise
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that it contains; nothing happens if there is none or it must stay."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def remove_leftovers(folder: Path) -> None:
    """Removes temporary files that killed processes left in a folder and below it.

    Args:
        folder: A folder that this process has locked, because another process may be writing such a file.
    """
    for path in list(folder.rglob(f".*{_UNFINISHED}")):
        if _LEFTOVER.fullmatch(path.name):
            remove(path)


def write_atomically(file: Path, *parts: bytes | memoryview) -> None:
    """Writes a temporary sibling, syncs it to disk and renames it over the file.

    Args:
        file: The file.
        parts: Its content.

    Raises:
        WriteError: If the file cannot be written; it is then unchanged.
    """
    with replacing(file) as sibling, sibling.open("wb") as out:
        out.writelines(parts)


def append_line(file: Path, line: str) -> None:
    """Adds a line to a text file.

    Args:
        file: The file; it is created if there is none.
        line: The line without its end.

    Raises:
        WriteError: If the line cannot be written; the file may then end with a part of it.
    """
    with writing(file), file.open("a", encoding="utf-8") as out:
        out.write(line + "\n")


def write_json(file: Path, content: Any) -> None:
    write_atomically(file, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(file: Path, most: int = _MAX_JSON) -> Any:
    """The content of a JSON file of fitcarl, which may come from a stranger.

    Args:
        file: A regular file; a pipe would block, and a device could be read for ever.
        most: Bytes that it may have.

    Raises:
        InputError: If it is missing, too large, not a regular file or not JSON.
    """
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            raise OSError("not a regular file")
        if found.st_size > most:
            raise OSError(f"{found.st_size:,} bytes are too many")
        with file.open("rb") as content:
            return json.loads(content.read(found.st_size).decode("utf-8"))
    except FileNotFoundError:
        raise InputError("is missing", file=file, expected="a file that `fitcarl train` writes") from None
    except (OSError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise InputError(f"cannot be read ({reason})", file=file, expected="JSON") from None
