"""Conversion of scores to shares (calibrated probabilities)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration
from fitcarl.scoring.scores import Scores


def shares(score: NDArray[np.float64], calibration: Calibration | None = None) -> NDArray[np.float64]:
    """The shares of all answers to one query.

    Args:
        score: float64 [answers], log-probabilities.
        calibration: Calibration of the run; None normalises the probabilities.

    Returns:
        float64 [answers]; they sum to 1 minus the calibrated probability that the answer is not listed.
    """
    listed = Scores(np.array([0, len(score)]), np.arange(len(score), dtype=np.int32), score)
    return (calibration or UNCALIBRATED).shares(listed).score
