"""Words of names: what two entities' names have in common, such as a country. Used only where names are switched on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Ids
from fitcarl.ragged import offsets_of

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, eq=False)
class Words:
    """The distinct words of each entity's name, lower case, and how telling each word is."""

    offsets: NDArray[np.int64]
    """int64 [entities + 1] into ``ids``."""
    ids: Ids
    weight: NDArray[np.float64]
    """float64 [words]: log(entities / entities with that word); at least one row, so that loops have a place."""
    number: Mapping[str, int]
    """The id of a word."""

    @property
    def used(self) -> bool:
        return bool(self.number)

    @classmethod
    def none(cls, entities: int) -> Words:
        """Names are not looked at."""
        return cls(np.zeros(entities + 1, dtype=np.int64), np.empty(0, np.int32), np.zeros(1), {})

    @classmethod
    def of(cls, names: Sequence[str]) -> Words:
        number: dict[str, int] = {}
        rows = [sorted({number.setdefault(word, len(number)) for word in words_in(name)}) for name in names]
        ids = np.array([word for row in rows for word in row], dtype=np.int32)
        holders = np.bincount(ids, minlength=max(len(number), 1))
        weight = np.log(max(len(names), 1) / np.maximum(holders, 1)) + 0.1
        return cls(offsets_of(np.array([len(row) for row in rows], dtype=np.int64)), ids, weight, number)

    def widened(self, extra: int) -> Words:
        """With room for so many more entities, whose names are not known."""
        return replace(self, offsets=np.append(self.offsets, np.full(extra, self.offsets[-1])))

    def named(self, names: Mapping[int, str]) -> Words:
        """With names for some entities that had none; words that nobody's name had say nothing and are left out."""
        rows = {
            entity: sorted({self.number[word] for word in words_in(name) if word in self.number})
            for entity, name in sorted(names.items())
        }
        sizes = np.diff(self.offsets)
        ids = self.ids
        for entity, row in reversed(rows.items()):
            if sizes[entity] == 0:
                ids = np.insert(ids, self.offsets[entity], np.array(row, dtype=np.int32))
                sizes[entity] = len(row)
        return replace(self, offsets=offsets_of(sizes), ids=ids)


def words_in(name: str) -> list[str]:
    """Words in order, lower case."""
    return [word.lower() for word in _WORD.findall(name)]
