"""The bytes and the text of a file: compressed or not, in any encoding, or from standard input."""

from __future__ import annotations

import bz2
import codecs
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from fitcarl.core.memory import available_bytes
from fitcarl.data.io.limits import check_line_lengths
from fitcarl.errors import InputError

STDIN = "-"
"""The path that stands for standard input."""
BOM = b"\xef\xbb\xbf"
"""The byte-order mark of UTF-8."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


_STEP = 4_096
"""Compressed bytes that are decompressed at once; a megabyte can stand for many gigabytes."""
_COPIES = 4
"""Memory for a text while it is parsed, in multiples of its size."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> _Decompressor:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


def _gzip() -> _Decompressor:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)


_COMPRESSIONS: dict[str, tuple[bytes, Callable[[], _Decompressor]]] = {
    ".gz": (b"\x1f\x8b", _gzip),
    ".zst": (b"\x28\xb5\x2f\xfd", _zstd),
    ".bz2": (b"BZh", bz2.BZ2Decompressor),
    ".xz": (b"\xfd7zXZ\x00", lzma.LZMADecompressor),
}
"""Suffix → first bytes of a compressed file, and what decompresses one of its streams."""
COMPRESSED_ENDINGS: tuple[str, ...] = tuple(_COMPRESSIONS)


def uncompressed_name(path: Path) -> Path:
    """The path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path


def is_stdin(path: Path) -> bool:
    """Whether a path stands for standard input."""
    return str(path) == STDIN


def read_bytes(path: Path) -> bytes:
    """The decompressed bytes of a file, or of standard input if the path is ``-``.

    Args:
        path: The file.

    Raises:
        InputError: If it cannot be read, or its compressed data are damaged.
    """
    if is_stdin(path):
        return _decompressed(path, sys.stdin.buffer.read())
    if path.is_dir():
        raise InputError("a folder", file=path, expected="a file")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", file=path, expected="an existing file") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, expected="a readable file") from None
    return _decompressed(path, content)


def _decompressed(path: Path, content: bytes) -> bytes:
    import zstandard

    for ending, (magic, decompressor) in _COMPRESSIONS.items():
        if content.startswith(magic):
            try:
                return _all_streams(path, content, decompressor)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError):
                expected = f"a complete {ending} file"
                raise InputError("damaged compressed data", file=path, expected=expected) from None
        if path.suffix.lower() == ending:
            raise InputError(f"not a {ending} file", file=path, found=content[:4], expected="compressed data")
    return content


def _all_streams(path: Path, content: bytes, decompressor: Callable[[], _Decompressor]) -> bytes:
    """The decompressed content; a file may consist of several streams."""
    available = available_bytes()
    limit = None if available is None else available // _COPIES
    parts: list[bytes] = []
    size = place = 0
    end = len(content.rstrip(b"\0")) if content.endswith(b"\0") else len(content)  # the last block may be filled
    while place < end:
        stream = decompressor()
        while not stream.eof:
            if place >= len(content):
                raise EOFError
            parts.append(stream.decompress(content[place : place + _STEP]))
            place, size = place + _STEP, size + len(parts[-1])
            if limit is not None and size > limit:
                raise InputError(
                    "does not fit in memory when it is decompressed",
                    file=path,
                    found=f"more than {size / 1e9:,.1f} GB in {len(content):,} bytes",
                    expected=f"at most {limit / 1e9:,.1f} GB",
                )
        place = min(place, len(content)) - len(stream.unused_data)
    return b"".join(parts)


def read_text(path: Path, separator: str | None = None, encoding: str | None = None) -> bytes:
    """A text file as valid UTF-8 with LF line ends, without byte-order mark and trailing blank lines.

    Args:
        path: The file.
        separator: Separator of its fields, to name the field of an invalid byte.
        encoding: Its encoding; by default UTF-8, or UTF-16 if a byte-order mark says so.
    """
    content = read_bytes(path)
    if encoding is None and content.startswith(_UTF16):
        encoding = "utf-16"
    if encoding is not None and not is_utf8(encoding):
        content = _recoded(path, content, encoding)
    check_line_lengths(path, content)
    try:
        content.decode()
        bad = content.find(b"\0")
    except UnicodeDecodeError as error:
        bad = error.start
    if bad >= 0:
        line = content[content.rfind(b"\n", 0, bad) + 1 : bad]
        raise InputError(
            "not UTF-8 text",
            file=path,
            row=1 + content.count(b"\n", 0, bad),
            field=None if separator is None else str(1 + line.count(separator.encode())),
            found=f"byte 0x{content[bad]:02x}",
            expected="UTF-8 without NUL bytes, or another encoding named by --encoding, such as latin-1",
        )
    content = content.removeprefix(BOM).replace(b"\r\n", b"\n")
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return content.rstrip(b"\r\n")


def is_utf8(encoding: str) -> bool:
    """Whether a name of an encoding stands for UTF-8.

    Raises:
        InputError: If there is no such encoding of text.
    """
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")
    except (LookupError, ValueError):  # or a name with a character that no name of an encoding has
        expected = "a text encoding such as utf-8, latin-1, cp1252 or utf-16"
        raise InputError("unknown encoding", field="encoding", found=encoding, expected=expected) from None


def _recoded(path: Path, content: bytes, encoding: str) -> bytes:
    """The text in UTF-8, without byte-order mark."""
    row = 1
    try:
        return content.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeDecodeError as error:
        row += content.count(b"\n", 0, error.start)
    except UnicodeEncodeError as error:  # an unpaired surrogate, which UTF-7 and escapes can stand for
        row += error.object.count("\n", 0, error.start)
    except ValueError:
        pass
    raise InputError(f"not {encoding} text", file=path, row=row, expected="the encoding of the file")
