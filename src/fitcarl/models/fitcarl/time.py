"""Time differences as vectors (Eq. 1), each computed once per update and looked up ever after."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


class TimeEncoding(nn.Module):
    """h_Δt = sqrt(1/d) cos(ω Δt + φ), with ω and φ learned (Eq. 1)."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        # Periods from a few ticks to billions: some component tells any two differences apart.
        self.omega = nn.Parameter(10 ** -torch.linspace(0, 9, dimension))
        self.phi = nn.Parameter(torch.zeros(dimension))

    def forward(self, difference: Tensor) -> Tensor:
        """Float [..., d] for differences in ticks [...]."""
        angle = difference.to(self.omega.dtype).unsqueeze(-1) * self.omega + self.phi
        return torch.cos(angle) * len(self.omega) ** -0.5

    def table(self, max_delta: int, temporal: bool = True) -> TimeTable:
        """All differences from -max_delta to max_delta; without temporal reasoning (ablation E) every row is zero."""
        if not temporal:
            return TimeTable(self.omega.new_zeros(2 * max_delta + 1, len(self.omega)), max_delta)
        return TimeTable(self(torch.arange(-max_delta, max_delta + 1)), max_delta)


@dataclass(frozen=True)
class TimeTable:
    """h_Δt for every difference that can occur: there are far fewer of them than (query, action) pairs."""

    rows: Tensor
    """[2 max_delta + 1, d]; row Δt + max_delta is h_Δt."""
    max_delta: int
    """The largest difference in ticks."""

    def at(self, difference: Tensor) -> Tensor:
        """h_Δt, [..., d]."""
        found = self.rows.index_select(0, (difference + self.max_delta).flatten())
        return found.unflatten(0, difference.shape) if difference.ndim != 1 else found

    def weigh(self, weight: Tensor) -> Tensor:
        """weightᵀ h_Δt for every difference, [2 max_delta + 1]."""
        return self.rows @ weight
