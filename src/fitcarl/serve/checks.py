"""Checks of values in requests: numbers, lengths, and characters that are not part of a visible name."""

from __future__ import annotations

import unicodedata

from fitcarl.serve.errors import ApiError, shortened

_JOINERS = "\u200c\u200d"
"""Invisible characters that some scripts need inside words."""


def check_count(field: str, found: int, limit: int) -> None:
    """Raises an ApiError if there are too many items."""
    if found > limit:
        raise ApiError(422, f"{field}: at most {limit} in one request; found {found}", field)


def check_length(field: str, text: str, limit: int) -> None:
    """Raises an ApiError if a text is too long."""
    if len(text) > limit:
        raise ApiError(422, f"{field}: at most {limit} characters; found {len(text)}", field)


def check_printable(field: str, text: str) -> None:
    """Raises an ApiError if a text contains control characters, which databases treat differently.

    Args:
        field: Name of the parameter.
        text: Its value, from a path or a query string.
    """
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise ApiError(422, f"{field}: a text with the control character {_code(character)}", field)


def check_visible(field: str, name: str) -> None:
    """Raises an ApiError if a name looks like another one or like nothing, because of invisible characters.

    Args:
        field: Name of the field.
        name: Name of a new entity; known names are accepted as the data has them.
    """
    for character in name:
        hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in _JOINERS
        if hidden:
            raise ApiError(422, f"{field}: a name with the invisible character {_code(character)}", field)
    if all(unicodedata.category(character)[0] in "CMZ" for character in name):
        raise ApiError(422, f"{field}: a name without visible characters; found {shortened(name)}", field)


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
