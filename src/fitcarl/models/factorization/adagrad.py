"""Adagrad that begins anew where a stage of the training begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn


class RestartedAdagrad(torch.optim.Adagrad):
    """Adagrad without memory of the first ``restart_after`` steps once they are over.

    The number of steps is part of the saved state, so that a resumed training restarts at the same step.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], learning_rate: float, restart_after: int = 0) -> None:
        super().__init__(parameters, lr=learning_rate, eps=1e-10, foreach=False)
        self._restart_after = restart_after

    def step(self, closure: Any = None) -> Any:
        """One update."""
        if self._restart_after:
            for state in self.state.values():
                if int(state["step"]) == self._restart_after:
                    state["sum"].zero_()
        return super().step(closure)
