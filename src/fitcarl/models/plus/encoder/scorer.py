"""Scores of the support encoder for a batch of queries: of all entities, or of a pool of a large graph."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.tensors import array_of, tensor_of
from fitcarl.graph.kernels import NO_PATCHES
from fitcarl.models.plus.encoder.network import EncoderInput, SupportEncoder, Words
from fitcarl.models.plus.encoder.pool import POOL_FROM, Pool
from fitcarl.models.plus.encoder.temporal_memory import (
    TIME_BUCKETS,
    WINDOW,
    event_mass,
    event_window,
)
from fitcarl.models.plus.event_index import EVENT_ARRAYS
from fitcarl.models.plus.features.inputs import NO_FACTS_SCORE, UNKNOWN_BIAS, EncoderScores, PooledEncoder
from fitcarl.models.plus.gaps import ticks_within
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.tasks.task import NO_LIMIT

_TOP = 100
"""Most probable entities that become candidates."""


class HiddenEvents(Protocol):
    """What the encoder reads of a batch with hidden facts; see ``plus/hidden_facts.py``."""

    @property
    def statistics(self) -> GraphStatistics: ...

    def unknown(self, visible_before: NDArray[np.int32] | None) -> tuple[Tensor, Tensor]:
        """Queries and entities [pairs]: entities of which a query sees no fact, at all or before its limit."""
        ...


class EncoderScorer:
    """An encoder with the events and names of a background."""

    def __init__(self, encoder: SupportEncoder, statistics: GraphStatistics) -> None:
        self._encoder, self._units_per_tick = encoder, statistics.units_per_tick
        self._events = {name: getattr(statistics, name) for name in EVENT_ARRAYS}
        self._words = Words.from_names(statistics.names, array_of(encoder.word_weight))
        all_entities = np.arange(len(encoder.entity))
        self._rows = encoder.answer_rows(self._words, all_entities).detach() if encoder.words else encoder.entity
        device = encoder.entity.device
        present = tensor_of(statistics.degree > 0, device)
        trained = encoder.bias > UNKNOWN_BIAS
        self._trained = trained & present
        self._untrained = ~trained & present
        self._absent = ~present
        self._first_time = tensor_of(statistics.first_time, device)
        self._hidden: HiddenEvents | None = None
        self._pool = Pool.of(self._rows.detach(), encoder.bias) if len(encoder.entity) >= POOL_FROM else None

    @classmethod
    def optional(cls, encoder: SupportEncoder | None, statistics: GraphStatistics) -> EncoderScorer | None:
        """A scorer if there is an encoder, otherwise None."""
        return None if encoder is None else cls(encoder, statistics)

    @property
    def scored(self) -> int:
        """Entities that are scored for every query: all, or those of the pool."""
        return len(self._rows) if self._pool is None else len(self._pool.entity)

    @property
    def answer_rows(self) -> Tensor:
        """[entities, dim]: the rows of all entities as answers, their words included."""
        return self._rows

    @property
    def device(self) -> torch.device:
        """The device of the encoder."""
        return self._rows.device

    @property
    def trained(self) -> Tensor:
        """bool [entities]: whether the row of the entity is trained, and the entity has facts."""
        return self._trained

    def name_embedding(self, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, dim]: embeddings of the names of unseen entities."""
        return self._encoder.name_embedding(self._words, entities)

    def with_hidden(self, hidden: HiddenEvents) -> EncoderScorer:
        """The same encoder for one batch of queries that do not see some facts."""
        other = copy(self)
        other._hidden = hidden
        other._events = {name: getattr(hidden.statistics, name) for name in EVENT_ARRAYS}
        return other

    def score(
        self,
        inputs: EncoderInput,
        entity: NDArray[np.int32],
        time: NDArray[np.int32],
        visible_before: NDArray[np.int32] | None = None,
    ) -> EncoderScores:
        """Log-probabilities of all entities; events of the query entity itself are excluded.

        Entities that have facts now but had none in training get the mean score; entities without visible facts are
        never predicted.
        """
        if self._pool is not None:
            return self._pooled_scores(self._pool, inputs, visible_before)
        encoder, all_entities = self._encoder, np.arange(len(self._rows))
        queries = entity, array_of(inputs.relation), time
        patches = NO_PATCHES if self._hidden is None else self._hidden.statistics.event_patches
        arguments = self._events, self._units_per_tick, *queries, all_entities
        window = event_window(*arguments, visible_before=visible_before, patches=patches)
        with torch.no_grad():
            answer, key = encoder(inputs)
            support_only = answer @ self._rows.T + encoder.bias
            if self._untrained.any() and self._trained.any():
                support_only[:, self._untrained] = self._mean_score(support_only)
            support_only[:, self._absent] = NO_FACTS_SCORE
            limited = np.empty(0, np.int64) if visible_before is None else np.flatnonzero(visible_before < NO_LIMIT)
            if visible_before is not None and len(limited):
                before = tensor_of(visible_before[limited], support_only.device).unsqueeze(1)
                unknown_yet = self._first_time >= before
                support_only[limited] = support_only[limited].masked_fill_(unknown_yet, NO_FACTS_SCORE)
            if self._hidden is not None:
                support_only[self._hidden.unknown(visible_before)] = NO_FACTS_SCORE
            weights = encoder.key_embedding, encoder.relation_affinity, encoder.time_decay
            with_events = support_only + event_mass(window, key, *weights).log1p()
            top = array_of(with_events.topk(min(_TOP, len(all_entities)), 1).indices).astype(np.int32)
            support_only, with_events = support_only.log_softmax(1), with_events.log_softmax(1)
            return EncoderScores(array_of(support_only), array_of(with_events), top, PooledEncoder.empty())

    def _pooled_scores(
        self, pool: Pool, inputs: EncoderInput, visible_before: NDArray[np.int32] | None
    ) -> EncoderScores:
        """The most probable entities of the pool, and what the scores of others are computed from."""
        encoder, reach, device = self._encoder, ticks_within(WINDOW, self._units_per_tick), self.device
        with torch.no_grad():
            answer, key = encoder(inputs)
            score = torch.addmm(pool.bias, answer, pool.rows.T)
            entity = tensor_of(pool.entity, device)
            absent = self._absent[entity]
            weight = pool.log_weight.exp().masked_fill(absent, 0)
            mean = (score - pool.log_weight) @ weight / weight.sum().clamp_min(1)
            gone = absent.expand_as(score)
            if visible_before is not None:
                gone = gone | (self._first_time[entity] >= tensor_of(visible_before, device).unsqueeze(1))
            score = score.masked_fill(gone, NO_FACTS_SCORE)
            log_z = torch.logaddexp(score.logsumexp(1), mean + self._untrained_count(visible_before).log())
            top = array_of((score - pool.log_weight).topk(min(_TOP, len(pool.entity)), 1).indices)
        rows, bias, key_embedding, affinity, decay = self._tables
        pooled = PooledEncoder(
            *(array_of(answer.contiguous()), rows, bias, array_of(log_z), array_of(mean), array_of(key.contiguous())),
            *(key_embedding, affinity, decay, reach, (TIME_BUCKETS - 1) / 2 / reach),
        )
        none = EncoderScores.empty(len(answer))
        return none._replace(top=pool.entity[top].astype(np.int32), pooled=pooled)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.float32], ...]:
        """Tables of the encoder on the CPU, where the scores of candidates are computed if there is a pool."""
        encoder = self._encoder
        parts = self._rows, encoder.bias, encoder.key_embedding, encoder.relation_affinity, encoder.time_decay
        return tuple(map(array_of, parts))

    def _untrained_count(self, visible_before: NDArray[np.int32] | None) -> Tensor:
        """[queries] or [1]: the number of entities that have visible facts now but had none in training."""
        first, _ = self._first_time[self._untrained].sort()
        if visible_before is None:
            return torch.tensor([float(len(first))]).to(self.device)
        return torch.searchsorted(first, tensor_of(visible_before, self.device)).float()

    def _mean_score(self, score: Tensor) -> Tensor:
        """[queries, 1]: the mean score of the entities that were trained and have facts."""
        if self._hidden is None:
            return score[:, self._trained].mean(1, keepdim=True)
        counted = self._trained.expand_as(score).clone()
        counted[self._hidden.unknown(None)] = False
        return score.masked_fill(~counted, 0).sum(1, keepdim=True) / counted.sum(1, keepdim=True).clamp_min(1)
