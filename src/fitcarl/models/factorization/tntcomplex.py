"""TNTComplEx: ComplEx whose relation is the sum of a part that a timestamp multiplies and a static part."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from fitcarl.models.factorization.complex import complex_product
from fitcarl.models.factorization.loss import n3_penalty
from fitcarl.models.factorization.score_function import Tables


class TNTComplEx:
    """Re⟨s, r ∘ τ + r₀, conj(o)⟩; a relation row is r, then r₀."""

    name: ClassVar[str] = "TNTComplEx"
    components: ClassVar[int] = 2
    relation_parts: ClassVar[int] = 2
    temporal: ClassVar[bool] = True
    drifts: ClassVar[bool] = False

    def compose(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:
        assert time is not None
        temporal, static = relation.chunk(2, dim=-1)
        return complex_product(entity, complex_product(temporal, time) + static)

    def query_penalty(self, entity: Tensor, relation: Tensor, time: Tensor | None = None) -> Tensor:
        assert time is not None
        temporal, static = relation.chunk(2, dim=-1)
        return 2 * n3_penalty(entity) + n3_penalty(complex_product(temporal, time)) + n3_penalty(static)

    def answer_penalty(self, entity: Tensor) -> Tensor:
        return 2 * n3_penalty(entity)

    def time_penalty(self, tables: Tables) -> Tensor:
        """The mean N3 penalty of the differences between successive timestamps."""
        assert tables.time is not None
        if len(tables.time) < 2:
            return tables.time.new_zeros(())
        return n3_penalty(tables.time.diff(dim=0)).mean()
