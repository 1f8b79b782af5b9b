"""The support encoder of model ``plus``: scores every entity as the answer to a query from the support facts.

It takes the place of the paper's time-aware Transformer. Support facts are weighted by attention over r_q and the time
gaps; the sum is compared with every entity. Events around t_q are added: the object of an event is more probable if the
event's subject is similar to the unseen entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fitcarl.config.schema import EncoderConfig
from fitcarl.core.arrays import spans
from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.models.plus.encoder.temporal_memory import (
    TIME_BUCKETS,
)
from fitcarl.models.plus.features.inputs import UNKNOWN_BIAS
from fitcarl.models.plus.names import Names

_GAP_SCALES = (3.0, 20.0, 100.0)
"""Time units: the scales of the exponential features of a gap."""
_KEY_DIM = 32
"""Dimensions of the key embedding; fewer than of entities, since every event around t_q is compared."""
_MIN_HOLDERS = 20
"""Entities that must share a word before it is used: a rarer word would only identify entities."""
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
        """The frozen encoder with these weights, which are not copied.

        Raises:
            KeyError: If a tensor is missing.
            RuntimeError: If a tensor has the wrong shape.
        """
        entities, dim = state["entity"].shape
        expected = {"entity": (entities, dim), "key_embedding": (entities, _KEY_DIM), "bias": (entities,)}
        if any(state[name].shape != shape for name, shape in expected.items()):
            raise RuntimeError("tables of different numbers of entities")
        with torch.random.fork_rng(devices=[]):  # without rows of entities, so that none are drawn
            encoder = cls(EncoderConfig(dim=dim), 0, len(state["relation_affinity"]), state["word_weight"])
        for name in expected:
            setattr(encoder, name, _frozen(state[name]))
        encoder.load_state_dict(dict(state), assign=True)
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
