"""Embeddings are trained once for equal facts, settings and seed."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.cache import cache_dir
from fitcarl.data.dataset import Dataset
from fitcarl.errors import InputError
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.factorization.triples import Triples

if TYPE_CHECKING:
    from fitcarl.models.factorization.complex import Progress

_METHOD = 1
"""Counts changes of the training that change its result, so that older files are not taken for new ones."""

_log = logging.getLogger(__name__)


def embeddings_for(
    dataset: Dataset,
    config: EmbeddingConfig | None = None,
    seed: int = 0,
    cache: str | Path | None = None,
    progress: Callable[[Progress], object] | None = None,
    note: Callable[[str], object] = _log.warning,
) -> Embeddings:
    """The ComplEx embeddings of a dataset's background: from the cache, or trained now and kept there.

    ``cache`` is a folder, by default ``embeddings`` in ``cache_dir()``. A cached file that cannot be read is
    replaced, and a cache that cannot be written is done without; ``note`` is told of either.
    """
    full = config or EmbeddingConfig()
    file = cache_file(dataset, full, seed, cache)
    if file.exists():
        try:
            return Embeddings.load(file)
        except InputError as trouble:
            note(f"{trouble}; training the embeddings again")

    from fitcarl.models.factorization.complex import pretrain

    relations = dataset.vocabulary.relation_ids
    embeddings = pretrain(dataset.background, len(dataset.vocabulary.entities), relations, full, seed, progress)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        embeddings.save(file)
    except OSError as trouble:
        note(f"{file}: the embeddings cannot be kept ({trouble.strerror or trouble})")
    return embeddings


def cache_file(dataset: Dataset, config: EmbeddingConfig, seed: int, cache: str | Path | None = None) -> Path:
    """Where the embeddings of these facts, settings and seed are or will be kept."""
    triples = Triples.of(dataset.background, dataset.vocabulary.relation_ids)
    sha = hashlib.sha256()
    counts = [len(dataset.vocabulary.entities), len(dataset.vocabulary.relations)]
    sha.update(json.dumps([_METHOD, *counts, seed, config.model_dump()], sort_keys=True).encode())
    for column in (triples.entity, triples.relation, triples.offsets, triples.answer, triples.count):
        sha.update(np.ascontiguousarray(column).tobytes() + b"\0")
    return Path(cache or cache_dir() / "embeddings") / f"{sha.hexdigest()}.safetensors"
