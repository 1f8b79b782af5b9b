"""TeLM: entities, relations and timestamps as multivectors of the Clifford algebra Cl(2, 0)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from fitcarl.models.factorization.loss import n3_penalty
from fitcarl.models.factorization.score_function import Tables


def geometric_product(left: Tensor, right: Tensor) -> Tensor:
    """The coordinate-wise product of multivectors, [n, 4k]: scalar, e1, e2 and e12 parts (e1² = e2² = 1)."""
    a, a1, a2, a12 = left.chunk(4, dim=-1)
    b, b1, b2, b12 = right.chunk(4, dim=-1)
    product = (
        a * b + a1 * b1 + a2 * b2 - a12 * b12,
        a * b1 + a1 * b - a2 * b12 + a12 * b2,
        a * b2 + a2 * b + a1 * b12 - a12 * b1,
        a1 * b2 - a2 * b1 + a * b12 + a12 * b,
    )
    return torch.cat(product, dim=-1)


class TeLM:
    """The scalar part of s r τ times the Clifford conjugate of o.

    If all e1 and e2 parts are zero, this is TComplEx on the other two, and the gradients of the e1 and e2 parts are
    zero too: that is the first stage of the training.
    """

    name: ClassVar[str] = "TeLM"
    components: ClassVar[int] = 4
    relation_parts: ClassVar[int] = 1
    temporal: ClassVar[bool] = True
    drifts: ClassVar[bool] = True

    def compose(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:
        assert time is not None
        scalar, e1, e2, e12 = geometric_product(entity, geometric_product(relation, time)).chunk(4, dim=-1)
        return torch.cat((scalar, -e1, -e2, e12), dim=-1)

    def query_penalty(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:
        assert time is not None
        return n3_penalty(entity, 4) + n3_penalty(geometric_product(relation, time), 4)

    def answer_penalty(self, entity: Tensor) -> Tensor:
        return n3_penalty(entity, 4)

    def time_penalty(self, tables: Tables) -> Tensor:
        """The mean N3 penalty of the differences between successive timestamps minus a learned drift."""
        assert tables.time is not None
        assert tables.drift is not None
        if len(tables.time) < 2:
            return tables.time.new_zeros(())
        return n3_penalty(tables.time.diff(dim=0) - tables.drift, 4).mean()


def vector_parts(rows: Tensor) -> Tensor:
    """A view of the e1 and e2 parts of multivectors, [n, 2k]."""
    quarter = rows.shape[-1] // 4
    return rows[..., quarter : 3 * quarter]
