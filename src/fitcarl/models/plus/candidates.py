"""The entities that anything speaks for as an answer, with all the evidence there is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.models.plus.encoder.network import EncoderInput, EncoderScorer
from fitcarl.models.plus.features.accumulate import Edges, EncoderScores, KernelStatistics, QueryBatch
from fitcarl.models.plus.features.collect import gather
from fitcarl.models.plus.features.normalise import EVIDENCE
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.tasks.task import Queries


@dataclass(frozen=True)
class Shortlist:
    """How many candidates are looked at closely."""

    most: int
    """Those that most speaks for."""
    extra: int = 0
    """So many of the others, drawn at random to stand for all of them; for learning only."""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of each query, ragged."""

    offsets: NDArray[np.int64]
    """int64 [queries + 1]."""
    entity: Ids
    """int32 [listed], distinct within a query."""
    features: NDArray[np.float32]
    """float32 [listed, EVIDENCE]."""
    weight: NDArray[np.float32]
    """float32 [listed]: the log of how many a candidate stands for; 0 unless they were sampled."""


def candidates(
    graph: TemporalGraph,
    support: MetaSet,
    statistics: GraphStatistics,
    queries: Queries,
    shortlist: Shortlist,
    reader: EncoderScorer | None = None,
) -> Candidates:
    """Everybody who is met in some way, the most promising first.

    Facts are read from the background and the supports laid over it; a query's own fact is in neither.
    """
    asked = _asked(graph, support, queries)
    said = (
        EncoderScores.nothing(len(queries))
        if reader is None
        else _read(reader, graph, support, statistics.days_per_tick, queries)
    )
    width = shortlist.most + shortlist.extra
    size = np.zeros(len(queries), dtype=np.int64)
    entity = np.empty((len(queries), width), dtype=np.int32)
    weight = np.zeros((len(queries), width), dtype=np.float32)
    features = np.empty((len(queries), width, EVIDENCE), dtype=np.float32)
    given = (
        *(asked, _edges(graph.base), _edges(graph.overlay), _counts(statistics)),
        said,
        *(shortlist.most, shortlist.extra, shortlist.seed),
        *(size, entity, weight, features),
    )
    parallel_for(split_range(len(queries)), lambda _, low, high: gather(low, high, *given))
    there = np.arange(width) < size[:, None]
    return Candidates(offsets_of(size), entity[there], features[there], weight[there])


def supports_of(graph: TemporalGraph, support: MetaSet, queries: Queries) -> tuple[NDArray[np.int64], Quadruples]:
    """Which of the support's entities asks each query, and all the support's facts as seen from their owners."""
    slot = np.full(graph.entities, -1, dtype=np.int64)
    slot[support.entities] = np.arange(len(support.entities))
    owner = slot[queries.entity]
    if np.any(owner < 0):
        raise ValueError("a query about an entity that is not in the support")
    return owner, support.facts.seen_from(support.entity_of_fact, graph.relations)


def support_table(graph: TemporalGraph, support: MetaSet, queries: Queries) -> tuple[NDArray[np.bool_], Ids, Ids, Ids]:
    """Which facts each query's entity has, [queries, K]: known, and where, through what and when they lead."""
    owner, turned = supports_of(graph, support, queries)
    counts = np.diff(support.offsets)[owner]
    column = np.arange(int(counts.max(initial=1)))
    known = column < counts[:, None]
    row = np.where(known, support.offsets[owner][:, None] + column, 0)
    entity = np.where(known, turned.object[row], queries.entity[:, None]).astype(np.int32)
    return known, entity, turned.relation[row], turned.time[row]


def _read(
    reader: EncoderScorer, graph: TemporalGraph, support: MetaSet, days: float, queries: Queries
) -> EncoderScores:
    known, entity, relation, time = support_table(graph, support, queries)
    asking = EncoderInput(
        relation=torch.from_numpy(queries.relation.astype(np.int64)),
        known=torch.from_numpy(known),
        support_entity=torch.from_numpy(entity.astype(np.int64)),
        support_relation=torch.from_numpy(relation.astype(np.int64)),
        gap=torch.from_numpy(((queries.time[:, None] - time) * days).astype(np.float32)),
        name=reader.name_of(queries.entity),
    )
    return reader.read(asking, queries.entity, queries.time)


def _asked(graph: TemporalGraph, support: MetaSet, queries: Queries) -> QueryBatch:
    owner, turned = supports_of(graph, support, queries)
    facts = np.diff(support.offsets)[owner]
    offsets = offsets_of(facts)
    row = np.arange(offsets[-1]) + np.repeat(support.offsets[owner] - offsets[:-1], facts)
    return QueryBatch(
        entity=np.ascontiguousarray(queries.entity),
        relation=np.ascontiguousarray(queries.relation),
        time=np.ascontiguousarray(queries.time),
        answer=np.ascontiguousarray(queries.answer),
        offsets=offsets,
        support_relation=turned.relation[row],
        support_entity=turned.object[row],
        support_time=turned.time[row],
    )


def _edges(adjacency: Adjacency) -> Edges:
    return Edges(adjacency.offsets, adjacency.relation, adjacency.target, adjacency.time)


def _counts(statistics: GraphStatistics) -> KernelStatistics:
    concepts, names = statistics.concepts, statistics.names
    held = {name: getattr(statistics, name) for name in KernelStatistics._fields if hasattr(statistics, name)}
    return KernelStatistics(
        **held,
        concept_offsets=concepts.offsets,
        concept_ids=concepts.ids,
        word_offsets=names.offsets,
        word_ids=names.words,
        word_weight=names.weight,
        home=names.home,
        role=names.role,
        affinity=names.affinity,
        role_fit=names.role_fit,
    )
