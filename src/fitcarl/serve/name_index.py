"""Search for stored names in memory, which finds rare texts in a large store without reading it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from threading import Lock

_SEPARATOR = "\n"
"""Is not part of any name."""


class NameIndex:
    """Names in the order of their arrival, as one text without case; some may be deleted in the store."""

    def __init__(self) -> None:
        self.lock = Lock()
        """Held while names are added or searched."""
        self.clear()

    def __len__(self) -> int:
        return len(self._names)

    def clear(self) -> None:
        """Removes all names."""
        self.last = 0
        """Number of the last name that was added."""
        self._names: list[str] = []
        self._starts: list[int] = []
        self._text = ""

    def add(self, names: Iterable[tuple[int, str]]) -> None:
        """Adds names.

        Args:
            names: Their numbers, which ascend, and the names.
        """
        parts, end = [self._text], len(self._text)
        for self.last, name in names:
            folded = name.casefold() + _SEPARATOR
            self._names.append(name)
            self._starts.append(end)
            parts.append(folded)
            end += len(folded)
        self._text = "".join(parts)

    def find(self, folded: str, limit: int) -> list[str] | None:
        """The names that contain a text; None if there are more than ``limit``.

        Args:
            folded: The text, without case.
            limit: Maximum number of names.
        """
        found: dict[str, None] = {}
        place = -1 if _SEPARATOR in folded else self._text.find(folded)
        while place >= 0:
            index = bisect_right(self._starts, place) - 1
            found[self._names[index]] = None
            if len(found) > limit:
                return None
            after = self._starts[index + 1] if index + 1 < len(self._starts) else len(self._text)
            place = self._text.find(folded, after)
        return list(found)
