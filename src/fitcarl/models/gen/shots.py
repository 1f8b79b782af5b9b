"""The number of support facts in training, which falls from many to K."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fitcarl.core.arrays import offsets_of
from fitcarl.models.ranking import RankingBatch
from fitcarl.models.support import SupportFacts


def training_shots(episode: int, episodes: int, shots: int, start_shots: int) -> int:
    """clamp(K + i - 1, K, start_shots), where i is the smallest number with episode ≥ episodes / 2^i.

    Args:
        episode: Number of the episode, from 1.
        episodes: The number of episodes.
        shots: K.
        start_shots: The largest number of support facts.
    """
    doublings = max(0, math.ceil(math.log2(episodes / episode)))
    return min(max(shots + doublings - 1, shots), max(shots, start_shots))


def with_more_support(batch: RankingBatch, shots: int) -> RankingBatch:
    """The batch with queries turned into support facts until each entity has ``shots`` or only one query is left.

    The first queries of an entity, which are in random order, become support facts.
    """
    rows = len(batch.entity)
    order = np.argsort(batch.row, kind="stable")
    count = np.bincount(batch.row, minlength=rows)
    position = np.empty(len(batch.row), dtype=np.int64)
    position[order] = np.arange(len(order)) - np.repeat(offsets_of(count)[:-1], count)
    extra = np.minimum(shots - batch.support.counts, count - 1).clip(min=0)
    moved = position < extra[batch.row]
    if not moved.any():
        return batch
    queries = batch.queries.take(moved)
    owner = np.concatenate([np.repeat(np.arange(rows), batch.support.counts), batch.row[moved]])
    by_owner = np.argsort(owner, kind="stable")
    joined = (
        np.concatenate([old, new])[by_owner]
        for old, new in (
            (batch.support.entity, queries.answer),
            (batch.support.relation, queries.relation),
            (batch.support.time, queries.time),
        )
    )
    support = SupportFacts(offsets_of(np.bincount(owner, minlength=rows)), *joined)
    kept = ~moved
    return replace(
        batch,
        support=support,
        queries=batch.queries.take(kept),
        row=batch.row[kept],
        candidate=batch.candidate[kept],
    )
