"""DistMult: real entity and relation vectors; the score is the trilinear product Σ s r o."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from fitcarl.models.factorization.loss import n3_penalty
from fitcarl.models.factorization.score_function import Tables


class DistMult:
    """ComplEx without imaginary parts: a relation scores (s, r, o) and (o, r, s) alike."""

    name: ClassVar[str] = "DistMult"
    components: ClassVar[int] = 1
    relation_parts: ClassVar[int] = 1
    temporal: ClassVar[bool] = False
    drifts: ClassVar[bool] = False

    def compose(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return entity * relation

    def query_penalty(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return n3_penalty(entity, 1) + n3_penalty(relation, 1)

    def answer_penalty(self, entity: Tensor) -> Tensor:
        return n3_penalty(entity, 1)

    def time_penalty(self, tables: Tables) -> Tensor:
        return tables.entity.new_zeros(())
