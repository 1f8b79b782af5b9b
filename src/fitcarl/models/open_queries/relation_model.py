"""The distribution over the directed relations of an entity's next fact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.history import Histories
from fitcarl.models.open_queries.newton import log_softmax
from fitcarl.models.open_queries.relation_features import FEATURES, Floats, relation_features

_CELLS = 4_000_000  # features in memory at once


@dataclass(frozen=True)
class RelationModel:
    """P(relation, direction | entity, visible facts, time): a softmax over all 2R directed relations."""

    weights: tuple[float, ...]
    """One weight per feature of ``FEATURES``."""
    half_life: float
    """Ticks after which a fact of the entity has half the weight."""
    temperature: float = 1.0
    """Divisor of the scores, fitted on meta-validation."""

    def log_probabilities(self, index: EventIndex, histories: Histories) -> Floats:
        """float64 [histories, 2R]: logarithms of probabilities that sum to 1 in each row.

        Args:
            index: Counts on the background.
            histories: Entities with their visible facts; nothing at or after ``Histories.before`` is used.
        """
        scale = np.array(self.weights) / self.temperature
        size = max(1, _CELLS // (index.directed * len(FEATURES)))
        parts = [np.empty((0, index.directed))]
        for first in range(0, len(histories), size):
            part = histories.take(np.arange(first, min(first + size, len(histories))))
            parts.append(log_softmax(relation_features(index, part, self.half_life) @ scale))
        return np.concatenate(parts)

    def to_json(self) -> dict[str, Any]:
        weights = dict(zip(FEATURES, self.weights, strict=True))
        return {"weights": weights, "half_life": self.half_life, "temperature": self.temperature}

    @classmethod
    def from_json(cls, values: Any) -> RelationModel:
        """Reads the output of ``to_json``.

        Raises:
            ValueError: If a value is missing or out of range.
        """
        try:
            weights = tuple(float(values["weights"][name]) for name in FEATURES)
            found = cls(weights, float(values["half_life"]), float(values["temperature"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no relation model: {error}") from None
        if (
            not np.isfinite(found.weights).all()
            or not 0 < found.half_life < np.inf
            or not 0 < found.temperature < np.inf
        ):
            raise ValueError("no relation model: weights must be finite, half_life and temperature above 0")
        return found


def most_probable(log_probability: Floats, mass: float) -> NDArray[np.int64]:
    """The fewest relations of one row [2R] with at least this probability together, the most probable first."""
    order = np.argsort(-log_probability, kind="stable")
    total = np.cumsum(np.exp(log_probability[order]))
    return order[: int(np.searchsorted(total, min(mass, float(total[-1])))) + 1]
