"""A cache of trained embeddings, keyed by facts, settings and seed."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Literal

import torch

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.cache import cache_dir
from fitcarl.core.device import CPU
from fitcarl.core.progress import OnProgress, ShouldStop
from fitcarl.data.dataset import Dataset
from fitcarl.errors import InputError
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.factorization.triples import Triples

PretrainingScore = Literal["complex", "distmult"]
"""Score functions that embeddings are pre-trained with."""

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
    score: PretrainingScore = "complex",
    device: torch.device = CPU,
) -> Embeddings:
    """The embeddings of a dataset's background, from the cache or newly trained and stored there.

    A damaged file is replaced, and a cache that cannot be written is not used; both are logged as warnings.

    Args:
        dataset: Only its background facts are used.
        config: Settings of the training.
        seed: Seed of the training.
        cache: Cache folder; by default ``embeddings`` in the cache directory.
        on_progress: Called while embeddings are trained.
        should_stop: Polled while embeddings are trained.
        score: The score function that they are trained with.
        device: Where they are trained; no part of the cache key.

    Raises:
        Interrupted: If ``should_stop`` returns True; nothing is stored then.
    """
    full = config or EmbeddingConfig()
    file = cache_file(dataset, full, seed, cache, score)
    if file.exists():
        try:
            return Embeddings.load(file)
        except InputError as error:
            _log.warning(f"{error}; training the embeddings again")

    from fitcarl.models.factorization.complex import ComplEx
    from fitcarl.models.factorization.distmult import DistMult
    from fitcarl.models.factorization.pretrain import pretrain

    relations = dataset.vocabulary.relation_ids
    function = ComplEx() if score == "complex" else DistMult()
    sizes = len(dataset.vocabulary.entities), relations
    callbacks = on_progress, should_stop
    embeddings = pretrain(dataset.background, *sizes, full, seed, *callbacks, function, device)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        embeddings.save(file)
    except OSError as error:
        _log.warning(f"{file}: the embeddings cannot be stored ({error.strerror or error})")
    return embeddings


def cache_file(
    dataset: Dataset,
    config: EmbeddingConfig,
    seed: int,
    cache: str | Path | None = None,
    score: PretrainingScore = "complex",
) -> Path:
    """The cache file of the embeddings of these facts, settings, seed and score function."""
    triples = Triples.of(dataset.background, dataset.vocabulary.relation_ids)
    counts = [len(dataset.vocabulary.entities), len(dataset.vocabulary.relations)]
    other = [] if score == "complex" else [score]  # keys of ComplEx stay those of earlier versions
    key = json.dumps([_METHOD, *counts, seed, config.model_dump(), *other], sort_keys=True).encode()
    columns = (triples.entity, triples.relation, triples.offsets, triples.answer, triples.count)
    digest = sha256_of_arrays(*columns, header=key, separator=b"\0")
    return Path(cache or cache_dir() / "embeddings") / f"{digest}.safetensors"
