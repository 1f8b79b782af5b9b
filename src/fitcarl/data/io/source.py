"""The bytes and the text of a file: compressed or not, in any encoding, or from standard input."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

from fitcarl.errors import InputError

STDIN = "-"
"""The path that stands for standard input."""
_BOM = b"\xef\xbb\xbf"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _zstd(content: bytes) -> bytes:
    import zstandard

    parts = []
    while content:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(content))
        if not frame.eof:
            raise ValueError("a frame that does not end")
        content = frame.unused_data
    return b"".join(parts)


_COMPRESSIONS: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    ".gz": (b"\x1f\x8b", gzip.decompress),
    ".zst": (b"\x28\xb5\x2f\xfd", _zstd),
    ".bz2": (b"BZh", bz2.decompress),
    ".xz": (b"\xfd7zXZ\x00", lzma.decompress),
}
"""Suffix → first bytes of a compressed file, and how it is decompressed."""
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

    for ending, (magic, decompress) in _COMPRESSIONS.items():
        if content.startswith(magic):
            try:
                return decompress(content)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError):
                expected = f"a complete {ending} file"
                raise InputError("damaged compressed data", file=path, expected=expected) from None
        if path.suffix.lower() == ending:
            raise InputError(f"not a {ending} file", file=path, found=content[:4], expected="compressed data")
    return content


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
        content = _decoded(path, content, encoding).encode()
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
    content = content.removeprefix(_BOM).replace(b"\r\n", b"\n")
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
    except LookupError:
        expected = "a text encoding such as utf-8, latin-1, cp1252 or utf-16"
        raise InputError("unknown encoding", field="encoding", found=encoding, expected=expected) from None


def _decoded(path: Path, content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except (UnicodeError, ValueError) as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        row = 1 + content.count(b"\n", 0, start)
        raise InputError(f"not {encoding} text", file=path, row=row, expected="the encoding of the file") from None
