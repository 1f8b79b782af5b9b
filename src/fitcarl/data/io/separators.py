"""Which character separates the fields of a text file."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from fitcarl.errors import InputError

WHITESPACE = " "
"""Runs of spaces and tabs."""
SEPARATOR_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "vertical bars", WHITESPACE: "spaces"}
_BY_NAME = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "bar": "|",
    "space": WHITESPACE,
    "whitespace": WHITESPACE,
}
_ORDER = {"csv": (",", ";", "\t", "|", WHITESPACE), "tsv": ("\t", ",", ";", "|", WHITESPACE)}
OWN = {format: separators[0] for format, separators in _ORDER.items()}
"""The separator of a format."""
_FEWEST = 3
"""Columns of a file of facts: two entities and a time."""
_SAMPLE, _AGREE = 50, 0.9


def parse_separator(text: str) -> str:
    """A separator given by name (``tab``, ``space``) or as the character itself."""
    separator = _BY_NAME.get(text.lower(), text)
    if separator not in SEPARATOR_NAMES:
        expected = "one of comma, tab, semicolon, pipe and space"
        raise InputError("unknown separator", field="separator", found=text, expected=expected)
    return separator


def likely_separators(lines: Sequence[str], format: str) -> list[str]:
    """Separators that give most lines the same number of fields, at least three; that of the format first.

    Args:
        lines: The first lines of the file.
        format: ``csv`` or ``tsv``; its own separator is returned if none fits.
    """
    own, *others = _ORDER[format]
    lines = [line for line in lines[:_SAMPLE] if line.strip()]
    clear = not lines or len(split_line(lines[0], own)) > _FEWEST or _fits(lines, own)
    found = [own] if clear else []
    found += [separator for separator in others if _fits(lines, separator)]
    if any(separator != WHITESPACE for separator in found):
        found = [separator for separator in found if separator != WHITESPACE]
    return found or [own]


def split_line(line: str, separator: str) -> list[str]:
    """The fields of one line."""
    if separator == WHITESPACE:
        return line.split()
    if separator == "\t" or '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a carriage return within the line
        return line.split(separator)


def is_quoted(line: str, separator: str) -> bool:
    """Whether quotation marks have a meaning: always, but in tab-separated files only if all fields are quoted."""
    if separator == WHITESPACE:
        return False
    fields = line.split(separator)
    return separator != "\t" or all(len(field) > 1 and field[0] == field[-1] == '"' for field in fields)


def _fits(lines: Sequence[str], separator: str) -> bool:
    counts = [len(split_line(line, separator)) for line in lines]
    same = sum(count == counts[0] for count in counts)
    return bool(counts) and counts[0] >= _FEWEST and same >= _AGREE * len(counts)
