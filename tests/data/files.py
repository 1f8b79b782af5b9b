"""Writes and reads facts in every file format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl

from fitcarl.data.facts import Facts
from fitcarl.data.io.reader import read_facts

Row = tuple[str, str, str, str]

ROWS: list[Row] = [
    ("Ann", "visits", "Bob", "2014-01-03"),
    ("Bob", "praises", "Cyd\u00a0(Kenya)", "2014-01-01"),
    ("Ann", "visits", "Bob", "2014-01-03"),
    ('The "Movement"', "visits", 'The "Movement"', "2014-01-04"),
    ("Ann", "visits", "Bob", "2014-01-01"),
]
GOOD = "a\tr\tb\t2014-01-01\n"


def tsv(rows: list[Row]) -> bytes:
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def comma(rows: list[Row]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()


def jsonl(rows: list[Row]) -> bytes:
    keys = ("time", "subject", "relation", "object")
    return "".join(json.dumps(dict(zip(keys, (row[3], *row[:3]), strict=True))) + "\n" for row in rows).encode()


def parquet(rows: list[Row]) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(rows, schema=["subject", "relation", "object", "time"], orient="row").write_parquet(out)
    return out.getvalue()


WRITERS = {"tsv": tsv, "csv": comma, "jsonl": jsonl, "parquet": parquet}


def read(folder: Path, file_name: str, content: str | bytes, **options: object) -> Facts:
    file = folder / file_name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_facts(file, **options)  # type: ignore[arg-type]


def names(facts: Facts) -> list[Row]:
    """The facts as tuples of names."""
    entities, relations, label = facts.vocabulary.entities, facts.vocabulary.relations, facts.calendar.label
    return [(entities[s], relations[r], entities[o], label(t)) for s, r, o, t in facts.quadruples]
