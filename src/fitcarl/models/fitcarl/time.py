"""The time encoding (Eq. 1). Every time difference is encoded once per update and then looked up in a table."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


class TimeEncoding(nn.Module):
    """h_Δt = sqrt(1/d) cos(ω Δt + φ) with learned ω and φ (Eq. 1)."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        # Periods from a few ticks to billions, so that any two differences get distinct encodings.
        self.omega = nn.Parameter(10 ** -torch.linspace(0, 9, dimension))
        self.phi = nn.Parameter(torch.zeros(dimension))

    def forward(self, difference: Tensor) -> Tensor:
        """h_Δt, float [..., d], for time differences [...] in ticks."""
        angle = difference.to(self.omega.dtype).unsqueeze(-1) * self.omega + self.phi
        return torch.cos(angle) * len(self.omega) ** -0.5

    def table(self, max_delta: int, temporal: bool = True) -> TimeTable:
        """All differences from -max_delta to max_delta; zero without temporal reasoning (ablation E)."""
        if not temporal:
            return TimeTable(self.omega.new_zeros(2 * max_delta + 1, len(self.omega)), max_delta)
        return TimeTable(self(torch.arange(-max_delta, max_delta + 1, device=self.omega.device)), max_delta)


@dataclass(frozen=True)
class TimeTable:
    """h_Δt of every time difference that can occur; there are far fewer of them than (query, action) pairs."""

    rows: Tensor
    """[2 max_delta + 1, d]; row Δt + max_delta is h_Δt."""
    max_delta: int
    """The largest |Δt| in ticks."""

    @property
    def zero(self) -> Tensor:
        """h_0, [d]."""
        return self.rows[self.max_delta]

    def weigh(self, weight: Tensor) -> Tensor:
        """weightᵀ h_Δt of every difference, [2 max_delta + 1]."""
        return self.rows @ weight
