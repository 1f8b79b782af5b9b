"""The concept part of FILT: embeddings of concepts from entities, and of entities from concepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from fitcarl.core.arrays import offsets_of
from fitcarl.data.concepts import Concepts


@dataclass(frozen=True, eq=False)
class ConceptMembers:
    """The entities that have each concept."""

    offsets: Tensor
    """int64 [concepts]: the first position of each concept in ``entity``."""
    entity: Tensor
    """int64 [pairs], grouped by concept."""
    entities: int
    """The number of entities, with and without concepts."""

    @classmethod
    def of(cls, concepts: Concepts) -> ConceptMembers:
        entities = len(concepts.offsets) - 1
        entity = np.repeat(np.arange(entities), np.diff(concepts.offsets))
        order = np.argsort(concepts.ids, kind="stable")
        counts = np.bincount(concepts.ids, minlength=len(concepts))
        return cls(torch.from_numpy(offsets_of(counts)[:-1]), torch.from_numpy(entity[order]), entities)

    def __len__(self) -> int:
        """The number of concepts."""
        return len(self.offsets)


def concept_embeddings(rows: Tensor, members: ConceptMembers) -> Tensor:
    """S = Bᵀ X, [concepts, d], where B is the softmax over entities of X S0ᵀ and S0 the mean row of each concept's
    entities. From B on, every concept is a mean over all entities.

    Args:
        rows: [E or more, d], X; rows of entities that were added later are not used.
        members: The entities of each concept.
    """
    rows = rows[: members.entities]
    entity, offsets = members.entity.to(rows.device), members.offsets.to(rows.device)
    mean = embedding_bag(entity, rows, offsets, mode="mean")
    return torch.softmax(mean @ rows.T, dim=1) @ rows


def mix_concepts(rows: Tensor, concepts: Tensor) -> Tensor:
    """G S, [n, d], where G is the softmax over concepts of X Sᵀ. A zero row mixes all concepts equally.

    Args:
        rows: [n, d], rows of entities.
        concepts: [concepts, d], S.
    """
    return torch.softmax(rows @ concepts.T, dim=1) @ concepts
