"""From scores to shares: how likely an answer with a score is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration
from fitcarl.scoring.scores import Scores


def shares(score: NDArray[np.float64], calibration: Calibration | None = None) -> NDArray[np.float64]:
    """The share of each answer to one question, from the log-probabilities of all of them.

    They add up to 1, less what the calibration leaves for somebody who is not among them.
    """
    listed = Scores(np.array([0, len(score)]), np.arange(len(score), dtype=np.int32), score)
    return (calibration or UNCALIBRATED).shares(listed).score
