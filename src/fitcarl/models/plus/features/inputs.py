"""Arrays that the feature kernels read: queries, edges, graph statistics and encoder scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitcarl.graph.kernels import EdgeColumns, PatchColumns
from fitcarl.models.plus.kernels import ConceptColumns, Floats, Ints, Longs, ObjectColumns

DECAY_SCALES = (1.0, 3.0, 7.0, 20.0, 60.0, 90.0)
"""Time scales of the columns of ``GraphStatistics.decay``."""
MIN_ENCODER_LOGPROB = -25.0
"""Log-probabilities of the encoder are cut off here: lower ones differ by chance only."""
UNKNOWN_BIAS = -30.0
"""The bias, in the encoder, of entities without facts in training."""
NO_FACTS_SCORE = -1e4
"""The score of entities without any fact."""
MAX_LOG_WEIGHT = 8.0
"""The highest log-weight of an event in the memory of the encoder."""


class RelationRates(NamedTuple):
    """Log-rates of pairs and triples of relations; see ``GraphStatistics``."""

    cooccurrence_rate: Floats
    pair_rate: Floats
    rule_rate: Floats
    second_hop_rate: Floats


class RelationEvents(NamedTuple):
    """The events of every relation by time, and its most frequent objects; see ``GraphStatistics``."""

    relation_event_offsets: Longs
    relation_event_pair: Ints
    relation_event_time: Ints
    frequent_offsets: Longs
    frequent_objects: Ints


class EventColumns(NamedTuple):
    """All events by time; see ``GraphStatistics``."""

    event_time: Ints
    event_source: Ints
    event_target: Ints
    event_patches: PatchColumns


class NameColumns(NamedTuple):
    """The words, places and roles in the names of entities; see ``Names``."""

    word_offsets: Longs
    word_ids: Ints
    word_weight: Floats
    place: Ints
    role: Ints
    affinity: Floats
    role_fit: Floats


class SearchStatistics(NamedTuple):
    """What the search for candidates reads.

    Its loops get the parts that they read, not all of it: every array that is passed on takes time to compile.
    """

    rates: RelationRates
    objects: ObjectColumns
    relation_events: RelationEvents
    events: EventColumns
    embedding: Floats
    decay: Floats
    units_per_tick: float
    max_objects: int


class KernelStatistics(NamedTuple):
    """The arrays of ``GraphStatistics`` that kernels read; see there."""

    search: SearchStatistics
    concepts: ConceptColumns
    names: NameColumns
    entity_factors: Floats
    relation_factors: Floats
    excitation_rate: Floats


class PooledEncoder(NamedTuple):
    """What the score of any entity is computed from; empty if all entities are scored at once."""

    answer: Floats
    """float32 [queries, dim]: compared with ``rows``."""
    rows: Floats
    """float32 [entities, dim]."""
    bias: Floats
    """float32 [entities]; ``UNKNOWN_BIAS`` or less for entities that were not in training."""
    log_z: Floats
    """float32 [queries]: the log of the normalisation, from the support facts only."""
    mean: Floats
    """float32 [queries]: the mean score, which entities get that were not in training."""
    key: Floats
    """float32 [queries, key dim]: compared with ``key_embedding`` of the subjects of events."""
    key_embedding: Floats
    """float32 [entities, key dim]."""
    relation_affinity: Floats
    """float32 [2R, 2R]."""
    time_decay: Floats
    """float32 [buckets]."""
    reach: int
    """Ticks before and after t_q whose events are read."""
    buckets_per_tick: float

    @classmethod
    def empty(cls) -> PooledEncoder:
        table, row = np.zeros((0, 0), dtype=np.float32), np.zeros(0, dtype=np.float32)
        return cls(table, table, row, row, row, table, table, table, row, 0, 0.0)


class EncoderScores(NamedTuple):
    """Log-probabilities of entities as the answer to each query; no columns without an encoder or with a pool."""

    support_only: Floats
    """float32 [queries, entities], from the support facts only."""
    with_events: Floats
    """float32 [queries, entities], from the support facts and the events around t_q."""
    top: Ints
    """int32 [queries, n]: the most probable entities."""
    pooled: PooledEncoder
    """The scores of a large encoder, computed per candidate."""

    @classmethod
    def empty(cls, queries: int) -> EncoderScores:
        """Scores without an encoder: no columns."""
        no_columns = np.zeros((queries, 0), dtype=np.float32)
        return cls(no_columns, no_columns, np.zeros((queries, 0), dtype=np.int32), PooledEncoder.empty())


class QueryBatch(NamedTuple):
    """Queries with the support facts of each, as ragged rows."""

    entity: Ints
    relation: Ints
    time: Ints
    answer: Ints
    """-1 if unknown; only used to keep the answer in a sample of candidates."""
    offsets: Longs
    """Support facts of query q are ``offsets[q]:offsets[q + 1]``."""
    support_relation: Ints
    support_entity: Ints
    support_time: Ints
    visible_before: Ints
    """Only facts strictly before this tick are used."""


class Preselection(NamedTuple):
    """Weights of a linear score: of log(accumulator + epsilon), of log(1 + degree), and of the encoder's log p."""

    accumulator: Longs
    """int64 [n]: the accumulators that are read."""
    epsilon: Floats
    log_epsilon: Floats
    weight: Floats
    degree: float
    encoder: float


class FeatureInputs(NamedTuple):
    """Everything the features of a batch of queries and their candidates are computed from."""

    queries: QueryBatch
    base: EdgeColumns
    statistics: KernelStatistics
    offsets: Longs
    """Candidates of query q are ``offsets[q]:offsets[q + 1]``."""
    entity: Ints
    """int32 [candidates]."""
    accumulators: Floats
    """float32 [candidates, accumulators]."""
    encoder: Floats
    """float32 [candidates, 2]: log-probabilities of the encoder, without and with events; NaN without an encoder."""
