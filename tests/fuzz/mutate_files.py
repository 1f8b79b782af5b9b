"""Random changes of a single file and of the options it is read with.

An input is a line of JSON (reader, suffix and options of the reader) and the content of the file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from random import Random
from typing import Any

import polars as pl
import zstandard

from tests.fuzz.odd_values import odd_json, odd_number, odd_text

READERS = ("facts", "queries", "concepts", "preset")
_SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".parquet", ".json", ".csv.gz", ".jsonl.zst", ".tsv.bz2", ".csv.xz")
_ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "idna", "no-such")
_LAYOUTS = ("gdelt", "gdelt-export", "acled", "icews-export", "tgb", "snap", "yago", "wiki", "yago11k", "wikidata12k")
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "format": ("csv", "tsv", "jsonl", "parquet", "odd"),
    "separator": ("comma", "tab", "semicolon", "pipe", "space", "odd"),
    "encoding": _ENCODINGS,
    "header": (True, False, "auto"),
    "columns": (["1", "2", "3", "4"], ["4", "3", "2", "1"], ["s", "r", "o", "t", "e"], ["1", "1", "1", "1"], ["a"], []),
    "relation": ("knows", "", "\x00"),
    "layout": _LAYOUTS,
    "skip_incomplete": (True, False),
    "intervals": ("events", "expand", "start", "odd"),
    "max_expansion": (0, 1, 3, 1000),
    "granularity": (
        "auto",
        "second",
        "minute",
        "hour",
        "day",
        "week",
        "month",
        "quarter",
        "year",
        "24",
        "0",
        "-1",
        "x",
    ),
}
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
}
_TYPES = (pl.String, pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean, pl.Binary, pl.Date, pl.Time)
_MORE_TYPES = (pl.Datetime("ns"), pl.Datetime("ms", "UTC"), pl.Duration("us"), pl.Categorical, pl.Decimal(10, 2))


def decode(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The reader with its options, and the content."""
    line, _, content = data.partition(b"\n")
    try:
        about = json.loads(line)
    except (ValueError, RecursionError):
        about = None
    return (about, content) if isinstance(about, dict) else ({}, data)


def encode(about: dict[str, Any], content: bytes) -> bytes:
    return json.dumps(about).encode() + b"\n" + content


def mutate(data: bytes, max_size: int, seed: int, mutate_bytes: Callable[[bytes, int], bytes]) -> bytes:
    """Another input, not larger than ``max_size`` bytes.

    Args:
        data: The input.
        max_size: Maximum size.
        seed: Of the random choices.
        mutate_bytes: The engine's own mutation of bytes, up to a size.
    """
    random = Random(seed)
    about, content = decode(data)
    kind = random.random()
    if kind < 0.15:
        _change_options(random, about)
    elif kind < 0.5:
        content = mutate_bytes(content, max(1, max_size - 400))
    elif content[:4] == b"PAR1":
        content = _change_parquet(random, content)
    else:
        content = _change_text(random, content)
    if random.random() < 0.03 and about.get("reader") == "facts":
        content = _recode(random, about, content)
    return encode(about, content)[:max_size]


def cross(one: bytes, other: bytes, max_size: int, seed: int) -> bytes:
    """The options of one input with lines of both."""
    random, (about, first), (_, second) = Random(seed), decode(one), decode(other)
    above, below = first.split(b"\n"), second.split(b"\n")
    lines = above[: random.randrange(len(above)) + 1] + below[random.randrange(len(below)) :]
    return encode(about, b"\n".join(lines))[:max_size]


def _change_options(random: Random, about: dict[str, Any]) -> None:
    kind = random.random()
    if kind < 0.1:
        about["reader"] = random.choice(READERS)
    elif kind < 0.2:
        about["suffix"] = random.choice(_SUFFIXES)
    else:
        options = about.setdefault("options", {})
        name = random.choice(sorted(_OPTIONS))
        if name in options and random.random() < 0.5:
            del options[name]
        else:
            options[name] = random.choice(_OPTIONS[name])


