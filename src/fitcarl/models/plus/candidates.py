"""Candidate answers of a batch of queries, with their features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of, read_only_arrays
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.core.tensors import long_tensor, tensor_of
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.encoder.network import EncoderInput
from fitcarl.models.plus.encoder.scorer import EncoderScorer
from fitcarl.models.plus.features.accumulate import Accumulator, new_workspace
from fitcarl.models.plus.features.collect import collect
from fitcarl.models.plus.features.inputs import (
    EncoderScores,
    EventColumns,
    FeatureInputs,
    KernelStatistics,
    NameColumns,
    QueryBatch,
    RelationEvents,
    RelationRates,
    SearchStatistics,
)
from fitcarl.models.plus.features.normalise import normalised_features
from fitcarl.models.plus.kernels import ConceptColumns, ObjectColumns
from fitcarl.models.plus.reach.network import ReachNetwork, reach_features
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.support import PaddedSupport, SupportFacts, query_support
from fitcarl.tasks.task import Queries

_Columns = TypeVar("_Columns", RelationRates, ObjectColumns, RelationEvents, EventColumns)

_QUERIES_PER_THREAD = 4
"""Least number of queries for which another thread collects candidates."""


@dataclass(frozen=True)
class Shortlist:
    """How many candidates of a query get features."""

    size: int
    """Candidates with the highest preselection score."""
    sampled: int = 0
    """Further candidates, drawn at random to represent all others; for training only."""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of each query, ragged."""

    offsets: NDArray[np.int64]
    """int64 [queries + 1]."""
    entity: Ids
    """int32 [candidates], distinct within a query."""
    features: NDArray[np.float32]
    """float32 [candidates, features], in the order of ``FEATURES``, then those of the reach network if there is one."""
    weight: NDArray[np.float32]
    """float32 [candidates]: the log of how many candidates each represents; 0 unless it was sampled."""


def collect_candidates(
    graph: TemporalGraph,
    support: MetaSet | SupportFacts,
    statistics: GraphStatistics,
    queries: Queries,
    shortlist: Shortlist,
    encoder_scorer: EncoderScorer | None = None,
    reach: ReachNetwork | None = None,
) -> Candidates:
    """Shortlisted candidates of every query, highest preselection score first, with normalised features.

    Args:
        graph: The background with the support facts as overlay; the fact of a query is in neither.
        support: Support facts of the query entities, or those of each query.
        statistics: Statistics of the background.
        queries: The queries; answers are only used to keep them in a sample.
        shortlist: How many candidates to keep.
        encoder_scorer: Scores of the encoder; without it the encoder features are 0.
        reach: The reach network, if there is one; its features follow the others.
    """
    facts = query_support(support, queries, graph.relations)
    inputs, weight = feature_inputs(graph, facts, statistics, queries, shortlist, encoder_scorer)
    features = normalised_features(inputs, statistics.scaling)
    if reach is not None:
        listed = inputs.offsets, inputs.entity
        features = np.hstack(
            [features, reach_features(reach, graph, facts, queries, statistics.units_per_tick, *listed)]
        )
    return Candidates(inputs.offsets, inputs.entity, features, weight)


