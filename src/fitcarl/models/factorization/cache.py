"""A cache of trained embeddings, keyed by facts, settings and seed."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.cache import cache_dir
from fitcarl.core.progress import OnProgress, ShouldStop
from fitcarl.data.dataset import Dataset
from fitcarl.errors import InputError
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.factorization.triples import Triples

_METHOD = 1
"""Version of the training method; part of the cache key, raised whenever results change."""

_log = logging.getLogger(__name__)


def embeddings_for(
    dataset: Dataset,
    config: EmbeddingConfig | None = None,
    seed: int = 0,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
    should_stop: ShouldStop | None = None,
) -> Embeddings:
    """The ComplEx embeddings of a dataset's background, from the cache or newly trained and stored there.

    A damaged file is replaced, and a cache that cannot be written is not used; both are logged as warnings.

    Args:
        dataset: Only its background facts are used.
        config: Settings of the training.
        seed: Seed of the training.
        cache: Cache folder; by default ``embeddings`` in the cache directory.
        on_progress: Called while embeddings are trained.
        should_stop: Polled while embeddings are trained.

    Raises:
        Interrupted: If ``should_stop`` returns True; nothing is stored then.
    """
    full = config or EmbeddingConfig()
    file = cache_file(dataset, full, seed, cache)
    if file.exists():
        try:
            return Embeddings.load(file)
        except InputError as error:
            _log.warning(f"{error}; training the embeddings again")

    from fitcarl.models.factorization.complex import pretrain

    relations = dataset.vocabulary.relation_ids
    embeddings = pretrain(
        dataset.background, len(dataset.vocabulary.entities), relations, full, seed, on_progress, should_stop
    )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        embeddings.save(file)
    except OSError as error:
        _log.warning(f"{file}: the embeddings cannot be stored ({error.strerror or error})")
    return embeddings


def cache_file(dataset: Dataset, config: EmbeddingConfig, seed: int, cache: str | Path | None = None) -> Path:
    """The cache file of the embeddings of these facts, settings and seed."""
    triples = Triples.of(dataset.background, dataset.vocabulary.relation_ids)
    counts = [len(dataset.vocabulary.entities), len(dataset.vocabulary.relations)]
    key = json.dumps([_METHOD, *counts, seed, config.model_dump()], sort_keys=True).encode()
    columns = (triples.entity, triples.relation, triples.offsets, triples.answer, triples.count)
    digest = sha256_of_arrays(*columns, header=key, separator=b"\0")
    return Path(cache or cache_dir() / "embeddings") / f"{digest}.safetensors"
