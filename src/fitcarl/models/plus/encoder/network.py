"""The support encoder of model ``plus``: scores every entity as the answer to a query from the support facts.

It takes the place of the paper's time-aware Transformer. Support facts are weighted by attention over r_q and the time
gaps; the sum is compared with every entity. Events around t_q are added: the object of an event is more probable if the
event's subject is similar to the unseen entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.config.schema import EncoderConfig
from fitcarl.core.arrays import spans
from fitcarl.core.tensors import array_of, long_tensor, tensor_of
from fitcarl.graph.kernels import NO_PATCHES
from fitcarl.models.plus.encoder.pool import POOL_FROM, Pool
from fitcarl.models.plus.encoder.temporal_memory import (
    EVENT_ARRAYS,
    TIME_BUCKETS,
    WINDOW,
    event_mass,
    event_window,
)
from fitcarl.models.plus.features.inputs import NO_FACTS_SCORE, UNKNOWN_BIAS, EncoderScores, PooledEncoder
from fitcarl.models.plus.gaps import ticks_within
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.tasks.task import NO_LIMIT

_GAP_SCALES = (3.0, 20.0, 100.0)
"""Time units: the scales of the exponential features of a gap."""
_KEY_DIM = 32
"""Dimensions of the key embedding; fewer than of entities, since every event around t_q is compared."""
_MIN_HOLDERS = 20
"""Entities that must share a word before it is used: a rarer word would only identify entities."""
_TOP = 100
"""Most probable entities that become candidates."""
_INIT_STD, _WORD_OUTPUT_STD = 0.3, 0.2
"""Standard deviation of initial rows. Scores are products of two rows of 128 dimensions, so that these give logits with
a spread of a few units; the words of a name are added to an entity's row and start smaller."""
_INIT_DECAY = -2.0
"""The initial log-weight of an event, which makes the memory a small correction at first."""


@dataclass(frozen=True)
class EncoderInput:
    """Inputs of the encoder: of the unseen entity only its support facts and, if used, its name."""

    relation: Tensor
    """int64 [queries]: r_q."""
    known: Tensor
    """bool [queries, K], false on padding."""
    support_entity: Tensor
    """int64 [queries, K]."""
    support_relation: Tensor
    """int64 [queries, K]."""
    gap: Tensor
    """float32 [queries, K]: time units from the fact to t_q."""
    name: Tensor
    """float32 [queries, dim]: the embedding of the unseen entity's name; 0 without a name."""


@dataclass(frozen=True)
class SelectedRows:
    """Rows of the entity table, with a gradient of their own."""

    ids: Tensor
    """int64 [rows], ascending."""
    rows: Tensor
    """float32 [rows, dim]."""


