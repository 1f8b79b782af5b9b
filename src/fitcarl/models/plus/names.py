"""Words, places and roles in entity names, such as "Police (Nigeria)". Used only if names are switched on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of, with_empty_groups
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph

_WORD = re.compile(r"[^\W_]+")
_ROLE_AND_PLACE = re.compile(r"^(?P<role>.*?)\s*\((?P<place>[^()]+)\)\s*$")
_MIN_WORD_WEIGHT = 0.1
"""Added to every word weight, so that a word of all entities has a small weight above 0."""
_AFFINITY_PRIOR = 0.1
"""Pseudo-facts between any two places."""
_MIN_ROLE_COUNT = 0.1
"""Pseudo-facts of each role over all relations, so that no share is 0."""
_ROLE_PRIOR = 5
"""Pseudo-facts of each relation, distributed over roles as all facts are."""


@dataclass(frozen=True, eq=False)
class Names:
    """Words, places and roles of entity names, with counts on the background."""

    texts: tuple[str, ...]
    """The names; empty if names are switched off."""
    offsets: NDArray[np.int64]
    """int64 [entities + 1] into ``words``."""
    words: Ids
    """int32: ids of the distinct words of each name, in lower case."""
    weight: NDArray[np.float64]
    """float64 [words], inverse document frequency; at least one row, so that kernels never see an empty array."""
    place: Ids
    """int32 [entities]: the place in the name or, if it has none, the most frequent of its neighbours; -1 for none."""
    role: Ids
    """int32 [entities]: the text before the place; -1 for none."""
    affinity: NDArray[np.float32]
    """float32 [places, places]: log-share of the facts of one place that are with the other place."""
    role_fit: NDArray[np.float32]
    """float32 [2R, roles]: log of how much more often r has an object with the role than relations in general."""
    word_index: Mapping[str, int]
    place_index: Mapping[str, int]
    role_index: Mapping[str, int]

    @classmethod
    def empty(cls, entities: int) -> Names:
        """The value used if names are switched off."""
        words, none = np.empty(0, np.int32), np.full(entities, -1, dtype=np.int32)
        zero = np.zeros((1, 1), dtype=np.float32)
        ends = np.zeros(entities + 1, dtype=np.int64)
        return cls((), ends, words, np.zeros(1), none, none, zero, zero, {}, {}, {})

    @classmethod
    def from_texts(cls, texts: Sequence[str], graph: TemporalGraph) -> Names:
        """Parses names and counts on the background of a graph; entities beyond ``texts`` have no name."""
        texts = tuple(texts) + ("",) * (graph.entities - len(texts))
        word_index: dict[str, int] = {}
        rows = [sorted({word_index.setdefault(word, len(word_index)) for word in words_in(text)}) for text in texts]
        words = np.array([word for row in rows for word in row], dtype=np.int32)
        holders = np.bincount(words, minlength=max(len(word_index), 1))
        parts = [_ROLE_AND_PLACE.match(text) for text in texts]
        place_index, role_index = _index(parts, "place"), _index(parts, "role")
        in_name = [
            place_index.get(_normalised(match["place"]) if match else _normalised(text), -1)
            for match, text in zip(parts, texts, strict=True)
        ]
        role = [role_index[_normalised(match["role"])] if match else -1 for match in parts]
        place = _complete_places(np.array(in_name, dtype=np.int32), graph, len(place_index))
        return cls(
            texts=texts,
            offsets=offsets_of(np.array([len(row) for row in rows], dtype=np.int64)),
            words=words,
            weight=np.log(max(len(texts), 1) / np.maximum(holders, 1)) + _MIN_WORD_WEIGHT,
            place=place,
            role=np.array(role, dtype=np.int32),
            affinity=_affinity(place, graph, len(place_index)),
            role_fit=_role_fit(np.array(role, dtype=np.int32), graph, len(role_index)),
            word_index=word_index,
            place_index=place_index,
            role_index=role_index,
        )

    @property
    def used(self) -> bool:
        """Whether names are switched on."""
        return bool(self.texts)

    def refit(self, graph: TemporalGraph) -> Names:
        """The same names with counts on another background."""
        return Names.from_texts(self.texts, graph) if self.used else Names.empty(graph.entities)

    def with_capacity(self, extra: int) -> Names:
        """The same names with rows for ``extra`` more entities without a name."""
        none = np.full(extra, -1, dtype=np.int32)
        return replace(
            self,
            texts=self.texts + ("",) * extra if self.used else (),
            offsets=with_empty_groups(self.offsets, extra),
            place=np.append(self.place, none),
            role=np.append(self.role, none),
        )

    def with_names(self, names: Mapping[int, str]) -> Names:
        """Sets the names of entities without one; unknown words, places and roles are ignored."""
        sizes, words, place, role = np.diff(self.offsets), self.words, self.place.copy(), self.role.copy()
        for entity, name in sorted(names.items(), reverse=True):
            if sizes[entity]:
                continue
            row = sorted({self.word_index[word] for word in words_in(name) if word in self.word_index})
            words = np.insert(words, self.offsets[entity], np.array(row, dtype=np.int32))
            sizes[entity] = len(row)
            match = _ROLE_AND_PLACE.match(name)
            place[entity] = self.place_index.get(_normalised(match["place"] if match else name), -1)
            role[entity] = self.role_index.get(_normalised(match["role"]), -1) if match else -1
        return replace(self, offsets=offsets_of(sizes), words=words, place=place, role=role)


def words_in(name: str) -> list[str]:
    """The words of a name, in order and in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def _normalised(text: str) -> str:
    return " ".join(words_in(text))


