"""Arrays that the feature kernels read: queries, edges, graph statistics and encoder scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fitcarl.graph.kernels import EdgeColumns, PatchColumns
from fitcarl.models.plus.kernels import Floats, Ints, Longs

DECAY_SCALES = (1.0, 3.0, 7.0, 20.0, 60.0, 90.0)
"""Time scales of the columns of ``GraphStatistics.decay``."""
MIN_ENCODER_LOGPROB = -25.0
"""Log-probabilities of the encoder are cut off here: lower ones differ by chance only."""


class KernelStatistics(NamedTuple):
    """The arrays of GraphStatistics that kernels read; see there."""

    cooccurrence_rate: Floats
    pair_rate: Floats
    rule_rate: Floats
    second_hop_rate: Floats
    object_keys: Longs
    object_offsets: Longs
    object_times: Ints
    relation_offsets: Longs
    event_time: Ints
    event_source: Ints
    event_target: Ints
    concept_offsets: Longs
    concept_ids: Ints
    concept_probability: Floats
    embedding: Floats
    entity_factors: Floats
    relation_factors: Floats
    word_offsets: Longs
    word_ids: Ints
    word_weight: Floats
    place: Ints
    role: Ints
    affinity: Floats
    role_fit: Floats
    units_per_tick: float
    excitation_rate: Floats
    decay: Floats
    object_patches: PatchColumns
    event_patches: PatchColumns


class EncoderScores(NamedTuple):
    """Log-probabilities of every entity as the answer to each query; no columns without an encoder."""

    support_only: Floats
    """float32 [queries, entities], from the support facts only."""
    with_events: Floats
    """float32 [queries, entities], from the support facts and the events around t_q."""
    top: Ints
    """int32 [queries, n]: the most probable entities."""

    @classmethod
    def empty(cls, queries: int) -> EncoderScores:
        """Scores without an encoder: no columns."""
        no_columns = np.zeros((queries, 0), dtype=np.float32)
        return cls(no_columns, no_columns, np.zeros((queries, 0), dtype=np.int32))


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
    weight: Floats
    degree: float
    encoder: float


class FeatureInputs(NamedTuple):
    """Everything the features of a batch of queries and their candidates are computed from."""

    queries: QueryBatch
    base: EdgeColumns
    statistics: KernelStatistics
    encoder: EncoderScores
    offsets: Longs
    """Candidates of query q are ``offsets[q]:offsets[q + 1]``."""
    entity: Ints
    """int32 [candidates]."""
    accumulators: Floats
    """float32 [candidates, accumulators]."""
