"""Names of entities and relations, and the ids that stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Vocabulary:
    """Names by id. Names keep the Unicode they came with (some ICEWS names hold U+00A0)."""

    entities: tuple[str, ...]
    relations: tuple[str, ...]

    @property
    def relation_ids(self) -> RelationIds:
        return RelationIds(len(self.relations))

    @cached_property
    def entity_index(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.entities)}

    @cached_property
    def relation_index(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.relations)}

    def entity_id(self, name: str) -> int:
        """The id of an entity; an unknown name raises an InputError that suggests near ones."""
        return self._find(name, self.entity_index, "entity")

    def relation_id(self, name: str) -> int:
        """The id of a relation; an unknown name raises an InputError that suggests near ones."""
        return self._find(name, self.relation_index, "relation")

    def relation_name(self, relation: int) -> str:
        """A name for any relation id, inverses, self-loop and dummy included."""
        ids = self.relation_ids
        if relation == ids.self_loop:
            return "(stay)"
        if relation == ids.dummy:
            return "(start)"
        name = self.relations[ids.base(relation)]
        return f"{name} ⁻¹" if ids.is_inverse(relation) else name

    @staticmethod
    def _find(name: str, index: Mapping[str, int], what: str) -> int:
        if name in index:
            return index[name]
        hint = did_you_mean(name, index)
        raise InputError(f"unknown {what}", found=name, expected=f"one of the {len(index)} known names", hint=hint)
