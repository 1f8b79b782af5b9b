"""BiQUE: entities as biquaternions; a relation adds one biquaternion and multiplies by another."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from fitcarl.models.factorization.complex import complex_product
from fitcarl.models.factorization.loss import n3_penalty
from fitcarl.models.factorization.score_function import Tables


def biquaternion_product(left: Tensor, right: Tensor) -> Tensor:
    """The coordinate-wise Hamilton product with complex coefficients, [n, 8k]: w, x, y, z, each real then imaginary."""
    w, x, y, z = left.chunk(4, dim=-1)
    w2, x2, y2, z2 = right.chunk(4, dim=-1)
    times = complex_product
    product = (
        times(w, w2) - times(x, x2) - times(y, y2) - times(z, z2),
        times(w, x2) + times(x, w2) + times(y, z2) - times(z, y2),
        times(w, y2) - times(x, z2) + times(y, w2) + times(z, x2),
        times(w, z2) + times(x, y2) - times(y, x2) + times(z, w2),
    )
    return torch.cat(product, dim=-1)


class BiQUE:
    """The dot product of (s + r₊) ⊗ r× and o; a relation row is r×, then r₊."""

    name: ClassVar[str] = "BiQUE"
    components: ClassVar[int] = 8
    relation_parts: ClassVar[int] = 2
    temporal: ClassVar[bool] = False
    drifts: ClassVar[bool] = False

    def compose(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:  # noqa: ARG002
        factor, shift = relation.chunk(2, dim=-1)
        return biquaternion_product(entity + shift, factor)

    def query_penalty(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """As in the authors' code: the norm of s + r₊, while the text of the publication has that of s."""
        factor, shift = relation.chunk(2, dim=-1)
        return 2 * n3_penalty(entity + shift, 8) + 0.5 * n3_penalty(factor, 8)

    def answer_penalty(self, entity: Tensor) -> Tensor:
        return 2 * n3_penalty(entity, 8)

    def time_penalty(self, tables: Tables) -> Tensor:
        return tables.entity.new_zeros(())
