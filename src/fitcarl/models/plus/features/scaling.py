"""Fitted numbers of the feature table: shift and scale of every feature, and the weights of the preselection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.models.plus.features.accumulate import Accumulator
from fitcarl.models.plus.features.inputs import Preselection
from fitcarl.models.plus.features.table import FEATURES, Log, column

_EARLIER_NAMES = {
    **{f"object_{scale}": f"object_{scale}d" for scale in (3, 20, 90)},
    **{f"activity_{scale}": f"activity_{scale}d" for scale in (1, 7, 60)},
}
"""Names of features in runs that count time in days."""
_KEY = "feature."
"""Prefix of the names of stored arrays."""
_DEGREE, _ENCODER = column("degree"), column("encoder_with_events")


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """Numbers that are fitted once per run on its training data, stored with it and not changed afterwards."""

    shift: NDArray[np.float64]
    """float64 [features], subtracted from the transformed values."""
    scale: NDArray[np.float64]
    """float64 [features], divides them."""
    preselection: NDArray[np.float64]
    """float64 [features]: weights of the transformed values in the preselection score; 0 if not preselected by."""

    @classmethod
    def unfitted(cls) -> FeatureScaling:
        """Transformed values as they are, and equal weights: used if there are no facts to fit on."""
        count = len(FEATURES)
        weight = np.array([float(feature.preselects) for feature in FEATURES])
        return cls(np.zeros(count), np.ones(count), weight)

    def preselection_arrays(self) -> Preselection:
        """The preselection weights as the kernel reads them."""
        rows = [
            (column, feature.source, feature.transform)
            for column, feature in enumerate(FEATURES)
            if feature.preselects and isinstance(feature.source, Accumulator)
        ]
        epsilon = np.array([transform.epsilon for _, _, transform in rows if isinstance(transform, Log)])
        return Preselection(
            accumulator=np.array([source for _, source, _ in rows], dtype=np.int64),
            epsilon=epsilon,
            log_epsilon=np.log(epsilon),
            weight=self.preselection[[column for column, _, _ in rows]],
            degree=float(self.preselection[_DEGREE]),
            encoder=float(self.preselection[_ENCODER]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Shift, scale and weight of every feature, by its name, to be stored."""
        rows = np.stack([self.shift, self.scale, self.preselection], axis=1)
        return {_KEY + feature.name: row.copy() for feature, row in zip(FEATURES, rows, strict=True)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> FeatureScaling:
        """The inverse of ``arrays``.

        Raises:
            KeyError: If a feature is missing.
        """
        names = [feature.name for feature in FEATURES]
        stored = [name if _KEY + name in arrays else _EARLIER_NAMES.get(name, name) for name in names]
        shift, scale, weight = np.stack([arrays[_KEY + name] for name in stored], axis=1)
        return cls(shift, scale, weight)
