"""Maximum-likelihood weights of a softmax over alternatives (conditional logit), by Newton's method.

The likelihood is concave and there are a handful of weights, so a few exact steps are deterministic on every machine;
scikit-learn has no conditional logit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import Positions

Floats = NDArray[np.float64]

_STEPS, _TOLERANCE, _RIDGE = 50, 1e-8, 1.0


def log_softmax(scores: Floats) -> Floats:
    """float64 [rows, alternatives]: logarithms of probabilities that sum to 1 in each row."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def fit_conditional_logit(features: Floats, row: Positions, chosen: Positions, prior: Floats) -> Floats:
    """The weights under which the chosen alternatives are most probable, drawn slightly towards a prior.

    Args:
        features: float64 [rows, alternatives, features].
        row: int64 [choices], the row of each choice.
        chosen: int64 [choices], the chosen alternative.
        prior: float64 [features], the weights without any choice.

    Returns:
        float64 [features].
    """
    weights = prior
    count = np.bincount(row, minlength=len(features)).astype(np.float64)
    observed = features[row, chosen].sum(axis=0)
    for _ in range(_STEPS):
        probability = np.exp(log_softmax(features @ weights))
        mean = np.einsum("qr,qrk->qk", probability, features)
        gradient = count @ mean - observed + _RIDGE * (weights - prior)
        hessian = _second_moment(probability * count[:, None], features) - (mean * count[:, None]).T @ mean
        step = np.linalg.solve(hessian + _RIDGE * np.eye(len(weights)), gradient)
        size, loss = 1.0, _loss(features, row, chosen, prior, weights)
        while _loss(features, row, chosen, prior, weights - size * step) > loss and size > _TOLERANCE:
            size /= 2
        weights = weights - size * step
        if np.abs(size * step).max() < _TOLERANCE:
            break
    return weights


def _loss(features: Floats, row: Positions, chosen: Positions, prior: Floats, weights: Floats) -> float:
    likelihood = log_softmax(features @ weights)[row, chosen].sum()
    return float(_RIDGE / 2 * np.square(weights - prior).sum() - likelihood)


def _second_moment(weight: Floats, features: Floats) -> Floats:
    flat = features.reshape(-1, features.shape[2])
    moment: Floats = (flat * weight.reshape(-1, 1)).T @ flat
    return moment
