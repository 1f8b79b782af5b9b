"""The encoder of preset ``plus``: reads a support as a whole and says whom one with such a support deals with.

It has the place of the paper's time-aware Transformer. Facts of the support are weighed by attention that sees r_q and
the time between; the sum is compared with every entity. What happened in the days around t_q is added: an entity that
was met then by somebody whom the newcomer resembles is more likely.
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
from fitcarl.models.plus.encoder.temporal_memory import around, happened
from fitcarl.models.plus.features.accumulate import EncoderScores
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.statistics import GraphStatistics

_SCALES = (3.0, 20.0, 100.0)
_KIN = 32
"""Directions that tell kin apart; fewer than those for answers, since every fact of some days is compared."""
_LEAST_HOLDERS = 20
"""Entities that must share a word before it means anything: a rarer one would only tell who somebody is."""
_LIKELY = 100
"""Entities that are put up for a closer look."""
_NEVER = -30.0
"""The bias of an entity that the encoder does not know."""
_NOBODY = -1e4
_DAY = ("day_time", "day_source", "day_relation", "day_target")


@dataclass(frozen=True)
class EncoderInput:
    """Queries as the encoder sees them; of the newcomer itself only its support and, if names count, its words."""

    relation: Tensor
    """int64 [queries]: r_q."""
    known: Tensor
    """bool [queries, K], false on padding."""
    support_entity: Tensor
    """int64 [queries, K]."""
    support_relation: Tensor
    """int64 [queries, K]."""
    gap: Tensor
    """float32 [queries, K]: days from the fact to t_q."""
    name: Tensor
    """float32 [queries, size]: what the newcomer's words say; zeros where nothing."""


class SupportEncoder(nn.Module):
    """Two directions per query: one that answers point along, and one that the newcomer's kin point along."""

    def __init__(self, config: EncoderConfig, entities: int, relations: int, telling: Tensor | None = None) -> None:
        """``relations`` are directed ones; ``telling`` says what each word counts, and is empty where names do not."""
        super().__init__()
        size = config.dim
        self.entity, self.kin = _rows(entities, size), _rows(entities, _KIN)
        self.bias = nn.Parameter(torch.zeros(entities))
        self.support_relation, self.asked_relation = _rows(relations, size), _rows(relations, size)
        self.gap = nn.Linear(3 + len(_SCALES), size)
        self.fact = _network(3 * size, size, config.dropout)
        self.attention = nn.Sequential(nn.Linear(4 * size, size), nn.ReLU(), nn.Linear(size, 1))
        self.summary = _network(2 * size, size + _KIN, config.dropout)
        self.between = nn.Parameter(torch.zeros(relations, relations))
        self.fading = nn.Parameter(torch.full((5,), -2.0))
        self.dropout = nn.Dropout(config.dropout)
        self.telling: Tensor
        self.register_buffer("telling", torch.zeros(0) if telling is None else telling.float())
        self.words = len(self.telling)
        if self.words:
            self.word_in, self.word_out = _rows(self.words, size), nn.Parameter(torch.randn(self.words, size) * 0.2)
            self.name_summary = _network(2 * size, size + _KIN, 0.0)

    def forward(self, asking: EncoderInput) -> tuple[Tensor, Tensor]:
        """The direction of answers, [queries, size], and the direction of kin, [queries, _KIN]."""
        asked = _look_up(self.asked_relation, asking.relation)
        where = self.dropout(_look_up(self.entity, asking.support_entity))
        how = _look_up(self.support_relation, asking.support_relation)
        fact = torch.cat([where, how, self.gap(_describe_gap(asking.gap))], -1)
        weigh = self.attention(torch.cat([fact, asked[:, None].expand_as(where)], -1)).squeeze(-1)
        weight = weigh.masked_fill(~asking.known, -1e9).softmax(-1)
        support = (weight[..., None] * self.fact(fact)).sum(1)
        both = self.summary(torch.cat([support, asked], -1))
        if self.words:
            both = both + self.name_summary(torch.cat([self.dropout(asking.name), asked], -1))
        return both[:, :-_KIN], both[:, -_KIN:]

    def name_of(self, words: Words, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, size]: what the words of these entities say about them as newcomers."""
        if not self.words:
            return torch.zeros(len(entities), self.entity.shape[1])
        return words.sum(self.word_in, entities)

    def rows(self, words: Words, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, size]: these entities as answers."""
        rows = self.entity.index_select(0, torch.from_numpy(entities.astype(np.int64)))
        return rows + words.sum(self.word_out, entities) if self.words else rows

    def freeze(self, known: NDArray[np.bool_]) -> None:
        """After learning: entities that the background does not know are nowhere and never an answer."""
        unknown = torch.from_numpy(~known)
        with torch.no_grad():
            self.entity[unknown], self.kin[unknown] = 0, 0
            self.bias[unknown] = _NEVER
        self.eval().requires_grad_(requires_grad=False)

    def with_capacity(self, extra: int) -> SupportEncoder:
        """The same with room for so many more entities that it does not know; what is not by entity is shared."""
        wide = copy(self)
        wide._parameters = dict(self._parameters)
        for name, row in (("entity", self.entity), ("kin", self.kin)):
            setattr(wide, name, _frozen(torch.cat([row.detach(), torch.zeros(extra, row.shape[1])])))
        wide.bias = _frozen(torch.cat([self.bias.detach(), torch.full((extra,), _NEVER)]))
        return wide

    @classmethod
    def from_state(cls, state: Mapping[str, Tensor]) -> SupportEncoder:
        """The encoder with these weights; a missing or misshapen part raises a RuntimeError or a KeyError."""
        entities, size = state["entity"].shape
        with torch.random.fork_rng(devices=[]):
            encoder = cls(EncoderConfig(dim=size), entities, len(state["between"]), state["telling"])
        encoder.load_state_dict(dict(state))
        return encoder.eval().requires_grad_(requires_grad=False)

    def matches(self, entities: int, relations: int, names: Names) -> bool:
        words = len(names.weight) if names.used else 0
        return (len(self.entity), len(self.between), self.words) == (entities, relations, words)


