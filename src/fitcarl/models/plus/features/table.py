"""The candidate features of model ``plus``, one row per feature.

Columns of the feature matrix follow the order of the table and are addressed by name. A new feature is one row here and
its source: an accumulator, or a function of ``sources`` that returns a value of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fitcarl.models.plus.features import sources
from fitcarl.models.plus.features.accumulate import Accumulator
from fitcarl.models.plus.features.inputs import MIN_ENCODER_LOGPROB, FeatureInputs
from fitcarl.models.plus.kernels import Floats

Transform = Callable[[Floats], Floats]
Source = Accumulator | Callable[[FeatureInputs, int, int], sources.Values]


@dataclass(frozen=True)
class Log:
    """log(value + epsilon)."""

    epsilon: float

    def __call__(self, value: Floats) -> Floats:
        return np.log(value + self.epsilon)


@dataclass(frozen=True)
class AtLeast:
    """The value, but not less than a limit."""

    limit: float

    def __call__(self, value: Floats) -> Floats:
        return np.maximum(value, self.limit)


def identity(value: Floats) -> Floats:
    """The value itself."""
    return value


@dataclass(frozen=True)
class Feature:
    """One candidate feature: (transform(value of the source) - shift) / scale, with fitted shift and scale."""

    family: str
    """The setting ``features.<family>`` switches it on or off; ``query`` is always on."""
    name: str
    source: Source
    """The accumulator, or the function that returns a value of this name."""
    transform: Transform
    preselects: bool = False
    """Whether it has a weight in the preselection of candidates; only for logs of accumulators, degree and encoder."""


FEATURES: tuple[Feature, ...] = (
    Feature("copy_support", "cooccurrence", Accumulator.COOCCURRENCE, Log(1e-5), preselects=True),
    Feature("copy_support", "pair_rate", Accumulator.PAIR_RATE, Log(1e-3), preselects=True),
    Feature("copy_support", "support_count", Accumulator.SUPPORT_COUNT, Log(1.0)),
    Feature("copy_support", "same_relation", Accumulator.SAME_RELATION, identity),
    Feature("copy_support", "inverse_relation", Accumulator.INVERSE_RELATION, identity),
    Feature("copy_support", "nearness", Accumulator.NEARNESS, Log(1e-3)),
    Feature("neighbours", "rule_near", Accumulator.RULE_NEAR, Log(1e-5), preselects=True),
    Feature("neighbours", "rule_sum", Accumulator.RULE_SUM, Log(1e-5), preselects=True),
    Feature("neighbours", "second_hop_near", Accumulator.SECOND_HOP_NEAR, Log(1e-5)),
    Feature("neighbours", "rule_max", Accumulator.RULE_MAX, Log(1e-4)),
    Feature("neighbours", "linked_share", sources.linked_facts, identity),
    Feature("neighbours", "edges", Accumulator.EDGES, Log(1.0), preselects=True),
    Feature("neighbours", "same_relation_edges", Accumulator.SAME_RELATION_EDGES, Log(1e-2)),
    Feature("neighbours", "inverse_relation_edges", Accumulator.INVERSE_RELATION_EDGES, Log(1e-2)),
    Feature("neighbours", "near_support", Accumulator.NEAR_SUPPORT, Log(1e-2)),
    Feature("similar_entities", "similar_same_relation", Accumulator.SIMILAR_SAME_RELATION, Log(1e-3), preselects=True),
    Feature("similar_entities", "similar_any", Accumulator.SIMILAR_ANY, Log(1e-3)),
    Feature("relation_popularity", "object_count", Accumulator.OBJECT_COUNT, Log(1.0), preselects=True),
    Feature("relation_popularity", "object_same_tick", Accumulator.OBJECT_SAME_TICK, Log(1.0)),
    Feature("relation_popularity", "object_3", Accumulator.OBJECT_3, Log(1e-2)),
    Feature("relation_popularity", "object_20", Accumulator.OBJECT_20, Log(1e-2), preselects=True),
    Feature("relation_popularity", "object_90", Accumulator.OBJECT_90, Log(1e-2)),
    Feature("relation_popularity", "inverse_count", sources.inverse_popularity, np.log1p),
    Feature("same_day", "same_day", Accumulator.SAME_DAY, Log(1e-2), preselects=True),
    Feature("activity", "degree", sources.candidate_activity, np.log1p, preselects=True),
    Feature("activity", "activity_1", sources.candidate_activity, Log(1e-2)),
    Feature("activity", "activity_7", sources.candidate_activity, Log(1e-2)),
    Feature("activity", "activity_60", sources.candidate_activity, Log(1e-2)),
    Feature("excitation", "excitation", sources.candidate_activity, Log(1e-6)),
    Feature("concepts", "concept_fit", sources.candidate_concepts, Log(1e-3)),
    Feature("similarity", "similarity_max", sources.support_similarity, identity),
    Feature("similarity", "similarity_mean", sources.support_similarity, identity),
    Feature("relation_profile", "relation_profile", sources.profile_product, Log(1e-4)),
    Feature("encoder", "encoder_support_only", sources.encoder_log_probs, AtLeast(MIN_ENCODER_LOGPROB)),
    Feature("encoder", "encoder_with_events", sources.encoder_log_probs, AtLeast(MIN_ENCODER_LOGPROB), preselects=True),
    Feature("names", "query_words", sources.name_overlap, identity),
    Feature("names", "support_words", sources.name_overlap, identity),
    Feature("names", "same_place", sources.name_overlap, identity),
    Feature("names", "support_place_share", sources.name_overlap, identity),
    Feature("names", "place_affinity", sources.name_overlap, identity),
    Feature("names", "role_fit", sources.name_overlap, identity),
    Feature("query", "support_gap", sources.query_values, np.log1p),
    Feature("query", "support_size", sources.query_values, np.log),
    Feature("query", "relation_objects", sources.query_values, np.log1p),
    Feature("query", "support_relation_fit", sources.query_values, identity),
    Feature("query", "neighbour_degree", sources.query_values, identity),
)
FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(feature.family for feature in FEATURES))


def column(name: str) -> int:
    """The column of a feature in the feature matrix.

    Raises:
        KeyError: If there is no such feature.
    """
    for column, feature in enumerate(FEATURES):
        if feature.name == name:
            return column
    raise KeyError(name)


def columns_of(family: str) -> list[int]:
    """The columns of a family."""
    return [column for column, feature in enumerate(FEATURES) if feature.family == family]


def transformed(inputs: FeatureInputs, low: int, high: int, table: Sequence[Feature] = FEATURES) -> Floats:
    """Features before shift and scale, for the candidates of a range of queries.

    Args:
        inputs: Queries, candidates and what was accumulated for them.
        low: The first query.
        high: The query after the last one.
        table: The features to compute.

    Returns:
        float64 [features, candidates]; NaN where a value does not exist.
    """
    rows = slice(inputs.offsets[low], inputs.offsets[high])
    found: dict[str, Floats] = {}
    for source in dict.fromkeys(feature.source for feature in table):
        if not isinstance(source, Accumulator):
            found |= source(inputs, low, high)
    out = np.empty((len(table), rows.stop - rows.start))
    for column, feature in enumerate(table):
        if isinstance(feature.source, Accumulator):
            value: Floats = inputs.accumulators[rows, feature.source].astype(np.float64)
        else:
            value = found[feature.name]
        out[column] = feature.transform(value)
    return out
