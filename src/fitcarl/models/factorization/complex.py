"""ComplEx: entities and relations as complex vectors; the score is Re⟨s, r, conj(o)⟩."""

from __future__ import annotations

import torch
from torch import Tensor


def complex_product(left: Tensor, right: Tensor) -> Tensor:
    """The coordinate-wise product of complex rows, [n, 2k]: real parts, then imaginary parts."""
    real, imaginary = left.chunk(2, dim=-1)
    right_real, right_imaginary = right.chunk(2, dim=-1)
    product = (real * right_real - imaginary * right_imaginary, real * right_imaginary + imaginary * right_real)
    return torch.cat(product, dim=-1)


class ComplEx:
    """Re⟨s, r, conj(o)⟩ is the real dot product of s ∘ r and o."""

    name = "ComplEx"
    components = 2

    def compose(self, entity: Tensor, relation: Tensor) -> Tensor:
        return complex_product(entity, relation)
