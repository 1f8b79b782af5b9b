"""Models by name."""

from __future__ import annotations

from collections.abc import Callable

import torch

from fitcarl.config.schema import Config
from fitcarl.models.base import GraphContext, TrainableModel
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.fitcarl.trainable import FitcarlModel
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import PlusModel


def build_model(
    config: Config,
    context: GraphContext,
    embeddings: Callable[[], Embeddings],
    statistics: GraphStatistics | None = None,
    encoder: Callable[[], SupportEncoder] | None = None,
) -> TrainableModel:
    """A new, untrained model; ``embeddings`` and ``encoder`` are only called by a model that needs them."""
    rows = embeddings() if config.model == "fitcarl" else None
    learned = encoder() if config.model == "plus" and config.features.encoder and encoder is not None else None
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random state alone
        torch.manual_seed(config.seed)
        if rows is not None:
            return FitcarlModel(config, context, rows)
        return PlusModel(config, context, statistics, learned)