class SupportEncoder(nn.Module):
    """Maps a query to two vectors: one compared with answers, and one compared with the subjects of events."""

    def __init__(self, config: EncoderConfig, entities: int, relations: int, word_weight: Tensor | None = None) -> None:
        """Creates an encoder with random weights.

        Args:
            config: Dimensions and dropout.
            entities: Number of entities.
            relations: Number of directed relations, 2R.
            word_weight: float32 [words], the weight of each word of the names; empty or None without names.
        """
        super().__init__()
        dim = config.dim
        self.entity, self.key_embedding = _rows(entities, dim), _rows(entities, _KEY_DIM)
        self.bias = nn.Parameter(torch.zeros(entities))
        self.support_relation, self.query_relation = _rows(relations, dim), _rows(relations, dim)
        self.gap = nn.Linear(3 + len(_GAP_SCALES), dim)
        self.fact = _two_layers(3 * dim, dim, config.dropout)
        self.attention = nn.Sequential(nn.Linear(4 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))
        self.summary = _two_layers(2 * dim, dim + _KEY_DIM, config.dropout)
        self.relation_affinity = nn.Parameter(torch.zeros(relations, relations))
        self.time_decay = nn.Parameter(torch.full((TIME_BUCKETS,), _INIT_DECAY))
        self.dropout = nn.Dropout(config.dropout)
        self.selected: SelectedRows | None = None
        self.word_weight: Tensor
        self.register_buffer("word_weight", torch.zeros(0) if word_weight is None else word_weight.float())
        self.words = len(self.word_weight)
        if self.words:
            self.word_input = _rows(self.words, dim)
            self.word_output = nn.Parameter(torch.randn(self.words, dim) * _WORD_OUTPUT_STD)
            self.name_summary = _two_layers(2 * dim, dim + _KEY_DIM, 0.0)

    def forward(self, inputs: EncoderInput) -> tuple[Tensor, Tensor]:
        """The vectors compared with answers, [queries, dim], and with subjects of events, [queries, _KEY_DIM]."""
        r_q = _embed(self.query_relation, inputs.relation)
        fact, score = self._first_layers(inputs)
        weight = self.attention[1:](score).squeeze(-1).masked_fill(~inputs.known, -1e9).softmax(-1)
        support = (weight[..., None] * self.fact[1:](fact)).sum(1)
        both = self.summary(torch.cat([support, r_q], -1))
        if self.words:
            both = both + self.name_summary(torch.cat([self.dropout(inputs.name), r_q], -1))
        return both[:, :-_KEY_DIM], both[:, -_KEY_DIM:]

    def _first_layers(self, inputs: EncoderInput) -> tuple[Tensor, Tensor]:
        """The first layers of ``fact`` over [entity, relation, gap] and of ``attention`` over the same and r_q.

        Each is a sum over the parts of its input, [queries, K, width]. Relations are multiplied as tables, and the map
        of the gap is multiplied with the layer first, so that only entities are multiplied row by row.
        """
        entity = self.dropout(self.entity_rows(inputs.support_entity))
        dim, layers = entity.shape[-1], [_first_layer(network) for network in (self.fact, self.attention)]
        parts = [layer.weight.split(dim, 1) for layer in layers]
        of_entity, of_relation, of_gap = (torch.cat([part[n] for part in parts]) for n in range(3))
        bias = torch.cat([layer.bias for layer in layers]) + of_gap @ self.gap.bias
        first = entity @ of_entity.T + _projected(self.support_relation, inputs.support_relation, of_relation)
        first = first + _gap_features(inputs.gap) @ (of_gap @ self.gap.weight).T + bias
        fact, score = first.split([len(layer.weight) for layer in layers], -1)
        return fact, score + _projected(self.query_relation, inputs.relation, parts[1][3])[:, None]

    def entity_rows(self, ids: Tensor) -> Tensor:
        """[..., dim]: the rows of entities."""
        if self.selected is None:
            return _embed(self.entity, ids)
        return _embed(self.selected.rows, torch.searchsorted(self.selected.ids, ids))

    def select_rows(self, ids: Tensor) -> None:
        """Computes with copies of some rows from now on, so that gradients reach only these.

        Args:
            ids: int64, ascending and distinct: all entities whose rows are read.
        """
        rows = self.entity.detach().index_select(0, ids)
        self.selected = SelectedRows(ids, rows.requires_grad_())

    def name_embedding(self, words: Words, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, dim]: embeddings of the names of unseen entities; 0 without names."""
        if not self.words:
            return self.entity.new_zeros(len(entities), self.entity.shape[1])
        return words.sum(self.word_input, entities)

    def answer_rows(self, words: Words, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, dim]: the rows of entities as answers, their words included."""
        rows = self.entity_rows(long_tensor(entities, self.entity.device))
        return rows + words.sum(self.word_output, entities) if self.words else rows

    def freeze(self, known: NDArray[np.bool_]) -> None:
        """Ends training: rows of entities without background facts become 0, and they are never predicted."""
        unknown = tensor_of(~known, self.entity.device)
        with torch.no_grad():
            self.entity[unknown], self.key_embedding[unknown] = 0, 0
            self.bias[unknown] = UNKNOWN_BIAS
        self.eval().requires_grad_(requires_grad=False)

    def with_capacity(self, extra: int) -> SupportEncoder:
        """The same encoder with rows for ``extra`` more, unknown entities; all other weights are shared."""
        extended = copy(self)
        extended._parameters = dict(self._parameters)
        for name, row in (("entity", self.entity), ("key_embedding", self.key_embedding)):
            setattr(extended, name, _frozen(torch.cat([row.detach(), row.new_zeros(extra, row.shape[1])])))
        extended.bias = _frozen(torch.cat([self.bias.detach(), self.bias.new_full((extra,), UNKNOWN_BIAS)]))
        return extended

    def with_words(self, words: int) -> SupportEncoder:
        """The same encoder with rows of zeros for further words, which have no weight."""
        extra = words - self.words
        if not self.words or not extra:
            return self
        extended = copy(self)
        extended._parameters, extended._buffers = dict(self._parameters), dict(self._buffers)
        for name, row in (("word_input", self.word_input), ("word_output", self.word_output)):
            setattr(extended, name, _frozen(torch.cat([row.detach(), row.new_zeros(extra, row.shape[1])])))
        extended.word_weight = torch.cat([self.word_weight, self.word_weight.new_zeros(extra)])
        extended.words = words
        return extended

    @classmethod
    def from_state(cls, state: Mapping[str, Tensor]) -> SupportEncoder:
        """The frozen encoder with these weights.

        Raises:
            KeyError: If a tensor is missing.
            RuntimeError: If a tensor has the wrong shape.
        """
        entities, dim = state["entity"].shape
        with torch.random.fork_rng(devices=[]):
            encoder = cls(EncoderConfig(dim=dim), entities, len(state["relation_affinity"]), state["word_weight"])
        encoder.load_state_dict(dict(state))
        return encoder.eval().requires_grad_(requires_grad=False)

    def matches(self, entities: int, relations: int, names: Names) -> bool:
        """Whether the encoder has a row for every entity, relation and word."""
        words = len(names.weight) if names.used else 0
        return (len(self.entity), len(self.relation_affinity), self.words) == (entities, relations, words)


