"""What names say: their words, the place in brackets, the role before it. Used only where names are switched on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph

_WORD = re.compile(r"[^\W_]+")
_BRACKETS = re.compile(r"^(?P<role>.*?)\s*\((?P<place>[^()]+)\)\s*$")


@dataclass(frozen=True, eq=False)
class Names:
    """What is read off the names of entities, and counted with it on the background."""

    texts: tuple[str, ...]
    """The names themselves; empty where they are not looked at."""
    offsets: NDArray[np.int64]
    """int64 [entities + 1] into ``words``."""
    words: Ids
    """The distinct words of each name, lower case, by number."""
    weight: NDArray[np.float64]
    """float64 [words]: log(entities / entities with that word); at least one row, so that loops have a place."""
    home: Ids
    """int32 [entities]: the place in the name or, where it has none, the commonest among its contacts; -1 for none."""
    role: Ids
    """int32 [entities]: what stands before the place; -1 for none."""
    affinity: NDArray[np.float32]
    """float32 [places, places]: log-share of an entity's facts, by its home, with those of another home."""
    role_fit: NDArray[np.float32]
    """float32 [2R, roles]: log-share of the facts of r whose object has that role."""
    number: Mapping[str, int]
    """The number of a word."""
    places: Mapping[str, int]
    """The number of a place."""
    roles: Mapping[str, int]
    """The number of a role."""

    @classmethod
    def empty(cls, entities: int) -> Names:
        """Names are not looked at."""
        nothing, nowhere = np.empty(0, np.int32), np.full(entities, -1, dtype=np.int32)
        blank = np.zeros((1, 1), dtype=np.float32)
        ends = np.zeros(entities + 1, dtype=np.int64)
        return cls((), ends, nothing, np.zeros(1), nowhere, nowhere, blank, blank, {}, {}, {})

    @classmethod
    def from_texts(cls, texts: Sequence[str], graph: TemporalGraph) -> Names:
        """Everything about these names, counted on a graph's background; entities beyond them have none."""
        texts = tuple(texts) + ("",) * (graph.entities - len(texts))
        number: dict[str, int] = {}
        rows = [sorted({number.setdefault(word, len(number)) for word in words_in(text)}) for text in texts]
        words = np.array([word for row in rows for word in row], dtype=np.int32)
        holders = np.bincount(words, minlength=max(len(number), 1))
        parts = [_BRACKETS.match(text) for text in texts]
        places, roles = _numbered(parts, "place"), _numbered(parts, "role")
        place = [
            places.get(_plain(match["place"]) if match else _plain(text), -1)
            for match, text in zip(parts, texts, strict=True)
        ]
        role = [roles[_plain(match["role"])] if match else -1 for match in parts]
        home = _home(np.array(place, dtype=np.int32), graph, len(places))
        return cls(
            texts=texts,
            offsets=offsets_of(np.array([len(row) for row in rows], dtype=np.int64)),
            words=words,
            weight=np.log(max(len(texts), 1) / np.maximum(holders, 1)) + 0.1,
            home=home,
            role=np.array(role, dtype=np.int32),
            affinity=_affinity(home, graph, len(places)),
            role_fit=_role_fit(np.array(role, dtype=np.int32), graph, len(roles)),
            number=number,
            places=places,
            roles=roles,
        )

    @property
    def used(self) -> bool:
        return bool(self.texts)

    def refit(self, graph: TemporalGraph) -> Names:
        """The same names over another background."""
        return Names.from_texts(self.texts, graph) if self.used else Names.empty(graph.entities)

    def with_capacity(self, extra: int) -> Names:
        """With room for so many more entities, whose names are not known."""
        nowhere = np.full(extra, -1, dtype=np.int32)
        return replace(
            self,
            texts=self.texts + ("",) * extra if self.used else (),
            offsets=np.append(self.offsets, np.full(extra, self.offsets[-1])),
            home=np.append(self.home, nowhere),
            role=np.append(self.role, nowhere),
        )

    def with_names(self, names: Mapping[int, str]) -> Names:
        """With names for some entities that had none; words, places and roles that nobody has say nothing."""
        sizes, words, home, role = np.diff(self.offsets), self.words, self.home.copy(), self.role.copy()
        for entity, name in sorted(names.items(), reverse=True):
            if sizes[entity]:
                continue
            row = sorted({self.number[word] for word in words_in(name) if word in self.number})
            words = np.insert(words, self.offsets[entity], np.array(row, dtype=np.int32))
            sizes[entity] = len(row)
            match = _BRACKETS.match(name)
            home[entity] = self.places.get(_plain(match["place"] if match else name), -1)
            role[entity] = self.roles.get(_plain(match["role"]), -1) if match else -1
        return replace(self, offsets=offsets_of(sizes), words=words, home=home, role=role)


def words_in(name: str) -> list[str]:
    """Words in order, lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def _plain(text: str) -> str:
    return " ".join(words_in(text))


def _numbered(parts: Sequence[re.Match[str] | None], group: str) -> dict[str, int]:
    number: dict[str, int] = {}
    for match in parts:
        if match:
            number.setdefault(_plain(match[group]), len(number))
    return number


def _home(place: Ids, graph: TemporalGraph, places: int) -> Ids:
    """Places of names, and for names without one the place that most of the entity's facts lead to."""
    source = np.repeat(np.arange(graph.entities, dtype=np.int64), np.diff(graph.base.offsets))
    there = place[graph.base.target]
    known = (there >= 0) & (place[source] < 0)
    pair, times = np.unique(source[known] * max(places, 1) + there[known], return_counts=True)
    order = np.lexsort((pair, times))  # the last one of an entity is the commonest
    entity, common = np.divmod(pair[order], max(places, 1))
    home = place.copy()
    home[entity] = common
    return home


def _affinity(home: Ids, graph: TemporalGraph, places: int) -> NDArray[np.float32]:
    size = max(places, 1)
    one = np.repeat(home, np.diff(graph.base.offsets))
    other = home[graph.base.target]
    known = (one >= 0) & (other >= 0)
    counts = np.bincount(one[known].astype(np.int64) * size + other[known], minlength=size * size).reshape(size, size)
    share = (counts + 0.1) / (counts.sum(1, keepdims=True) + 0.1 * size)
    return np.log(share).astype(np.float32)


def _role_fit(role: Ids, graph: TemporalGraph, roles: int) -> NDArray[np.float32]:
    n, size = graph.relations.directed, max(roles, 1)
    met = role[graph.base.target]
    known = met >= 0
    relation = graph.base.relation[known].astype(np.int64)
    counts = np.bincount(relation * size + met[known], minlength=n * size).reshape(n, size)
    everywhere = counts.sum(0) + 0.1
    share = (counts + 5 * everywhere / everywhere.sum()) / (counts.sum(1, keepdims=True) + 5)
    return np.log(share / (everywhere / everywhere.sum())).astype(np.float32)
