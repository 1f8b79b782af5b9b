"""Which actions fit the kinds of objects a relation has, and how far a policy is from that (Eq. 10 and 11)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.data.concepts import Concepts
from fitcarl.models.fitcarl.kernels import sum_concepts


def concept_fit(
    probability: NDArray[np.float64], concepts: Concepts, relation: NDArray[np.int32], entity: NDArray[np.int32]
) -> Tensor:
    """Σ_{c ∈ C_e_a} P(c | r_q), [states, actions], for r_q [states] and e_a [states, actions]."""
    fit = np.empty(entity.shape, dtype=np.float64)
    sum_concepts(probability, concepts.offsets, concepts.ids, relation, entity, fit)
    return torch.from_numpy(fit)


def concept_divergence(log_policy: Tensor, fit: Tensor, mask: Tensor) -> Tensor:
    """L_KL [states] between a policy and the concept-aware action probability softmax(fit); padding takes no part."""
    log_concept = fit.to(log_policy.dtype).masked_fill(~mask, float("-inf")).log_softmax(-1)
    gap = (log_policy - log_concept).masked_fill(~mask, 0)
    return (log_policy.exp() * gap).sum(-1)
