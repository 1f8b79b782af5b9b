"""Search for names by a text that a user typed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_MIN_FUZZY_LENGTH = 3
"""Minimum length of a search text for fuzzy matching."""


class NameSearch:
    """Finds names by a text that a user typed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._folded = [name.casefold() for name in names]

    def near(self, text: str, limit: int) -> list[str]:
        """At most ``limit`` names: first those that start with the text, then those with words that start with its
        words, then those that contain it, then those spelled similarly."""
        folded = text.strip().casefold()
        if not folded or limit < 1:
            return []
        words = folded.split()
        by_prefix: list[int] = []
        by_words: list[int] = []
        by_substring: list[int] = []
        for index, name in enumerate(self._folded):
            if name.startswith(folded):
                by_prefix.append(index)
            elif words[0] in name and _all_words_start(words, name):
                by_words.append(index)
            elif folded in name:
                by_substring.append(index)
        groups = (by_prefix, by_words, by_substring)
        found = [self._names[index] for group in groups for index in sorted(group, key=self._by_length)]
        if len(found) < limit and len(folded) >= _MIN_FUZZY_LENGTH:
            found += [name for name in self._similar(folded, limit) if name not in found]
        return found[:limit]

    def _by_length(self, index: int) -> tuple[int, str]:
        return len(self._folded[index]), self._folded[index]

    def _similar(self, folded: str, limit: int) -> list[str]:
        indices = {name: index for index, name in reversed(list(enumerate(self._folded)))}
        matches = difflib.get_close_matches(folded, indices, n=limit, cutoff=0.75)
        return [self._names[indices[name]] for name in matches]


def _all_words_start(words: Sequence[str], name: str) -> bool:
    """Whether every word is a prefix of some word of the name."""
    parts = name.replace("(", " ").replace("-", " ").split()
    return all(any(part.startswith(word) for part in parts) for word in words)