def _change_text(random: Random, content: bytes) -> bytes:
    """A change of lines or cells."""
    text = content.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    row = random.randrange(len(lines))
    kind = random.randrange(8)
    if kind == 0:
        lines.insert(row, lines[random.randrange(len(lines))])
    elif kind == 1 and len(lines) > 1:
        del lines[row]
    elif kind == 2:
        lines.insert(row, random.choice(("", "\r", odd_text(random), "[" * 50_000, "# comment", "{}", "[]")))
    elif kind == 3:
        old, new = random.choice(",\t;| "), random.choice(",\t;| ")
        lines = [line.replace(old, new) for line in lines]
    elif kind == 4:
        return random.choice(("\r\n", "\r", "\n\n")).join(lines).encode("utf-8", "surrogatepass")
    else:
        lines[row] = _change_line(random, lines[row])
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _change_line(random: Random, line: str) -> str:
    if line[:1] in ("{", "["):
        return _change_record(random, line)
    separator = max(",\t;| ", key=line.count)
    cells = line.split(separator)
    place = random.randrange(len(cells))
    kind = random.randrange(5)
    if kind == 0:
        cells.insert(place, odd_text(random))
    elif kind == 1:
        del cells[place]
    elif kind == 2:
        cells[place] = f'"{cells[place]}"' if random.random() < 0.7 else f'"{cells[place]}'
    elif kind == 3:
        cells[place] = str(odd_number(random))
    else:
        cells[place] = odd_text(random)
    return separator.join(cells)


def _change_record(random: Random, line: str) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line[: random.randrange(len(line) + 1)]
    if isinstance(record, dict) and record:
        key = random.choice(sorted(record))
        if random.random() < 0.3:
            record[odd_text(random)] = record.pop(key)
        else:
            record[key] = odd_json(random)
    elif isinstance(record, list) and record:
        record[random.randrange(len(record))] = odd_json(random)
    return json.dumps(record)


def _change_parquet(random: Random, content: bytes) -> bytes:
    """Another type, name, number or content of columns."""
    try:
        table = pl.read_parquet(io.BytesIO(content), glob=False)
        name = random.choice(table.columns)
        kind = random.randrange(7)
        if kind < 3:
            types = (*_TYPES, *_MORE_TYPES)
            table = table.with_columns(pl.col(name).cast(random.choice(types), strict=False))
        elif kind == 3:
            table = table.rename({name: odd_text(random)})
        elif kind == 4:
            values = [odd_text(random) for _ in range(table.height)]
            table = table.with_columns(pl.Series(name, values))
        elif kind == 5:
            table = table.drop(name) if random.random() < 0.5 else table.with_columns(pl.concat_list(name).alias(name))
        else:
            mask = pl.Series([random.random() < 0.5 for _ in range(table.height)], dtype=pl.Boolean)
            table = table.with_columns(pl.when(mask).then(pl.col(name)).alias(name))
        out = io.BytesIO()
        table.write_parquet(out, compression=random.choice(("zstd", "snappy", "uncompressed", "lz4")))
        return out.getvalue()
    except BaseException as error:  # also panics of polars, which are no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return content[: random.randrange(len(content) + 1)]


def _recode(random: Random, about: dict[str, Any], content: bytes) -> bytes:
    """The content compressed or in another encoding, with the options that say so."""
    if random.random() < 0.5:
        ending, compress = random.choice(sorted(_COMPRESS.items()))
        about["suffix"] = str(about.get("suffix", ".csv")).split(".")[1].join((".", ending))
        return compress(content)
    encoding = random.choice(_ENCODINGS[:6])
    try:
        text = content.decode("utf-8")
        coded = text.encode(encoding)
    except UnicodeError:
        return content
    about.setdefault("options", {})["encoding"] = encoding
    return coded