@dataclass(frozen=True)
class Words:
    """The words of each entity with their weights, which sum to 1 for a name."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    weight: NDArray[np.float32]

    @classmethod
    def from_names(cls, names: Names, word_weight: NDArray[np.floating[Any]]) -> Words:
        """The words of all names; ``word_weight`` is [words] or empty."""
        row = np.repeat(np.arange(len(names.place)), np.diff(names.offsets))
        weight = word_weight[names.words] if len(word_weight) else np.zeros(len(names.words))
        total = np.bincount(row, weights=weight, minlength=len(names.place))
        return cls(
            names.offsets, names.words.astype(np.int64), (weight / np.maximum(total[row], 1e-6)).astype(np.float32)
        )

    def sum(self, table: Tensor, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, dim]: the weighted sum of the table's rows over the words of each entity."""
        row, position = spans(self.offsets[entities], np.diff(self.offsets)[entities])
        rows = table.index_select(0, tensor_of(self.ids[position], table.device))
        weighted = rows * tensor_of(self.weight[position], table.device)[:, None]
        total = torch.zeros(len(entities), table.shape[1], device=table.device)
        return total.index_add(0, tensor_of(row, table.device), weighted)


def shared_word_weights(names: Names, known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """float32 [words]: weights of words that enough known entities share, 0 for others; empty without names."""
    if not names.used:
        return np.zeros(0, dtype=np.float32)
    row = np.repeat(np.arange(len(known)), np.diff(names.offsets))
    holders = np.bincount(names.words[known[row]], minlength=len(names.weight))
    return np.where(holders >= _MIN_HOLDERS, names.weight, 0.0).astype(np.float32)


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


def _frozen(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=False)


def _gap_features(gap: Tensor) -> Tensor:
    size = gap.abs()
    decayed = [torch.exp(-size / scale) for scale in _GAP_SCALES]
    return torch.stack([size.log1p(), gap.sign(), (size == 0).float(), *decayed], -1)


def _embed(table: Tensor, ids: Tensor) -> Tensor:
    # index_select, because the gradient of plain indexing is summed in an order that depends on threads
    return table.index_select(0, ids.flatten()).view(*ids.shape, table.shape[1])


def _first_layer(network: nn.Sequential) -> nn.Linear:
    layer = network[0]
    assert isinstance(layer, nn.Linear)
    return layer


def _projected(table: Tensor, ids: Tensor, weight: Tensor) -> Tensor:
    """[..., width]: the products of some rows of a table with a matrix; each row is multiplied once."""
    if ids.numel() < len(table):
        return _embed(table, ids) @ weight.T
    return _embed(table @ weight.T, ids)


def _rows(count: int, dim: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(count, dim) * _INIT_STD)


def _two_layers(inputs: int, outputs: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, inputs), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inputs, outputs))
