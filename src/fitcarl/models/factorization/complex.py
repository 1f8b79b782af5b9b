"""ComplEx: entities and relations as complex vectors; the score is Re⟨s, r, conj(o)⟩."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from fitcarl.models.factorization.loss import n3_penalty
from fitcarl.models.factorization.score_function import Tables


def complex_product(left: Tensor, right: Tensor) -> Tensor:
    """The coordinate-wise product of complex rows, [n, 2k]: real parts, then imaginary parts."""
    real, imaginary = left.chunk(2, dim=-1)
    right_real, right_imaginary = right.chunk(2, dim=-1)
    product = (real * right_real - imaginary * right_imaginary, real * right_imaginary + imaginary * right_real)
    return torch.cat(product, dim=-1)


class ComplEx:
    """Re⟨s, r, conj(o)⟩ is the real dot product of s ∘ r and o."""

    name: ClassVar[str] = "ComplEx"
    components: ClassVar[int] = 2
    relation_parts: ClassVar[int] = 1
    temporal: ClassVar[bool] = False
    drifts: ClassVar[bool] = False

    def compose(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return complex_product(entity, relation)

    def query_penalty(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return n3_penalty(entity) + n3_penalty(relation)

    def answer_penalty(self, entity: Tensor) -> Tensor:
        return n3_penalty(entity)

    def time_penalty(self, tables: Tables) -> Tensor:
        return tables.entity.new_zeros(())
