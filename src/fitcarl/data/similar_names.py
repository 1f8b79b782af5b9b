"""Names that are equal but for case, spaces or Unicode form, and facts in which they are merged."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.concepts import Concepts
from fitcarl.data.facts import Facts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class SimilarNames:
    """Groups of names with the same normalised form; the most frequent spelling of each group first."""

    entities: tuple[tuple[str, ...], ...]
    relations: tuple[tuple[str, ...], ...]

    @property
    def superfluous(self) -> int:
        """Names that merging would remove: all spellings but one of every group."""
        return sum(len(group) - 1 for group in (*self.entities, *self.relations))


def normalise_name(name: str) -> str:
    """The normalised form of a name: Unicode NFKC, case folded, runs of white space as one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def find_similar_names(facts: Facts) -> SimilarNames:
    """Finds entities, and relations, whose names differ in case, spaces or Unicode form only.

    Args:
        facts: The facts; names that do not occur in them count as least frequent.
    """
    known, names = facts.quadruples, facts.vocabulary
    by_entity = _groups(names.entities, _occurrences(len(names.entities), known.subject, known.object))
    by_relation = _groups(names.relations, _occurrences(len(names.relations), known.relation))
    entities = tuple(tuple(names.entities[number] for number in group) for group in by_entity)
    return SimilarNames(entities, tuple(tuple(names.relations[number] for number in group) for group in by_relation))


def merge_similar_names(facts: Facts) -> Facts:
    """Facts in which similar names are one: the most frequent spelling, the first one among equals.

    Facts that become equal are merged and count as duplicates; concepts of all spellings are kept.

    Args:
        facts: The facts.
    """
    known, names = facts.quadruples, facts.vocabulary
    entity = _merged_ids(names.entities, _occurrences(len(names.entities), known.subject, known.object))
    relation = _merged_ids(names.relations, _occurrences(len(names.relations), known.relation))
    kept_entities, new_entity = np.unique(entity, return_inverse=True)
    kept_relations, new_relation = np.unique(relation, return_inverse=True)
    if len(kept_entities) == len(entity) and len(kept_relations) == len(relation):
        return facts
    renamed = Quadruples.of(
        new_entity[known.subject], new_relation[known.relation], new_entity[known.object], known.time
    )
    merged = renamed.distinct()
    return replace(
        facts,
        quadruples=merged,
        vocabulary=Vocabulary(
            tuple(names.entities[number] for number in kept_entities),
            tuple(names.relations[number] for number in kept_relations),
        ),
        concepts=_merged_concepts(facts.concepts, new_entity, len(kept_entities)),
        duplicates=facts.duplicates + len(known) - len(merged),
        self_loops=int(np.count_nonzero(merged.subject == merged.object)),
    )


def _occurrences(count: int, *columns: Ids) -> NDArray[np.int64]:
    """int64 [count]: how often each id occurs."""
    return np.sum([np.bincount(column, minlength=count) for column in columns], axis=0)


def _groups(names: Sequence[str], frequency: NDArray[np.int64]) -> list[list[int]]:
    """Ids of names with the same normalised form, most frequent first; names without a similar one are left out."""
    found: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        found.setdefault(normalise_name(name), []).append(number)
    return [sorted(group, key=lambda number: -int(frequency[number])) for group in found.values() if len(group) > 1]


def _merged_ids(names: Sequence[str], frequency: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 [names]: the id of the spelling that replaces each name."""
    merged = np.arange(len(names))
    for group in _groups(names, frequency):
        merged[group] = group[0]
    return merged


def _merged_concepts(concepts: Concepts, new_entity: NDArray[np.int64], entities: int) -> Concepts:
    pairs = ((int(new_entity[e]), name) for e in range(len(new_entity)) for name in concepts.of(e))
    return Concepts.from_pairs(entities, dict.fromkeys(pairs))
