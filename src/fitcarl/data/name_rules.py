"""Which texts are valid names of entities and relations: the same rule for files, Python and the service."""

from __future__ import annotations

import unicodedata

MAX_NAME_LENGTH = 10_000
"""Characters of a name in a file; longer texts are documents in the wrong column."""
_TABLE_MARKS = "\t\n\r\0"
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Embeddings, overrides and isolates of text direction: they change the order in which other text is shown."""
_CONTROLS = ("Cc", "Zl", "Zp")
"""Categories of control characters (C0, DEL and C1) and of line and paragraph separators."""
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that are shown as a blank."""
_WITHOUT_SHAPE = ("Cc", "Cf", "Mn", "Me", "Zl", "Zp", "Zs")
"""Categories of characters that show nothing by themselves."""
SUSPECT_NAME = (
    r"[\p{Cc}\p{Zl}\p{Zp}\x{202A}-\x{202E}\x{2066}-\x{2069}]"
    r"|\A[\p{Cc}\p{Cf}\p{M}\p{Z}\x{115F}\x{1160}\x{2800}\x{3164}\x{FFA0}]*\z"
)
"""Regular expression of polars that matches every name with a problem but a too long one, and few others."""


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no unpaired surrogate, which an escape of JSON can stand for.

    Args:
        text: The text.
    """
    return text.isascii() or not any("\ud800" <= mark <= "\udfff" for mark in text)


def name_problem(name: str) -> str | None:
    """Why a text is not a valid name, or None.

    A name has a visible character, and no tab, line break, control character or change of text direction: names are
    printed on terminals, and written to tables with one row per line.

    Args:
        name: The text.
    """
    if len(name) > MAX_NAME_LENGTH:
        return f"a name of more than {MAX_NAME_LENGTH:,} characters"
    if name.isascii() and name.isprintable() and name.strip():
        return None
    if not name.strip():
        return "an empty name"
    if any(mark in name for mark in _TABLE_MARKS):
        return "a name with a tab or a line break"
    categories = [unicodedata.category(mark) for mark in name]
    if not is_unicode(name):
        return "a name with an unpaired surrogate"
    if any(category in _CONTROLS for category in categories):
        return "a name with a control character"
    if not _DIRECTIONS.isdisjoint(name):
        return "a name that changes the direction of text"
    if all(mark in _BLANKS or kind in _WITHOUT_SHAPE for mark, kind in zip(name, categories, strict=True)):
        return "a name without a visible character"
    return None
