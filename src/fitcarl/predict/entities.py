"""Entity ids for one call, including entities that only the given facts mention, and likely misspellings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from fitcarl.data.vocabulary import Vocabulary
from fitcarl.predict.fact import CheckedFact

_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
_MIN_TYPO_LENGTH = 5
"""Minimum length of a name to be reported as a typo: short names often differ by one letter on purpose."""


@dataclass(frozen=True)
class EntityIndex:
    """The entities of a run, followed by the new ones that only the given facts mention, in order of appearance."""

    known: Vocabulary
    new: Mapping[str, int]
    """Name → id of each entity that is not in the run."""
    vocabulary: Vocabulary
    """Known and new entities."""

    @classmethod
    def from_facts(cls, known: Vocabulary, facts: Iterable[CheckedFact]) -> EntityIndex:
        new: dict[str, int] = {}
        for fact in facts:
            for name in (fact.subject, fact.object):
                if name not in known.entity_index and name not in new:
                    new[name] = len(known.entities) + len(new)
        return cls(known, new, Vocabulary(known.entities + tuple(new), known.relations) if new else known)

    def find(self, name: str) -> int | None:
        """The id of a name, or None."""
        found = self.known.entity_index.get(name)
        return self.new.get(name) if found is None else found


def likely_typos(names: Iterable[str], known: Vocabulary, query_entity: str) -> Iterator[tuple[str, str]]:
    """Pairs (name, known name) of unknown names that are probably misspellings of a known one.

    They differ only in case, spaces and punctuation, or by one letter (missing, extra, wrong, or two letters
    swapped). One different letter is accepted in the name of the query entity, which is expected to be new. Names
    that differ in a digit are different names.
    """
    new = [name for name in names if name not in known.entity_index]
    known_by_letters = {_letters(name): name for name in reversed(known.entities)} if new else {}
    for name in new:
        letters = _letters(name)
        suggestion = known_by_letters.get(letters)
        if suggestion is None and name != query_entity:
            suggestion = next(
                (known_by_letters[other] for other in known_by_letters if _one_letter_apart(letters, other)), None
            )
        if suggestion is not None:
            yield name, suggestion


def _letters(name: str) -> str:
    """Letters and digits of a name, in lower case."""
    folded = name.casefold()
    if folded.isascii():
        return _NOT_ALPHANUMERIC.sub("", folded)
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LMN")


def _one_letter_apart(name: str, other: str) -> bool:
    if abs(len(name) - len(other)) > 1 or len(name) < _MIN_TYPO_LENGTH:
        return False
    same = _common_prefix_length(name, other)
    name, other = name[same:], other[same:]
    same = _common_prefix_length(name[::-1], other[::-1])
    name, other = name[: len(name) - same], other[: len(other) - same]
    swapped = len(name) == len(other) == 2 and name == other[::-1]
    return (max(len(name), len(other)) == 1 or swapped) and (name + other).isalpha()


def _common_prefix_length(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