def _index(parts: Sequence[re.Match[str] | None], group: str) -> dict[str, int]:
    """Ids of the distinct values of a group, in order of first appearance."""
    index: dict[str, int] = {}
    for match in parts:
        if match:
            index.setdefault(_normalised(match[group]), len(index))
    return index


def _complete_places(place: Ids, graph: TemporalGraph, places: int) -> Ids:
    """Places in names; for names without one, the place that most facts of the entity lead to."""
    source = np.repeat(np.arange(graph.entities, dtype=np.int64), np.diff(graph.base.offsets))
    target_place = place[graph.base.target]
    known = (target_place >= 0) & (place[source] < 0)
    pair, times = np.unique(source[known] * max(places, 1) + target_place[known], return_counts=True)
    order = np.lexsort((pair, times))  # the last one of an entity is the most frequent
    entity, frequent = np.divmod(pair[order], max(places, 1))
    completed = place.copy()
    completed[entity] = frequent
    return completed


def _affinity(place: Ids, graph: TemporalGraph, places: int) -> NDArray[np.float32]:
    size = max(places, 1)
    source_place = np.repeat(place, np.diff(graph.base.offsets))
    target_place = place[graph.base.target]
    known = (source_place >= 0) & (target_place >= 0)
    counts = np.bincount(
        source_place[known].astype(np.int64) * size + target_place[known], minlength=size * size
    ).reshape(size, size)
    share = (counts + _AFFINITY_PRIOR) / (counts.sum(1, keepdims=True) + _AFFINITY_PRIOR * size)
    return np.log(share).astype(np.float32)


def _role_fit(role: Ids, graph: TemporalGraph, roles: int) -> NDArray[np.float32]:
    n, size = graph.relations.directed, max(roles, 1)
    target_role = role[graph.base.target]
    known = target_role >= 0
    relation = graph.base.relation[known].astype(np.int64)
    counts = np.bincount(relation * size + target_role[known], minlength=n * size).reshape(n, size)
    total = counts.sum(0) + _MIN_ROLE_COUNT
    share = (counts + _ROLE_PRIOR * total / total.sum()) / (counts.sum(1, keepdims=True) + _ROLE_PRIOR)
    return np.log(share / (total / total.sum())).astype(np.float32)
