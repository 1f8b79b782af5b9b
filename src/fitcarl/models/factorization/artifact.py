"""Pre-trained embeddings as an artifact of a run, and tables with rows for more entities."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.storage import Artifacts
from fitcarl.errors import InputError
from fitcarl.models.base import GraphContext, Preparation
from fitcarl.models.factorization.cache import PretrainingScore, embeddings_for
from fitcarl.models.factorization.embeddings import Embeddings

NAME = "embeddings"
"""The name of the artifact."""


def save_pretrained(preparation: Preparation, config: EmbeddingConfig, score: PretrainingScore = "complex") -> None:
    """Saves the embeddings of the background, unless they are there: from the cache, or newly trained.

    Of several processes the first one trains them alone, and the others wait for the file.

    Raises:
        Interrupted: If ``should_stop`` returned True; nothing is saved then.
    """
    file = preparation.artifacts.path(NAME)

    def save() -> None:
        if not file.exists():
            embeddings_for(
                preparation.dataset,
                config,
                preparation.config.seed,
                on_progress=preparation.on_progress,
                should_stop=preparation.should_stop,
                score=score,
                device=preparation.device,
            ).save(file)

    preparation.processes.on_first(save, file)


def load_pretrained(artifacts: Artifacts, context: GraphContext, dim: int) -> Embeddings:
    """The saved embeddings.

    Args:
        artifacts: The artifacts of the run.
        context: The background.
        dim: Real numbers per row.

    Raises:
        InputError: If they cannot be read, or do not have a row for every entity and relation.
    """
    file = artifacts.path(NAME)
    embeddings = Embeddings.load(file, verified=artifacts.verified)
    # Compiled loops check no bounds, so there must be a row for every entity and relation.
    expected = context.graph.entities, context.graph.relations.directed
    if (len(embeddings.entity), len(embeddings.relation)) != expected:
        raise InputError("does not fit the names", file=file, expected=f"{expected} rows")
    if embeddings.dimension != dim:
        found = f"{embeddings.dimension} numbers per row"
        raise InputError("does not fit the settings", file=file, found=found, expected=f"embedding.dim = {dim}")
    return embeddings


def save_zero_rows(artifacts: Artifacts, count: int) -> None:
    """Adds zero rows to the saved embeddings, up to ``count`` entities."""
    old = Embeddings.load(artifacts.path(NAME))
    extra = count - len(old.entity)
    if extra:
        entity = np.concatenate([old.entity, np.zeros((extra, old.dimension), dtype=np.float32)])
        trained = np.append(old.trained, np.zeros(extra, dtype=np.bool_))
        artifacts.write(NAME, Embeddings(entity, old.relation, trained, old.about).tensors(), dict(old.about))


def with_zero_rows(rows: Tensor, count: int) -> nn.Parameter:
    """The rows, followed by zero rows up to ``count`` rows."""
    zero = rows.new_zeros(count - len(rows), rows.shape[1])
    return nn.Parameter(torch.cat([rows.detach(), zero]))
