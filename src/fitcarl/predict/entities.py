"""Ids for the names of one call, newcomers included, and near names for a name that is not known."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from fitcarl.data.vocabulary import Vocabulary
from fitcarl.predict.fact import Fact

_FUZZY_FROM = 3
"""Letters a name must have before it is compared letter by letter."""
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_SLIP_FROM = 5
"""Letters a name must have before one of them may be a slip: short names differ by one for good reasons."""


@dataclass(frozen=True)
class EntityIndex:
    """The run's entities, and after them those that only the observed facts name, in order of appearance."""

    known: Vocabulary
    newcomers: Mapping[str, int]
    """Name → id of those the run does not know."""
    vocabulary: Vocabulary
    """All of them together."""

    @classmethod
    def of(cls, known: Vocabulary, facts: Iterable[Fact]) -> EntityIndex:
        newcomers: dict[str, int] = {}
        for fact in facts:
            for name in (fact.subject, fact.object):
                if name not in known.entity_index and name not in newcomers:
                    newcomers[name] = len(known.entities) + len(newcomers)
        everybody = known.entities + tuple(newcomers) if newcomers else known.entities
        return cls(known, newcomers, Vocabulary(everybody, known.relations) if newcomers else known)

    def find(self, name: str) -> int | None:
        """The id of a name, or None."""
        found = self.known.entity_index.get(name)
        return self.newcomers.get(name) if found is None else found


class NameSearch:
    """Names by what somebody has typed so far."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._folded = [name.casefold() for name in names]

    def near(self, text: str, most: int) -> list[str]:
        """Names that begin so, then those with words that do, then those that hold it, then those spelt alike."""
        wanted = text.strip().casefold()
        if not wanted or most < 1:
            return []
        words = wanted.split()
        begin: list[int] = []
        worded: list[int] = []
        inside: list[int] = []
        for place, name in enumerate(self._folded):
            if name.startswith(wanted):
                begin.append(place)
            elif words[0] in name and _words_begin(words, name):
                worded.append(place)
            elif wanted in name:
                inside.append(place)
        found = [self._names[place] for group in (begin, worded, inside) for place in sorted(group, key=self._order)]
        if len(found) < most and len(wanted) >= _FUZZY_FROM:
            found += [name for name in self._alike(wanted, most) if name not in found]
        return found[:most]

    def _order(self, place: int) -> tuple[int, str]:
        return len(self._folded[place]), self._folded[place]

    def _alike(self, wanted: str, most: int) -> list[str]:
        places = {name: place for place, name in reversed(list(enumerate(self._folded)))}
        return [self._names[places[name]] for name in difflib.get_close_matches(wanted, places, n=most, cutoff=0.75)]


def _words_begin(words: Sequence[str], name: str) -> bool:
    """Whether every word is the beginning of some word of the name."""
    there = name.replace("(", " ").replace("-", " ").split()
    return all(any(part.startswith(word) for part in there) for word in words)


def likely_typos(names: Iterable[str], known: Vocabulary, newcomer: str) -> Iterator[tuple[str, str]]:
    """Names that are not known but look like a slip of one that is, and that one.

    They differ in case, spaces and punctuation only, or by one letter (missing, extra, wrong, or two in each other's
    place); the latter is not held against the newcomer, who is expected to have a name of its own. Another digit is
    another name.
    """
    new = [name for name in names if name not in known.entity_index]
    plain = {_plain(name): name for name in reversed(known.entities)} if new else {}
    for name in new:
        typed = _plain(name)
        meant = plain.get(typed)
        if meant is None and name != newcomer:
            meant = next((plain[other] for other in plain if _one_letter_apart(typed, other)), None)
        if meant is not None:
            yield name, meant


def _plain(name: str) -> str:
    """A name without case, spaces, punctuation and signs."""
    folded = name.casefold()
    if folded.isascii():
        return _NO_LETTER.sub("", folded)
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LMN")


def _one_letter_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1 or len(one) < _SLIP_FROM:
        return False
    same = _alike_from_start(one, other)
    one, other = one[same:], other[same:]
    same = _alike_from_start(one[::-1], other[::-1])
    one, other = one[: len(one) - same], other[: len(other) - same]
    swapped = len(one) == len(other) == 2 and one == other[::-1]
    return (max(len(one), len(other)) == 1 or swapped) and (one + other).isalpha()


def _alike_from_start(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
