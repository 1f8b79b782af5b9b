"""Mini-batches of training facts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch

from fitcarl.config.factorization import FactorizationConfig
from fitcarl.core.arrays import Positions
from fitcarl.core.device import CPU
from fitcarl.core.tensors import tensor_of
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.models.factorization.objective import FactBatch, QueryIds
from fitcarl.models.factorization.seen_facts import SeenFacts
from fitcarl.models.factorization.triples import Triples


class MiniBatches:
    """The mini-batches of all epochs; each epoch has its own order, which follows from the seed.

    Equal queries of both directions of the facts are grouped: (e, r, ?), or (e, r, ?, t) for models with time.
    """

    def __init__(
        self,
        facts: Quadruples,
        seen: SeenFacts,
        temporal: bool,
        relations: RelationIds,
        config: FactorizationConfig,
    ) -> None:
        self._triples = Triples.of(facts, relations, temporal=temporal)
        self._tick = seen.tick_rows(self._triples.time.astype(np.int32)) if temporal else self._triples.time
        self._size = config.training.batch_size
        self._order: Callable[[int], Positions] = lru_cache(1)(
            lambda epoch: np.random.default_rng([config.seed, epoch]).permutation(len(self._triples))
        )

    @property
    def per_epoch(self) -> int:
        """Mini-batches per epoch."""
        return -(-len(self._triples) // self._size)

    def get(self, number: int, device: torch.device = CPU) -> FactBatch:
        """The mini-batch of an episode, counted from 1, on a device."""
        epoch, place = divmod(number - 1, self.per_epoch)
        chosen = self._order(epoch)[place * self._size : (place + 1) * self._size]
        row, position = self._triples.answers(chosen)
        ids = (self._triples.entity[chosen], self._triples.relation[chosen], self._tick[chosen])
        return FactBatch(
            QueryIds(*(tensor_of(column, device) for column in ids)),
            tensor_of(row, device),
            tensor_of(self._triples.answer[position], device),
            tensor_of(self._triples.count[position].astype(np.float32), device),
        )