def feature_inputs(
    graph: TemporalGraph,
    support: MetaSet | SupportFacts,
    statistics: GraphStatistics,
    queries: Queries,
    shortlist: Shortlist,
    encoder_scorer: EncoderScorer | None = None,
) -> tuple[FeatureInputs, NDArray[np.float32]]:
    """The candidates of ``collect_candidates`` with the inputs of their features, and their weights."""
    facts = query_support(support, queries, graph.relations)
    batch, base, arrays = _query_batch(facts, queries), graph.base.columns, kernel_statistics(statistics)
    scores = read_only_arrays(EncoderScores.empty(len(queries)))
    if encoder_scorer is not None:
        scores = _encoder_scores(encoder_scorer, padded_support(facts, queries), statistics.units_per_tick, queries)
    width = shortlist.size + shortlist.sampled
    counts = np.zeros(len(queries), dtype=np.int64)
    entity = np.empty((len(queries), width), dtype=np.int32)
    weight = np.zeros((len(queries), width), dtype=np.float32)
    accumulators = np.empty((len(queries), width, len(Accumulator)), dtype=np.float32)
    log_probs = np.empty((len(queries), width, 2), dtype=np.float32)
    arguments = (
        *(batch, base, graph.overlay.columns, arrays.search, scores),
        read_only_arrays(statistics.scaling.preselection_arrays()),
        *(shortlist.size, shortlist.sampled, shortlist.seed),
    )
    most_facts = int(facts.counts.max(initial=0))

    def fill(_: int, low: int, high: int) -> None:
        found = new_workspace(graph.entities, most_facts, scores.top.shape[1], arrays.search.embedding.shape[1])
        collect(low, high, *arguments, found, counts, entity, weight, accumulators, log_probs)

    parallel_for(split_range(len(queries), _QUERIES_PER_THREAD), fill)
    kept = np.arange(width) < counts[:, None]
    found = offsets_of(counts), entity[kept], accumulators[kept], log_probs[kept]
    return FeatureInputs(batch, base, arrays, *found), weight[kept]


def padded_support(facts: SupportFacts, queries: Queries) -> PaddedSupport:
    """The support facts of each query in a table of at least one column; padding repeats the query entity."""
    return facts.padded(int(facts.counts.max(initial=1)), queries.entity)


def _encoder_scores(
    scorer: EncoderScorer, support: PaddedSupport, units_per_tick: float, queries: Queries
) -> EncoderScores:
    gap, device = (queries.time[:, None] - support.time) * units_per_tick, scorer.device
    inputs = EncoderInput(
        relation=long_tensor(queries.relation, device),
        known=tensor_of(support.known, device),
        support_entity=long_tensor(support.entity, device),
        support_relation=long_tensor(support.relation, device),
        gap=tensor_of(gap.astype(np.float32), device),
        name=scorer.name_embedding(queries.entity),
    )
    return read_only_arrays(scorer.score(inputs, queries.entity, queries.time, queries.visible_before))


def _query_batch(facts: SupportFacts, queries: Queries) -> QueryBatch:
    batch = QueryBatch(
        entity=queries.entity,
        relation=queries.relation,
        time=queries.time,
        answer=queries.answer,
        offsets=facts.offsets,
        support_relation=facts.relation,
        support_entity=facts.entity,
        support_time=facts.time,
        visible_before=queries.visible_before,
    )
    return read_only_arrays(batch)


def kernel_statistics(statistics: GraphStatistics) -> KernelStatistics:
    """The arrays that kernels read."""
    names = statistics.names
    search = SearchStatistics(
        rates=_columns(RelationRates, statistics),
        objects=_columns(ObjectColumns, statistics),
        relation_events=_columns(RelationEvents, statistics),
        events=_columns(EventColumns, statistics),
        embedding=statistics.embedding,
        decay=statistics.decay,
        units_per_tick=statistics.units_per_tick,
        max_objects=statistics.max_objects,
    )
    arrays = KernelStatistics(
        search=search,
        concepts=ConceptColumns(statistics.concepts.offsets, statistics.concepts.ids, statistics.concept_probability),
        names=NameColumns(
            word_offsets=names.offsets,
            word_ids=names.words,
            word_weight=names.weight,
            place=names.place,
            role=names.role,
            affinity=names.affinity,
            role_fit=names.role_fit,
        ),
        entity_factors=statistics.entity_factors,
        relation_factors=statistics.relation_factors,
        excitation_rate=statistics.excitation_rate,
    )
    return read_only_arrays(arrays)


def _columns(kind: type[_Columns], statistics: GraphStatistics) -> _Columns:
    """A named tuple of the attributes with the names of its fields."""
    return kind(*(getattr(statistics, name) for name in kind._fields))
