"""Shift and scale of candidate features."""

from __future__ import annotations

import numpy as np

from fitcarl.core.arrays import batches
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.models.plus.features.inputs import FeatureInputs
from fitcarl.models.plus.features.scaling import FeatureScaling
from fitcarl.models.plus.features.table import FEATURES, transformed
from fitcarl.models.plus.kernels import Floats

_ROWS = 8192
"""Candidates that are transformed at once: about what fits into the second cache."""


def normalised_features(inputs: FeatureInputs, scaling: FeatureScaling) -> Floats:
    """float32 [candidates, features]: all features of all candidates; values that do not exist are 0."""
    out = np.empty((len(inputs.entity), len(FEATURES)), dtype=np.float32)
    shift, scale = scaling.shift[:, None], scaling.scale[:, None]

    def fill(_: int, low: int, high: int) -> None:
        for part in batches(np.diff(inputs.offsets)[low:high], _ROWS):
            first, end = low + part.start, low + part.stop
            values = transformed(inputs, first, end)
            values -= shift
            values /= scale
            values[np.isnan(values)] = 0.0
            out[inputs.offsets[first] : inputs.offsets[end]] = values.T

    parallel_for(split_range(len(inputs.offsets) - 1), fill)
    return out
