"""DistMult: real entity and relation vectors; the score is the trilinear product Σ s r o."""

from __future__ import annotations

from torch import Tensor


class DistMult:
    """ComplEx without imaginary parts: a relation scores (s, r, o) and (o, r, s) alike."""

    name = "DistMult"
    components = 1

    def compose(self, entity: Tensor, relation: Tensor) -> Tensor:
        return entity * relation
