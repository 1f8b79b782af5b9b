"""Maximum-likelihood weights of a discrete-time hazard (binary regression with complementary log-log link), by Newton.

The likelihood is concave and there are a handful of weights, so a few exact steps are deterministic on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS, _TOLERANCE, _RIDGE = 100, 1e-8, 0.1
_MAX_LOG = 30.0  # of the expected number of events, so that a trial step cannot overflow


def fit_hazard(features: Floats, offset: Floats, happened: NDArray[np.bool_]) -> Floats:
    """The weights under which the events are most probable, with a slight penalty on their squares.

    The expected number of events in a row is ``exp(offset + features @ weights)``, and the probability of at least
    one is ``1 - exp(-that)``.

    Args:
        features: float64 [rows, features].
        offset: float64 [rows].
        happened: bool [rows].

    Returns:
        float64 [features].
    """
    weights = np.zeros(features.shape[1])
    for _ in range(_STEPS):
        expected = _expected(features, offset, weights)
        if_happened = expected / np.maximum(np.expm1(expected), 1e-300)
        slope = np.where(happened, if_happened, -expected)
        curvature = np.where(happened, if_happened * (expected + if_happened - 1), expected)
        gradient = features.T @ slope - _RIDGE * weights
        hessian = (features * curvature[:, None]).T @ features + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(hessian, gradient)
        size, loss = 1.0, _loss(features, offset, happened, weights)
        while _loss(features, offset, happened, weights + size * step) > loss and size > _TOLERANCE:
            size /= 2
        weights = weights + size * step
        if np.abs(size * step).max() < _TOLERANCE:
            break
    return weights


def _expected(features: Floats, offset: Floats, weights: Floats) -> Floats:
    expected: Floats = np.exp(np.minimum(offset + features @ weights, _MAX_LOG))
    return np.maximum(expected, 1e-300)


def _loss(features: Floats, offset: Floats, happened: NDArray[np.bool_], weights: Floats) -> float:
    expected = _expected(features, offset, weights)
    likelihood = np.where(happened, np.log(-np.expm1(-expected)), -expected)
    return float(_RIDGE / 2 * weights @ weights - likelihood.sum())
