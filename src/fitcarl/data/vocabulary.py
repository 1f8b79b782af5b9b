"""Names and ids of entities and relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError, did_you_mean


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """Names by id. Names keep their original Unicode (some ICEWS names contain U+00A0)."""

    entities: tuple[str, ...]
    relations: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.entities):,} entities, {len(self.relations):,} relations)"

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
        """The id of an entity; an unknown name raises an InputError that suggests similar names."""
        index = self.entity_index
        if name in index:
            return index[name]
        hint = did_you_mean(name, index)
        raise InputError("unknown entity", found=name, expected=f"one of the {len(index)} known names", hint=hint)

    def relation_name(self, relation: int) -> str:
        """The name of any relation id, including inverse relations, self-loop and dummy."""
        ids = self.relation_ids
        if relation == ids.self_loop:
            return "(stay)"
        if relation == ids.dummy:
            return "(start)"
        name = self.relations[ids.base(relation)]
        return f"{name} ⁻¹" if ids.is_inverse(relation) else name
