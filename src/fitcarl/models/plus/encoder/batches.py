"""Batches of background facts as queries, on which the support encoder is trained, and their loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.base import Setting
from fitcarl.config.schema import EncoderConfig
from fitcarl.core.process_group import BatchShard, ShardDropout, SharedNumbers
from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.encoder.candidate_events import candidate_events
from fitcarl.models.plus.encoder.network import EncoderInput, SupportEncoder, Words, shared_word_weights
from fitcarl.models.plus.encoder.temporal_memory import EventWindow, event_mass, event_window
from fitcarl.models.plus.event_index import events_by_time
from fitcarl.models.plus.names import Names

_NEGATIVES = 1024
"""Sampled entities that the answers of a batch are compared with, besides each other."""
_MANY_NEGATIVES = 32 * _NEGATIVES
_MAX_EVENTS, _MAX_CANDIDATE_EVENTS = 1200, 600
"""Events around t_q per query, and events whose objects are candidates; of more, a sample is read."""
_COPIED_EVENTS = 1_000_000
"""Events up to which those of the candidates are copied for every batch."""
_MIN_DEGREE = 3
"""Minimum number of edges of a subject: one is the query, and at least one other is its support."""
_DEGREE_EXPONENT = 0.6
"""How much facts of frequent subjects are down-weighted: 0 samples facts uniformly, 1 samples subjects uniformly."""
_QUERY_COLUMNS = ("entity", "relation", "time", "first", "last", "stride")
"""Fields of ``EventWindow`` with one value per query."""


@dataclass(frozen=True, eq=False)
class EncoderBatch:
    """Background facts as queries, with everything that is random; the same in every process."""

    edge: NDArray[np.int64]
    """[batch], the facts."""
    support: NDArray[np.int64]
    """[batch, K], facts of the same subjects."""
    known: NDArray[np.bool_]
    """[batch, K], false for support facts that are not used."""
    subject: NDArray[np.int64]
    """[batch], the entities that are treated as unseen."""
    answer: NDArray[np.int64]
    """[batch], entities."""
    named: NDArray[np.bool_]
    """[batch], whether the name of the subject is used."""
    listed: NDArray[np.int64]
    """[candidates], the entities of the softmax."""
    log_weight: NDArray[np.float32]
    """[candidates], the log of how many entities each represents."""
    window: EventWindow
    """The events around the queries; its columns are the candidates."""
    rows: NDArray[np.int64]
    """Entities whose rows are read, ascending."""
    numbers: SharedNumbers
    """Random numbers of dropout."""

    def select_rows(self, encoder: SupportEncoder) -> None:
        """Lets the encoder read the rows of these entities only, as they are now."""
        encoder.select_rows(long_tensor(self.rows, encoder.entity.device))


class EncoderBatches:
    """Batches of background facts as queries, with some of the subject's other facts as support."""

    def __init__(
        self,
        graph: TemporalGraph,
        units_per_tick: float,
        names: Names,
        config: EncoderConfig,
        shots: int,
        setting: Setting = "completion",
    ) -> None:
        self._past_only = setting == "forecast"
        self._base, self._units_per_tick, self._config, self._shots = graph.base, units_per_tick, config, shots
        self._degree = np.diff(graph.base.offsets)
        self._subject = np.repeat(np.arange(graph.entities), self._degree)
        degree = self._degree[self._subject].astype(np.float64)
        probability = np.where(degree >= _MIN_DEGREE, np.maximum(degree, 1) ** -_DEGREE_EXPONENT, 0)
        self._cumulative = np.cumsum(probability)
        self._known = np.flatnonzero(self._degree > 0)
        self._events = events_by_time(graph)
        self.word_weight = shared_word_weights(names, self._degree > 0)
        self._words = Words.from_names(names, self.word_weight)
        self.empty = not probability.any()

    def draw(self, rng: np.random.Generator) -> EncoderBatch | None:
        """The next batch; None if no fact of it is a valid query. It depends on no weight."""
        edge, support, known = self._draw(rng)
        if not len(edge):
            return None
        base, subject, answers = self._base, self._subject[edge], self._base.target[edge].astype(np.int64)
        named = self._draw_named(len(edge), rng)
        listed, log_weight = self._sample_candidates(answers, rng)
        column = np.full(len(self._degree), -1)
        column[listed] = np.arange(len(listed))
        queries = subject, base.relation[edge].astype(np.int64), base.time[edge]
        before = base.time[edge] if self._past_only else None
        events, most = self._events_of(column)
        window = event_window(events, self._units_per_tick, *queries, column, most, rng, before)
        rows = np.union1d(base.target[support], listed)
        facts = edge, support, known, subject, answers, named
        return EncoderBatch(*facts, listed, log_weight, window, rows, SharedNumbers())

    def loss(self, encoder: SupportEncoder, batch: EncoderBatch, shard: BatchShard) -> Tensor:
        """-log p(answer), averaged over the batch, or the part of a shard; the parts of all shards add up to it."""
        base, device, rows = self._base, encoder.entity.device, shard.rows
        window = batch.window._replace(**{name: getattr(batch.window, name)[rows] for name in _QUERY_COLUMNS})
        edge, support = batch.edge[rows], batch.support[rows]
        gap = (base.time[edge][:, None] - base.time[support]) * self._units_per_tick
        name = encoder.name_embedding(self._words, batch.subject[rows])
        inputs = EncoderInput(
            relation=long_tensor(base.relation[edge], device),
            known=tensor_of(batch.known[rows], device),
            support_entity=long_tensor(base.target[support], device),
            support_relation=long_tensor(base.relation[support], device),
            gap=tensor_of(gap.astype(np.float32), device),
            name=name * tensor_of(batch.named[rows].astype(np.float32), device)[:, None],
        )
        with ShardDropout(shard, batch.numbers):
            vector, key = encoder(inputs)
        bias = encoder.bias.index_select(0, long_tensor(batch.listed, device))
        score = vector @ encoder.answer_rows(self._words, batch.listed).T + bias
        mass = event_mass(window, key, encoder.key_embedding, encoder.relation_affinity, encoder.time_decay)
        score = score + mass.log1p() + tensor_of(batch.log_weight, device)
        answer = long_tensor(window.column[batch.answer[rows]], device)
        return torch.nn.functional.cross_entropy(score, answer) * shard.share

    def _events_of(self, column: NDArray[np.int64]) -> tuple[Mapping[str, Ids], int]:
        """Events whose objects are candidates, and how many of them are read per query.

        Of a large graph these are all events: others are skipped when they are read, which costs less than a copy.
        """
        if len(self._events["event_target"]) > _COPIED_EVENTS:
            return self._events, _MAX_EVENTS
        return candidate_events(self._events, column), _MAX_CANDIDATE_EVENTS

    def _draw(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Edges used as queries, and edges of their supports, [batch, K]; an edge is never its own support."""
        base, size = self._base, (self._config.batch_size, self._shots)
        edge = np.searchsorted(self._cumulative, rng.random(size[0]) * self._cumulative[-1], side="right")
        subject = self._subject[edge]
        degree = self._degree[subject]
        if self._past_only:  # edges of a subject are sorted by time
            degree = np.maximum(base.count_before(subject.astype(np.int32), base.time[edge]), 1)
        support = rng.integers(0, degree[:, None], size) + base.offsets[subject][:, None]
        known = np.arange(self._shots) < rng.integers(1, self._shots + 1, size[0])[:, None]
        known &= (support != edge[:, None]) & (
            base.target[support] != subject[:, None]
        )  # a self-loop reveals the subject
        if self._past_only:
            known &= base.time[support] < base.time[edge][:, None]
        novel = ~((base.target[support] == base.target[edge][:, None]) & known).any(1)
        valid = novel & known.any(1) & (base.target[edge] != subject)
        return edge[valid], support[valid], known[valid]

    def _draw_named(self, queries: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """bool [queries]: whether the name of the subject is used."""
        return rng.random(queries) >= self._config.name_dropout

    def _sample_candidates(
        self, answer: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Entities of the softmax, and the log of how many each represents: all answers, and a sample of the rest."""
        answers = np.unique(answer)
        rest = len(self._known) - len(answers)
        if rest > _MANY_NEGATIVES:  # no copy of all entities; a few fewer are drawn
            drawn = np.setdiff1d(self._known[rng.integers(0, len(self._known), _NEGATIVES)], answers)
        else:
            others = np.setdiff1d(self._known, answers, assume_unique=True)
            drawn = rng.choice(others, min(_NEGATIVES, rest), replace=False)
        log_weight = np.concatenate(
            [np.zeros(len(answers)), np.full(len(drawn), np.log(max(rest, 1) / max(len(drawn), 1)))]
        )
        return np.concatenate([answers, drawn]), log_weight.astype(np.float32)