@dataclass(frozen=True)
class Words:
    """Which words each entity has and what each counts; those of a name count 1 together."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    weight: NDArray[np.float32]

    @classmethod
    def of(cls, names: Names, telling: NDArray[np.floating[Any]]) -> Words:
        """The words of all names; ``telling`` is what each counts, [words] or empty."""
        row = np.repeat(np.arange(len(names.home)), np.diff(names.offsets))
        weight = telling[names.words] if len(telling) else np.zeros(len(names.words))
        total = np.bincount(row, weights=weight, minlength=len(names.home))
        return cls(
            names.offsets, names.words.astype(np.int64), (weight / np.maximum(total[row], 1e-6)).astype(np.float32)
        )

    def sum(self, table: Tensor, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, size]: the weighed sum of the rows of each one's words."""
        sizes = np.diff(self.offsets)[entities]
        ends = np.cumsum(sizes)
        place = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.offsets[entities] - (ends - sizes), sizes)
        owner = torch.from_numpy(np.repeat(np.arange(len(entities)), sizes))
        rows = table.index_select(0, torch.from_numpy(self.ids[place]))
        weighed = rows * torch.from_numpy(self.weight[place])[:, None]
        return torch.zeros(len(entities), table.shape[1]).index_add(0, owner, weighed)


def shared_word_weights(names: Names, known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """float32 [words]: the weight of words that enough known entities share, 0 for others; empty without names."""
    if not names.used:
        return np.zeros(0, dtype=np.float32)
    row = np.repeat(np.arange(len(known)), np.diff(names.offsets))
    holders = np.bincount(names.words[known[row]], minlength=len(names.weight))
    return np.where(holders >= _LEAST_HOLDERS, names.weight, 0.0).astype(np.float32)


class EncoderScorer:
    """An encoder over what is known at present: a graph's facts by time, and the names of its entities."""

    def __init__(self, encoder: SupportEncoder, statistics: GraphStatistics) -> None:
        self._encoder, self._days = encoder, statistics.days_per_tick
        self._day = {name: getattr(statistics, name) for name in _DAY}
        self._words = Words.of(statistics.names, encoder.telling.numpy())
        everybody = np.arange(len(encoder.entity))
        self._rows = encoder.rows(self._words, everybody).detach() if encoder.words else encoder.entity
        present = torch.from_numpy(statistics.degree > 0)
        familiar = encoder.bias > _NEVER
        self._familiar = familiar & present
        self._strange = ~familiar & present
        self._absent = ~present

    @classmethod
    def optional(cls, encoder: SupportEncoder | None, statistics: GraphStatistics) -> EncoderScorer | None:
        """A reader where there is an encoder."""
        return None if encoder is None else cls(encoder, statistics)

    def name_of(self, entities: NDArray[np.integer[Any]]) -> Tensor:
        """[entities, size]: what their names say about them as newcomers."""
        return self._encoder.name_of(self._words, entities)

    def read(self, asking: EncoderInput, entity: NDArray[np.int32], time: NDArray[np.int32]) -> EncoderScores:
        """Log-shares of all entities; ``entity`` asks at ``time``, and facts of its own are not remembered.

        Entities that have facts now but had none when the encoder learned are taken to be average; those without any
        fact are never an answer.
        """
        encoder, everybody = self._encoder, np.arange(len(self._rows))
        days = around(self._day, self._days, entity, asking.relation.numpy(), time, everybody)
        with torch.no_grad():
            answers, kin = encoder(asking)
            alone = answers @ self._rows.T + encoder.bias
            if self._strange.any() and self._familiar.any():
                alone[:, self._strange] = alone[:, self._familiar].mean(1, keepdim=True)
            alone[:, self._absent] = _NOBODY
            whole = alone + happened(days, kin, encoder.kin, encoder.between, encoder.fading).log1p()
            likely = whole.topk(min(_LIKELY, len(everybody)), 1).indices.numpy().astype(np.int32)
            return EncoderScores(alone.log_softmax(1).numpy(), whole.log_softmax(1).numpy(), likely)


def _frozen(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=False)


def _describe_gap(gap: Tensor) -> Tensor:
    size = gap.abs()
    fading = [torch.exp(-size / scale) for scale in _SCALES]
    return torch.stack([size.log1p(), gap.sign(), (size == 0).float(), *fading], -1)


def _look_up(table: Tensor, ids: Tensor) -> Tensor:
    # index_select, because the gradient of plain indexing adds up in an order that threads decide
    return table.index_select(0, ids.flatten()).view(*ids.shape, table.shape[1])


def _rows(count: int, size: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(count, size) * 0.3)


def _network(inputs: int, outputs: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, inputs), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inputs, outputs))
